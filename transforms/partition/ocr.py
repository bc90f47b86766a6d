"""Reads the text of a page image with tesseract: the only OCR that needs no model from a hub.

unstructured's own `ocr_only` (0.27.35) runs tesseract two to three times a page (boxes, boxes of a zoomed image, text) and keeps
only the words that come out equal in each: of a page of 72 dpi it keeps 774 characters of 2,281. Here one run gives words with boxes,
confidence and tesseract's own paragraphs, in a third to a half of the time; a paragraph becomes an element, classified by unstructured.
"""

import io
import math
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from transforms.model import Box, DecodeError, Status
from transforms.partition.pdf.pages import turned_back

RENDER_DPI = 300
"""Of a page drawn for OCR: tesseract's models are trained near it. unstructured draws at 350 dpi, which costs a third more pixels."""

_MAX_SIDE = 30_000
"""tesseract 5 refuses images of 32,768 pixels and more on a side."""
MAX_PIXELS = 60_000_000
"""A larger image is scaled down: an A3 sheet at 600 dpi has 70 million pixels, and its text is still 40 pixels high after it."""

_POOR_CONFIDENCE = 60.0
"""Mean confidence under which a page is looked at again, turned or larger. Upright scans of print come out at 85 to 96."""
_NOISE_CONFIDENCE = 30.0
"""Mean confidence under which a paragraph is no text: specks, hatching and faces come out at 0 to 25."""
_GREY_NOISE = 8
"""Steps of 256 by which the channels of a grey page differ: JPEG's rounding."""
_SMALL_TEXT, _GOOD_TEXT, _MAX_ZOOM = 14.0, 28.0, 4.0
"""Pixels of the median word box: smaller text is read again from a larger image. Source: tesseract's manual, "Improving the quality"."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word as tesseract read it; the box in pixels of the image, origin top left."""

    text: str
    confidence: float
    box: Box
    paragraph: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of a page image; the box as fractions of the image, origin top left."""

    text: str
    box: Box
    confidence: float
    """Mean over its letters, 0 to 100."""


def tesseract_is_available() -> bool:
    """Whether there is a tesseract to run."""
    return shutil.which("tesseract") is not None


def require_tesseract(languages: Sequence[str]) -> None:
    """Makes sure that OCR in these languages can run.

    Args:
      languages: tesseract codes ("eng", "deu"), or ISO codes that unstructured can turn into them ("de").
    Raises:
      DecodeError: `missing_tool`, with what to install.
    """
    if not tesseract_is_available():
        raise DecodeError(
            Status.MISSING_TOOL, "Its text is in pictures and tesseract, which reads them, is not installed: apt-get install tesseract-ocr."
        )
    missing = sorted(set(tesseract_languages(tuple(languages)).split("+")) - _installed_languages())
    if missing:
        raise DecodeError(
            Status.MISSING_TOOL,
            f"tesseract has no model for {', '.join(missing)}: apt-get install {' '.join('tesseract-ocr-' + code for code in missing)}.",
        )


@lru_cache(maxsize=16)
def tesseract_languages(languages: tuple[str, ...]) -> str:
    """The value of tesseract's `-l`: "eng+deu"."""
    from unstructured.partition.common.lang import prepare_languages_for_tesseract

    return str(prepare_languages_for_tesseract(list(languages) or ["eng"]))


@lru_cache(maxsize=1)
def _installed_languages() -> frozenset[str]:
    listed = subprocess.run(["tesseract", "--list-langs"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return frozenset(listed.stdout.decode(errors="replace").split("\n")[1:])


def read_paragraphs(image: Any, languages: Sequence[str]) -> list[Paragraph]:
    """Reads the text of an image, turned upright and enlarged where that is needed.

    Args:
      image: a Pillow image of any mode and size.
      languages: as for `require_tesseract`.
    Returns:
      The paragraphs in tesseract's reading order; their boxes are on the image as it was given. Empty: no text was found.
    Raises:
      DecodeError: `missing_tool` without tesseract or a language of it, `failed` where it ends with an error.
    """
    require_tesseract(languages)
    language = tesseract_languages(tuple(languages))
    page = _prepared(image)
    words = _read_words(page, language)
    turn = 0
    if _confidence(words) < _POOR_CONFIDENCE:
        turn = _turn_to_upright(page)
        if turn:
            turned = _read_words(_turned(page, turn), language)
            # Orientation detection is wrong on pages with little text, so what reads better wins.
            words, turn = (turned, turn) if _worth(turned) > _worth(words) else (words, 0)
    upright = _turned(page, turn)
    zoom = _zoom(words, upright.size)
    if zoom > 1.0:
        larger = upright.resize((round(upright.width * zoom), round(upright.height * zoom)), resample=3)  # 3: bicubic
        zoomed = [replace(word, box=_scaled(word.box, 1 / zoom)) for word in _read_words(larger, language)]
        words = zoomed if _worth(zoomed) > _worth(words) else words
    return [replace(paragraph, box=turned_back(paragraph.box, turn)) for paragraph in _paragraphs(words, upright.size)]


def text_elements(
    paragraphs: Sequence[Paragraph], *, page_number: int | None, languages: Sequence[str], size: tuple[float, float] = (1.0, 1.0)
) -> list[Any]:
    """The paragraphs as unstructured elements, of the category that their text makes them (as `ocr_only` does).

    Args:
      size: width and height of the page in any unit; the elements' coordinates are given in it.
    """
    from unstructured.documents.coordinates import PixelSpace
    from unstructured.documents.elements import CoordinatesMetadata, ElementMetadata
    from unstructured.partition.text import element_from_text

    width, height = size
    elements = []
    for paragraph in paragraphs:
        left, top, right, bottom = paragraph.box
        left, top, right, bottom = left * width, top * height, right * width, bottom * height
        element = element_from_text(paragraph.text)
        element.metadata = ElementMetadata(
            page_number=page_number,
            languages=list(languages),
            coordinates=CoordinatesMetadata(
                points=((left, top), (left, bottom), (right, bottom), (right, top)), system=PixelSpace(width=width, height=height)
            ),
        )
        elements.append(element)
    return elements


def _prepared(image: Any) -> Any:
    """The image in grey or RGB, on white where it is transparent, and not larger than tesseract takes.

    Colour is kept: tesseract finds its threshold for each channel, and reads twice as much of a coloured table as from its grey copy.
    """
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(paper, image)
    if image.mode.startswith("I;16"):
        image = image.point(lambda value: value / 256).convert("L")
    if image.mode not in ("L", "RGB"):
        image = image.convert("L" if image.mode in ("1", "I", "F") else "RGB")
    if image.mode == "RGB" and not _is_coloured(image):
        image = image.getchannel("R")  # a third of the bytes to write and to read, with the same result
    scale = min(1.0, _MAX_SIDE / max(image.size), math.sqrt(MAX_PIXELS / (image.width * image.height)))
    if scale < 1:
        image = image.resize((max(1, int(image.width * scale)), max(1, int(image.height * scale))), resample=4)  # 4: box
    return image


def _is_coloured(image: Any) -> bool:
    from PIL import ImageChops

    red, green, blue = image.split()
    return any(any(ImageChops.difference(red, channel).histogram()[_GREY_NOISE:]) for channel in (green, blue))


def _run(image: Any, *options: str) -> str:
    """tesseract's standard output for an image: it goes in and out through pipes, as PPM or PGM, which costs nothing to write."""
    stream = io.BytesIO()
    image.save(stream, format="PPM")
    done = subprocess.run(["tesseract", "stdin", "stdout", *options], input=stream.getbuffer(), capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise DecodeError(Status.FAILED, f"tesseract ended with exit code {done.returncode}: {lines[-1] if lines else 'it says nothing'}.")
    return done.stdout.decode(errors="replace")


def _read_words(image: Any, language: str) -> list[Word]:
    return list(_parsed_words(_run(image, "-l", language, "tsv")))


def _parsed_words(table: str) -> Iterator[Word]:
    """The words of tesseract's TSV: level, page, block, paragraph, line, word, left, top, width, height, confidence, text."""
    for line in table.splitlines():
        cells = line.split("\t", 11)
        if len(cells) < 12 or cells[0] != "5" or not cells[11].strip():
            continue
        left, top, width, height = (float(cell) for cell in cells[6:10])
        yield Word(cells[11].strip(), float(cells[10]), (left, top, left + width, top + height), (int(cells[2]), int(cells[3])))


def _confidence(words: Sequence[Word]) -> float:
    letters = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / letters if letters else 0.0


def _worth(words: Sequence[Word]) -> float:
    """How much was read, and how surely: letters of the words above noise, weighted by confidence."""
    return sum(((word.confidence - _NOISE_CONFIDENCE) * len(word.text) for word in words), 0.0)


def _turn_to_upright(image: Any) -> int:
    """Degrees (90, 180, 270; clockwise) that set the page upright; 0 where it is, or where tesseract cannot tell."""
    if "osd" not in _installed_languages():
        return 0
    try:
        told = _run(image, "--psm", "0", "-l", "osd")
    except DecodeError:  # "Too few characters"
        return 0
    facts = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    turn = facts.get("Rotate", "0")
    return int(turn) if turn in ("90", "180", "270") else 0


def _turned(image: Any, turn: int) -> Any:
    return image.rotate(-turn, expand=True) if turn else image


def _zoom(words: Sequence[Word], size: tuple[int, int]) -> float:
    heights = sorted(word.box[3] - word.box[1] for word in words)
    median = heights[len(heights) // 2] if heights else _SMALL_TEXT
    if median >= _SMALL_TEXT:
        return 1.0
    room = math.sqrt(MAX_PIXELS / (size[0] * size[1]))
    return min(_GOOD_TEXT / max(median, 1.0), _MAX_ZOOM, _MAX_SIDE / max(size), room)


def _scaled(box: Box, scale: float) -> Box:
    return box[0] * scale, box[1] * scale, box[2] * scale, box[3] * scale


def _paragraphs(words: Sequence[Word], size: tuple[int, int]) -> Iterator[Paragraph]:
    width, height = size
    groups: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        groups.setdefault(word.paragraph, []).append(word)
    for group in groups.values():
        text, confidence = " ".join(word.text for word in group), _confidence(group)
        if confidence < _NOISE_CONFIDENCE or not any(letter.isalnum() for letter in text):
            continue
        box = (
            max(0.0, min(word.box[0] for word in group) / width),
            max(0.0, min(word.box[1] for word in group) / height),
            min(1.0, max(word.box[2] for word in group) / width),
            min(1.0, max(word.box[3] for word in group) / height),
        )
        yield Paragraph(text, box, confidence)
