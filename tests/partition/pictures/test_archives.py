"""The pictures of workbooks, OpenDocument files and books, read from archives that are made here."""

import io
import zipfile

import openpyxl
import pytest
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image

from transforms.partition.pictures.archives import ArchivePictures, odt_pictures, xlsx_pictures


def png(height):
    stream = io.BytesIO()
    Image.new("L", (20, height), 7).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def archive(tmp_path):
    def make(**members):
        path = tmp_path / "spool"
        with zipfile.ZipFile(path, "w") as written:
            for name, data in members.pop("named", {}).items():
                written.writestr(name, data)
        return path

    return make


def test_the_pictures_of_a_workbook_belong_to_their_sheets_hidden_ones_counted(tmp_path):
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "text"
    hidden = workbook.create_sheet("Hidden")
    hidden.sheet_state = "hidden"
    workbook.create_chartsheet("Chart")
    last = workbook.create_sheet("Last")
    hidden.add_image(SheetImage(io.BytesIO(png(11))), "B2")
    last.add_image(SheetImage(io.BytesIO(png(12))), "B2")
    last.add_image(SheetImage(io.BytesIO(png(13))), "B9")
    path = tmp_path / "spool"
    workbook.save(path)

    elements = xlsx_pictures(path)

    assert [(e.page_number, e.picture.height, e.in_reading_order) for e in elements] == [(2, 11, False), (3, 12, False), (3, 13, False)]
    assert len({e.element_id for e in elements}) == 3


def test_no_workbook_has_no_pictures(archive, tmp_path):
    (tmp_path / "text").write_bytes(b"no archive")

    assert xlsx_pictures(archive(named={"xl/workbook.xml": b"<broken"})) == []
    assert xlsx_pictures(tmp_path / "text") == []


def test_the_pictures_of_an_odt_are_those_of_its_content(archive):
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
        ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0">'
        '<draw:frame><draw:image xlink:href="Pictures/b.png"/><svg:title>A field</svg:title></draw:frame>'
        '<draw:frame><draw:image xlink:href="./Pictures/a%20b.png"/></draw:frame>'
        '<draw:frame><draw:image xlink:href="./ObjectReplacements/Object 1"/></draw:frame>'
        '<draw:frame><draw:image xlink:href="https://example.org/c.png"/></draw:frame></office:document-content>'
    )
    path = archive(
        named={
            "content.xml": content,
            "Pictures/b.png": png(11),
            "Pictures/a b.png": png(12),
            "ObjectReplacements/Object 1": png(13),
            "Thumbnails/thumbnail.png": png(14),
        }
    )

    assert [(e.picture.height, e.text) for e in odt_pictures(path)] == [(11, "A field"), (12, "")]


@pytest.mark.parametrize(
    ("address", "height"),
    [
        ("images/cover.jpg", 11),
        ("../images/cover.jpg", 11),
        ("OEBPS/images/cover.jpg#x", 11),
        ("logo%20one.png", 12),
        ("same.png", 13),
        ("cover.jpg", 11),
        ("over.jpg", None),
        ("https://example.org/images/cover.jpg", None),
        ("data:image/png;base64,xx", None),
        ("chapter.html", None),
        ("", None),
    ],
)
def test_a_picture_of_a_book_is_found_by_the_end_of_its_path(archive, address, height):
    path = archive(
        named={
            "OEBPS/images/cover.jpg": png(11),
            "OEBPS/logo one.png": png(12),
            "OEBPS/same.png": png(13),
            "OEBPS/deeper/same.png": png(14),
            "OEBPS/chapter.html": b"<p>text</p>",
        }
    )

    with ArchivePictures(path) as pictures:
        picture = pictures.resolve(address)

    assert (picture and picture.height) == height
