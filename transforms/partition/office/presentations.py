"""Presentations: PPTX, and PPT by way of PPTX; ODP is read as it is. A slide is a page."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transforms.model import Element, PartitionedDocument
from transforms.partition import formats
from transforms.partition.elements import detect_languages, from_unstructured, render_table
from transforms.partition.office import conversion
from transforms.partition.office.opendocument import DRAW, PRESENTATION, TABLE, TEXT, page_pictures, paragraph_text
from transforms.partition.office.package import left_out, readable_package
from transforms.partition.pictures.partitioners import register_picture_partitioners
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
    return source.partitioned(
        from_unstructured(found, images=source.settings.images),
        properties,
        [*hidden_pages("slides", hidden), *_notes(presentation), *left_out(path, formats.PPTX)],
        page_count=count,
        page_sizes=dict.fromkeys(range(1, count + 1), size) if all(size) else {},
        page_names={number: name for number, slide in enumerate(presentation.slides, start=1) if (name := _title(slide))},
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


def _title(slide: Any) -> str:
    shape = slide.shapes.title
    return shape.text_frame.text.strip() if shape is not None and shape.has_text_frame else ""


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


def partition_odp(source: Source) -> PartitionedDocument:
    """An OpenDocument presentation. unstructured has no partitioner for it; its own rules classify the paragraphs of each slide."""
    with reading(source):
        root = parse_xml(read_member(source.path, "content.xml"))
        pages = [] if root is None else list(root.iter(f"{DRAW}page"))
        elements = [element for number, page in enumerate(pages, start=1) for element in _slide(page, number)]
        properties = odf_properties(source.path)
        pictures = list(page_pictures(source.path, pages)) if source.settings.images else []
    return source.partitioned(
        sorted([*detect_languages(elements), *pictures], key=lambda element: element.page_number or 1),
        properties,
        ["Its speaker notes are not decoded."] if any(_has_notes(page) for page in pages) else [],
        page_count=len(pages),
        page_names={number: name for number, page in enumerate(pages, start=1) if (name := _odp_title(page))},
    )


def _odp_title(page: Any) -> str:
    frames = (frame for frame in page.iter(f"{DRAW}frame") if frame.get(f"{PRESENTATION}class") == "title")
    return " ".join(line for frame in frames for line in _lines(frame)).strip()


def _slide(page: Any, number: int) -> Iterator[Element]:
    for node in page.iter(f"{DRAW}frame", f"{DRAW}custom-shape", f"{DRAW}rect", f"{DRAW}ellipse", f"{DRAW}text-box"):
        if next(node.iterancestors(f"{PRESENTATION}notes"), None) is not None:
            continue
        if node.tag == f"{DRAW}text-box" and node.getparent().tag == f"{DRAW}frame":
            continue  # comes with its frame, whose class says what it is
        kind = node.get(f"{PRESENTATION}class", "")
        for table in node.iter(f"{TABLE}table"):
            text, html = render_table(
                [" ".join(_lines(cell)) for cell in row.iter(f"{TABLE}table-cell")] for row in table.iter(f"{TABLE}table-row")
            )
            if text:
                yield Element("Table", text=text, html=html, page_number=number)
        for paragraph in node.iter(f"{TEXT}p", f"{TEXT}h"):
            if next(paragraph.iterancestors(f"{TABLE}table"), None) is None:
                yield from _paragraph(paragraph, kind, number)


def _paragraph(paragraph: Any, kind: str, number: int) -> Iterator[Element]:
    from unstructured.partition.text import element_from_text

    text = " ".join(paragraph_text(paragraph).split())
    if not text:
        return
    depth = sum(1 for _ in paragraph.iterancestors(f"{TEXT}list"))
    if kind in ("title", "subtitle"):
        yield Element("Title", text=text, page_number=number, category_depth=0 if kind == "title" else 1)
    elif depth:
        yield Element("ListItem", text=text, page_number=number, category_depth=depth - 1)
    else:
        found = element_from_text(text)
        yield Element(found.category, text=found.text, page_number=number, category_depth=1 if found.category == "Title" else None)


def _lines(cell: Any) -> list[str]:
    return [paragraph_text(paragraph) for paragraph in cell.iter(f"{TEXT}p", f"{TEXT}h")]


def _has_notes(page: Any) -> bool:
    return any(paragraph_text(node).strip() for notes in page.iter(f"{PRESENTATION}notes") for node in notes.iter(f"{TEXT}p"))
