import io

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pdfminer.psparser import PSEOF, PSBaseParser

tokens = pytest.importorskip("transforms.partition.pdf_kernel.tokens", reason="the PDF kernel is not compiled")

FRAGMENTS = (
    rb"( ) < > << >> [ ] / # % \ { } Tj TJ 12 - + . 1.5 -.25 0 777 41 /F1 true false null R ' * abc \101 \7 \777 \n \) #41 1e5 00012 4. "
    rb"+.5 --1 123456789012345678901 0.1234567890123456789 1234567890.12345 (text) [(a)-12(b)]TJ <0041004g2> <a> /A#42#4 /A#g #"
).split()
FRAGMENTS += [
    b" ",
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b"\x00",
    b"\x0c",
    b"\x0b",
    b"\\\r\n",
    b"\xe9",
    b"\xc3\xa9",
    b"a" * 50,
    b"9" * 30,
    b'"',
    b"\x85",
]

texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=3)), max_size=60).map(b"".join)


def tokens_of_pdfminer(data):
    parser, found = PSBaseParser(io.BytesIO(data)), []
    try:
        while True:
            found.append(parser.nexttoken())
    except PSEOF:
        return found


def assert_same(data):
    try:
        expected = tokens_of_pdfminer(data)
    except AssertionError:  # an octal escape over 255
        with pytest.raises(tokens.HandBack):
            tokens.tokens_of(data)
        return
    found = tokens.tokens_of(data)
    assert repr(found) == repr(expected)
    assert [type(token) for _, token in found] == [type(token) for _, token in expected]


@settings(max_examples=examples(1500), deadline=None)
@given(texts)
@example(b"(a\\")
@example(b"<41")
@example(b"/A#4")
@example(b"/A#41")
@example(b"/")
@example(b">")
@example(b"-0.0 -0 +0.0 - + . -. 1.")
@example(b"0.000000000000001 0.0000000000000001 999999999999999.9 9999999999999999.9 123456789012345678 1234567890123456789")
@example(b"(\\1\\12\\123\\1234\\8\\q\\\n\\\r\\\r\n\\\\)")
@example(b"(((a)b)(c)) (\\(\\)) ()")
@example(b"true false truee fals /true (true)")
@example(b"9" * 5000)
def test_tokens_are_pdfminer_s(data):
    assert_same(data)


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(4080, 4100), texts, st.sampled_from([b" ", b"("]))
@example(4093, b"\\\r\n)", b"(")
@example(4094, b"\\\r\n)", b"(")
def test_tokens_over_the_end_of_pdfminer_s_block_are_the_same(length, data, filling):
    assert_same(filling + b" " * (length - 1) + data)


@pytest.mark.parametrize("data", [b"(a", b"(a\\", b"(\\1", b"<4", b"<", b">", b"/", b"/A#", b"/A#41", b"(\\400)"])
def test_a_token_that_may_go_on_in_the_next_stream_is_handed_back(data):
    content = pytest.importorskip("transforms.partition.pdf_kernel.content")
    with pytest.raises(tokens.HandBack):
        content.parse_content([data, b" "])


def test_only_bytes_are_read():
    with pytest.raises(TypeError):
        tokens.tokens_of("text")
    with pytest.raises(TypeError):
        tokens.tokens_of(None)
