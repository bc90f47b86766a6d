"""Word-processor documents: DOCX, and DOC and ODT by way of DOCX."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transforms.model import Element, PartitionedDocument
from transforms.partition import formats
from transforms.partition.elements import TITLE, from_unstructured
from transforms.partition.office import conversion
from transforms.partition.office.opendocument import with_styles
from transforms.partition.office.package import left_out, readable_package
from transforms.partition.office.word_xml import visible_package
from transforms.partition.pictures.archives import odt_pictures
from transforms.partition.pictures.partitioners import register_picture_partitioners
from transforms.partition.properties import odf_properties, office_properties, ole_properties
from transforms.partition.source import Source, reading


def partition_docx(source: Source) -> PartitionedDocument:
    """A DOCX, DOCM, DOTX or DOTM; the strict dialect too. Page numbers are kept where Word left its page breaks."""
    with conversion.work_folder() as folder, reading(source):
        package = readable_package(source.path, source.format, folder)
        path = visible_package(package, folder)
        elements = _elements(path, source)
        return source.partitioned(elements, office_properties(path), left_out(package, formats.DOCX))


def partition_doc(source: Source) -> PartitionedDocument:
    """A legacy DOC, which LibreOffice converts to DOCX."""
    with conversion.work_folder() as folder, reading(source):
        original = folder / "original"
        original.symlink_to(source.path.resolve())
        path = conversion.soffice(original, ".doc", "docx", "MS Word 2007 XML")
        elements = _elements(visible_package(path, folder), source)
        return source.partitioned(elements, ole_properties(source.path), left_out(path, formats.DOCX))


def partition_odt(source: Source) -> PartitionedDocument:
    """An ODT, which pandoc converts to DOCX, as unstructured does."""
    with conversion.work_folder() as folder, reading(source):
        path = folder / "document.docx"
        conversion.pandoc(with_styles(source.path, folder), "odt", "docx", path)
        elements = _elements(visible_package(path, folder), source)
        if source.settings.images:
            kept = {element.picture.data for element in elements if element.picture}
            elements += [element for element in odt_pictures(source.path) if element.picture and element.picture.data not in kept]
        return source.partitioned(elements, odf_properties(source.path))


def _elements(path: Path, source: Source) -> list[Element]:
    from unstructured.partition.docx import partition_docx as partition

    register_picture_partitioners(images=source.settings.images)
    _read_what_is_anchored()
    _know_headings_by_their_outline_level()
    found = partition(filename=str(path), include_page_breaks=False, metadata_filename=source.name or None)
    elements = [_with_whole_table(element) for element in from_unstructured(found, images=source.settings.images)]
    return _below_the_title(elements, [element.metadata.style_name for element in found])


def _with_whole_table(element: Element) -> Element:
    """Drops a table's HTML where it says less than its text: unstructured skips cells of tables with a broken grid (0.27.35)."""
    if not element.html:
        return element
    shown = html.unescape(re.sub(r"<[^<>]*>", "", element.html))
    return replace(element, html="") if len("".join(shown.split())) < len("".join(element.text.split())) else element


def _below_the_title(elements: list[Element], styles: Sequence[str | None]) -> list[Element]:
    """Puts the headings one level under a paragraph of the style Title.

    unstructured (0.27.35) gives `Title` and `Heading 1` both the depth 0, so that the first chapter would end the whole document's section.
    """
    if "Title" not in styles:
        return elements
    return [
        replace(element, category_depth=(element.category_depth or 0) + 1)
        if element.category == TITLE and (style or "").startswith("Heading")
        else element
        for element, style in zip(elements, styles, strict=True)
    ]


_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def _read_what_is_anchored() -> None:
    """Makes unstructured read text boxes, footnotes and endnotes, right behind the paragraph that they are anchored in.

    It skips them all (0.27.35).
    """
    from unstructured.partition.docx import _DocxPartitioner

    original = _DocxPartitioner._iter_paragraph_elements
    if getattr(original, "reads_what_is_anchored", False):
        return

    def with_anchored(self: Any, paragraph: Any) -> Iterator[Any]:
        from docx.text.paragraph import Paragraph

        yield from original(self, paragraph)
        for child in (*_boxed_paragraphs(paragraph._p), *_note_paragraphs(paragraph)):
            yield from self._iter_paragraph_elements(Paragraph(child, paragraph._parent))

    with_anchored.reads_what_is_anchored = True  # type: ignore[attr-defined]
    _DocxPartitioner._iter_paragraph_elements = with_anchored


def _boxed_paragraphs(anchor: Any) -> Iterator[Any]:
    for box in anchor.iter(f"{_WORD}txbxContent"):
        nested = next(box.iterancestors(f"{_WORD}txbxContent", f"{_WORD}p"), None)
        # A box is written twice, as a drawing and, for old readers, as its fallback; boxes in boxes come with their own paragraph.
        if nested is anchor and next(box.iterancestors(f"{_COMPATIBILITY}Fallback"), None) is None:
            yield from box.iter(f"{_WORD}p")


def _note_paragraphs(paragraph: Any) -> Iterator[Any]:
    for kind in ("footnote", "endnote"):
        for reference in paragraph._p.iter(f"{_WORD}{kind}Reference"):
            identifier = reference.get(f"{_WORD}id")
            for note in _notes(paragraph.part, kind):
                if note.get(f"{_WORD}id") == identifier:
                    yield from note.iter(f"{_WORD}p")


def _notes(part: Any, kind: str) -> Sequence[Any]:
    """The notes of one kind that a document has, parsed once; those of other parts (headers) are none."""
    from docx.oxml.parser import parse_xml

    kept: Sequence[Any] | None = getattr(part, f"_{kind}s_of_the_part", None)
    if kept is None:
        name = f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}s"
        blob = next(
            (relation.target_part.blob for relation in part.rels.values() if relation.reltype == name and not relation.is_external), b""
        )
        kept = parse_xml(blob).findall(f"{_WORD}{kind}") if blob else []
        setattr(part, f"_{kind}s_of_the_part", kept)
    return kept


def _know_headings_by_their_outline_level() -> None:
    """Makes unstructured take a paragraph for a heading when Word's own outline does: it goes by the built-in style names only (0.27.35).

    Styles of one's own ("Chapter", based on Heading 1) and of localised converters ("Überschrift 1") count by the style that they are
    based on, or by their outline level.
    """
    from unstructured.partition.docx import STYLE_TO_ELEMENT_MAPPING, _DocxPartitioner

    original = _DocxPartitioner._style_name
    if getattr(original, "knows_outline_levels", False):
        return

    def style_name(self: Any, paragraph: Any) -> str:
        name: str = original(self, paragraph)
        if name in STYLE_TO_ELEMENT_MAPPING:
            return name
        level = _outline_level(paragraph._p)
        if level is not None:
            return f"Heading {level + 1}"
        # What a style is based on is looked up once a style: python-docx scans all of them each time (6 of 10 s of an 872-page DOCX).
        names: dict[str | None, str] = self.__dict__.setdefault("heading_names", {})
        style_id = paragraph._p.style
        if style_id not in names:
            names[style_id] = _heading_name(paragraph.style) or name
        return names[style_id]

    style_name.knows_outline_levels = True  # type: ignore[attr-defined]
    _DocxPartitioner._style_name = style_name


def _heading_name(style: Any) -> str:
    """The heading that a style stands for, by the styles that it is based on; empty if it is none."""
    for _ in range(20):  # styles are based on each other; a damaged file may make a ring of them
        if style is None:
            break
        if (style.name or "").startswith("Heading ") or style.name == "Title":
            return str(style.name)
        level = _outline_level(style.element)
        if level is not None:
            return f"Heading {level + 1}"
        style = style.base_style
    return ""


def _outline_level(element: Any) -> int | None:
    """The outline level in an element's own paragraph properties, 0 to 8; None: body text, or not said."""
    levels = element.xpath("./w:pPr/w:outlineLvl/@w:val")
    return int(levels[0]) if levels and levels[0] in tuple("012345678") else None
