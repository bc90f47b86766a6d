import pytest

from transforms.provenance.nquads import serialise
from transforms.provenance.terms import Quad, iri_term, literal_term, vocabulary_term
from transforms.provenance.vocabulary import SOURCE_GRAPH, XSD_INTEGER
from transforms.trustgraph.wire import as_stored, import_messages, triple_from_line

S, P = "urn:page:1", "https://trustgraph.ai/ns/charLength"


def line(value: str, subject: str = f"<{S}>") -> bytes:
    return f"{subject} <{P}> {value} <{SOURCE_GRAPH}> .\n".encode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("<https://example.org/a%20b>", {"t": "i", "i": "https://example.org/a%20b"}),
        ("_:b12", {"t": "b", "d": "b12"}),
        ('"plain"', {"t": "l", "v": "plain"}),
        ('""', {"t": "l", "v": ""}),
        (f'"13"^^<{XSD_INTEGER}>', {"t": "l", "v": "13", "dt": XSD_INTEGER}),
        ('"Seite 1"@de-CH', {"t": "l", "v": "Seite 1", "ln": "de-CH"}),
        (r'"a \"b\" \\ \n\t\u2028 \U0001F600 <c> ."', {"t": "l", "v": 'a "b" \\ \n\t\u2028 😀 <c> .'}),
        ('"\\"^^<x>"@en', {"t": "l", "v": '"^^<x>', "ln": "en"}),
        ('"ends with a \\\\"', {"t": "l", "v": "ends with a \\"}),
    ],
)
def test_each_term_has_the_gateways_form(value, expected):
    found = triple_from_line(line(value))
    assert found == {"s": {"t": "i", "i": S}, "p": {"t": "i", "i": P}, "o": expected, "g": SOURCE_GRAPH}


def test_what_the_serialiser_writes_is_read_back():
    texts = ['"', "\\", "\n\r\t\b\f", "\x00\x1f\x7f\x85", "\u2028\ufeff", "Ü 𝔘 😀", ' "@en . <x> ', "\\u0041"]
    quads = [Quad(iri_term(S), iri_term(P), literal_term(text, language="de"), vocabulary_term(SOURCE_GRAPH)) for text in texts]
    lines = [one.encode() for one in serialise(quads)]
    assert [triple_from_line(one)["o"] for one in lines] == [{"t": "l", "v": text, "ln": "de"} for text in texts]


@pytest.mark.parametrize("wrong", [b"", b"# comment\n", b"<a> <b> <c> .\n", b'<a> <b> "c" <d>\n'])
def test_other_lines_are_refused(wrong):
    with pytest.raises(ValueError, match="not a line of the decoder's N-Quads"):
        triple_from_line(wrong)


def test_a_message_names_the_document_as_root_and_holds_so_many_triples():
    lines = [line(f'"{number}"') for number in range(5)]
    messages = list(import_messages(lines, "urn:doc", "law", triples_a_message=2))
    assert [message["metadata"] for message in messages] == [{"id": "urn:doc", "root": "urn:doc", "collection": "law"}] * 3
    assert [[triple["o"]["v"] for triple in message["triples"]] for message in messages] == [["0", "1"], ["2", "3"], ["4"]]
    assert list(import_messages([], "urn:doc", "law")) == []


def test_a_blank_node_compares_with_the_iri_that_a_store_makes_of_it():
    sent = triple_from_line(line("_:b7", subject="_:b6"))
    answered = {"s": {"t": "i", "i": "b6"}, "p": {"t": "i", "i": P}, "o": {"t": "i", "i": "b7"}, "g": SOURCE_GRAPH}
    assert as_stored(sent) == as_stored(answered)


def test_datatype_language_and_graph_tell_quads_apart():
    forms = ['"1"', '"1"@en', f'"1"^^<{XSD_INTEGER}>', "<urn:1>"]
    stored = {as_stored(triple_from_line(line(form))) for form in forms}
    stored.add(as_stored({**triple_from_line(line('"1"')), "g": ""}))
    assert len(stored) == 5
