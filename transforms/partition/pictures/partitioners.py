"""Teaches unstructured to give the pictures of DOCX, PPTX and HTML tables: by itself it gives none of them (0.27.35)."""

import base64
from collections.abc import Iterator
from typing import Any

from lxml import etree

from transforms.model import Box, Picture
from transforms.partition.pictures.picture import picture_from_bytes

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_NAMES = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "v": "urn:schemas-microsoft-com:vml",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
}


def register_picture_partitioners(*, images: bool = True) -> None:
    """Makes unstructured give `Image` elements for the pictures of DOCX and PPTX, in reading order, from now on in this process.

    Args:
      images: False takes it back, so that no picture is read at all.

    The elements carry `image_base64`, `image_mime_type`, the alternative text as `text` and, on slides, coordinates.
    unstructured asks its DOCX picture partitioner about paragraphs of the body alone and reads only the text of an HTML table's cells
    (0.27.35), so the pictures of tables, headers and footers are added right behind those.
    """
    from unstructured.partition import docx, pptx
    from unstructured.partition.html import parser

    docx.register_picture_partitioner(DocxPictures if images else docx._NullPicturePartitioner)
    pptx.register_picture_partitioner(PptxPictures if images else pptx._NullPicturePartitioner)
    for owner, name, pictures in (
        (docx._DocxPartitioner, "_iter_table_element", _table_pictures),
        (docx._DocxPartitioner, "_iter_section_headers", _header_pictures),
        (docx._DocxPartitioner, "_iter_section_footers", _footer_pictures),
        (parser.TableBlock, "iter_elements", _html_table_pictures),
    ):
        present = getattr(owner, name)
        original = getattr(present, "without_pictures", present)
        setattr(owner, name, _followed_by_pictures(original, pictures) if images else original)


class DocxPictures:
    """Picture partitioner of unstructured for DOCX: DrawingML pictures, VML images and the previews of OLE objects of one paragraph."""

    @classmethod
    def iter_elements(cls, paragraph: Any, opts: Any) -> Iterator[Any]:
        """Generates an unstructured `Image` for each picture in `paragraph`, a python-docx `Paragraph`."""
        yield from _docx_images(paragraph._p, paragraph.part, opts)


class PptxPictures:
    """Picture partitioner of unstructured for PPTX: one picture shape of a slide, in a group or not, with its place on the slide."""

    @classmethod
    def iter_elements(cls, picture: Any, opts: Any) -> Iterator[Any]:
        """Generates an unstructured `Image` for `picture`, a python-pptx `Picture`; none where it is only linked, or no picture."""
        from unstructured.documents.coordinates import PixelSpace
        from unstructured.documents.elements import CoordinatesMetadata

        blip = picture._element.find(f".//{{{_NAMES['a']}}}blip")  # python-pptx's own way raises where the element is incomplete
        data = None if blip is None else _related_blob(picture.part, blip.get(f"{_RELATION}embed"))
        found = picture_from_bytes(data) if data else None
        if found is None:
            return
        image = _unstructured_image(found, _slide_text(picture._element))
        image.metadata.page_number = opts.page_number
        image.metadata.filename = opts.metadata_file_path
        image.metadata.last_modified = opts.last_modified
        presentation = picture.part.package.presentation_part.presentation
        box = _place_on_slide(picture._element)
        if box and presentation.slide_width and presentation.slide_height:
            left, top, right, bottom = box
            image.metadata.coordinates = CoordinatesMetadata(
                points=((left, top), (left, bottom), (right, bottom), (right, top)),
                system=PixelSpace(width=presentation.slide_width, height=presentation.slide_height),
            )
        yield image


def _unstructured_image(picture: Picture, text: str) -> Any:
    from unstructured.documents.elements import ElementMetadata, Image

    metadata = ElementMetadata(image_base64=base64.b64encode(picture.data).decode(), image_mime_type=picture.mime_type)
    return Image(text=text.strip(), metadata=metadata)


def _followed_by_pictures(original: Any, pictures: Any) -> Any:
    def with_pictures(*arguments: Any) -> Iterator[Any]:
        yield from original(*arguments)
        yield from pictures(*arguments)

    with_pictures.without_pictures = original  # type: ignore[attr-defined]
    return with_pictures


def _html_table_pictures(table: Any) -> Iterator[Any]:
    for image in table.iter("img"):
        yield from image.iter_elements()


def _table_pictures(partitioner: Any, table: Any) -> Iterator[Any]:
    yield from _docx_images(table._tbl, table.part, partitioner._opts)


def _header_pictures(partitioner: Any, section: Any) -> Iterator[Any]:
    yield from _margin_pictures(partitioner, section, "header")


def _footer_pictures(partitioner: Any, section: Any) -> Iterator[Any]:
    yield from _margin_pictures(partitioner, section, "footer")


def _margin_pictures(partitioner: Any, section: Any, kind: str) -> Iterator[Any]:
    margins = [getattr(section, kind)]
    if section.different_first_page_header_footer:
        margins.append(getattr(section, f"first_page_{kind}"))
    if partitioner._document.settings.odd_and_even_pages_header_footer:
        margins.append(getattr(section, f"even_page_{kind}"))
    for margin in margins:
        if not margin.is_linked_to_previous:
            yield from _docx_images(margin._element, margin.part, partitioner._opts)


def _docx_images(root: Any, part: Any, opts: Any) -> Iterator[Any]:
    for node in _docx_picture_nodes(root):
        data = _related_blob(part, node.get(f"{_RELATION}embed") or node.get(f"{_RELATION}id"))
        picture = picture_from_bytes(data) if data else None
        if picture is None:
            continue
        image = _unstructured_image(picture, _alternative_text(node))
        image.metadata.page_number = opts.metadata_page_number
        image.metadata.filename = opts.metadata_file_path
        image.metadata.last_modified = opts.last_modified
        yield image


def _docx_picture_nodes(root: Any) -> Iterator[Any]:
    """`a:blip` and `v:imagedata` in document order. A fallback is read only where its choice has none: it draws the same again."""
    for node in root.iter(f"{{{_NAMES['a']}}}blip", f"{{{_NAMES['v']}}}imagedata"):
        fallback = next(node.iterancestors(f"{{{_NAMES['mc']}}}Fallback"), None)
        if fallback is not None:
            choices = fallback.getparent().findall(f"{{{_NAMES['mc']}}}Choice")
            if any(True for choice in choices for _ in _docx_picture_nodes(choice)):
                continue
        yield node


def _alternative_text(node: Any) -> str:
    for ancestor in node.iterancestors():
        name = etree.QName(ancestor).localname
        if name in ("inline", "anchor"):
            properties = ancestor.find(f"{{{_NAMES['wp']}}}docPr")
            return "" if properties is None else properties.get("descr", "")
        if name == "shape":
            return str(ancestor.get("alt", ""))
    return ""


def _related_blob(part: Any, relation: str | None) -> bytes | None:
    """The bytes of an embedded picture; None for a linked one (nothing is fetched) and for a relation that leads nowhere."""
    if not relation or relation not in part.rels or part.rels[relation].is_external:
        return None
    blob = part.rels[relation].target_part.blob
    return blob if isinstance(blob, bytes) else None


def _slide_text(shape: Any) -> str:
    properties = shape.find("./{*}nvPicPr/{*}cNvPr")
    return "" if properties is None else properties.get("descr", "")


def _place_on_slide(shape: Any) -> Box | None:
    """The box of a shape in EMU of its slide, through the coordinate systems of the groups that it stands in."""
    own = shape.find(f".//{{{_NAMES['a']}}}xfrm")
    rectangle = None if own is None else _rectangle(own, "off", "ext")
    if rectangle is None:
        return None
    left, top, width, height = rectangle
    for group in shape.iterancestors("{http://schemas.openxmlformats.org/presentationml/2006/main}grpSp"):
        transform = group.find(f"./*/{{{_NAMES['a']}}}xfrm")
        outer = None if transform is None else _rectangle(transform, "off", "ext")
        inner = None if transform is None else _rectangle(transform, "chOff", "chExt")
        if outer is None or inner is None or not inner[2] or not inner[3]:
            continue
        across, down = outer[2] / inner[2], outer[3] / inner[3]
        left, top = outer[0] + (left - inner[0]) * across, outer[1] + (top - inner[1]) * down
        width, height = width * across, height * down
    return left, top, left + width, top + height


def _rectangle(transform: Any, offset: str, extent: str) -> Box | None:
    position, size = transform.find(f"{{{_NAMES['a']}}}{offset}"), transform.find(f"{{{_NAMES['a']}}}{extent}")
    if position is None or size is None:
        return None
    try:
        return float(position.get("x")), float(position.get("y")), float(size.get("cx")), float(size.get("cy"))
    except (TypeError, ValueError):
        return None
