import logging

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pdfminer.pdfinterp import PDFContentParser
from pdfminer.pdftypes import PDFStream
from pdfminer.psparser import PSEOF

content = pytest.importorskip("transforms.partition.pdf_kernel.content", reason="the PDF kernel is not compiled")
tokens = pytest.importorskip("transforms.partition.pdf_kernel.tokens")

logging.getLogger("pdfminer").setLevel(logging.CRITICAL)

FRAGMENTS = (
    rb"q Q BT ET Tj TJ ' " + rb'" 1 -2.5 .25 (text) (a\)b) <4142> /Name true false null << /A 1 >> [ 1 (b) ] { 3 } % comment'
).split()
FRAGMENTS += [
    b"BI /W 1 /H 1 ID abc EI ",
    b"BI /W 1 /F /A85 ID abc~> EI ",
    b"BI /W 1 /F [/A85] ID <~abc~> \nEI ",
    b"BI /W ID x EI ",
    b"BI ID EEI EI\nEI ",
    b"BI /W 1 ID \r\n\r\n EI ",
    b"ID EI ",
    b"EI ",
    b"\n",
    b"\r\n",
    b"(\\\r\n)",
    b"<<",
    b">>",
    b"[",
    b"]",
    b"{",
    b"}",
    b"BI",
    b"(",
    b"<",
    b"/",
    b" " * 4090,
]
streams = st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map(b" ".join), min_size=1, max_size=4)


def described(item):
    if isinstance(item, PDFStream):
        return ("stream", repr(item.attrs), item.rawdata)
    if isinstance(item, list):
        return [described(child) for child in item]
    if isinstance(item, dict):
        return {name: described(child) for name, child in item.items()}
    return repr(item)


def objects_of_pdfminer(parts):
    found = []
    try:
        parser = PDFContentParser([PDFStream({}, part) for part in parts])
        while True:
            found.append(described(parser.nextobject()[1]))
    except PSEOF:
        return found
    except Exception as error:
        return [*found, f"{type(error).__name__}"]


@settings(max_examples=examples(1500), deadline=None)
@given(streams)
@example([b"BI /W 1 ID abc EI Q", b"1 2 m"])
@example([b"BI /F /ASCII85Decode ID abc ~> EI Q"])
@example([b"BI ID a\n\nEI\n"])
@example([b"1", b"2", b"", b"abc", b"def"])
@example([b"% one", b"two"])
@example([b"BI /W 1 ID " + b"x" * 5000 + b"\nEI (\\\r\n) Tj"])
def test_objects_of_content_are_pdfminer_s(parts):
    try:
        found = content.parse_content(parts)
    except (tokens.HandBack, TypeError, IndexError):  # both hand back: the caller takes any exception for that
        return
    assert [described(item) for item in found] == objects_of_pdfminer(parts)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from([part for part in FRAGMENTS if len(part) > 1 and not part.startswith((b"BI", b"ID", b"%"))]), max_size=40))
def test_usual_content_is_not_handed_back(parts):
    data = b"\n".join(part for part in parts if part not in (b"<<", b">>", b"[", b"]", b"{", b"}", b"(", b"<", b"/"))
    balanced = [data.count(opening) == data.count(closing) for opening, closing in ((b"<<", b">>"), (b"[", b"]"), (b"{", b"}"))]
    if all(balanced):
        assert [described(item) for item in content.parse_content([data + b"\n", b"Q"])] == objects_of_pdfminer([data + b"\n", b"Q"])


@pytest.mark.parametrize(
    "parts",
    [
        [b"<< /A >>"],
        [b"[ BI /W 1 ID x EI ]"],
        [b"BI /W 1 ID x"],
        [b"BI /W 1 ID", b"x EI "],
        [b"(\\777)"],
        [b"(a", b"b)"],
    ],
)
def test_what_is_odd_is_handed_back(parts):
    with pytest.raises(tokens.HandBack):
        content.parse_content(parts)


def test_inline_images_keep_their_bytes():
    image, end, operator = content.parse_content([b"BI /W 2 /H 1 ID \x00EI\xff\r\nEI Q"])
    assert (image.attrs, image.rawdata) == ({"W": 2, "H": 1}, b"\x00EI\xff")
    assert [end.name, operator.name] == [b"EI", b"Q"]
