"""What a PDF says of itself, from its information dictionary and, where that is silent, from its XMP metadata."""

import re
from typing import Any

from transforms.partition.elements import clean_text
from transforms.partition.properties import Properties, iso_date, parse_xml

_MAX_METADATA = 4 * 1024 * 1024
_DATE = re.compile(
    r"D?:?\s*(?P<year>\d{4})(?P<month>\d\d)?(?P<day>\d\d)?(?P<hour>\d\d)?(?P<minute>\d\d)?(?P<second>\d\d)?"
    r"(?:(?P<utc>Z)|(?P<sign>[+-])(?P<hours>\d\d)'?(?P<minutes>\d\d)?)?"
)
_DC = "{http://purl.org/dc/elements/1.1/}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_XMP = "{http://ns.adobe.com/xap/1.0/}"


def pdf_properties(pdf: Any) -> Properties:
    """Title, author and creation date of an open `pikepdf.Pdf`. Damaged metadata are no metadata."""
    information = pdf.trailer.get("/Info")
    said = {name: _text_of(information, f"/{name}") for name in ("Title", "Author", "CreationDate")}
    date = pdf_date(said["CreationDate"])
    if said["Title"] and said["Author"] and date:
        return Properties(said["Title"], said["Author"], date)
    other = _xmp_properties(pdf)
    return Properties(said["Title"] or other.title, said["Author"] or other.creator, date or other.date)


def pdf_date(text: str) -> str:
    """A PDF date (`D:20240501120000+02'00'`) as ISO 8601, as exact as it is given; empty if it is none. Source: ISO 32000-1, 7.9.4."""
    match = _DATE.match(text.strip())
    if match is None:
        return ""
    if not match["day"]:
        return iso_date("-".join(part for part in (match["year"], match["month"]) if part))
    day = f"{match['year']}-{match['month']}-{match['day']}"
    if not match["hour"]:
        return iso_date(day)
    zone = "+00:00" if match["utc"] else f"{match['sign']}{match['hours']}:{match['minutes'] or '00'}" if match["sign"] else ""
    return iso_date(f"{day}T{match['hour']}:{match['minute'] or '00'}:{match['second'] or '00'}{zone}")


def _text_of(dictionary: Any, name: str) -> str:
    import pikepdf

    if not isinstance(dictionary, pikepdf.Dictionary):
        return ""
    value = dictionary.get(name)
    return _one_line(str(value)) if isinstance(value, pikepdf.String) else ""


def _xmp_properties(pdf: Any) -> Properties:
    import pikepdf

    stream = pdf.Root.get("/Metadata")
    if not isinstance(stream, pikepdf.Stream):
        return Properties()
    try:
        data = stream.read_bytes()
    except pikepdf.PdfError:
        return Properties()
    root = parse_xml(data) if len(data) <= _MAX_METADATA else None
    if root is None:
        return Properties()
    date = root.findtext(f".//{_XMP}CreateDate") or next(iter(root.xpath("//@*[local-name()='CreateDate']")), "")
    title = next(iter(_items(root, f"{_DC}title")), "")
    return Properties(title=title, creator=", ".join(_items(root, f"{_DC}creator")), date=iso_date(str(date)))


def _items(root: Any, tag: str) -> list[str]:
    node = root.find(f".//{tag}")
    found = [] if node is None else [_one_line("".join(item.itertext())) for item in node.iter(f"{_RDF}li")]
    return [text for text in found if text]


def _one_line(text: str) -> str:
    return clean_text(" ".join(text.split()))
