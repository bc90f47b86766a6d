"""Which strings are IRIs, and how the others become one: an IRI that a strict parser refuses would make the whole N-Quads file unreadable.

The grammar is RFC 3987's for absolute IRIs, without the private-use characters that it allows in queries only.
"""

import ipaddress
import re

_IRI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
# Planes 1 to 14, each without its last two code points, which are not characters.
_UCSCHAR = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr((plane << 16) + (0x1000 if plane == 14 else 0))}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 15)
)
_IN_NAME = r"A-Za-z0-9\-._~!$&'()*+,;=" + _UCSCHAR


def _forbidden(allowed: str) -> re.Pattern[str]:
    return re.compile(rf"%(?![0-9A-Fa-f]{{2}})|[^{allowed}%]")


_NOT_IN_HOST = _forbidden(_IN_NAME)
_NOT_IN_USER = _forbidden(_IN_NAME + ":")
_NOT_IN_PATH = _forbidden(_IN_NAME + ":@/")
_NOT_IN_QUERY = _forbidden(_IN_NAME + ":@/?")


def repair_iri(text: str) -> str | None:
    """The text as an absolute IRI: itself where it is one, else with the characters percent-encoded that cannot stand where they do.

    Args:
      text: anything, such as `file:///a b.pdf`.
    Returns:
      `file:///a%20b.pdf`; None where there is no scheme, so that no encoding makes it an absolute IRI.
    """
    match = _IRI.fullmatch(text)
    if match is None:
        return None
    scheme, authority, path, query, fragment = match.groups()
    return "".join(
        (
            scheme + ":",
            "" if authority is None else "//" + _repair_authority(authority),
            _NOT_IN_PATH.sub(_percent_encode, path),
            "" if query is None else "?" + _NOT_IN_QUERY.sub(_percent_encode, query),
            "" if fragment is None else "#" + _NOT_IN_QUERY.sub(_percent_encode, fragment),
        )
    )


def percent_encode_segment(text: str) -> str:
    """The text as one path segment of an IRI."""
    return _NOT_IN_PATH.sub(_percent_encode, text).replace("/", "%2F")


def _repair_authority(authority: str) -> str:
    user, at, rest = authority.rpartition("@")
    literal = re.fullmatch(r"\[([^\]]*)\](:[0-9]*)?", rest)
    if literal and _is_ipv6(literal[1]):
        host = rest
    else:
        name = re.fullmatch(r"(.*?)(:[0-9]*)?", rest, re.DOTALL)
        assert name is not None, "matches any text"
        host = _NOT_IN_HOST.sub(_percent_encode, name[1]) + (name[2] or "")
    return _NOT_IN_USER.sub(_percent_encode, user) + at + host


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text  # RFC 3987 knows no zones


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))
