"""Image files as documents, through `partition_image`."""

import io
import shutil
import struct
import zlib

import pytest
from PIL import Image, ImageDraw, ImageFont

from transforms.model import DecodeError, Status
from transforms.partition import formats
from transforms.partition.environment import apply_decode_environment
from transforms.partition.image_documents import partition_image
from transforms.partition.nlp import install_nlp
from transforms.settings import DecodeSettings, Strategy

needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")


@pytest.fixture(autouse=True, scope="module")
def nlp():
    apply_decode_environment()
    install_nlp()


def page(text, mode="L"):
    image = Image.new("L", (1000, 300), 255)
    ImageDraw.Draw(image).text((60, 100), text, fill=0, font=ImageFont.load_default(size=48))
    return image.convert(mode)


def saved(image, name, **options):
    stream = io.BytesIO()
    image.save(stream, name, **options)
    return stream.getvalue()


@pytest.fixture
def partition(tmp_path):
    def run(data, known=formats.PNG, **settings):
        path = tmp_path / "spool"
        path.write_bytes(data)
        return partition_image(path, known, DecodeSettings(**settings))

    return run


@pytest.fixture
def refusal(partition):
    def run(*arguments, **settings):
        with pytest.raises(DecodeError) as raised:
            partition(*arguments, **settings)
        return raised.value.status

    return run


@needs_tesseract
@pytest.mark.parametrize("name", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_an_image_gives_its_text_and_itself(partition, name):
    known = getattr(formats, name)
    data = saved(page("The harvest was poor.", "RGB" if name in ("JPEG", "WEBP") else "L"), name)

    document = partition(data, known)

    image, text = document.elements
    assert (image.category, image.picture.data, image.coordinates) == ("Image", data, (0.0, 0.0, 1.0, 1.0))
    assert image.picture.mime_type == document.mime_type == known.mime_type
    assert (text.text, text.page_number, text.languages) == ("The harvest was poor.", None, ("eng",))
    assert not document.page_based
    assert document.page_count is None


@needs_tesseract
def test_each_page_of_a_tiff_is_read(partition):
    data = saved(page("The first page."), "TIFF", save_all=True, append_images=[Image.new("L", (300, 300), 255), page("The third page.")])

    document = partition(data, formats.TIFF)

    assert [(e.page_number, e.text) for e in document.elements if e.category != "Image"] == [(1, "The first page."), (3, "The third page.")]
    assert [e.picture.data for e in document.elements if e.category == "Image"] == [data]
    assert document.page_count == 3
    assert not document.page_based
    assert list(document.warnings) == ["OCR finds no text on page 2 of the image."]


@needs_tesseract
def test_a_photograph_that_was_taken_sideways_is_read_as_its_camera_says(partition):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by 90 degrees
    data = saved(page("The harvest was poor.", "RGB").rotate(90, expand=True), "JPEG", exif=exif, quality=95)

    assert [e.text for e in partition(data, formats.JPEG).elements if e.category != "Image"] == ["The harvest was poor."]


@needs_tesseract
def test_an_image_without_text_is_itself_with_a_warning(partition):
    document = partition(saved(Image.new("RGB", (200, 100), (3, 90, 200)), "PNG"))

    assert [e.category for e in document.elements] == ["Image"]
    assert list(document.warnings) == ["OCR in eng finds no text in the image."]


@needs_tesseract
def test_without_images_only_the_text_is_given(partition):
    assert [e.category for e in partition(saved(page("The harvest was poor."), "PNG"), images=False).elements] == ["NarrativeText"]


def test_under_fast_an_image_needs_ocr(refusal):
    assert refusal(saved(page("Text."), "PNG"), strategy=Strategy.FAST) is Status.NEEDS_OCR


def test_without_tesseract_the_tool_is_missing(refusal, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert refusal(saved(page("Text."), "PNG")) is Status.MISSING_TOOL


def without_width(tiff):
    """A TIFF of which the second page has another tag for its first, ImageWidth (256); Pillow raises TypeError when it comes to it."""
    data = bytearray(tiff)
    first = int.from_bytes(data[4:8], "little")
    following = first + 2 + 12 * int.from_bytes(data[first : first + 2], "little")
    second = int.from_bytes(data[following : following + 4], "little") + 2
    assert data[second : second + 2] == b"\x00\x01"
    data[second : second + 2] = b"\xfe\x00"
    return bytes(data)


@needs_tesseract
@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n broken",
        saved(page("Text."), "PNG")[:800],
        without_width(saved(page("Text."), "TIFF", save_all=True, append_images=[page("More.")])),
    ],
    ids=["header", "truncated", "without width"],
)
def test_a_damaged_image_is_corrupt(refusal, data):
    assert refusal(data) is Status.CORRUPT


def test_a_decompression_bomb_is_too_large_by_its_header(refusal):
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + b"IHDR"
        + header
        + struct.pack(">I", zlib.crc32(b"IHDR" + header))
        + b"\0\0\0\x0aIDAT"
        + b"\0" * 14
    )

    assert refusal(data) is Status.TOO_LARGE
