"""What a picture is, read from its bytes alone."""

import base64
import gzip
import io
import struct
import warnings
import zlib

import pi_heif
import pytest
from PIL import Image

from transforms.partition.pictures.picture import MAX_PIXELS, image_element, picture_from_base64, picture_from_bytes, picture_from_data_uri


def saved(name, size=(30, 20), **options):
    stream = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(stream, name, **options)
    return stream.getvalue()


def png_header(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + b"IHDR"
        + header
        + struct.pack(">I", zlib.crc32(b"IHDR" + header))
        + b"\0\0\0\x0aIDAT"
        + b"\0" * 14
    )


EMF = b"\x01\0\0\0" + struct.pack("<I", 88) + struct.pack("<4i", 10, 20, 109, 69) + struct.pack("<4i", 0, 0, 1, 1) + b" EMF" + b"\0" * 44
PLACEABLE_WMF = b"\xd7\xcd\xc6\x9a\0\0" + struct.pack("<4hH", 0, 0, 2880, 1440, 1440) + b"\0" * 6 + b"\x01\0\x09\0" + b"\0" * 14
BARE_WMF = b"\x01\0\x09\0\0\x03" + b"\0" * 12 + struct.pack("<IH2h", 5, 0x020B, 0, 0) + struct.pack("<IH2h", 5, 0x020C, 60, 90)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (saved("PNG"), ("image/png", 30, 20)),
        (saved("JPEG"), ("image/jpeg", 30, 20)),
        (saved("GIF"), ("image/gif", 30, 20)),
        (saved("BMP"), ("image/bmp", 30, 20)),
        (saved("TIFF"), ("image/tiff", 30, 20)),
        (saved("WEBP"), ("image/webp", 30, 20)),
        (saved("JPEG2000"), ("image/jp2", 30, 20)),
        (EMF, ("image/x-emf", 100, 50)),
        (PLACEABLE_WMF, ("image/x-wmf", 192, 96)),
        (BARE_WMF, ("image/x-wmf", 90, 60)),
        (b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>', ("image/svg+xml", 40, 30)),
        (b'<?xml version="1.0"?>\n<!-- c -->\n<svg viewBox="0 0 200 50" width="1in"/>', ("image/svg+xml", 96, 24)),
        (b'\xef\xbb\xbf<svg viewBox="0 0 64 32" width="100%"/>', ("image/svg+xml", 64, 32)),
        (b"<svg/>", ("image/svg+xml", 300, 150)),
    ],
    ids=[
        "png",
        "jpeg",
        "gif",
        "bmp",
        "tiff",
        "webp",
        "jp2",
        "emf",
        "wmf",
        "bare wmf",
        "svg",
        "svg in inches",
        "svg by view box",
        "bare svg",
    ],
)
def test_type_and_size_are_read_from_the_bytes_which_are_kept(data, expected):
    picture = picture_from_bytes(data)

    assert (picture.mime_type, picture.width, picture.height) == expected
    assert picture.data == data


def test_heic_is_known_by_its_brand():
    # pi_heif only reads; the boxes of its own plugin's brand check are enough to see that a false one is refused.
    assert picture_from_bytes(b"\0\0\0\x18ftypheic" + b"\0" * 64) is None
    assert pi_heif.is_supported(b"\0\0\0\x18ftypheic" + b"\0" * 64)


@pytest.mark.parametrize("data", [EMF, b'<svg width="40" height="30"/>'], ids=["emz", "svgz"])
def test_compressed_drawings_are_unpacked(data):
    assert picture_from_bytes(gzip.compress(data)).data == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no picture",
        saved("PNG")[:20],
        saved("PNG", (1, 1)),
        saved("PNG", (1, 40)),
        gzip.compress(gzip.compress(EMF)),
        b"<html><body>the word <svg is not enough</body></html>",
        b"<svg",
        EMF[:42],
        b'<!DOCTYPE svg [<!ENTITY a "b">]><html><svg/></html>',
    ],
    ids=["empty", "text", "truncated", "one pixel", "a line", "twice packed", "html", "half a tag", "half a header", "svg inside"],
)
def test_what_is_no_picture_worth_keeping_is_none(data):
    assert picture_from_bytes(data) is None


def test_a_decompression_bomb_is_refused_by_its_header_without_a_warning():
    side = int(MAX_PIXELS**0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert picture_from_bytes(png_header(side, side)).width == side
        assert picture_from_bytes(png_header(side + 1, side + 1)) is None
        assert picture_from_bytes(png_header(200_000, 200_000)) is None


def test_base64_with_line_breaks_and_without_padding_is_read():
    encoded = base64.b64encode(saved("PNG") + b"x").decode()

    assert picture_from_base64("\n".join(encoded[i : i + 10] for i in range(0, len(encoded), 10)).rstrip("=")).width == 30
    assert picture_from_base64("not base64!") is None
    assert picture_from_base64("") is None


@pytest.mark.parametrize(
    "uri",
    [
        "data:image/png;base64," + base64.b64encode(saved("PNG")).decode(),
        "DATA:image/png;charset=utf-8;BASE64," + base64.b64encode(saved("PNG")).decode().replace("+", "%2B"),
        "data:image/wrong;base64," + base64.b64encode(saved("PNG")).decode(),
    ],
    ids=["plain", "parameters", "wrong label"],
)
def test_data_uris_are_read_whatever_their_label_says(uri):
    assert picture_from_data_uri(uri).mime_type == "image/png"


def test_percent_encoded_data_uris_are_read_and_other_addresses_are_not():
    assert picture_from_data_uri("data:image/svg+xml;utf8,%3Csvg width='10' height='20'/%3E").height == 20
    assert picture_from_data_uri("https://example.org/a.png") is None
    assert picture_from_data_uri("data:image/png") is None


def test_an_image_element_is_told_apart_by_place_and_content():
    red, other = picture_from_bytes(saved("PNG")), picture_from_bytes(saved("GIF"))

    identifiers = [image_element(p, place=place).element_id for p in (red, other) for place in ("page 1, 1", "page 1, 2")]

    assert len(set(identifiers)) == 4
    assert identifiers[0] == image_element(red, place="page 1, 1").element_id
