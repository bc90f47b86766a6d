"""A text can be made so that a careless pattern needs years for it. Each of ours that reads a document needs a time that grows with it."""

import time
import zipfile

import pytest

from transforms.partition import detect, markup, properties
from transforms.partition.office import spreadsheets
from transforms.partition.pictures.picture import picture_from_bytes

SIZE = 200_000


@pytest.fixture
def sheet(tmp_path):
    def make(content):
        path = tmp_path / "a.xlsx"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", content)
        return path

    return make


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda: detect._HTML_START.match("<!---->" * 5000 + "x"), id="comments before a page"),
        pytest.param(lambda: detect._HTML_START.match("<?xml " + " <!--" * 10_000), id="comments without an end"),
        pytest.param(lambda: markup._FRAMES.search("<iframe " * (SIZE // 8)), id="frames"),
        pytest.param(lambda: markup._FRAMES.search("<iframe " + " src" * (SIZE // 4)), id="a frame without a source"),
        pytest.param(lambda: markup._FRONT_MATTER.match("---\n" + "a: b\n" * (SIZE // 5)), id="front matter without an end"),
        pytest.param(lambda: markup._FRONT_MATTER.match("---\n" + "\r\n" * (SIZE // 2)), id="blank front matter"),
        pytest.param(lambda: markup._TABLE_IN_A_FILE.search(".. raw::\n" * (SIZE // 9)), id="raw"),
        pytest.param(lambda: markup._TABLE_IN_A_FILE.search(".. raw::\n" + "  :a:\n" * (SIZE // 6)), id="options"),
        pytest.param(lambda: markup._INCLUDE.search(".. csv-table::\n" + "  :a:\n" * (SIZE // 6)), id="includes"),
        pytest.param(lambda: properties.html_properties("<meta " + "a" * SIZE + ">"), id="a long attribute"),
        pytest.param(lambda: properties.html_properties("<meta " * (SIZE // 6)), id="metas"),
        pytest.param(lambda: properties.html_properties("<title>" * 5000), id="titles"),
        pytest.param(lambda: picture_from_bytes(b'<svg width="' + b"1" * SIZE + b'x" height="2"/>'), id="a long length"),
    ],
)
def test_a_pattern_takes_a_moment(work):
    started = time.process_time()
    work()
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("content", ["</f>" + " " * SIZE, "<f " * (SIZE // 3), "</f><v>" + " " * SIZE, ("</f>" + " " * 50) * (SIZE // 54)])
def test_a_sheet_of_spaces_takes_a_moment(sheet, content):
    started = time.process_time()
    assert not spreadsheets._has_bare_formulas(sheet(content))
    assert time.process_time() - started < 2.0


def test_bare_formulas_are_still_found(sheet):
    for cell in ("<c><f>1+1</f></c>", "<c><f>1+1</f><v/></c>", "<c><f>1+1</f> <v> </v> </c>", '<c><f t="shared" si="0"/></c>'):
        assert spreadsheets._has_bare_formulas(sheet(cell)), cell
    assert not spreadsheets._has_bare_formulas(sheet("<c><f>1+1</f><v>2</v></c>"))
