"""A large PDF in ranges of pages: where it is divided, and what was read of a range as a file that another process joins.

What is read of a page does not depend on other pages (`document.read_pages`), and what does is decided when all are known
(`document.join_pages`): so a document is the same however it was divided.
"""

import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from transforms.model import DecodeError, Element, Picture, Stage, Status, blob_path
from transforms.partition.pdf.document import DocumentFacts, PagesRead, document_facts, opened
from transforms.partition.pdf.images import PaintedPage, PaintedPictures
from transforms.partition.pdf.pages import inherited
from transforms.partition.pdf.text_layer import TextLayer
from transforms.partition.properties import Properties
from transforms.settings import DIVIDED_FROM, OCR_PAGE, DecodeSettings, Limits, Strategy

MOST_RANGES = 64
"""Of a document; a larger one has larger ranges. Each opens the document anew, which takes 0.2 ms for each of all its pages."""
SMALLEST = 80
"""Bytes of a file a page (a scanned page has more for each page of text that it costs): smaller ones are not even opened to be counted."""

_MOST_FORMS = 20
"""Forms of a page that are looked into for a font, and objects in one: what has more (or forms that hold each other) is drawn by a program,
and has text."""
_DIRECT = (0, 0)
"""Number of an object that stands where it is used."""

_READ, _BLOBS = "read.json", "blobs.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_NO_PAGES: Sequence[int] = ()


class RangeDamaged(Exception):  # noqa: N818 - what it is
    """The file of a range is not what was written: the range is to be read again."""


@dataclass(frozen=True)
class RangePlan:
    """How a document is divided, and what must be known to read its ranges and to join them."""

    facts: DocumentFacts
    ranges: Sequence[tuple[int, int]]
    """First and last page of each, from 1; together all pages, in order."""
    copied: bool
    """Whether pages are read from a copy that was made of the document."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RangePlan":
        """Raises: KeyError, TypeError or ValueError where it is none."""
        facts = content["facts"]
        ranges = [(int(first), int(last)) for first, last in content["ranges"]]
        numbers = [number for first, last in ranges for number in (first, last)]
        if not ranges or numbers != sorted(numbers) or not 1 <= numbers[0] <= numbers[-1] <= int(facts["page_count"]):
            raise ValueError("these are no ranges of pages")
        return cls(DocumentFacts(**{**facts, "properties": Properties(**facts["properties"])}), ranges, bool(content["copied"]))


def plan_ranges(path: Path, copy: Path, settings: DecodeSettings, limits: Limits, range_pages: int) -> RangePlan | None:
    """Divides a PDF, if it is large enough.

    Args:
      path: of the document.
      copy: where a copy is put, if pages cannot be read from the document itself.
      range_pages: pages of text in a range; of pages that need OCR a range has `OCR_PAGE` times fewer.
    Returns:
      The plan, which follows from the document and the arguments alone; None: it is to be decoded as a whole.
    Raises:
      DecodeError: it cannot be opened.
    """
    needed = DIVIDED_FROM * range_pages
    pages = needed // OCR_PAGE if settings.strategy is Strategy.OCR_ONLY else needed
    if settings.strategy is Strategy.HI_RES or path.stat().st_size < SMALLEST * pages:
        return None
    costs = _costs(path, settings, needed)
    if not costs:
        return None
    with opened(path, limits) as file:
        copied = file.readable.parent != path.parent
        if copied:
            copy.write_bytes(file.readable.read_bytes())
        return RangePlan(document_facts(file), divide(costs, range_pages), copied)


def divide(costs: Sequence[int], range_pages: int) -> list[tuple[int, int]]:
    """Cuts pages into ranges of about equal cost, of about `range_pages` where that does not make more than `MOST_RANGES`.

    Args:
      costs: of each page, in pages of text.
    Returns:
      First and last page of each range, from 1.
    """
    total = sum(costs)
    count = min(MOST_RANGES, math.ceil(total / range_pages), len(costs))
    ranges: list[tuple[int, int]] = []
    first, spent = 1, 0
    for number, cost in enumerate(costs, start=1):
        spent += cost
        if spent * count >= total * (len(ranges) + 1) or number == len(costs):
            ranges.append((first, number))
            first = number + 1
    return ranges


def _costs(path: Path, settings: DecodeSettings, needed: int) -> list[int]:
    """What each page costs, in pages of text; nothing where that is less than `needed` together, or cannot be known."""
    import pikepdf

    try:
        with pikepdf.open(path, suppress_warnings=True) as pdf:
            count = len(pdf.pages)
            if settings.strategy is Strategy.FAST or count * OCR_PAGE < needed:
                costs = [1] * count
            elif settings.strategy is Strategy.OCR_ONLY:
                costs = [OCR_PAGE] * count
            else:
                known: dict[tuple[int, int], bool] = {}
                costs = [1 if _may_have_text(page, known) else OCR_PAGE for page in pdf.pages]
    except (pikepdf.PdfError, RuntimeError):  # damaged, encrypted, or with bytes before its header: decoded as a whole, which tells why
        return []
    return costs if sum(costs) >= needed else []


def _may_have_text(page: Any, known: dict[tuple[int, int], bool]) -> bool:
    """Whether a page names a font, or something that may name one: a scanned page names pictures and nothing else, in forms or not.

    Args:
      known: of the document: what was found of objects that many pages share, as in a book whose pages have one list of all pictures.
    """
    try:
        resources = inherited(page.obj, "/Resources")
        if resources is None or "/Font" in resources:
            return True
        objects = resources.get("/XObject", {})
        if not len(objects):
            return True
        number = objects.objgen
        if number == _DIRECT or number not in known:
            known[number] = _may_name_font(objects)
        return known[number]
    except Exception:  # damaged resources: TypeError, ValueError, PdfError, … on an object of another kind
        return True


def _may_name_font(objects: Any) -> bool:
    """Whether one of the forms among a page's objects does, or a form in a form."""
    forms = _forms(objects)
    for _ in range(_MOST_FORMS):
        if not forms:
            return False
        inner = forms.pop().get("/Resources")
        if inner is None or "/Font" in inner:  # a form of PDF 1.1 may have its page's
            return True
        objects = inner.get("/XObject", {})
        if len(objects) > _MOST_FORMS:
            return True
        forms += _forms(objects)
    return True


def _forms(objects: Any) -> list[Any]:
    return [objects[name] for name in objects if str(objects[name].get("/Subtype")) == "/Form"]


# --- what was read of a range, as a file -------------------------------------------------------------------------------------------------


def write_range(path: Path, read: PagesRead | DecodeError, place: str) -> dict[str, bytes]:
    """Writes what was read of a range, or why the whole document cannot be read. Equal ranges give equal bytes.

    Args:
      path: the file; overwritten.
      place: name of a folder that messages of libraries may hold, and that is left out of them.
    Returns:
      The bytes of each picture, by the path of its blob: they lie beside the file, not in it.
    """
    blobs: dict[str, bytes] = {}
    if isinstance(read, DecodeError):
        content: dict[str, Any] = {"error": [read.status.value, read.message, read.stage.value]}
    else:
        pictures = {key: _picture_facts(picture, problem, blobs) for key, (picture, problem) in read.pictures.pictures.items()}
        content = {
            **{name: getattr(read, name) for name in ("sizes", "damaged", "wanting", "lacking", "failed", "silent", "no_better")},
            "layer": {
                **{name: getattr(read.layer, name) for name in ("drawings", "unreadable", "left_out")},
                "garbled": sorted(read.layer.garbled),
                "pages": _pages_facts(read.layer.pages),
            },
            "read": _pages_facts(read.read),
            "pictures": {"pages": [astuple(page) for page in read.pictures.pages], "pictures": pictures, "cut": read.pictures.cut},
        }
    text = json.dumps(content, separators=(",", ":")).replace(json.dumps(place + "/")[1:-1], "")
    sizes = {blob: len(data) for blob, data in blobs.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in ((_BLOBS, json.dumps(sizes)), (_READ, text)):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, compress_type=zipfile.ZIP_DEFLATED, compresslevel=1)
    return blobs


def read_range(path: Path) -> PagesRead:
    """Reads the file of a range.

    Raises:
      DecodeError: it says that the whole document cannot be read.
      RangeDamaged: it is not what was written.
    """
    content = _member(path, _READ)
    if "error" in content:
        status, message, stage = content["error"]
        raise DecodeError(Status(status), message, Stage(stage))
    layer, painted = content["layer"], content["pictures"]
    return PagesRead(
        sizes={int(number): (width, height) for number, (width, height) in content["sizes"].items()},
        layer=TextLayer(
            pages=_pages(layer["pages"]),
            garbled=set(layer["garbled"]),
            drawings=layer["drawings"],
            unreadable=_by_number(layer["unreadable"]),
            left_out=_by_number(layer["left_out"]),
        ),
        read=_pages(content["read"]),
        damaged=content["damaged"],
        wanting=content["wanting"],
        lacking=content["lacking"],
        failed=_by_number(content["failed"]),
        silent=content["silent"],
        no_better=content["no_better"],
        pictures=PaintedPictures(
            pages=[
                PaintedPage(number, count, [(key, (x0, y0, x1, y1)) for key, (x0, y0, x1, y1) in places], problem)
                for number, count, places, problem in painted["pages"]
            ],
            pictures={key: _picture(*facts) for key, facts in painted["pictures"].items()},
            cut=painted["cut"],
        ),
    )


def blobs_of_range(path: Path) -> dict[str, int]:
    """Proves the file of a range, and gives path (relative to OUTPUT) and size of each blob that it names.

    Raises:
      RangeDamaged: it is not what was written.
    """
    _member(path, _READ)
    return {str(blob): int(size) for blob, size in _member(path, _BLOBS).items()}


def _member(path: Path | BinaryIO, name: str) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            content: dict[str, Any] = json.loads(archive.read(name))
            return content
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError) as error:
        raise RangeDamaged(str(error)) from error


def _pages_facts(pages: Mapping[int, Sequence[Element]]) -> dict[int, list[tuple[Any, ...]]]:
    """All of the elements but their identifiers, which depend on their places in the document, and their page."""
    return {
        number: [(item.category, item.text, item.html, item.category_depth, item.coordinates, item.languages) for item in elements]
        for number, elements in pages.items()
    }


def _pages(facts: Mapping[str, Sequence[Any]]) -> dict[int, list[Element]]:
    return {int(number): [_element(int(number), *values) for values in elements] for number, elements in facts.items()}


def _element(number: int, category: str, text: str, html: str, depth: int | None, box: Any, languages: Sequence[str]) -> Element:
    return Element(
        category,
        text,
        html=html,
        page_number=number,
        category_depth=depth,
        coordinates=None if box is None else tuple(box),
        languages=tuple(languages),
    )


def _picture_facts(picture: Picture | None, problem: str, blobs: dict[str, bytes]) -> tuple[Any, ...]:
    if picture is None:
        return ("", 0, "", 0, 0, problem)
    digest = picture.digest
    blobs[blob_path(digest, picture.mime_type)] = picture.data
    return (digest, picture.size, picture.mime_type, picture.width, picture.height, problem)


def _picture(digest: str, size: int, mime_type: str, width: int, height: int, problem: str) -> tuple[Picture | None, str]:
    return (Picture(b"", mime_type, width, height, (digest, size)) if digest else None), problem


def _by_number(facts: Mapping[str, Any]) -> dict[int, Any]:
    return {int(number): value for number, value in facts.items()}
