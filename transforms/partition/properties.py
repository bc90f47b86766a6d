"""What documents say of themselves: title, author and date, from where each format keeps them."""

import re
import zipfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from lxml import etree

from transforms.partition.elements import clean_text

_DC = "{http://purl.org/dc/elements/1.1/}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"


@dataclass(frozen=True)
class Properties:
    """Empty where the document does not say."""

    title: str = ""
    creator: str = ""
    date: str = ""
    """ISO 8601."""


NOTHING_SAID = Properties()


def iso_date(value: object) -> str:
    """A date as ISO 8601, as exact as it is given: a year, a day, or a moment (in UTC where its zone is known); empty if it is none."""
    if isinstance(value, datetime):
        moment = value
    else:
        text = str(value or "").strip()
        if re.fullmatch(r"\d{4}(-(0[1-9]|1[0-2]))?", text):
            return text
        parsed = _moment(text)
        if parsed is None:
            return ""
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return text
        moment = parsed
    try:
        if moment.tzinfo is not None:
            return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
    except (OverflowError, ValueError):
        return ""
    return moment.isoformat(timespec="seconds")


def _moment(text: str) -> datetime | None:
    # OpenDocument writes nine digits of a second; fromisoformat reads six.
    for candidate in (text, re.sub(r"(\.\d{6})\d+", r"\1", text)):
        try:
            return datetime.fromisoformat(candidate)
        except ValueError:
            continue
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_xml(data: bytes) -> Any:
    """The root of an XML document, or None; neither entities nor the network are touched."""
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True))
    except etree.XMLSyntaxError:
        return None


def read_member(path: Path, name: str) -> bytes:
    """A member of a ZIP; none where it cannot be had."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(name)
    except (KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError):
        return b""


def office_properties(path: Path) -> Properties:
    """Of an OOXML package: docProps/core.xml."""
    root = parse_xml(read_member(path, "docProps/core.xml"))
    if root is None:
        return Properties()
    created = "{http://purl.org/dc/terms/}created"
    return Properties(_text(root, f"{_DC}title"), _text(root, f"{_DC}creator"), iso_date(_text(root, created)))


def odf_properties(path: Path) -> Properties:
    """Of an OpenDocument file: meta.xml."""
    root = parse_xml(read_member(path, "meta.xml"))
    if root is None:
        return Properties()
    creator = _text(root, f"{_META}initial-creator") or _text(root, f"{_DC}creator")
    return Properties(_text(root, f"{_DC}title"), creator, iso_date(_text(root, f"{_META}creation-date") or _text(root, f"{_DC}date")))


def epub_properties(path: Path) -> Properties:
    """Of an EPUB: its package document."""
    container = parse_xml(read_member(path, "META-INF/container.xml"))
    names = [] if container is None else [node.get("full-path", "") for node in container.iter("{*}rootfile")]
    root = parse_xml(read_member(path, names[0])) if names else None
    if root is None:
        return Properties()
    return Properties(_text(root, f"{_DC}title"), _text(root, f"{_DC}creator"), iso_date(_text(root, f"{_DC}date")))


def ole_properties(path: Path) -> Properties:
    """Of a legacy Office file: its summary information."""
    import olefile

    try:
        with olefile.OleFileIO(path) as ole:
            summary = ole.get_metadata()
        codepage = f"cp{summary.codepage}" if summary.codepage and summary.codepage not in (65001, -535) else "utf-8"
        title, author = (_decoded(value, codepage) for value in (summary.title, summary.author))
        return Properties(title, author, iso_date(summary.create_time) if summary.create_time else "")
    except Exception:
        return Properties()


def html_properties(text: str) -> Properties:
    """Of an HTML page: its title element and the usual meta elements."""
    head = text[:200_000]
    title = re.search(r"<title[^>]*>(.*?)</title>", head, re.IGNORECASE | re.DOTALL)
    return Properties(
        _one_line(_unescape(title.group(1))) if title else "",
        _meta(head, "author") or _meta(head, "dc.creator"),
        iso_date(next((date for name in _DATES if (date := _meta(head, name))), "")),
    )


_DATES = ("article:published_time", "dc.date", "dcterms.created", "dcterms.date", "date", "datepublished")


def _meta(head: str, name: str) -> str:
    for tag in re.findall(r"<meta\b[^<>]{0,4000}>", head, re.IGNORECASE):
        attributes = {
            key.lower(): double or single for key, double, single in re.findall(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""", tag)
        }
        if (attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower() == name:
            return _one_line(_unescape(attributes.get("content", "")))
    return ""


def _unescape(text: str) -> str:
    import html

    return html.unescape(text)


def _decoded(value: object, codepage: str) -> str:
    if not isinstance(value, bytes):
        return _one_line(str(value or ""))
    try:
        return _one_line(value.decode(codepage))
    except (UnicodeDecodeError, LookupError):
        return _one_line(value.decode("latin-1"))


def _text(root: Any, tag: str) -> str:
    node = root.find(f".//{tag}")
    return _one_line("".join(node.itertext())) if node is not None else ""


def _one_line(text: str) -> str:
    return clean_text(" ".join(text.split()))
