"""The text layer of a PDF: unstructured's `fast` strategy (0.27.35), with each page decided by itself.

What unstructured does not see is put right here: an exception of pdfminer costs one page and not the document; lines that stand sideways,
which pdfminer cuts into single letters, are read from a turned copy of their page; glyphs that their font gives no character are no text;
places are fractions of the page as it is seen, where pdfminer measures from the media box.
"""

import re
import tempfile
import warnings as python_warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from transforms.model import Element
from transforms.partition.elements import from_unstructured
from transforms.partition.pdf.pages import PageGeometry, named_pages, turned_back

_MAX_STROKES = 1_000_000
_MAX_CONTENT = 50 * 1024 * 1024
"""Graphics operators, and bytes of content, of a page whose text layer is left alone: pdfminer takes 18 s and 1 GB a million.
(unstructured gives up the whole file at 10,000 operators on one page: a text of 76 pages, read in 10 s, would take OCR minutes.)"""
_WORD_MARGIN = 0.185
"""As `partition_pdf` sets it: pdfminer's own, 0.1, puts blanks inside of words ("add (a , b )")."""
_NO_MEANING = re.compile(r"\(cid:\d+\)|[\ufffd\ue000-\uf8ff]")
"""How pdfminer writes a glyph that its font gives no character, and the code points that mean nothing outside of a font."""
_MOSTLY = 0.9
"""Share of such glyphs from which an element is no text."""
_GARBLED = 0.5
"""Share of such glyphs on a page from which OCR may read it better."""
_WORTH_A_WORD = 10
"""Such glyphs left out of a page: fewer are its bullets."""


@dataclass
class TextLayer:
    """The elements of each page that has text, and what was found out on the way, by page number."""

    pages: dict[int, list[Element]] = field(default_factory=dict)
    garbled: set[int] = field(default_factory=set)
    """Pages whose text layer is without meaning for the most part; what has a meaning is in `pages`."""
    drawings: list[int] = field(default_factory=list)
    """Pages whose text layer is left alone."""
    unreadable: dict[int, str] = field(default_factory=dict)
    """Pages whose text layer could not be read, and why."""
    left_out: dict[int, int] = field(default_factory=dict)
    """How many glyphs of a page are left out, where that is worth a word."""

    @property
    def unread(self) -> set[int]:
        """Pages that may have a text layer which was not read."""
        return {*self.drawings, *self.unreadable}


def read_text_layer(pdf: Any, path: Path, geometries: Mapping[int, PageGeometry]) -> TextLayer:
    """Reads the text layer of pages, each as if it were alone: what is read of a page does not depend on which others are asked for.

    Args:
      pdf: the open `pikepdf.Pdf`.
      path: of a file with the same pages that pdfminer can open.
      geometries: of the pages to read, by page number.
    Returns:
      Elements without languages: these are found out from the text of the whole document (`detect_languages`).
    """
    layer = TextLayer(drawings=_drawings(pdf, geometries))
    with tempfile.TemporaryDirectory(prefix="pdf-") as folder:
        numbers = [number for number in geometries if number not in layer.drawings]
        elements = _read_pages(layer, pdf, path, numbers, Path(folder))
        found: dict[int, list[Element]] = {}
        for element in _seen(elements, geometries):
            found.setdefault(element.page_number or 1, []).append(element)
        _read_sideways(found, pdf, path, geometries, Path(folder))
    for number, page in found.items():
        _keep_meaningful(layer, number, page)
    return layer


def text_layer_warnings(layers: Sequence[TextLayer]) -> list[str]:
    """What is to be told of the text layers of a document's ranges of pages, in page order."""
    drawings = [number for layer in layers for number in layer.drawings]
    told = []
    if drawings:
        told.append(f"{named_pages(drawings)}: drawings of more than {_MAX_STROKES:,} strokes; their text layer is not read.")
    for layer in layers:
        for number, reason in layer.unreadable.items():
            told.append(f"Page {number}: its text layer cannot be read ({reason}).")
    for layer in layers:
        for number, count in layer.left_out.items():
            told.append(f"Page {number}: {count:,} glyphs are left out, as their font names no characters.")
    return told


def _seen(elements: Sequence[Any], geometries: Mapping[int, PageGeometry]) -> list[Element]:
    seen = []
    for element in from_unstructured(elements, images=False):
        box = element.coordinates
        box = None if box is None else geometries[element.page_number or 1].from_media(box)
        seen.append(replace(element, coordinates=box))
    return seen


def _text_elements(path: Path, numbers: Sequence[int]) -> list[Any]:
    """unstructured's `fast` strategy for some pages of a file, without its check for drawings and its repairs: exceptions are seen.

    Args:
      numbers: of pages, growing.
    """
    from unstructured.partition.pdf import _partition_pdf_with_pdfparser
    from unstructured.partition.pdf_image.pdfminer_utils import PDFMinerConfig

    from transforms.partition import pdf_kernel

    if not numbers:
        return []
    with python_warnings.catch_warnings(), path.open("rb") as stream:
        python_warnings.simplefilter("ignore")
        config = PDFMinerConfig(word_margin=_WORD_MARGIN)
        if pdf_kernel.state().on:
            from transforms.partition.pdf_kernel.pages import process_pages

            pages = process_pages(stream, str(path), None, pdfminer_config=config, page_numbers=numbers)
        else:
            pages = _pdfminer_pages(stream, str(path), numbers, config)
        return list(_partition_pdf_with_pdfparser(extracted_elements=pages))


def _pdfminer_pages(stream: BinaryIO, name: str, numbers: Sequence[int], config: Any) -> list[list[Any]]:
    """`_process_pdfminer_pages` for some pages, without a repair of what pdfminer finds a syntax error in."""
    from pdfminer.pdfpage import PDFPage
    from unstructured.partition.pdf import _pdfminer_page_elements
    from unstructured.partition.pdf_image.pdfminer_utils import init_pdfminer
    from unstructured.partition.utils.config import env_config

    device, interpreter = init_pdfminer(pdfminer_config=config)
    found = []
    pages = PDFPage.get_pages(stream, pagenos={number - 1 for number in numbers}, maxpages=numbers[-1])
    for number, page in zip(numbers, pages, strict=False):
        interpreter.process_page(page)
        found.append(
            _pdfminer_page_elements(
                page,
                device.get_result(),
                page_number=number,
                filename=name,
                metadata_last_modified=None,
                languages=None,
                annotation_threshold=env_config.PDF_ANNOTATION_THRESHOLD,
            )
        )
    return found


def _read_pages(layer: TextLayer, pdf: Any, path: Path, numbers: Sequence[int], folder: Path) -> list[Any]:
    """The elements of pages; a page that pdfminer fails over costs itself only, and is tried again as qpdf writes it."""
    try:
        return _text_elements(path, numbers)
    except Exception:  # of pdfminer: anything
        if len(numbers) > 1:
            half = len(numbers) // 2
            return [element for part in (numbers[:half], numbers[half:]) for element in _read_pages(layer, pdf, path, part, folder)]
    number = numbers[0]
    try:
        return _single_page_elements(pdf, number, folder)
    except Exception as error:
        layer.unreadable[number] = " ".join(str(error).split())[:120] or type(error).__name__
        return []


def _single_page_elements(pdf: Any, number: int, folder: Path, *, rotation: int | None = None) -> list[Any]:
    elements = _text_elements(_single_page(pdf, number, folder, rotation=rotation), [1])
    for element in elements:
        element.metadata.page_number = number
    return elements


def _single_page(pdf: Any, number: int, folder: Path, *, rotation: int | None = None) -> Path:
    import pikepdf

    path = folder / "page.pdf"
    with pikepdf.new() as single:
        single.pages.append(pdf.pages[number - 1])
        if rotation is not None:
            single.pages[0].obj.Rotate = rotation
        single.save(path)
    return path


# --- lines that stand sideways -------------------------------------------------------------------------------------------------------


def _read_sideways(found: dict[int, list[Element]], pdf: Any, path: Path, geometries: Mapping[int, PageGeometry], folder: Path) -> None:
    """Reads again, turned, the pages whose text stands sideways or upside down for the most part."""
    suspects = [number for number, page in found.items() if _looks_sideways(page)]
    if not suspects:
        return
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    try:
        turns = {number: _turn_to_upright(document, number, geometries[number].rotation) for number in suspects}
    finally:
        document.close()
    for number, turn in turns.items():
        if not turn:
            continue
        turned = replace(geometries[number], rotation=(geometries[number].rotation + turn) % 360)
        try:
            elements = _single_page_elements(pdf, number, folder, rotation=turned.rotation)
        except Exception:  # noqa: S112 - the page stays as it was read the first time
            continue
        found[number] = [
            replace(element, coordinates=None if element.coordinates is None else turned_back(element.coordinates, turn))
            for element in _seen(elements, {number: turned})
        ]


def _looks_sideways(elements: Sequence[Element]) -> bool:
    """Whether most of the letters stand in pieces that are higher than wide: what pdfminer makes of a line that is not horizontal."""
    letters = narrow = 0
    for element in elements:
        count = len(element.text.replace(" ", ""))
        letters += count
        box = element.coordinates
        if box is not None and box[3] - box[1] > box[2] - box[0]:
            narrow += count
    return narrow > letters / 2


def _turn_to_upright(document: Any, number: int, rotation: int) -> int:
    """Degrees (90, 180, 270; clockwise) by which most glyphs of a page stand upright; 0 where they do already."""
    from pypdfium2 import raw

    page = document[number - 1]
    text = page.get_textpage()
    turns: dict[int, int] = {}
    for index in range(min(text.count_chars(), 2_000)):
        if raw.FPDFText_GetUnicode(text.raw, index) <= 32:
            continue
        # The angle is counterclockwise in the coordinates of the page, before its own rotation.
        angle = round(float(raw.FPDFText_GetCharAngle(text.raw, index)) * 57.29578 / 90) * 90
        turn = (angle - rotation) % 360
        turns[turn] = turns.get(turn, 0) + 1
    text.close()
    page.close()
    return max(turns, key=lambda turn: (turns[turn], -turn)) if turns else 0


# --- glyphs without a meaning --------------------------------------------------------------------------------------------------------


def _keep_meaningful(layer: TextLayer, number: int, elements: Sequence[Element]) -> None:
    """Puts a page's elements into the layer, without those that are glyphs of no meaning."""
    glyphs = senseless = dropped = 0
    kept = []
    for element in elements:
        matches = len(_NO_MEANING.findall(element.text))
        count = matches + len(re.sub(r"\s", "", _NO_MEANING.sub("", element.text)))
        glyphs, senseless = glyphs + count, senseless + matches
        if matches and matches >= _MOSTLY * count:
            dropped += matches
        else:
            kept.append(element)
    if kept:
        layer.pages[number] = kept
    if glyphs and senseless > _GARBLED * glyphs:
        layer.garbled.add(number)
    elif dropped >= _WORTH_A_WORD:
        layer.left_out[number] = dropped


def _drawings(pdf: Any, numbers: Iterable[int]) -> list[int]:
    """The pages that are too much for pdfminer: by their content alone, as their forms are rarely large."""
    from unstructured.partition.pdf import GRAPHICS_OPS_PATTERN

    large = []
    for number in numbers:
        page = pdf.pages[number - 1]
        size = _content_length(page)
        # Deflate shrinks operators to a quarter at most in practice and to a thousandth in a bomb; only what may be large is unpacked.
        if size * 1000 < 2 * _MAX_STROKES:
            continue
        content = _content(page)
        if len(content) > _MAX_CONTENT or (
            len(content) >= 2 * _MAX_STROKES and sum(1 for _ in GRAPHICS_OPS_PATTERN.finditer(content)) > _MAX_STROKES
        ):
            large.append(number)
    return large


def is_damaged(pdf: Any, number: int) -> bool:
    """Whether a page has content that cannot be decoded."""
    import pikepdf

    pdf.get_warnings()  # hands out what has gathered, so that the next call has those of this page alone
    try:
        for stream in _content_streams(pdf.pages[number - 1]):
            stream.read_bytes()
    except (pikepdf.PdfError, RuntimeError):
        return True
    return bool(pdf.get_warnings())


def _content_length(page: Any) -> int:
    return sum(len(stream.read_raw_bytes()) for stream in _content_streams(page))


def _content(page: Any) -> bytes:
    import pikepdf

    try:
        return b"\n".join(stream.read_bytes() for stream in _content_streams(page))
    except pikepdf.PdfError:
        return b""


def _content_streams(page: Any) -> list[Any]:
    import pikepdf

    contents = page.obj.get("/Contents")
    parts = list(contents) if isinstance(contents, pikepdf.Array) else [contents]
    return [part for part in parts if isinstance(part, pikepdf.Stream)]
