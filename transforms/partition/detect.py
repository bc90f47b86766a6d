"""Finds the format of a document from its bytes, its file name and the MIME type that it was registered with.

Content wins over a wrong label. For the formats that are plain characters (CSV, Markdown, RST …) content tells little, so there the label
wins unless the content is decisively something else.
"""

import csv
import io
import json
import re
from pathlib import Path

from transforms.model import Stage
from transforms.partition import formats
from transforms.partition.containers import OLE_SIGNATURE, ZIP_SIGNATURES, corrupt, detect_ole, detect_zip, unsupported
from transforms.partition.formats import Format, by_extension, by_mime_type, normalise_mime_type
from transforms.partition.text_encoding import decode_text, looks_like_text, without_zeros
from transforms.settings import Limits

HEAD = 65_536
"""Bytes that detection reads; signatures stand in the first kilobyte, the rest is for telling texts apart."""

_SIGNATURES: tuple[tuple[bytes, Format], ...] = (
    (b"{\\rtf", formats.RTF),
    (b"\x89PNG\r\n\x1a\n", formats.PNG),
    (b"\xff\xd8\xff", formats.JPEG),
    (b"II*\x00", formats.TIFF),
    (b"MM\x00*", formats.TIFF),
    (b"II+\x00", formats.TIFF),
    (b"MM\x00+", formats.TIFF),
    (b"GIF87a", formats.GIF),
    (b"GIF89a", formats.GIF),
)

_HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")

_GENERIC_TYPES = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/x-download", "application/unknown", "text/plain"}
)
"""What a server says that does not know better: the extension is then the better label."""

_HTML_START = re.compile(r"\s*(?:<\?xml[^>]*\?>\s*)?(?>(?:<!--.*?-->\s*)*)<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_XML_START = re.compile(r"\s*<\?xml\s")
_MAIL_HEADER = re.compile(r"^([A-Za-z][A-Za-z0-9-]*):(?=[ \t\r\n])", re.MULTILINE)
_MAIL_CERTAIN = frozenset({"message-id", "mime-version", "received", "return-path", "delivered-to"})
_MAIL_USUAL = frozenset({"from", "to", "date", "subject", "cc"})


def detect_format(path: Path, declared: str, name: str, limits: Limits | None = None) -> Format:
    """The format to decode a document as.

    Args:
      path: the bytes.
      declared: the MIME type registered with the document, as given; may be empty or wrong.
      name: the source's file name, for its extension; may be empty.
      limits: those of archives.
    Raises:
      DecodeError: `unsupported`, `encrypted`, `corrupt` or `too_large`, all of the stage detect.
    """
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    label = label_of(declared, name)
    if not head.strip():
        return label or formats.TEXT
    return _by_signature(path, head, limits or Limits()) or _by_text(head, declared, label) or _give_up(head, label)


def label_of(declared: str, name: str) -> Format | None:
    """What the label says: the declared MIME type, or the extension where that says nothing of its own."""
    by_name = by_extension(name)
    if normalise_mime_type(declared) in _GENERIC_TYPES and by_name is not None:
        return by_name
    return by_mime_type(declared) or by_name


def _by_signature(path: Path, head: bytes, limits: Limits) -> Format | None:
    """The binary formats, and those texts that name themselves in their first bytes."""
    if head.startswith(ZIP_SIGNATURES):
        return detect_zip(path, limits)
    if head.startswith(OLE_SIGNATURE):
        return detect_ole(path)
    if _is_pdf(path, head):
        return formats.PDF
    for signature, known in _SIGNATURES:
        if head.startswith(signature):
            return known
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return formats.WEBP
    if head[4:8] == b"ftyp" and head[8:12] in _HEIC_BRANDS:
        return formats.HEIC
    if (
        head[:2] == b"BM"
        and len(head) > 26
        and head[6:10] == b"\0\0\0\0"
        and int.from_bytes(head[14:18], "little") in (12, 40, 52, 56, 64, 108, 124)
    ):
        return formats.BMP
    return None


def _is_pdf(path: Path, head: bytes) -> bool:
    """A PDF may have junk before its header, within the first kilobyte. A text that only speaks of PDF has no end of one."""
    position = head[:1024].find(b"%PDF-")
    if position < 0:
        return False
    if not head[:position].strip(b"\xef\xbb\xbf\x00 \t\r\n"):
        return True
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - 4096))
        tail = stream.read()
    return b"%%EOF" in tail or b"startxref" in tail or b"endobj" in head


def _by_text(head: bytes, declared: str, label: Format | None) -> Format | None:
    if not looks_like_text(head):
        return None
    text = decode_text(_whole_lines(head), declared).text
    if _HTML_START.match(text):
        # Markdown may start with HTML, and a mail or an XML file is named so by whoever knows it.
        return label if label in (formats.HTML, formats.MARKDOWN, formats.XML) else formats.HTML
    if _XML_START.match(text):
        return label if label in (formats.HTML, formats.XML) else formats.XML
    if _is_mail(text, weak=label is formats.EML):
        return formats.EML if label in (None, formats.TEXT, formats.EML, formats.MSG) else _text_label(label, text)
    return _text_label(label, text)


def _text_label(label: Format | None, text: str) -> Format:
    """The label of a text, unless it is the label of a binary format: then the text itself must tell."""
    if label is not None and label.is_text:
        if label is formats.JSON and _is_ndjson(text):
            return formats.NDJSON
        return label
    return _unlabelled(text)


def _unlabelled(text: str) -> Format:
    """A text without a (right) label, as on the inline path. Only what can be told with certainty: the rest is plain text."""
    start = text.lstrip()[:1]
    if start in "{[" and start:
        if _is_ndjson(text):
            return formats.NDJSON
        if _is_json(text):
            return formats.JSON
    if start == "<" and len(re.findall(r"</(?:p|div|table|ul|ol|h[1-6]|span|a)>", text[:HEAD], re.IGNORECASE)) >= 1:
        return formats.HTML
    if _is_table(text, "\t"):
        return formats.TSV
    if _is_table(text, ","):
        return formats.CSV
    return formats.TEXT


def _is_mail(text: str, *, weak: bool) -> bool:
    """Whether a text starts with the header of a mail. Without a label that says so (`weak`) it must have one that only mails have."""
    header = re.split(r"\r?\n\r?\n", text.removeprefix("From ") if not text.startswith("From:") else text, maxsplit=1)[0]
    first = header.lstrip().splitlines()[:1]
    if not first or not (_MAIL_HEADER.match(first[0] + "\n") or text.startswith("From ")):
        return False
    names = {name.lower() for name in _MAIL_HEADER.findall(header)}
    usual = len(names & _MAIL_USUAL)
    return usual >= 1 if weak else usual >= 2 and bool(names & _MAIL_CERTAIN)


def _is_ndjson(text: str) -> bool:
    """Two or more lines, each a JSON value of its own that is an object or array."""
    lines = [line for line in text.splitlines() if line.strip()][:20]
    return len(lines) >= 2 and all(line.lstrip()[:1] in "{[" and _is_json_value(line) for line in lines)


def _is_json(text: str) -> bool:
    # A head that was cut cannot be parsed: the start must do, and the partitioner says what is wrong with the rest.
    return _is_json_value(text) or (len(text) > HEAD // 2 and re.match(r'\s*(\{\s*"|\[\s*[\[{"\d])', text) is not None)


def _is_json_value(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_table(text: str, delimiter: str) -> bool:
    """Whether three or more rows all have the same number of cells (two at least), and the cells are short: no prose has that."""
    lines = text.splitlines()[:200]
    try:
        rows = [row for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter) if row]
    except csv.Error:
        return False
    widths = {len(row) for row in rows}
    return len(rows) >= 3 and len(widths) == 1 and widths.pop() >= 2 and max(len(cell) for row in rows for cell in row) <= 200


def _whole_lines(head: bytes) -> bytes:
    """The head up to its last line end, so that no character is cut."""
    if len(head) < HEAD:
        return head
    cut = head.rfind(b"\n")
    # UTF-16 has a byte after (or before) each line feed: cut to a multiple of four.
    return head[: (cut + 1) // 4 * 4] if b"\x00" in head and cut > 0 else head[: cut + 1] or head


def _give_up(head: bytes, label: Format | None) -> Format:
    """Raises the right refusal of bytes that are neither a known binary format nor text."""
    rest = without_zeros(head)
    if label is not None and label.is_text and len(head) // 64 < len(rest) < len(head) and looks_like_text(rest):
        return label  # a log of a machine that lost its power has a block of zeros in it
    found = magic_type(head)
    known = by_mime_type(found)
    if known is not None and not known.is_text:
        return known
    if found in ("application/octet-stream", "application/x-data", "text/plain", ""):
        if label is not None:
            raise corrupt(f"It is named {label.mime_type}, but its bytes hold no {label.name} file.", Stage.DETECT)
        raise unsupported("Its bytes are of no known format.")
    if known is not None:  # libmagic goes by the first lines
        raise corrupt(f"It starts like a {known.name} file, but its bytes are not text.", Stage.DETECT)
    raise unsupported(f"The format {found} is not supported.")


def magic_type(head: bytes) -> str:
    """What libmagic takes the bytes for; empty where it is not installed."""
    if not formats.LIBMAGIC.is_available():
        return ""
    import magic

    return str(magic.from_buffer(head[:8192], mime=True)).lower()
