"""The pictures of XLSX, ODT and EPUB, read from their archive: unstructured's readers leave them out (0.27.35)."""

import posixpath
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import etree

from transforms.model import Element, Picture
from transforms.partition.pictures.picture import MAX_PICTURE_BYTES, image_element, picture_from_bytes

_NAMES = {
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "pr": "http://schemas.openxmlformats.org/package/2006/relationships",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
}


class ArchivePictures:
    """The pictures of a ZIP-based document (EPUB), found by the address that its text gives them."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path)
        self._members = {info.filename: info for info in self._archive.infolist() if not info.is_dir()}
        self._by_tail: dict[str, list[str]] = {}
        for name in sorted(self._members):
            self._by_tail.setdefault(posixpath.basename(name), []).append(name)

    def __enter__(self) -> "ArchivePictures":
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def resolve(self, address: str) -> Picture | None:
        """The picture that `address` names.

        Args:
          address: a relative reference, as in `src` of the converted HTML. The folder that it starts from is lost in the conversion, so the
            member whose path ends with it is taken (`images/cover.jpg` -> `OEBPS/images/cover.jpg`); of several the shortest.
        Returns:
          None for data URIs, absolute URLs, members that are not there, and what is no picture.
        """
        path = unquote(address.partition("#")[0].partition("?")[0])
        if re.match(r"[a-z][a-z0-9+.-]*:", path, re.IGNORECASE):
            return None
        tail = posixpath.normpath("/" + re.sub(r"^(\.{1,2}/)+", "", path)).lstrip("/")
        names = [name for name in self._by_tail.get(posixpath.basename(tail), ()) if name == tail or name.endswith("/" + tail)]
        return self._read(min(names, key=lambda name: (len(name), name))) if names else None

    def _read(self, name: str) -> Picture | None:
        data = _member(self._archive, name)
        return picture_from_bytes(data) if data else None


def xlsx_pictures(path: Path) -> list[Element]:
    """The pictures of a workbook (XLSX, XLSM), sheet by sheet in the order of their anchors.

    Args:
      path: of the workbook.
    Returns:
      `Image` elements; `page_number` counts the worksheets as unstructured does (hidden ones too, chart sheets not). They have no place
      among the text of the cells: `in_reading_order` is False. A damaged drawing gives no pictures.
    """
    elements: list[Element] = []
    try:
        with zipfile.ZipFile(path) as archive:
            for number, sheet in enumerate(_worksheets(archive), start=1):
                for drawing in _relations(archive, sheet, "/drawing").values():
                    for node, member in _drawing_pictures(archive, drawing):
                        data = _member(archive, member)
                        picture = picture_from_bytes(data) if data else None
                        if picture is not None:
                            place = f"sheet {number}, {len(elements) + 1}"
                            elements.append(
                                image_element(picture, place=place, page_number=number, text=_drawing_text(node), in_reading_order=False)
                            )
    except (zipfile.BadZipFile, OSError):
        return elements
    return elements


def odt_pictures(path: Path) -> list[Element]:
    """The pictures that the content of an OpenDocument file (ODT, ODS, ODP) shows, in document order.

    Returns:
      `Image` elements with `in_reading_order` False: the conversion to DOCX keeps most of them at their place, so the caller adds those of
      which no element has the same bytes. Thumbnails and the replacement renderings of charts are not pictures of the content.
    """
    elements: list[Element] = []
    try:
        with zipfile.ZipFile(path) as archive:
            content = _xml(archive, "content.xml")
            for node in [] if content is None else content.iter(f"{{{_NAMES['draw']}}}image"):
                address = posixpath.normpath(unquote(node.get(f"{{{_NAMES['xlink']}}}href", "")))
                data = None if address.startswith("ObjectReplacements") else _member(archive, address)
                picture = picture_from_bytes(data) if data else None
                if picture is not None:
                    text = (
                        node.getparent().findtext(f"{{{_NAMES['svg']}}}title")
                        or node.getparent().findtext(f"{{{_NAMES['svg']}}}desc")
                        or ""
                    )
                    elements.append(image_element(picture, place=f"picture {len(elements) + 1}", text=text, in_reading_order=False))
    except (zipfile.BadZipFile, OSError):
        return elements
    return elements


def _member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    try:
        info = archive.getinfo(name)
        if info.file_size > MAX_PICTURE_BYTES:
            return None
        with archive.open(info) as stream:
            return stream.read(MAX_PICTURE_BYTES)
    except (KeyError, zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, ValueError, zlib.error):
        return None


def _xml(archive: zipfile.ZipFile, name: str) -> Any:
    data = _member(archive, name)
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, recover=True)) if data else None
    except etree.XMLSyntaxError:
        return None


def _relations(archive: zipfile.ZipFile, part: str, kind: str) -> dict[str, str]:
    """Relation id -> member name, for the internal relations of `part` whose type ends with `kind`, in the order of the file."""
    folder, name = posixpath.split(part)
    root = _xml(archive, f"{folder}/_rels/{name}.rels")
    relations: dict[str, str] = {}
    for relation in [] if root is None else root.iter(f"{{{_NAMES['pr']}}}Relationship"):
        if relation.get("Type", "").endswith(kind) and relation.get("TargetMode") != "External":
            relations[relation.get("Id", "")] = posixpath.normpath(posixpath.join("/" + folder, relation.get("Target", ""))).lstrip("/")
    return relations


def _worksheets(archive: zipfile.ZipFile) -> list[str]:
    workbook = next(iter(_relations(archive, "", "/officeDocument").values()), "xl/workbook.xml")
    root = _xml(archive, workbook)
    sheets = _relations(archive, workbook, "/worksheet")
    # Strict workbooks have their own namespaces, so sheets are found by local name.
    nodes = [] if root is None else root.xpath("//*[local-name()='sheets']/*[local-name()='sheet']")
    identifiers = [_attribute(node, "id") for node in nodes]
    return [sheets[identifier] for identifier in identifiers if identifier in sheets]


def _drawing_pictures(archive: zipfile.ZipFile, drawing: str) -> list[tuple[Any, str]]:
    root = _xml(archive, drawing)
    media = _relations(archive, drawing, "/image")
    found = []
    for node in [] if root is None else root.xpath("//*[local-name()='pic']"):
        blip = next(iter(node.xpath(".//*[local-name()='blip']")), None)
        identifier = "" if blip is None else _attribute(blip, "embed")
        if identifier in media:
            found.append((node, media[identifier]))
    return found


def _drawing_text(node: Any) -> str:
    return str(next(iter(node.xpath("./*[local-name()='nvPicPr']/*[local-name()='cNvPr']/@descr")), ""))


def _attribute(node: Any, name: str) -> str:
    """The attribute of that local name in any namespace (those of strict and transitional Office files differ), never the bare one."""
    return str(next((value for key, value in node.attrib.items() if key.startswith("{") and etree.QName(key).localname == name), ""))
