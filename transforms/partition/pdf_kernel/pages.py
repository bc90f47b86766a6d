"""From the pages of a PDF to unstructured's elements, over the kernel: what replaces `_process_pdfminer_pages` (unstructured 0.27.35).

Only the `fast` strategy's text pass goes through here. There paths give no text, so they are not kept; `hi_res` looks at pdfminer's layout
itself, and goes on using pdfminer's own classes.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from pdfminer import settings
from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import LTCurve, LTPage, LTTextBox
from pdfminer.pdfpage import PDFPage
from pdfminer.pdftypes import stream_value
from unstructured.cleaners.core import clean_extra_whitespace_with_index_run
from unstructured.documents.coordinates import PixelSpace
from unstructured.documents.elements import CoordinatesMetadata, ElementMetadata
from unstructured.nlp.patterns import PARAGRAPH_PATTERN
from unstructured.partition.pdf import _combine_list_elements, _get_links_from_urls_metadata
from unstructured.partition.pdf_image.pdfminer_processing import (
    check_annotations_within_element,
    get_uris,
    get_widget_text_from_annots,
    map_bbox_and_index,
)
from unstructured.partition.pdf_image.pdfminer_utils import CustomPDFPageInterpreter, init_pdfminer, rect_to_bbox
from unstructured.partition.text import element_from_text
from unstructured.partition.text_type import is_bulleted_text, is_possible_numbered_list
from unstructured.partition.utils.config import env_config

from transforms.partition.acceleration.installation import expect_texts
from transforms.partition.pdf_kernel.characters import show_text
from transforms.partition.pdf_kernel.content import parse_content, run_operators
from transforms.partition.pdf_kernel.layout import analyze_page
from transforms.partition.pdf_kernel.texts import text_inside, text_of, words_of

BLOCK = 16
"""Pages whose texts are classified together: some hundred texts, of which each then takes 0.2 ms in place of 0.5."""

HEADER, FOOTER = 0.07, 0.93
"""Shares of a page's height beyond which unstructured takes a text for a header or footer without a look at it."""

# --- pdfminer's classes over the kernel --------------------------------------------------------------------------------------------------


class KernelPage(LTPage):
    """A page that is laid out by the kernel."""

    def analyze(self, laparams: Any) -> None:
        """Equals `LTLayoutContainer.analyze`."""
        if not analyze_page(self, laparams):
            super().analyze(laparams)


class _Path(LTCurve):
    """A path inside of a figure: unstructured asks for no more than that it is there, and takes a line feed for its text."""

    def __init__(self) -> None:  # without points
        pass


_PATH = _Path()
_SUBPATH = re.compile(r"m[^m]+")


class KernelDevice(PDFPageAggregator):
    """Collects the characters of a page, and no paths."""

    def begin_page(self, page: PDFPage, ctm: Any) -> None:
        """Equals `PDFLayoutAnalyzer.begin_page`, with a page of the kernel's."""
        super().begin_page(page, ctm)
        self.cur_item = KernelPage(self.pageno, self.cur_item.bbox)

    def paint_path(self, gstate: Any, stroke: bool, fill: bool, evenodd: bool, path: Sequence[Any]) -> None:  # noqa: ARG002
        """Adds as many items as `PDFLayoutAnalyzer.paint_path` to a figure, and none to a page."""
        if isinstance(self.cur_item, LTPage):
            return
        shape = "".join(segment[0] for segment in path)
        if shape.startswith("m"):
            for _ in range(1 if shape.count("m") == 1 else len(_SUBPATH.findall(shape))):
                self.cur_item.add(_PATH)


class KernelInterpreter(CustomPDFPageInterpreter):  # type: ignore[misc]
    """Runs content streams through the kernel."""

    def execute(self, streams: Sequence[object]) -> None:
        """Equals `PDFPageInterpreter.execute`, which gets what the kernel does not take."""
        try:
            found = [stream_value(stream) for stream in streams]
            usual = all(stream.objid is not None and stream.objid not in self.parent_stream_ids for stream in found)
            objects = parse_content([stream.get_data() for stream in found]) if usual and not settings.STRICT else None
        except Exception:  # whatever it is, the original fails of it or not
            objects = None
        if objects is None:
            super().execute(streams)
            return
        self.stream_ids.clear()
        self.stream_ids.update(stream.objid for stream in found)
        run_operators(self, objects)

    def do_TJ(self, seq: Any) -> None:  # noqa: N802 - the operator's name
        """Equals `CustomPDFPageInterpreter.do_TJ`; reached from pdfminer's own `do__q` and `do__w`."""
        if not show_text(self, seq):
            super().do_TJ(seq)


# --- elements ----------------------------------------------------------------------------------------------------------------------------


@dataclass
class _Piece:
    """A text on a page, from which an element is made."""

    text: str
    points: tuple[tuple[float, float], ...]
    links: list[Any] | None
    """None for a form field's text, for which unstructured sets no links."""


@dataclass
class _PageTexts:
    """All texts of one page."""

    number: int
    space: PixelSpace
    pieces: list[_Piece]


def process_pages(
    fp: BinaryIO,
    filename: str,
    metadata_last_modified: str | None,
    languages: list[str] | None = None,
    annotation_threshold: float | None = env_config.PDF_ANNOTATION_THRESHOLD,
    starting_page_number: int = 1,
    password: str | None = None,
    pdfminer_config: Any = None,
    *,
    page_numbers: Sequence[int] = (),
    **_: Any,
) -> list[list[Any]]:
    """Reads the elements of each page.

    Equals `_process_pdfminer_pages` where pdfminer raises no `PSSyntaxError`; where it does, unstructured repairs the file.

    Args:
      page_numbers: growing, from 1: of the pages to read, and no others; default: all, counted from `starting_page_number`.
    Raises:
      PSSyntaxError: the original must be called instead.
    """
    device, interpreter = _interpreter(pdfminer_config)
    pages: list[list[Any]] = []
    block: list[_PageTexts] = []

    def finish_block() -> None:
        expect_texts(piece.text for page in block for piece in page.pieces if _is_classified(piece, page.space))
        pages.extend(_elements(page, filename, metadata_last_modified, languages) for page in block)
        block.clear()

    wanted, last = {number - 1 for number in page_numbers}, page_numbers[-1] if page_numbers else 0
    numbers = iter(page_numbers) if page_numbers else itertools.count(starting_page_number)
    for number, page in zip(numbers, PDFPage.get_pages(fp, wanted, last, password or ""), strict=False):
        interpreter.process_page(page)
        block.append(_read_page(page, device.get_result(), number, annotation_threshold))
        if len(block) == BLOCK:
            finish_block()
    finish_block()
    return pages


def _is_classified(piece: _Piece, space: PixelSpace) -> bool:
    """Whether `element_from_text` will most likely ask if a text is a narrative. It costs time, and nothing else, to be wrong."""
    height = sum(y for _, y in piece.points) / len(piece.points)
    in_margin = not HEADER * space.height <= height <= FOOTER * space.height
    return not (in_margin or is_bulleted_text(piece.text) or is_possible_numbered_list(piece.text))


def _interpreter(config: Any) -> tuple[KernelDevice, KernelInterpreter]:
    """Equals `init_pdfminer`, over the kernel's classes."""
    given, _ = init_pdfminer(pdfminer_config=config)
    device = KernelDevice(given.rsrcmgr, laparams=given.laparams)
    return device, KernelInterpreter(given.rsrcmgr, device)


def _read_page(page: PDFPage, layout: LTPage, number: int, annotation_threshold: float | None) -> _PageTexts:
    """The texts of a page, and the links in them.

    Equals the first half of `_pdfminer_page_elements`. That finds the words of all boxes on a page with a link; here only those of a box
    that holds one are asked for.
    """
    height = layout.height
    found = _PageTexts(number, PixelSpace(width=layout.width, height=height), [])
    annotations = get_uris(page.annots, height, found.space, number) if page.annots else []
    threshold = env_config.PDF_CHAR_DUPLICATE_THRESHOLD
    for item in layout:
        box = rect_to_bbox(item.bbox, height)
        within = (
            check_annotations_within_element(annotations, box, number, annotation_threshold)
            if annotations and isinstance(item, LTTextBox)
            else []
        )
        words = words_of(item, height) if within else []
        # The entries of `annotations` are changed by each box that holds them, so links are made of them before the next box.
        targets = [map_bbox_and_index(words, annotation) for annotation in within]
        for raw in [text_of(item, threshold)] if hasattr(item, "get_text") else re.split(PARAGRAPH_PATTERN, text_inside(item)):
            text = clean_extra_whitespace(raw)
            if text:
                links = _get_links_from_urls_metadata(targets, clean_extra_whitespace_with_index_run(raw)[1]) if targets else []
                found.pieces.append(_Piece(text, _corners(box), links))
    for widget in get_widget_text_from_annots(page.annots, height) if page.annots else []:
        found.pieces.append(_Piece(widget["text"], _corners(widget["bbox"]), None))
    return found


def _elements(page: _PageTexts, filename: str, last_modified: str | None, languages: list[str] | None) -> list[Any]:
    """Equals the second half of `_pdfminer_page_elements`."""
    elements = []
    for piece in page.pieces:
        element = element_from_text(piece.text, coordinates=piece.points, coordinate_system=page.space)
        element.metadata = ElementMetadata(
            filename=filename,
            page_number=page.number,
            coordinates=CoordinatesMetadata(points=piece.points, system=page.space),
            last_modified=last_modified,
            links=piece.links,
            languages=languages,
        )
        element.metadata.detection_origin = "pdfminer"
        elements.append(element)
    combined: list[Any] = _combine_list_elements(elements, page.space)
    return combined


def clean_extra_whitespace(text: str) -> str:
    """Equals the text of `clean_extra_whitespace_with_index_run`, without the index of each character, which only links need."""
    return _SPACES.sub(" ", text.translate(_BLANKS)).strip()


_BLANKS = {0xA0: " ", 0x0A: " "}
_SPACES = re.compile(r" {2,}")


def _corners(box: tuple[float, float, float, float]) -> tuple[tuple[float, float], ...]:
    x1, y1, x2, y2 = box
    return (x1, y1), (x1, y2), (x2, y2), (x2, y1)
