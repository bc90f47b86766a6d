"""The image objects that the pages of a PDF paint: unstructured drops them (0.27.35), and where it does crop pictures they are re-encoded.

The places are found by qpdf (pikepdf), which tells image objects apart by their number: one picture is read once, however often it is
painted. Its parser
hands over only the operators that move or paint images, and a page whose resources lead to no image is not parsed at all.
JPEG and JPEG 2000 streams are kept as they lie; everything else is painted by PDFium at its own size (equal to the last bit, measured on 50
images) and kept as PNG: colour spaces, decode arrays, masks, JBIG2 and CCITT are PDFium's business.
"""

import base64
import hashlib
import io
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from transforms.model import Box, Element, Picture
from transforms.partition.pdf.pages import IDENTITY, Matrix, PageGeometry, bounds, inherited, multiplied, numbers, visible
from transforms.partition.pictures.picture import image_element, picture_from_bytes

MAX_PLACES_PER_PAGE = 500
"""A page that paints more keeps its largest: maps and drawings are cut into tens of thousands of tiles."""
MAX_PLACES = 20_000
"""Of a document."""
MAX_BYTES = 512 * 1024 * 1024
"""Of a document's pictures, together: they are held in memory until the document is written."""
_MAX_CONTENT = 64 * 1024 * 1024
"""Bytes of one decoded content stream that are parsed for images."""
_MAX_DECODED = 512 * 1024 * 1024
"""Bytes of the bitmap that an image is painted on."""
_MIN_POINTS = 0.5
"""A place thinner than this is a rule."""
_MIN_STENCIL = 0.1
"""Of the page: a smaller stencil mask is a glyph or an ornament; a larger one is a scanned page in black and white."""
_OPAQUE, _MOSTLY = 250, 0.98
"""Alpha from which a pixel is opaque, and the share of such pixels from which a mask hides nothing that matters."""
_MAX_DEPTH = 12
_OPERATORS = "q Q cm Do BI ID EI"
_INLINE = re.compile(rb"(?<![^\s])BI\s")
_UNIT_SQUARE: Box = (0.0, 0.0, 1.0, 1.0)

_TOO_MANY_BYTES = f"the document has more than {MAX_BYTES >> 20} MiB of them"
_What = TypeVar("_What")
_Key = tuple[int, int] | str
"""Number and generation of an image object; the digest of an inline image."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One painting of an image: which, and where in the coordinates of the stream that paints it."""

    key: _Key
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class PaintedPage:
    """What one page paints."""

    number: int
    painted: int = 0
    """Images that can be seen on it; those beyond the limits are in no `places`."""
    places: Sequence[tuple[str, Box]] = ()
    """The image's key and its box, in painting order; no key: a small stencil mask, which is no picture."""
    problem: str = ""
    """Why its images could not be found."""


@dataclass
class PaintedPictures:
    """What the pages of a PDF, or a range of them, paint: enough to decide on once all ranges are known."""

    pages: list[PaintedPage] = field(default_factory=list)
    pictures: dict[str, tuple[Picture | None, str]] = field(default_factory=dict)
    """Key of an image -> its picture, and why there is none where the reader should know."""
    cut: bool = False
    """Whether some content paints more images than are looked at."""


@dataclass
class EmbeddedPictures:
    """The `Image` elements of a document by page, and what was left out."""

    by_page: dict[int, list[Element]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    bytes: int = 0
    places: int = 0


def find_pictures(pdf: Any, geometries: Mapping[int, PageGeometry]) -> PaintedPictures:
    """Finds and reads the images that pages paint.

    Args:
      pdf: an open `pikepdf.Pdf`.
      geometries: of the pages to look at, by page number.
    Returns:
      Each picture once, and its places. Left out: images with a side of one pixel, places outside of the page or thinner than half a point,
      and what is over the limits of this module.
    """
    found = PaintedPictures()
    reader = _Reader(pdf)
    kept = size = 0
    for number, geometry in geometries.items():
        try:
            places = reader.places_of_page(pdf.pages[number - 1])
        except Exception as error:  # qpdf's parser and damaged objects raise RuntimeError, TypeError, ValueError, PdfError, …
            found.pages.append(PaintedPage(number, problem=_short(error)))
            continue
        seen = [(place, box) for place in places if (box := _box_on_page(place, geometry)) is not None]
        on_page: list[tuple[str, Box]] = []
        for place, box in _largest(seen, min(MAX_PLACES_PER_PAGE, MAX_PLACES - kept)):
            if reader.is_stencil(place.key) and _area(box) < _MIN_STENCIL:
                on_page.append(("", box))
                continue
            key = place.key if isinstance(place.key, str) else "{} {}".format(*place.key)
            if key not in found.pictures:
                picture, problem = reader.picture(place.key)
                if picture is not None and size + len(picture.data) > MAX_BYTES:
                    picture, problem = None, _TOO_MANY_BYTES
                size += len(picture.data) if picture is not None else 0
                found.pictures[key] = picture, problem
            kept += found.pictures[key][0] is not None
            on_page.append((key, box))
        if seen:
            found.pages.append(PaintedPage(number, len(seen), on_page))
    found.cut = reader.cut
    return found


def place_found(ranges: Sequence[PaintedPictures]) -> EmbeddedPictures:
    """The images of a document from what was found in its ranges of pages: the limits of a document count over all of them.

    Args:
      ranges: in page order, without a page twice; equal keys are equal images.
    Returns:
      One element for each place on a page, in painting order, with the box that is seen of it; equal images share one `Picture`.
      Left out, with a warning where it may matter: stencil masks that are smaller than a tenth of the page, and what is over the limits.
    """
    placed = EmbeddedPictures()
    known: dict[str, tuple[Picture | None, str]] = {}
    """Pictures that a place was found for, with their digest."""
    for found in ranges:
        for page in found.pages:
            if page.problem:
                placed.warnings.append(f"Page {page.number}: its images could not be found ({page.problem}).")
                continue
            room = min(MAX_PLACES_PER_PAGE, MAX_PLACES - placed.places)
            if page.painted > room:
                placed.warnings.append(f"Page {page.number} paints {page.painted:,} images: the {room:,} largest are kept.")
            _place_on_page(placed, known, found.pictures, page.number, _largest(page.places, room))
    if any(found.cut for found in ranges):
        placed.warnings.append(f"Some content paints more than {_Reader.limit:,} images: those beyond are not looked at.")
    return placed


def _box_on_page(place: _Place, geometry: PageGeometry) -> Box | None:
    box = visible(*geometry.seen(bounds(_UNIT_SQUARE, place.matrix)))
    if box is None:
        return None
    width, height = geometry.size
    return box if (box[2] - box[0]) * width >= _MIN_POINTS and (box[3] - box[1]) * height >= _MIN_POINTS else None


def _largest(seen: Sequence[tuple[_What, Box]], room: int) -> Sequence[tuple[_What, Box]]:
    if len(seen) <= room:
        return seen
    order = sorted(range(len(seen)), key=lambda index: (-_area(seen[index][1]), index))
    return [seen[index] for index in sorted(order[:room])]


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _place_on_page(
    placed: EmbeddedPictures,
    known: dict[str, tuple[Picture | None, str]],
    pictures: Mapping[str, tuple[Picture | None, str]],
    number: int,
    places: Sequence[tuple[str, Box]],
) -> None:
    elements: list[Element] = []
    for order, (key, box) in enumerate(places, start=1):
        if not key:
            continue
        if key not in known:
            picture, problem = pictures[key]
            if picture is not None and placed.bytes + picture.size > MAX_BYTES:
                picture, problem = None, _TOO_MANY_BYTES
            if problem:
                placed.warnings.append(f"Page {number}: an image is not kept: {problem}.")
            known[key] = picture, picture.digest if picture else ""
            placed.bytes += picture.size if picture else 0
        picture, digest = known[key]
        if picture is not None:
            place = f"page {number}, {order}"
            elements.append(image_element(picture, place=place, page_number=number, coordinates=box, in_reading_order=False, digest=digest))
    if elements:
        placed.by_page[number] = elements
        placed.places += len(elements)


class _Reader:
    """Finds places and reads pictures of one open document; what is shared between pages is done once."""

    limit = 100_000
    """Places of one content stream, those in its forms included: a form of ten forms of ten forms … is cut here."""

    def __init__(self, pdf: Any) -> None:
        self._pdf = pdf
        self._forms: dict[tuple[int, int], list[_Place]] = {}
        self._images: dict[_Key, Any] = {}
        self._spaces: dict[_Key, Any] = {}
        self.cut = False

    def places_of_page(self, page: Any) -> list[_Place]:
        """All paintings of a page in page coordinates, those of its annotations (stamps, signatures) at the end."""
        places: list[_Place] = []
        resources = _dictionary(inherited(page.obj, "/Resources"))
        contents = page.obj.get("/Contents")
        if contents is not None:
            places.extend(self._places_of_stream(page, _content(contents), resources, 0))
        for annotation in _items(page.obj.get("/Annots")):
            places.extend(self._places_of_annotation(annotation))
        return places

    def is_stencil(self, key: _Key) -> bool:
        image = self._images[key]
        return not isinstance(image, bytes) and bool(image.get("/ImageMask", False))

    def picture(self, key: _Key) -> tuple[Picture | None, str]:
        """The picture of an image object, and why there is none where the reader should know."""
        try:
            return _read_picture(self._images[key], self._spaces.get(key))
        except Exception as error:  # as above, and Pillow's and PDFium's own
            return None, f"it cannot be decoded ({_short(error)})"

    def _places_of_stream(self, stream: Any, content: bytes | None, resources: Any, depth: int) -> list[_Place]:
        import pikepdf

        if not self._may_paint(resources, depth) and (content is None or not _INLINE.search(content)):
            return []
        if content is not None and len(content) > _MAX_CONTENT:
            raise ValueError(f"{len(content) >> 20} MiB of content")
        places: list[_Place] = []
        matrix, stack = IDENTITY, []
        for instruction in pikepdf.parse_content_stream(stream, _OPERATORS):
            operator = str(instruction.operator)
            if operator == "q":
                stack.append(matrix)
            elif operator == "Q":
                matrix = stack.pop() if stack else matrix
            elif operator == "cm":
                moved = numbers(instruction.operands, 6)
                matrix = matrix if moved is None else multiplied(moved, matrix)  # type: ignore[arg-type]
            elif operator == "Do" and resources is not None:
                places.extend(self._places_of_object(resources, instruction.operands, matrix, depth))
            elif operator == "INLINE IMAGE":
                places.append(self._inline_place(instruction.iimage, resources, matrix))
            if len(places) > self.limit:
                self.cut = True
                return places[: self.limit]
        return places

    def _places_of_object(self, resources: Any, operands: Sequence[Any], matrix: Matrix, depth: int) -> list[_Place]:
        objects = _dictionary(resources.get("/XObject"))
        target = objects.get(str(operands[0])) if objects is not None and operands else None
        if target is None:
            return []
        kind = _subtype(target)
        if kind == "/Image":
            key = target.objgen
            self._images[key] = target
            return [_Place(key, matrix)]
        if kind == "/Form":
            return [_Place(place.key, multiplied(place.matrix, matrix)) for place in self._places_of_form(target, resources, depth)]
        return []

    def _places_of_form(self, form: Any, outer: Any, depth: int) -> list[_Place]:
        """In the coordinates that the form is painted in (its own matrix applied). A form that paints itself paints nothing there."""
        key = form.objgen
        if depth >= _MAX_DEPTH:
            return []
        if key not in self._forms:
            self._forms[key] = []
            resources = _dictionary(form.get("/Resources"))
            own = numbers(form.get("/Matrix", ()), 6) or IDENTITY
            content = _content(form)
            places = self._places_of_stream(form, content, outer if resources is None else resources, depth + 1)
            self._forms[key] = [_Place(place.key, multiplied(place.matrix, own)) for place in places]  # type: ignore[arg-type]
        return self._forms[key]

    def _places_of_annotation(self, annotation: Any) -> list[_Place]:
        """The appearance's transformed bounding box is fitted into the annotation's rectangle. Source: ISO 32000-1, 12.5.5."""
        annotation = _dictionary(annotation)
        appearances = None if annotation is None else _dictionary(annotation.get("/AP"))
        if annotation is None or appearances is None or int(annotation.get("/F", 0)) & 0x22:  # hidden, or not to be viewed
            return []
        form = appearances.get("/N")
        if form is not None and not _is_stream(form):  # one appearance a state
            states = _dictionary(form)
            form = None if states is None else states.get(str(annotation.get("/AS", "/Off")))
        rectangle, box = numbers(annotation.get("/Rect", ()), 4), None
        if _subtype(form) != "/Form" and not _is_stream(form):
            return []
        box = numbers(form.get("/BBox", ()), 4)
        if rectangle is None or box is None:
            return []
        own = numbers(form.get("/Matrix", ()), 6) or IDENTITY
        left, bottom, right, top = bounds(box, own)  # type: ignore[arg-type]
        x0, x1 = sorted((rectangle[0], rectangle[2]))
        y0, y1 = sorted((rectangle[1], rectangle[3]))
        if right <= left or top <= bottom:
            return []
        across, up = (x1 - x0) / (right - left), (y1 - y0) / (top - bottom)
        fitted: Matrix = (across, 0.0, 0.0, up, x0 - left * across, y0 - bottom * up)
        return [_Place(place.key, multiplied(place.matrix, fitted)) for place in self._places_of_form(form, None, 0)]

    def _inline_place(self, inline: Any, resources: Any, matrix: Matrix) -> _Place:
        source = inline.unparse()
        key = hashlib.sha256(source).hexdigest()
        spaces = None if resources is None else resources.get("/ColorSpace")
        self._images[key] = source
        # Copying into the one-image document needs an indirect object.
        self._spaces[key] = None if spaces is None else self._pdf.make_indirect(spaces)
        return _Place(key, matrix)

    def _may_paint(self, resources: Any, depth: int) -> bool:
        """Whether an image can be reached from these resources: most pages have none, and are not parsed."""
        objects = None if resources is None else _dictionary(resources.get("/XObject"))
        for target in () if objects is None else [objects[name] for name in objects]:
            kind = _subtype(target)
            if kind == "/Image":
                return True
            if kind == "/Form" and self._places_of_form(target, resources, depth):
                return True
        return False


# --- one image object ----------------------------------------------------------------------------------------------------------------


def _read_picture(image: Any, spaces: Any) -> tuple[Picture | None, str]:
    """An image object's picture, or None and why (nothing where it is not worth a word)."""
    if isinstance(image, bytes):
        size = _inline_size(image)
        return (_painted_picture(image, spaces, size, is_masked=False, bilevel=False), "") if size else (None, "")
    width, height = int(image.get("/Width", 0)), int(image.get("/Height", 0))
    if width <= 1 or height <= 1:
        return None, ""
    is_masked = "/SMask" in image or "/Mask" in image or int(image.get("/SMaskInData", 0)) > 0
    raw = _raw_picture(image)
    if raw is not None and (not is_masked or _is_opaque(image.get("/SMask"))):
        return raw, ""
    if width * height * (4 if is_masked else 3) > _MAX_DECODED:
        return None, f"it has {width:,} × {height:,} pixels"
    bilevel = int(image.get("/BitsPerComponent", 8 if "/ImageMask" not in image else 1)) == 1
    return _painted_picture(image, None, (width, height), is_masked=is_masked, bilevel=bilevel, raw=raw), ""


def _raw_picture(image: Any) -> Picture | None:
    """The stream itself where it is a file that shows what the page shows: JPEG in grey or RGB, JPEG 2000 in its file format."""
    filters = [str(name) for name in _items(image.get("/Filter"))]
    if not filters or filters[-1] not in ("/DCTDecode", "/DCT", "/JPXDecode") or not _has_plain_colours(image):
        return None
    data: bytes | None = image.read_raw_bytes()
    for name in filters[:-1]:
        data = None if data is None else _unwrapped(name, data)
    picture = picture_from_bytes(data) if data else None
    if picture is None or picture.mime_type not in ("image/jpeg", "image/jp2"):
        return None
    if picture.mime_type == "image/jpeg":
        # Four components are CMYK, usually inverted: shown right by few readers.
        return picture if _jpeg_components(picture.data) in (1, 3) else None
    # A bare codestream is no file, and JPEG 2000 in CMYK is as rare as readers for it.
    return picture if picture.data[4:8] == b"jP  " and b"CMYK" not in str(image.get("/ColorSpace", "")).encode() else None


def _has_plain_colours(image: Any) -> bool:
    decode = image.get("/Decode")
    if decode is not None:
        values = numbers(decode, len(decode)) or ()
        if any(value != index % 2 for index, value in enumerate(values)):
            return False
    space = image.get("/ColorSpace")
    if space is None:
        return True
    name = str(space) if not hasattr(space, "__len__") or isinstance(space, str) else ""
    if not name:
        parts = _items(space)
        name = str(parts[0]) if parts else ""
    return name in ("/DeviceGray", "/DeviceRGB", "/CalGray", "/CalRGB", "/ICCBased", "/G", "/RGB")


def _unwrapped(name: str, data: bytes) -> bytes | None:
    """Decodes one of the filters that a JPEG is sometimes wrapped in; None for others."""
    try:
        if name in ("/FlateDecode", "/Fl"):
            return zlib.decompressobj().decompress(data, _MAX_DECODED)
        if name in ("/ASCII85Decode", "/A85"):
            return base64.a85decode(data.strip().removesuffix(b"~>"))
        if name in ("/ASCIIHexDecode", "/AHx"):
            digits = re.sub(rb"[^0-9A-Fa-f]", b"", data.partition(b">")[0])
            return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
    except (zlib.error, ValueError):
        return None
    return None


def _jpeg_components(data: bytes) -> int:
    """Of the frame header. Source: ITU-T T.81, B.2.2."""
    offset = 2
    while offset + 9 < len(data):
        if data[offset] != 0xFF:
            offset += 1
            continue
        marker = data[offset + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return data[offset + 9]
        if marker in (0x01, 0xFF) or 0xD0 <= marker <= 0xD8:
            offset += 1 if marker == 0xFF else 2
            continue
        offset += 2 + int.from_bytes(data[offset + 2 : offset + 4], "big")
    return 0


def _is_opaque(mask: Any) -> bool:
    """Whether a soft mask lets everything through, as many producers write it; only where that is cheap to know."""
    if mask is None or not _is_stream(mask) or int(mask.get("/BitsPerComponent", 8)) != 8 or "/Decode" in mask:
        return False
    if [str(name) for name in _items(mask.get("/Filter"))] != ["/FlateDecode"]:
        return False
    data = mask.read_bytes()
    return len(data) > 0 and data.count(b"\xff") == len(data)


def _inline_size(source: bytes) -> tuple[int, int] | None:
    head = source.partition(b"ID")[0]
    width, height = re.search(rb"/W(?:idth)?\s+(\d+)", head), re.search(rb"/H(?:eight)?\s+(\d+)", head)
    if not width or not height or int(width[1]) <= 1 or int(height[1]) <= 1 or re.search(rb"/(?:IM|ImageMask)\s+true", head):
        return None
    size = int(width[1]), int(height[1])
    return size if size[0] * size[1] * 3 <= _MAX_DECODED else None


def _painted_picture(
    image: Any, spaces: Any, size: tuple[int, int], *, is_masked: bool, bilevel: bool, raw: Picture | None = None
) -> Picture | None:
    """An image painted by PDFium on a page of its own, a pixel a point, as PNG: with alpha where it is masked, in grey without colour.

    Args:
      image: the image object, or the source of an inline image.
      spaces: the named colour spaces that an inline image may use, as an indirect object.
      raw: the picture without its mask; given back where the mask hides next to nothing (rounded corners), as the PNG of a photograph
        is ten times its size.
    """
    bitmap = _painted(image, spaces, size, is_masked=is_masked)
    if bitmap.mode == "RGBA":
        alpha = bitmap.getchannel("A").histogram()
        if sum(alpha[_OPAQUE:]) >= _MOSTLY * sum(alpha):
            if raw is not None:
                return raw
            bitmap = bitmap.convert("RGB") if alpha[255] == sum(alpha) else bitmap
        elif alpha[0] == sum(alpha):
            return None
    if bitmap.mode == "RGB" and _is_grey(bitmap):
        bitmap = bitmap.getchannel("R")
    if bilevel and bitmap.mode == "L":
        bitmap = bitmap.point(lambda value: 255 if value > 127 else 0, mode="1")
    stream = io.BytesIO()
    # A photograph of 12 megapixels takes 1.1 s at level 1 and 6.8 s at level 6, for a seventh less bytes; a scan in grey the same 0.2 s,
    # for half the bytes.
    bitmap.save(stream, format="PNG", compress_level=6 if bitmap.mode in ("1", "L") else 1)
    return picture_from_bytes(stream.getvalue())


def _painted(image: Any, spaces: Any, size: tuple[int, int], *, is_masked: bool) -> Any:
    import pikepdf
    import pypdfium2

    width, height = size
    with pikepdf.new() as document:
        document.add_blank_page()
        page = document.pages[0]
        page.obj.MediaBox = pikepdf.Array([0, 0, width, height])
        if isinstance(image, bytes):
            page.obj.Resources = pikepdf.Dictionary() if spaces is None else pikepdf.Dictionary(ColorSpace=document.copy_foreign(spaces))
            paint = image
        else:
            page.obj.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(I=document.copy_foreign(image)))
            paint = b"/I Do"
        page.obj.Contents = document.make_stream(b"%d 0 0 %d 0 0 cm\n%b\n" % (width, height, paint))
        stream = io.BytesIO()
        document.save(stream, compress_streams=False, stream_decode_level=pikepdf.StreamDecodeLevel.none)
    drawn = pypdfium2.PdfDocument(stream.getvalue())
    try:
        fill = (0, 0, 0, 0) if is_masked else (255, 255, 255, 255)
        return drawn[0].render(scale=1, fill_color=fill, maybe_alpha=is_masked, rev_byteorder=True).to_pil()
    finally:
        drawn.close()


def _is_grey(bitmap: Any) -> bool:
    from PIL import ImageChops

    red, green, blue = bitmap.split()
    return ImageChops.difference(red, green).getbbox() is None and ImageChops.difference(red, blue).getbbox() is None


# --- damaged objects are everywhere --------------------------------------------------------------------------------------------------


def _is_stream(value: Any) -> bool:
    import pikepdf

    return isinstance(value, pikepdf.Stream)


def _dictionary(value: Any) -> Any:
    """The value where it is a dictionary (or the dictionary of a stream's resources), else None."""
    import pikepdf

    return value if isinstance(value, pikepdf.Dictionary) else None


def _items(value: Any) -> list[Any]:
    """An array's items, one value as a list of it, nothing as no list."""
    import pikepdf

    if value is None:
        return []
    return list(value) if isinstance(value, pikepdf.Array) else [value]


def _subtype(value: Any) -> str:
    return str(value.get("/Subtype", "")) if _is_stream(value) else ""


def _content(value: Any) -> bytes | None:
    """The decoded content of a stream or of an array of streams; None where one cannot be decoded (the parser may still read the rest)."""
    import pikepdf

    try:
        return b"\n".join(stream.read_bytes() for stream in _items(value) if _is_stream(stream))
    except pikepdf.PdfError:
        return None


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
