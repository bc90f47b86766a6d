"""Whole pages, made of random operators, fonts and places: first their characters as they are found, then their layout."""

import io

import pytest
from examples import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pdfminer.layout import LTChar, LTTextBox
from pdfminer.pdfexceptions import PDFValueError
from pdfminer.pdfpage import PDFPage

pytest.importorskip("transforms.partition.pdf_kernel.texts", reason="the PDF kernel is not compiled")
from pdf_layouts import PLAIN, characters_of, described, devices, is_path, layout_of, ordered_ties, page_of

from transforms.partition.pdf_kernel import layout, self_test
from transforms.partition.pdf_kernel.characters import KernelChar
from transforms.partition.pdf_kernel.pages import KernelPage

FONTS = {
    b"F1": self_test.HELVETICA,
    b"F2": self_test.TRUETYPE,
    b"F3": self_test.TYPE3,
    b"F4": self_test.composite_font(b"Identity-H", to_unicode=4),
    b"F5": self_test.composite_font(b"Identity-H", to_unicode=None),
    b"F6": self_test.composite_font(b"Identity-V", to_unicode=4),
    b"F7": b"<</Type/Font/Subtype/Type0/BaseFont/Any/Encoding/UniJIS-UCS2-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/Any"
    b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>/DW 1000/FontDescriptor<</Type/FontDescriptor/FontName/Any>>>>]>>",
    b"F8": b"<</Type/Font/Subtype/Type1/BaseFont/Unknown/FirstChar 32/Widths[null 250 (x) /y 300.5]/ToUnicode 4 0 R>>",
}
HORIZONTAL = [b"F1", b"F2", b"F3", b"F4", b"F5", b"F7", b"F8"]

numbers = st.one_of(
    st.integers(-1000, 1000).map(lambda number: b"%d" % number),
    st.floats(-1000, 1000).map(lambda number: b"%.4f" % number),
    st.sampled_from(
        [b"0", b"-0.0", b".5", b"1000000000000", b"99999999999999999999", b"0.0000001", b"1e5", b"null", b"(x)", b"/N", b"[1]"]
    ),
)
plain_numbers = st.floats(-3, 700).map(lambda number: b"%.3f" % number)
strings = st.one_of(
    st.binary(max_size=8).map(lambda data: b"<" + data.hex().encode() + b">"),
    st.sampled_from([b"(Hello)", b"( )", b"()", b"(11)", b"<0001000200030020>", b"(\\101\\(b)", b"<00>"]),
)


def operator(name, *operands):
    return st.tuples(*operands).map(lambda given: b" ".join([*given, name]))


def shown(numbers):
    return st.lists(st.one_of(strings, numbers), max_size=5).map(lambda items: b"[" + b" ".join(items) + b"]")


def operators(numbers, fonts):
    return st.one_of(
        operator(b"Tj", strings),
        operator(b"TJ", shown(numbers)),
        operator(b"'", strings),
        operator(b'"', numbers, numbers, strings),
        operator(b"Tf", st.sampled_from(fonts).map(lambda name: b"/" + name), numbers),
        operator(b"Td", numbers, numbers),
        operator(b"TD", numbers, numbers),
        operator(b"Tm", *[numbers] * 6),
        operator(b"cm", *[numbers] * 6),
        *(operator(name, numbers) for name in (b"Tc", b"Tw", b"Tz", b"TL", b"Ts", b"Tr", b"g", b"w")),
        *(operator(name) for name in (b"BT", b"ET", b"q", b"Q", b"T*", b"h", b"S", b"f", b"n", b"scn", b"EI", b"unknown")),
        *(operator(name, numbers, numbers) for name in (b"m", b"l")),
        operator(b"re", *[numbers] * 4),
        operator(b"c", *[numbers] * 6),
        st.sampled_from([b"/X1 Do", b"/None Do", b"1 2 3", b"BI /W 1 /H 1 ID ab EI ", b"/None Tf", b"(few) Td", b"[1 2"]),
    )


wild = st.lists(operators(numbers, [*FONTS]), max_size=40)
tame = st.lists(operators(plain_numbers, HORIZONTAL), max_size=40)
START = b"BT /F1 12 Tf 1 0 0 1 50 700 Tm"


def document(parts, form=(), **options):
    return self_test.page_pdf(
        [START, *[b" ".join(part) for part in parts]], fonts=FONTS, forms={b"X1": b" ".join([START, *form])}, **options
    )


def comparable(pages):
    """Without the paths of pages, which the kernel leaves out, and the name of inline images' figures, which is an address."""
    return [page if isinstance(page, str) else [item for item in page if item != "path"] for page in pages]


@settings(max_examples=examples(400), suppress_health_check=list(HealthCheck))
@given(st.lists(wild, min_size=1, max_size=2), wild, st.sampled_from([b"", b"/Rotate 90", b"/Rotate 270", b"/MediaBox[-5 -6.5 600 700]"]))
@example([[b"(no size) Tj"]], [], b"")
@example([[b"/F6 12 Tf", b"<00010002> Tj", b"/F1 9 Tf", b"(x) Tj"]], [], b"")
@example([[b"/X1 Do"]], [b"0 0 m 1 1 l 2 2 m 3 3 l S", b"5 5 m S", b"1 1 l S", b"0 0 m 0 0 m 1 1 l h f", b"(in the form) Tj"], b"")
def test_characters_are_pdfminer_s_to_the_last_bit(parts, form, page):
    data = document(parts, form, page=page)
    assert comparable(characters_of(data, kernel=True)) == comparable(characters_of(data, kernel=False))


@settings(max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(st.lists(tame, min_size=1, max_size=2), tame, st.booleans())
def test_layouts_are_pdfminer_s(parts, form, compressed):
    data = document(parts, form, compressed=compressed)
    assert layout_of(data, kernel=True) == layout_of(data, kernel=False)


@pytest.mark.parametrize("name", sorted(FONTS))
def test_every_font_is_pdfminer_s(name):
    codes = b" ".join(b"<%02x%02x> Tj" % (high, low) for high in (0, 1, 48) for low in range(256))
    content = b"BT /%s 12 Tf 50 600 Td 3 Tw 1 Tc %s ET" % (name, codes)
    data = document([[content]])
    assert characters_of(data, kernel=True) == characters_of(data, kernel=False)


@pytest.mark.parametrize("name", sorted(self_test.samples()))
def test_the_samples_are_laid_out_as_by_pdfminer(name):
    data = self_test.samples()[name]
    assert layout_of(data, kernel=True) == layout_of(data, kernel=False)


def test_the_kernel_s_characters_are_pdfminer_s_to_everyone():
    _, (device, interpreter) = devices()
    page = next(PDFPage.get_pages(io.BytesIO(self_test.page_pdf([b"BT /F1 12 Tf 50 700 Td (A) Tj ET"]))))
    interpreter.process_page(page)
    box = next(item for item in device.get_result() if isinstance(item, LTTextBox))
    (character,) = [item for item in next(iter(box)) if isinstance(item, LTChar)]
    assert type(character) is KernelChar
    assert (character.get_text(), character.bbox) == ("A", (50.0, 697.516, 58.004000000000005, 709.516))
    assert character.matrix == (1.0, 0.0, 0.0, 1.0, 50.0, 700.0)
    assert repr(character).startswith(
        "<KernelChar 50.000,697.516,58.004,709.516 matrix=[1.00,0.00,0.00,1.00, (50.00,700.00)] font='Helvetica'"
    )
    assert not character.is_empty()
    assert character.hdistance(character) == 0
    with pytest.raises(PDFValueError):
        character < character  # noqa: B015


# --- layout of characters anywhere ----------------------------------------------------------------------------------------------------

BOX = (0, 0, 612, 792)
words = st.sampled_from(["a", "bc", " ", "", "\n", "é", "  "])
coordinates = st.one_of(
    st.floats(-50, 850), st.integers(0, 80).map(lambda number: number * 10.0), st.sampled_from([0.0, 50.0, 100.0, 611.9])
)
extents = st.one_of(st.floats(0, 40), st.sampled_from([0.0, 5.0, 10.0, 12.0, 600.0]))


def character(text, x, y, width, height):
    made = KernelChar.__new__(KernelChar)
    made._text = text
    made.fontname, made.ncs, made.graphicstate, made.rendermode = "F", None, None, 0
    made.matrix = (1, 0, 0, 1, x, y)
    made.bbox = (x, y, x + width, y + height)
    made.width, made.height = made.x1 - made.x0, made.y1 - made.y0
    made.size = made.height
    return made


def assert_same_layout(characters, box=BOX):
    found, expected = page_of(characters, box, KernelPage), page_of(characters, box)
    with ordered_ties():
        expected.analyze(PLAIN)
    assert layout.analyze_page(found, PLAIN) is True
    assert [described(item) for item in found] == [described(item) for item in expected]
    assert [described(group) for group in found.groups or ()] == [described(group) for group in expected.groups or ()]


@settings(max_examples=examples(500), suppress_health_check=list(HealthCheck))
@given(st.lists(st.builds(character, words, coordinates, coordinates, extents, extents), max_size=60))
def test_characters_anywhere_are_grouped_as_by_pdfminer(characters):
    assert_same_layout(characters)


@settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.floats(3, 60),
    st.floats(3, 60),
    st.sampled_from([(5.0, 10.0), (12.5, 10.0), (3.0, 3.0), (40.0, 8.0)]),
    st.randoms(use_true_random=False),
)
def test_tables_with_equal_distances_are_ordered_as_by_pdfminer_with_ordered_ties(columns, rows, across, down, size, random):
    places = [(column * across, row * down) for column in range(columns) for row in range(rows)]
    random.shuffle(places)
    assert_same_layout([character("x", 20 + x, 20 + y, *size) for x, y in places])


@pytest.mark.parametrize("count", [300, 1100])
def test_thousands_of_boxes_are_ordered_as_by_pdfminer(count):
    import random

    generator = random.Random(count)
    side = int(count**0.5) * 40
    characters = [character("x", generator.uniform(0, side), generator.uniform(0, side), 6.0, 8.0) for _ in range(count)]
    assert_same_layout(characters, (0, 0, side, side))


@pytest.mark.parametrize(
    ("characters", "box"),
    [
        ([character("x", float("nan"), 1.0, 5.0, 5.0)], BOX),
        ([character("x", float("inf"), 1.0, 5.0, 5.0)], BOX),
        ([character("x", 1e10, 1.0, 5.0, 5.0)], BOX),
        ([character("x", 1.0, 1.0, 5.0, 5.0)], (0, 0, float("nan"), 10)),
        ([character("x", 1.0, 1.0, 5.0, 5.0)], (0, 0, 10, 1e8)),
        ([character("x", 1.0, 1.0, 5.0, 5.0)], (1, 0, 10, 10)),
        ([character("x", 1.0, 1.0, 5.0, 5.0), object.__new__(LTChar)], BOX),
    ],
)
def test_senseless_pages_are_handed_back(characters, box):
    page = page_of([], BOX, KernelPage)
    page._objs = list(characters)
    page.set_bbox(box)
    assert layout.analyze_page(page, PLAIN) is False
    assert page._objs == characters


def test_lines_of_a_senseless_size_are_handed_back():
    high = [character("x", 5.0 * number, 1.0, 5.0, 5e7) for number in range(0, 400, 3)]
    page = page_of(high, (0, 0, 5e7, 5e7), KernelPage)
    assert layout.analyze_page(page, PLAIN) is False
    assert page._objs == high


def test_paths_are_counted_in_figures_only():
    content = b"0 0 m 1 1 l S 0 0 10 10 re f /X1 Do"
    form = [b"0 0 m 1 1 l 2 2 m 3 3 l S 4 4 1 1 re 5 5 1 1 re f"]
    data = document([[content]], form)
    (page,) = characters_of(data, kernel=True)
    (figure,) = [item for item in page if item[0] == "LTFigure"]
    assert [item for item in figure[-1] if item == "path"] == ["path"] * 4
    assert "path" not in page
    assert not any(is_path(item) for item in page_of([], BOX))
