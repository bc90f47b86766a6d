import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from transforms.provenance.terms import Quad, integer_term, iri_term, literal_term, vocabulary_term

anything = st.text(st.characters(exclude_categories=()))
tags = st.one_of(
    st.lists(st.text("aZ9x", min_size=1, max_size=9), min_size=1, max_size=4).map("-".join),
    st.sampled_from(["en", "de-CH-1996", "sr-Latn-RS", "x-private", "en-a-bbb-x-a", "zh-cmn-Hans-CN", "en-", "i-klingon", "en--ltr"]),
)


def read(term):
    """The object as a strict parser reads it, from one line."""
    (quad,) = parse(f"<urn:s> <urn:p> {term} <urn:g> .\n".encode(), format=RdfFormat.N_QUADS)
    return quad.object


@given(anything)
@example("".join(map(chr, range(0x300))) + "\u2028\u2029\ufeff\ufffe\uffff\U0010ffff")
def test_a_literal_is_read_back_as_the_text_that_was_written(text):
    term = literal_term(text)

    assert read(term) == Literal(_replaced(text))
    assert term.splitlines() == [term], "a tool that reads line by line sees one line"
    assert min(term) >= " "


def _replaced(text):
    return "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in text)


@given(anything, tags)
def test_a_language_is_written_when_it_is_well_formed(text, tag):
    text = _replaced(text)
    try:
        expected = Literal(text, language=tag)
    except ValueError:
        expected = None
    try:
        term = literal_term(text, language=tag)
    except ValueError:
        # The 26 grandfathered tags are the only ones that are refused and well-formed.
        assert expected is None or tag == "i-klingon"
    else:
        assert read(term) == expected


@given(st.integers())
def test_integers(number):
    assert read(integer_term(number)) == Literal(str(number), datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))


def test_forms():
    assert literal_term("a") == '"a"'
    assert literal_term("a", datatype="http://www.w3.org/2001/XMLSchema#string") == '"a"'
    assert literal_term("1", datatype="urn:dt") == '"1"^^<urn:dt>'
    assert literal_term("a", language="en-GB") == '"a"@en-GB'
    assert literal_term('a"\\\n\r\t\b\f\x00\x7f\u0085') == '"a\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u007F\\u0085"'
    assert integer_term(3) == '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert iri_term("file:///a b") == "<file:///a%20b>"
    assert vocabulary_term("urn:a") is vocabulary_term("urn:a")
    assert Quad(iri_term("urn:s"), iri_term("urn:p"), literal_term("o"), iri_term("urn:g")).object == '"o"'


@pytest.mark.parametrize(
    "facts",
    [
        {"datatype": "no scheme"},
        {"datatype": "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"},
        {"datatype": "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString"},
        {"datatype": "urn:a", "language": "en"},
        {"language": "e"},
        {"language": "en us"},
    ],
)
def test_what_is_no_literal_is_refused(facts):
    with pytest.raises(ValueError):
        literal_term("a", **facts)


def test_what_is_no_absolute_iri_is_refused():
    with pytest.raises(ValueError, match="not an absolute IRI: 'report 7'"):
        iri_term("report 7")
