"""What a PDF page is to its reader: its size, which way up it stands, and where a point of its content is seen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from transforms.model import Box

Matrix = tuple[float, float, float, float, float, float]
"""a b c d e f of a PDF transformation. Source: ISO 32000-1, 8.3.3."""

IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_LETTER: Box = (0.0, 0.0, 612.0, 792.0)
_MAX_DEPTH = 64
"""Of a page tree: a chain of parents longer than this is a loop."""


@dataclass(frozen=True, slots=True)
class PageGeometry:
    """The boxes of one page, in its own coordinates, and its rotation."""

    media: Box
    crop: Box
    rotation: int
    """0, 90, 180 or 270 degrees, clockwise."""
    unit: float = 1.0
    """Points a unit (`UserUnit`)."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in points, as the page is seen."""
        width, height = (self.crop[2] - self.crop[0]) * self.unit, (self.crop[3] - self.crop[1]) * self.unit
        return (height, width) if self.rotation in (90, 270) else (width, height)

    def seen(self, box: Box) -> Box:
        """A box of page coordinates as fractions of the page as it is seen, origin top left; parts outside are not cut off."""
        return _seen(box, self.crop, self.rotation)

    def from_media(self, box: Box) -> Box | None:
        """A box in fractions of the turned media box, which is the page to pdfminer, as fractions of the page as it is seen.

        Returns:
          The box, cut to the page; None where it lies outside (text beside the crop box is there, but nowhere to be seen).
        """
        if self.crop == self.media:
            return box
        left, top, right, bottom = _seen(self.crop, self.media, self.rotation)
        width, height = right - left, bottom - top
        return visible((box[0] - left) / width, (box[1] - top) / height, (box[2] - left) / width, (box[3] - top) / height)


def visible(x0: float, y0: float, x1: float, y1: float) -> Box | None:
    """A box of fractions cut to the page; None where nothing of it is on the page."""
    left, top, right, bottom = max(x0, 0.0), max(y0, 0.0), min(x1, 1.0), min(y1, 1.0)
    if left >= right or top >= bottom:
        return None
    return round(left, 6), round(top, 6), round(right, 6), round(bottom, 6)


def page_geometry(page: Any) -> PageGeometry:
    """Reads the geometry of a pikepdf page, inherited attributes included; what is missing or senseless is taken as readers take it."""
    media = _box(inherited(page, "/MediaBox")) or _LETTER
    crop = _box(inherited(page, "/CropBox")) or media
    crop = max(crop[0], media[0]), max(crop[1], media[1]), min(crop[2], media[2]), min(crop[3], media[3])
    if crop[0] >= crop[2] or crop[1] >= crop[3]:
        crop = media
    return PageGeometry(media, crop, _rotation(inherited(page, "/Rotate")), _unit(page.get("/UserUnit")))


def multiplied(first: Matrix, second: Matrix) -> Matrix:
    """The transformation that applies `first`, then `second`."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def bounds(box: Box, matrix: Matrix) -> Box:
    """The smallest upright box around a transformed box."""
    a, b, c, d, e, f = matrix
    corners = [(a * x + c * y + e, b * x + d * y + f) for x in (box[0], box[2]) for y in (box[1], box[3])]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def numbers(values: Any, count: int) -> tuple[float, ...] | None:
    """`count` numbers of a PDF array; None where it is no such array."""
    try:
        found = tuple(float(value) for value in values)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return found if len(found) == count and all(abs(number) < 1e9 for number in found) else None


def _seen(box: Box, page: Box, rotation: int) -> Box:
    width, height = page[2] - page[0], page[3] - page[1]
    left, right = (box[0] - page[0]) / width, (box[2] - page[0]) / width
    top, bottom = (page[3] - box[3]) / height, (page[3] - box[1]) / height
    if rotation == 90:
        return 1 - bottom, left, 1 - top, right
    if rotation == 180:
        return 1 - right, 1 - bottom, 1 - left, 1 - top
    if rotation == 270:
        return top, 1 - right, bottom, 1 - left
    return left, top, right, bottom


def inherited(page: Any, name: str) -> Any:
    """A page's attribute, or the one of the nearest ancestor in the page tree that has it; None: nowhere."""
    node = page
    for _ in range(_MAX_DEPTH):
        value = node.get(name)
        if value is not None:
            return value
        node = node.get("/Parent")
        if node is None or not hasattr(node, "get"):
            return None
    return None


def _box(values: Sequence[Any] | Iterable[Any] | None) -> Box | None:
    found = None if values is None else numbers(values, 4)
    if found is None:
        return None
    left, right = sorted((found[0], found[2]))
    bottom, top = sorted((found[1], found[3]))
    return (left, bottom, right, top) if right - left > 0 and top - bottom > 0 else None


def _rotation(value: Any) -> int:
    try:
        return round(float(value) / 90) * 90 % 360
    except (TypeError, ValueError, OverflowError):
        return 0


def _unit(value: Any) -> float:
    try:
        unit = float(value)
    except (TypeError, ValueError):
        return 1.0
    return unit if 0 < unit <= 75_000 else 1.0


def named_pages(numbers: Sequence[int]) -> str:
    """ "Page 3", or "Pages 3, 5-7", at most ten runs of them."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    named = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:10]]
    more = "" if len(runs) <= 10 else f" and {sum(last - first + 1 for first, last in runs[10:])} more"
    return f"Page{'s' if len(numbers) > 1 else ''} {', '.join(named)}{more}"


def turned_back(box: Box, turn: int) -> Box:
    """A box on the upright page, as fractions, where it lies on the page before it was turned clockwise by `turn` degrees."""
    left, top, right, bottom = box
    if turn == 90:
        left, top, right, bottom = top, 1 - right, bottom, 1 - left
    elif turn == 180:
        left, top, right, bottom = 1 - right, 1 - bottom, 1 - left, 1 - top
    elif turn == 270:
        left, top, right, bottom = 1 - bottom, left, 1 - top, right
    return round(left, 6), round(top, 6), round(right, 6), round(bottom, 6)
