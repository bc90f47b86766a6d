import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.model import Element
from transforms.sections.text import SEPARATOR, assemble_text, emitted_piece

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

texts = st.text(st.characters(exclude_categories=()), max_size=12)
elements = st.builds(
    Element,
    category=st.sampled_from(["Title", "NarrativeText", "Table", "Image", "PageBreak", "CodeSnippet"]),
    text=texts,
    html=st.one_of(st.just(""), texts.map(lambda text: f"<table><tr><td>{text}</td></tr></table>"), texts),
)


def test_the_example_of_the_contract():
    table = "<table>\n<tr><th>Quarter</th><th>Revenue</th></tr>\n</table>"
    title = Element("Title", "Financial Overview")
    body = Element("NarrativeText", "Revenue grew 15% year-over-year.")
    figures = Element("Table", "Quarter Revenue", html=table)
    picture = Element("Image", "words that OCR read in a picture")

    assembled = assemble_text([title, Element("PageBreak", "x"), body, picture, Element("ListItem", " \n\u00a0"), figures])

    assert assembled.text == f"Financial Overview\n\nRevenue grew 15% year-over-year.\n\n{table}"
    assert [(span.element, span.offset, span.length) for span in assembled.spans] == [
        (title, 0, 18),
        (body, 20, 32),
        (figures, 54, len(table)),
    ]


@given(st.lists(elements, max_size=12))
def test_slices_give_the_pieces_back_and_the_pieces_the_text(some):
    assembled = assemble_text(iter(some))

    slices = [assembled.text[span.offset : span.offset + span.length] for span in assembled.spans]
    assert slices == [piece for piece in map(emitted_piece, some) if piece]
    assert SEPARATOR.join(slices) == assembled.text
    assert [id(span.element) for span in assembled.spans] == [id(element) for element in some if emitted_piece(element)]
    assert not any(span.element.category in ("Image", "PageBreak") for span in assembled.spans)
    assert all(piece.strip() for piece in slices)
    assembled.text.encode()  # no lone surrogate is left


@given(st.builds(Element, category=st.just("Table"), text=texts, html=texts))
def test_a_table_is_always_a_table(table):
    piece = emitted_piece(table)

    assert ("<table>" in piece) is bool(piece)
    assert bool(piece) is bool(table.text.strip())


@given(texts)
def test_text_is_emitted_as_it_is(text):
    text = text.encode("utf-8", "replace").decode()
    assert emitted_piece(Element("NarrativeText", text)) == (text if text.strip() else "")


@pytest.mark.parametrize(
    ("text", "html", "piece"),
    [
        ("a < b & c", "", "<table>a &lt; b &amp; c</table>"),
        ("a", "<div>a</div>", "<table>a</table>"),
        ("a", "<tablet>a</tablet>", "<table>a</table>"),
        ("a", '<table border="1"><tr><td>a</td></tr></table>', '<table border="1"><tr><td>a</td></tr></table>'),
        ("", "<table><tr><td>only here</td></tr></table>", "<table><tr><td>only here</td></tr></table>"),
        ("  ", "<table><tr><td>&nbsp;</td><td/></tr></table>", ""),
        ("", "", ""),
    ],
)
def test_pieces_of_tables(text, html, piece):
    assert emitted_piece(Element("Table", text, html=html)) == piece


@pytest.mark.parametrize(
    ("markup", "rest"),
    [
        (f'<table><img src="data:image/png;base64,{PIXEL}" alt="x"/></table>', '<table><img src="" alt="x"/></table>'),
        (f"<table><img src='data:image/png;charset=x;base64, {PIXEL[:60]}\n {PIXEL[60:]}\n'/></table>", "<table><img src=''/></table>"),
        (f"<table><td>data:image/png;base64,{PIXEL} and more</td></table>", "<table><td> and more</td></table>"),
    ],
)
def test_base64_never_enters_a_table(markup, rest):
    assert emitted_piece(Element("Table", "a", html=markup)) == rest


def test_base64_never_enters_a_text():
    wrapped = "\n".join(["A" * 76] * 3)

    assert emitted_piece(Element("NarrativeText", f"see data:image/gif;base64,{wrapped}\nand on it goes")) == "see \nand on it goes"
    assert emitted_piece(Element("NarrativeText", f"data:image/gif;base64,{PIXEL}")) == ""
    assert emitted_piece(Element("NarrativeText", "metadata:x;base64,AAAA")) == "metadata:x;base64,AAAA"
    assert emitted_piece(Element("NarrativeText", 'he said "data:image/gif;base64,AAAA and more"')) == 'he said " and more"'


@pytest.mark.parametrize(
    "text", ["data:" * 100_000 + ";base64,", "data:a;base64," * 50_000, '"data:a;base64,' + "A " * 300_000, "'data:a;base64,A" * 40_000]
)
def test_what_looks_like_many_data_uris_takes_no_longer_than_a_long_text(text):
    start = time.perf_counter()
    emitted_piece(Element("NarrativeText", text))
    assert time.perf_counter() - start < 2


def test_halves_of_a_surrogate_pair_become_their_character_and_others_are_replaced():
    assert emitted_piece(Element("Title", "a\ud83d\ude00b\ud800c")) == "a\U0001f600b\ufffdc"
