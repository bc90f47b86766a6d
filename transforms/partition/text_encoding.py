"""From bytes to characters, before any partitioner sees a text: unstructured guesses differently in each of its formats.

In unstructured 0.27.35 CSV is read as UTF-8 only, TSV ignores `encoding=`, Markdown and HTML guess statistically at once.
"""

import codecs
import re
from dataclasses import dataclass, replace
from email.message import Message

from transforms.model import DecodeError, Stage, Status

_BYTE_ORDER_MARKS = (
    # UTF-32 first: its little-endian mark starts with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_SAMPLE = 65_536
"""Bytes that are enough to tell an encoding or a binary file."""

_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Controls that no text has; \x1b is in logs with colours, \x0c is a page break."""

_DECLARED = re.compile(rb"""(?:charset\s*=|encoding\s*=)\s*["']?\s*([A-Za-z0-9._:-]+)""")
"""In an HTML meta element or an XML declaration."""


@dataclass(frozen=True)
class DecodedText:
    """A text and how it was read."""

    text: str
    encoding: str
    guessed: bool = False
    """Whether the encoding is a statistical guess: such a text may be wrong here and there."""
    replaced: int = 0
    """Bytes that are no characters of the encoding, and stand as U+FFFD."""
    zeros: int = 0
    """Zero bytes, left out: a program that wrote to the file was stopped in the middle, mostly."""


def decode_text(data: bytes, declared: str = "") -> DecodedText:
    """Reads bytes as text.

    Tries, in this order: a byte order mark; strict UTF-8; UTF-16 or UTF-32 without a mark (by where the zero bytes stand); the encoding
    that the Content-Type or the document itself declares; a guess from the statistics of the bytes.

    Args:
      data: the whole document.
      declared: the Content-Type as given, of which only `charset` is read; or empty.
    Returns:
      The text without a byte order mark, with line ends as they are.
    Raises:
      DecodeError: `corrupt` when no encoding gives a text.
    """
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if marked:
        # A file cut in the middle of a character is still a text: only that character is lost.
        text = data.decode(marked, errors="replace")
        return DecodedText(text, marked, replaced=_replaced(text, data))
    if b"\x00" not in data[:_SAMPLE]:
        try:
            return DecodedText(data.decode("utf-8"), "utf-8")
        except UnicodeDecodeError:
            pass
    for encoding in (*_wide_encodings(data), *_declared_encodings(data, declared)):
        try:
            return DecodedText(data.decode(encoding), encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    zeros = data.count(0)
    if zeros:
        return replace(decode_text(data.replace(b"\x00", b""), declared), zeros=zeros)
    return _guess(data)


def _replaced(text: str, data: bytes) -> int:
    """How many characters of a text are replacements and stood not in the document as such."""
    return max(0, text.count("\ufffd") - data.count("\ufffd".encode()))


def without_zeros(data: bytes) -> bytes:
    """The start of a file for a second look at whether it is text, without its zero bytes."""
    return data.replace(b"\x00", b"")


def looks_like_text(data: bytes) -> bool:
    """Whether the start of a file is text in some encoding, judged by control characters."""
    sample = data[:_SAMPLE]
    if any(sample.startswith(mark) for mark, _ in _BYTE_ORDER_MARKS):
        return True
    if b"\x00" in sample:
        return bool(_wide_encodings(sample))
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(sample, final=False)
    except UnicodeDecodeError:
        text = sample.decode("latin-1")
    return len(_CONTROLS.findall(text)) <= 2 + len(text) // 100  # of random bytes every tenth is a control


def _wide_encodings(data: bytes) -> list[str]:
    """UTF-16 or UTF-32 without a mark: the zero bytes of Latin letters stand at regular places."""
    sample = data[: _SAMPLE // 4 * 4]
    sample = sample[: len(sample) // 4 * 4] or data
    if not sample.count(0):
        return []
    quarter = len(sample) // 4 or 1
    zeros = [sample[offset::4].count(0) / quarter for offset in range(4)]
    if zeros[1] > 0.9 and zeros[2] > 0.9 and zeros[3] > 0.9 and zeros[0] < 0.1:
        return ["utf-32-le"]
    if zeros[0] > 0.9 and zeros[1] > 0.9 and zeros[2] > 0.9 and zeros[3] < 0.1:
        return ["utf-32-be"]
    # Half of the characters Latin is enough; the other byte of the pair is never zero in a text.
    low, high = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    if high > 0.4 and low < 0.02:
        return ["utf-16-le"]
    if low > 0.4 and high < 0.02:
        return ["utf-16-be"]
    return []


def _declared_encodings(data: bytes, declared: str) -> list[str]:
    found = []
    if declared:
        message = Message()
        message["Content-Type"] = declared
        found.append(message.get_content_charset() or "")
    match = _DECLARED.search(data[:2048])
    if match:
        found.append(match.group(1).decode("ascii"))
    return [_python_name(name) for name in found if name and not name.lower().startswith(("utf-16", "utf-32", "utf-8"))]


def _python_name(charset: str) -> str:
    """The name by which Python knows a charset of the web."""
    name = charset.lower().replace("_", "-")
    name = re.sub(r"^(iso-8859-[68])-[ie]$", r"\1", name)  # the same letters; i and e say who reverses them
    # WHATWG: pages labelled so hold the Windows superset.
    return {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "x-sjis": "cp932", "gb2312": "gb18030", "gbk": "gb18030"}.get(
        name, name
    )


def _guess(data: bytes) -> DecodedText:
    from charset_normalizer import from_bytes

    matches = from_bytes(data[: 4 * _SAMPLE], enable_fallback=False)
    best = matches.best()
    # Of code pages that read equally well, charset-normalizer (3.4) takes the first by name, cp1250, where ñ is ń and å is ĺ. Browsers take
    # what most documents are in.
    western = next((match for match in matches if match.encoding == "cp1252"), None)
    if best and western and western.chaos <= best.chaos and western.coherence >= best.coherence:
        best = western
    candidates = [best.encoding] if best else []
    for encoding in (*candidates, "cp1252"):
        try:
            text = data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        # Most Western letters are the same in a dozen encodings: name the usual one where it reads the same.
        usual = data.decode("cp1252", errors="replace") == text
        return DecodedText(text, "cp1252" if usual else encoding, guessed=True)
    text = data.decode("utf-8", errors="replace")
    if text.count("�") <= max(8, len(text) // 100):
        return DecodedText(text, "utf-8", guessed=True, replaced=_replaced(text, data))
    message = "The bytes are not text in any encoding that could be found out."
    raise DecodeError(Status.CORRUPT, message, Stage.PARTITION)
