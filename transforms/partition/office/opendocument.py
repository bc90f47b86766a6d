"""What OpenDocument spreadsheets and presentations share: their names, the text of a paragraph, and the pictures of a page."""

import posixpath
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from transforms.model import Element
from transforms.partition.pictures.picture import image_element, picture_from_bytes
from transforms.partition.properties import read_member

OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_LINK = "{http://www.w3.org/1999/xlink}href"


def paragraph_text(node: Any) -> str:
    """The text of a paragraph: its runs of blanks, tabs and line breaks are elements; its notes and comments are left out."""
    parts = [node.text or ""]
    for child in node:
        if child.tag == f"{TEXT}s":
            parts.append(" " * min(int(child.get(f"{TEXT}c", "1")), 1000))
        elif child.tag in (f"{TEXT}tab", f"{TEXT}line-break"):
            parts.append("\t" if child.tag == f"{TEXT}tab" else "\n")
        elif isinstance(child.tag, str) and not child.tag.endswith(("}annotation", "}note")):
            parts.append(paragraph_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def page_pictures(path: Path, pages: Iterable[Any]) -> Iterator[Element]:
    """The pictures of the slides or sheets, as `Image` elements of their pages, outside of the reading order.

    Args:
      path: of the document.
      pages: the XML elements of the pages, in order.
    """
    for number, page in enumerate(pages, start=1):
        for index, node in enumerate(page.iter(f"{DRAW}image"), start=1):
            address = posixpath.normpath(unquote(node.get(_LINK, "")))
            # What stands beside an embedded chart or formula is a rendering of it, for programs that cannot draw it themselves.
            picture = None if address.startswith("ObjectReplacements") else picture_from_bytes(read_member(path, address))
            if picture is not None:
                yield image_element(picture, place=f"page {number}, {index}", page_number=number, in_reading_order=False)


def with_styles(path: Path, folder: Path) -> Path:
    """A text document with the styles.xml that pandoc (3.9) demands and the format does not: `path` itself, or a copy in `folder`."""
    with zipfile.ZipFile(path) as archive:
        if "styles.xml" in archive.namelist():
            return path
        copy = folder / "styled.odt"
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
            for info in archive.infolist():
                target.writestr(info.filename, archive.read(info))
            target.writestr("styles.xml", f'<o:document-styles xmlns:o="{OFFICE[1:-1]}"/>')
    return copy
