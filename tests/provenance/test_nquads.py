import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from transforms.provenance.nquads import parse_term, serialise
from transforms.provenance.terms import Quad, integer_term, iri_term, literal_term

anything = st.text(st.characters(exclude_categories=()))


def read(lines):
    return list(parse("".join(lines).encode(), format=RdfFormat.N_QUADS))


def test_a_line_a_quad():
    quad = Quad(iri_term("urn:s"), iri_term("urn:p"), literal_term("two\nlines"), iri_term("urn:g"))

    assert list(serialise([quad, quad._replace(object=integer_term(3))])) == [
        '<urn:s> <urn:p> "two\\nlines" <urn:g> .\n',
        '<urn:s> <urn:p> "3"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:g> .\n',
    ]
    assert list(serialise([])) == []


@given(st.lists(st.tuples(anything, anything, anything, anything), max_size=4))
def test_any_strings_make_valid_n_quads(strings):
    quads = [
        Quad(iri_term("x:" + s), iri_term("http://a/" + p), literal_term(o, datatype="dt:" + g), iri_term("g:" + g))
        for s, p, o, g in strings
    ]

    assert len(read(serialise(quads))) == len(quads)


@given(anything, st.sampled_from(["", "urn:dt", "http://www.w3.org/2001/XMLSchema#string"]))
def test_written_terms_are_read_as_themselves(text, datatype):
    for term in (literal_term(text, datatype=datatype), iri_term("x:" + text), literal_term(text, language="en")):
        assert parse_term(term, scope="") == term


@given(st.one_of(anything, st.text('\\uU0001dD8"<>@^_:nrtq ', max_size=20), st.text("\\u0aUnt", max_size=12).map('"{}"'.format)))
def test_what_is_accepted_can_be_written_and_what_n_triples_refuses_is_refused(text):
    try:
        term = parse_term(text, scope="urn:d")
    except ValueError:
        return
    assert len(read([f"<urn:s> <urn:p> {term} <urn:g> .\n"])) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<https://example.org/a>", NamedNode("https://example.org/a")),
        ("<https://example.org/a b>", NamedNode("https://example.org/a%20b")),
        (r"<https://example.org/\u00e9>", NamedNode("https://example.org/é")),
        ('""', Literal("")),
        (' "a"\n', Literal("a")),
        (r'"a\t\"\\\'\u00e9\U0001F600"', Literal("a\t\"\\'é\U0001f600")),
        ('"tab\tand é"', Literal("tab\tand é")),
        ('"a"@en-GB', Literal("a", language="en-GB")),
        ('"3"^^<http://www.w3.org/2001/XMLSchema#integer>', Literal("3", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))),
    ],
)
def test_terms(text, expected):
    (quad,) = read([f"<urn:s> <urn:p> {parse_term(text, scope='')} <urn:g> .\n"])

    assert quad.object == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "Someone", "https://example.org/a", "<no scheme>", "<a:b> <c:d>", "_:", "_:a.", "<< <a:a> <b:b> <c:c> >>",
        '"a', 'a"', '"a"b', '"two\nlines"', r'"\q"', r'"\u12"', r'"\UFFFFFFFF"', r"<urn:\n>", '"a"^^<dt>', '"a"@', '"a"@e', '"\\',
    ],
)  # fmt: skip
def test_what_is_no_term_is_refused(text):
    with pytest.raises(ValueError, match=r"not an? "):
        parse_term(text, scope="")


def test_a_blank_node_is_the_same_in_its_document_and_another_elsewhere():
    here = parse_term("_:a.b", scope="urn:1")

    assert here == parse_term("_:a.b", scope="urn:1")
    assert here != parse_term("_:a.b", scope="urn:2")
    assert here != parse_term("_:a", scope="urn:1")
    assert str(read([f"{here} <urn:p> {here} <urn:g> .\n"])[0].subject) == here
