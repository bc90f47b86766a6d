"""RDF terms, each kept as its N-Quads form: two terms are equal exactly when their forms are, and writing them costs nothing."""

import re
from functools import cache
from typing import NamedTuple, NewType

from transforms.provenance import vocabulary
from transforms.provenance.iris import repair_iri

Term = NewType("Term", str)
"""`<iri>`, `"literal"`, `"literal"^^<datatype>`, `"literal"@language` or `_:label`; valid, and in one form only."""


class Quad(NamedTuple):
    """One statement."""

    subject: Term
    predicate: Term
    object: Term
    graph: Term


# N-Quads requires the first four. The rest are characters at which some tool or other ends a line (str.splitlines does at all of them),
# or that cannot be seen. Lone surrogates are no characters: no UTF-8 file can hold them.
_ESCAPES = {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("\b"): "\\b",
    ord("\f"): "\\f",
}
_ESCAPES |= {
    code: f"\\u{code:04X}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF) if code not in _ESCAPES
}
_ESCAPES |= dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_ESCAPED = re.compile("[" + "".join(re.escape(chr(code)) for code in _ESCAPES if not 0xD800 <= code < 0xE000) + "\ud800-\udfff]")
# RFC 5646 without its 26 grandfathered tags.
_LANGUAGE = re.compile(
    r"(?:[a-z]{2,3}(?:-[a-z]{3}){0,3}|[a-z]{4,8})(?:-[a-z]{4})?(?:-(?:[a-z]{2}|\d{3}))?(?:-(?:[a-z\d]{5,8}|\d[a-z\d]{3}))*"
    r"(?:-[a-wyz\d](?:-[a-z\d]{2,8})+)*(?:-x(?:-[a-z\d]{1,8})+)?|x(?:-[a-z\d]{1,8})+",
    re.IGNORECASE | re.ASCII,
)


def iri_term(text: str) -> Term:
    """`<…>` of an absolute IRI, repaired where characters need percent-encoding.

    Raises:
      ValueError: there is no scheme, so it is no absolute IRI.
    """
    iri = repair_iri(text)
    if iri is None:
        raise ValueError(f"not an absolute IRI: {text[:80]!r}")
    return Term(f"<{iri}>")


def literal_term(text: str, *, datatype: str = "", language: str = "") -> Term:
    """A literal; without datatype and language a plain string.

    Args:
      text: any; lone surrogates become U+FFFD.
      datatype: its IRI.
      language: its BCP 47 tag.
    Raises:
      ValueError: a datatype that is no absolute IRI or that needs a language, a malformed language, or both of the two.
    """
    quoted = '"' + (_ESCAPED.sub(_escape, text) if _ESCAPED.search(text) else text) + '"'
    if language:
        if datatype or not _LANGUAGE.fullmatch(language):
            raise ValueError(f"not a language tag: {language[:80]!r}")
        return Term(f"{quoted}@{language}")
    if datatype in (vocabulary.RDF_LANG_STRING, vocabulary.RDF_DIR_LANG_STRING):
        raise ValueError("a literal of this datatype needs a language tag")
    if datatype and datatype != vocabulary.XSD_STRING:
        return Term(f"{quoted}^^{iri_term(datatype)}")
    return Term(quoted)


def integer_term(number: int) -> Term:
    """`"3"^^xsd:integer`."""
    return Term(f'"{number}"^^<{vocabulary.XSD_INTEGER}>')


@cache
def vocabulary_term(iri: str) -> Term:
    """The term of an IRI of the vocabulary; one object for each."""
    return iri_term(iri)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES[ord(match[0])]
