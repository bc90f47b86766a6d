"""One picture: what it is, read from its bytes, whatever a name or label says of them.

A `Picture` keeps the bytes as they lie in the document. How the pictures of each format are reached:

- PDF: `transforms.partition.pdf.images`; image files: `transforms.partition.image_documents`;
- DOCX, PPTX, tables of HTML: `partitioners.register_picture_partitioners()` makes unstructured give `Image` elements for them,
  with `image_base64`, in reading order (`picture_from_base64`);
- HTML, Markdown: unstructured gives `image_base64` for base64 data URIs with `extract_image_block_to_payload=True` and
  `extract_image_block_types=["Image"]`, and the whole URI as `image_url` for the others (`picture_from_data_uri`);
- EPUB: `archives.ArchivePictures(path).resolve(image_url)` for the `Image` elements of the converted HTML;
- XLSX: `archives.xlsx_pictures(path)`;
- ODT: `archives.odt_pictures(path)`, for those that the conversion to DOCX leaves out.
"""

import base64
import binascii
import gzip
import hashlib
import io
import re
import struct
import warnings
from urllib.parse import unquote, unquote_to_bytes

from lxml import etree

from transforms.model import Box, Element, Picture

MAX_PIXELS = 500_000_000
"""A picture of more pixels is not kept: it is a decompression bomb, or will be one for whoever decodes it.
An A0 sheet scanned at 300 dpi has 140 million. The same limit as unstructured sets in Pillow (0.27.35)."""

MAX_PICTURE_BYTES = 256 * 1024 * 1024
"""Of one picture inside an archive, unpacked."""

_PILLOW_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG that carries more frames after the first
    "GIF": "image/gif",
    "BMP": "image/bmp",
    "TIFF": "image/tiff",
    "WEBP": "image/webp",
    "JPEG2000": "image/jp2",
}
_PILLOW_READERS = tuple(name for name in _PILLOW_TYPES if name != "MPO")
_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")


def picture_from_bytes(data: bytes) -> Picture | None:
    """Reads MIME type and pixel size from a picture's bytes; nothing is decoded.

    Args:
      data: PNG, JPEG, JPEG 2000, GIF, BMP, TIFF, WEBP, HEIC, SVG, EMF or WMF; also gzipped (EMZ, WMZ, SVGZ), which is unpacked, as the
        compressed forms have no MIME type of their own.
    Returns:
      The picture, or None where the bytes are none of these, where a side is one pixel or less (spacers, rules, tracking pixels) and
      where there are more than `MAX_PIXELS`.
    """
    if data[:2] == b"\x1f\x8b":
        unpacked = _gunzip(data)
        return None if unpacked is None or unpacked[:2] == b"\x1f\x8b" else picture_from_bytes(unpacked)
    found = _vector_size(data) or _heif_size(data) or _raster_size(data)
    if found is None:
        return None
    mime_type, width, height = found
    if width <= 1 or height <= 1 or width * height > MAX_PIXELS:
        return None
    return Picture(data=data, mime_type=mime_type, width=width, height=height)


def picture_from_base64(text: str) -> Picture | None:
    """The picture of an element's `image_base64`; None where it is not base64 or no picture. White space and missing padding pass."""
    compact = re.sub(r"\s+", "", text).rstrip("=")
    try:
        return picture_from_bytes(base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def picture_from_data_uri(uri: str) -> Picture | None:
    """The picture of a `data:` URI, base64 or percent-encoded, with any parameters; None for every other URI. Source: RFC 2397."""
    head, comma, body = uri.strip().partition(",")
    if not comma or head[:5].lower() != "data:":
        return None
    if head.lower().endswith(";base64"):
        return picture_from_base64(unquote(body))
    return picture_from_bytes(unquote_to_bytes(body))


def image_element(
    picture: Picture,
    *,
    place: str,
    page_number: int | None = None,
    text: str = "",
    coordinates: Box | None = None,
    in_reading_order: bool = True,
    digest: str = "",
) -> Element:
    """An `Image` element for one place where a picture stands.

    Args:
      place: tells places of the same document apart, and is the same in each decode ("sheet 2, 1", "page 3, 7").
      text: the alternative text; never emitted.
      digest: SHA-256 of the picture's bytes, where the caller has it for many places of the same picture; computed otherwise.
    """
    digest = digest or hashlib.sha256(picture.data).hexdigest()
    return Element(
        "Image",
        text=text,
        element_id=hashlib.sha256(f"{place}\0{digest}".encode()).hexdigest()[:32],
        page_number=page_number,
        coordinates=coordinates,
        picture=picture,
        in_reading_order=in_reading_order,
    )


def _raster_size(data: bytes) -> tuple[str, int, int] | None:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS  # Pillow's own refuses at 179 million; unstructured.partition.pdf sets the same when it is imported
    Image.init()  # with `formats`, Image.open tries only the plugins that are loaded already (Pillow 12.3)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns from MAX_IMAGE_PIXELS on, and raises at twice as many
            with Image.open(io.BytesIO(data), formats=_PILLOW_READERS) as image:
                return _PILLOW_TYPES[str(image.format)], image.width, image.height
    except Exception:  # Pillow's readers raise nearly everything (struct.error, SyntaxError, …) on damaged headers
        return None


def _heif_size(data: bytes) -> tuple[str, int, int] | None:
    if data[4:8] != b"ftyp" or data[8:12] not in _HEIF_BRANDS:
        return None
    try:
        import pi_heif

        image = pi_heif.open_heif(io.BytesIO(data))  # lazy: reads the boxes, not the pixels
        return "image/heic", int(image.size[0]), int(image.size[1])
    except Exception:  # libheif's errors come as ValueError, RuntimeError, EOFError, …
        return None


def _gunzip(data: bytes) -> bytes | None:
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            unpacked = stream.read(MAX_PICTURE_BYTES + 1)
    except (OSError, EOFError, ValueError):
        return None
    return unpacked if len(unpacked) <= MAX_PICTURE_BYTES else None


_CSS_PIXELS = {
    "": 1.0,
    "px": 1.0,
    "pt": 96 / 72,
    "pc": 16.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 96 / 25.4,
    "q": 96 / 101.6,
    "em": 16.0,
    "ex": 8.0,
}
_LENGTH = re.compile(r"\s*([+]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)\s*$", re.IGNORECASE)
_SVG_TAG = re.compile(rb"<(?:\w+:)?svg[\s/>]")
_SVG_DEFAULT = (300.0, 150.0)
"""Of a replaced element without a size. Source: CSS 2.2, 10.3.2."""


def _vector_size(data: bytes) -> tuple[str, int, int] | None:
    if data[:4] == b"\x01\x00\x00\x00" and data[40:44] == b" EMF":
        size = _emf_size(data)
        return ("image/x-emf", *size) if size else None
    if data[:4] == b"\xd7\xcd\xc6\x9a" or (data[:2] in (b"\x01\x00", b"\x02\x00") and data[2:4] == b"\x09\x00"):
        size = _wmf_size(data)
        return ("image/x-wmf", *size) if size else None
    if _SVG_TAG.search(data[:65_536]) and data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<":
        size = _svg_size(data)
        return ("image/svg+xml", *size) if size else None
    return None


def _emf_size(data: bytes) -> tuple[int, int] | None:
    """Pixels of the reference device: the header's inclusive bounds. Source: [MS-EMF] 2.2.9."""
    if len(data) < 24:
        return None
    left, top, right, bottom = struct.unpack_from("<4i", data, 8)
    return right - left + 1, bottom - top + 1


def _wmf_size(data: bytes) -> tuple[int, int] | None:
    """Pixels at 96 dpi by the placeable header, else the window's extent. Source: [MS-WMF] 2.3.2.3 and 2.3.5.30."""
    if data[:4] == b"\xd7\xcd\xc6\x9a":
        if len(data) < 22:
            return None
        left, top, right, bottom, inch = struct.unpack_from("<4hH", data, 6)
        return (round(abs(right - left) * 96 / inch), round(abs(bottom - top) * 96 / inch)) if inch else None
    offset = 18
    while offset + 6 <= len(data):
        words, function = struct.unpack_from("<IH", data, offset)
        if function == 0x020C and offset + 10 <= len(data):  # META_SETWINDOWEXT
            height, width = struct.unpack_from("<2h", data, offset + 6)
            return abs(width), abs(height)
        if words < 3 or function == 0:
            return None
        offset += words * 2
    return None


def _svg_size(data: bytes) -> tuple[int, int] | None:
    """CSS pixels by `width` and `height`, the `viewBox` where one is missing or relative."""
    try:
        root = next(
            element
            for _, element in etree.iterparse(io.BytesIO(data), events=("start",), no_network=True, resolve_entities=False, load_dtd=False)
        )
    except (etree.XMLSyntaxError, StopIteration):
        return None
    if etree.QName(root).localname != "svg":
        return None
    width, height = _css_pixels(root.get("width")), _css_pixels(root.get("height"))
    box = [float(number) for number in re.findall(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", root.get("viewBox", ""), re.IGNORECASE)]
    box_width, box_height = (box[2], box[3]) if len(box) == 4 and box[2] > 0 and box[3] > 0 else _SVG_DEFAULT
    if width is None and height is None:
        width, height = box_width, box_height
    elif width is None:
        width = (height or 0) * box_width / box_height
    elif height is None:
        height = width * box_height / box_width
    return max(1, round(width)), max(1, round(height or 0))


def _css_pixels(length: str | None) -> float | None:
    match = _LENGTH.match((length or "")[:40])
    unit = _CSS_PIXELS.get(match[2].lower()) if match else None
    return float(match[1]) * unit if match and unit else None
