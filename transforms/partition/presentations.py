"""Presentations: PPTX, and PPT by way of PPTX; ODP is read as it is. A slide is a page."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transforms.model import Element, PartitionedDocument
from transforms.partition import conversion, formats
from transforms.partition.archive_pictures import odt_pictures
from transforms.partition.elements import detect_languages, from_unstructured, render_table
from transforms.partition.office_package import left_out, readable_package
from transforms.partition.picture_partitioners import register_picture_partitioners
from transforms.partition.properties import Properties, odf_properties, office_properties, ole_properties, parse_xml, read_member
from transforms.partition.source import Source, reading

EMU_PER_POINT = 12_700


def partition_pptx(source: Source) -> PartitionedDocument:
    """A PPTX, PPTM, PPSX or POTX; hidden slides are kept and named in a warning."""
    with conversion.work_folder() as folder, reading(source):
        path = readable_package(source.path, source.format, folder)
        return _document(source, path, office_properties(path))


def partition_ppt(source: Source) -> PartitionedDocument:
    """A legacy PPT, which LibreOffice converts to PPTX."""
    with conversion.work_folder() as folder, reading(source):
        original = folder / "original"
        original.symlink_to(source.path.resolve())
        path = conversion.soffice(original, ".ppt", "pptx", "Impress MS PowerPoint 2007 XML")
        return _document(source, path, ole_properties(source.path))


def _document(source: Source, path: Path, properties: Properties) -> PartitionedDocument:
    import pptx
    from unstructured.partition.pptx import partition_pptx as partition

    register_picture_partitioners(images=source.settings.images)
    presentation = pptx.Presentation(str(path))
    with _handed_over(presentation):
        found = partition(filename=str(path), include_page_breaks=False, metadata_filename=source.name or None)
    count = len(presentation.slides)
    size = ((presentation.slide_width or 0) / EMU_PER_POINT, (presentation.slide_height or 0) / EMU_PER_POINT)
    hidden = [number for number, slide in enumerate(presentation.slides, start=1) if slide._element.get("show") in ("0", "false")]
    return PartitionedDocument(
        elements=from_unstructured(found, images=source.settings.images),
        mime_type=source.format.mime_type,
        page_based=True,
        page_count=count,
        page_sizes=dict.fromkeys(range(1, count + 1), size) if all(size) else {},
        title=properties.title,
        creator=properties.creator,
        date=properties.date,
        warnings=[*hidden_pages("slides", hidden), *_notes(presentation), *left_out(path, formats.PPTX)],
    )


@contextlib.contextmanager
def _handed_over(presentation: Any) -> Iterator[None]:
    """Has unstructured (0.27.35) read a presentation that is open already, where it would open the file again: a quarter of the time."""
    from unstructured.partition.pptx import _PptxPartitioner

    original = _PptxPartitioner.__dict__["_presentation"]
    _PptxPartitioner._presentation = property(lambda _self: presentation)
    try:
        yield
    finally:
        _PptxPartitioner._presentation = original


def _notes(presentation: Any) -> list[str]:
    """The warning for speaker notes: `partition()` leaves them out by default, as nobody in the room sees them."""
    for slide in presentation.slides:
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if frame is not None and frame.text.strip():
            return ["Its speaker notes are not decoded."]
    return []


def hidden_pages(what: str, numbers: list[int]) -> list[str]:
    """The warning for pages that a reader of the document would not see, but that are decoded."""
    return [f"Hidden {what} are included: {', '.join(map(str, numbers))}."] if numbers else []


_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"


def partition_odp(source: Source) -> PartitionedDocument:
    """An OpenDocument presentation. unstructured has no partitioner for it; its own rules classify the paragraphs of each slide."""
    with reading(source):
        root = parse_xml(read_member(source.path, "content.xml"))
        pages = [] if root is None else list(root.iter(f"{_DRAW}page"))
        elements = [element for number, page in enumerate(pages, start=1) for element in _slide(page, number)]
        properties = odf_properties(source.path)
    if source.settings.images:
        elements = _with_pictures(source.path, pages, elements)
    return PartitionedDocument(
        elements=detect_languages(elements),
        mime_type=source.format.mime_type,
        page_based=True,
        page_count=len(pages),
        title=properties.title,
        creator=properties.creator,
        date=properties.date,
        warnings=["Its speaker notes are not decoded."] if any(_has_notes(page) for page in pages) else [],
    )


def _slide(page: Any, number: int) -> Iterator[Element]:
    for node in page.iter(f"{_DRAW}frame", f"{_DRAW}custom-shape", f"{_DRAW}rect", f"{_DRAW}ellipse", f"{_DRAW}text-box"):
        if next(node.iterancestors(f"{_PRESENTATION}notes"), None) is not None:
            continue
        if node.tag == f"{_DRAW}text-box" and node.getparent().tag == f"{_DRAW}frame":
            continue  # comes with its frame, whose class says what it is
        kind = node.get(f"{_PRESENTATION}class", "")
        for table in node.iter(f"{_TABLE}table"):
            text, html = render_table(
                [" ".join(_lines(cell)) for cell in row.iter(f"{_TABLE}table-cell")] for row in table.iter(f"{_TABLE}table-row")
            )
            if text:
                yield Element("Table", text=text, html=html, page_number=number)
        for paragraph in node.iter(f"{_TEXT}p", f"{_TEXT}h"):
            if next(paragraph.iterancestors(f"{_TABLE}table"), None) is None:
                yield from _paragraph(paragraph, kind, number)


def _paragraph(paragraph: Any, kind: str, number: int) -> Iterator[Element]:
    from unstructured.partition.text import element_from_text

    text = " ".join(paragraph_text(paragraph).split())
    if not text:
        return
    depth = sum(1 for _ in paragraph.iterancestors(f"{_TEXT}list"))
    if kind in ("title", "subtitle"):
        yield Element("Title", text=text, page_number=number, category_depth=0 if kind == "title" else 1)
    elif depth:
        yield Element("ListItem", text=text, page_number=number, category_depth=depth - 1)
    else:
        found = element_from_text(text)
        yield Element(found.category, text=found.text, page_number=number, category_depth=1 if found.category == "Title" else None)


def paragraph_text(node: Any) -> str:
    """The text of an OpenDocument paragraph: its runs of blanks, tabs and line breaks are elements; its notes and comments are left out."""
    parts = [node.text or ""]
    for child in node:
        if child.tag == f"{_TEXT}s":
            parts.append(" " * int(child.get(f"{_TEXT}c", "1")))
        elif child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            parts.append("\t" if child.tag.endswith("tab") else "\n")
        elif isinstance(child.tag, str) and not child.tag.endswith(("}annotation", "}note")):
            parts.append(paragraph_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _lines(cell: Any) -> list[str]:
    return [paragraph_text(paragraph) for paragraph in cell.iter(f"{_TEXT}p", f"{_TEXT}h")]


def _has_notes(page: Any) -> bool:
    return any(paragraph_text(node).strip() for notes in page.iter(f"{_PRESENTATION}notes") for node in notes.iter(f"{_TEXT}p"))


def _with_pictures(path: Path, pages: list[Any], elements: list[Element]) -> list[Element]:
    """Adds the pictures of the slides, each to its own slide: their places are counted through in the order of the file."""
    from dataclasses import replace

    pictures = odt_pictures(path)
    owners = _picture_owners(path, pages)
    placed = [replace(picture, page_number=owners.get(index, 1)) for index, picture in enumerate(pictures)]
    return sorted([*elements, *placed], key=lambda element: element.page_number or 1)


def _picture_owners(path: Path, pages: list[Any]) -> dict[int, int]:
    """Position in `odt_pictures` -> number of the slide, by asking for the pictures of each image node in turn."""
    from transforms.partition.pictures import picture_from_bytes

    owners: dict[int, int] = {}
    link = "{http://www.w3.org/1999/xlink}href"
    for number, page in enumerate(pages, start=1):
        for node in page.iter(f"{_DRAW}image"):
            address = node.get(link, "").removeprefix("./")
            if not address.startswith("ObjectReplacements") and picture_from_bytes(read_member(path, address)) is not None:
                owners[len(owners)] = number
    return owners
