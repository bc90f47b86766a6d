"""References from what a librarian tells, with the values written out. What a real one tells is in tests/trustgraph."""

import json
from typing import Any

import pytest

from transforms.model import DocumentReference
from transforms.references.librarian_metadata import document_iri, is_source, is_wanted, to_reference
from transforms.trustgraph.gateway import gateway_url
from transforms.trustgraph.library import Library, Place, StoreAddress, document_uri, parse_document_uri, store_address

URI = "http://gateway:8088/api/v1/document-stream?workspace=w&document-id=urn%3Adoc%3A1"


def row(**facts: Any) -> dict[str, Any]:
    return {"id": "urn:doc:1", "kind": "text/plain", "title": "", "document-type": "source", "metadata": [], "tags": [], **facts}


def triples(**facts: Any) -> list[list[str]]:
    reference = to_reference(row(**facts), URI, "default")
    assert reference.problem == ""
    return json.loads(reference.metadata)


def stated(o: Any, s: Any = None, p: Any = None) -> list[dict[str, Any]]:
    return [{"s": s or {"t": "i", "i": "urn:doc:1"}, "p": p or {"t": "i", "i": "urn:p"}, "o": o}]


def test_kind_title_and_time_are_the_references_own() -> None:
    reference = to_reference(row(kind="application/pdf", title="A title", time=1_700_000_000), URI, "books")
    assert reference == DocumentReference(
        uri=URI,
        document_id="urn:doc:1",
        kind="application/pdf",
        title="A title",
        collection="books",
        metadata='[["","<http://purl.org/dc/terms/dateSubmitted>","\\"2023-11-14T22:13:20Z\\"^^<http://www.w3.org/2001/XMLSchema#dateTime>"]]',
        version="time=1700000000",
    )


def test_rdf_about_the_document_is_about_whatever_id_it_gets() -> None:
    about = stated({"t": "l", "v": "text", "ln": "en"})
    assert triples(metadata=about) == [["", "<urn:p>", '"text"@en']]
    bare = to_reference(row(id="abc def", metadata=stated({"t": "l", "v": "x"}, s={"t": "i", "i": "abc def"})), URI, "")
    assert bare.document_id == "https://trustgraph.ai/doc/abc%20def"
    assert json.loads(bare.metadata) == [["", "<urn:p>", '"x"'], ["", "<http://purl.org/dc/terms/identifier>", '"abc def"']]
    assert triples(metadata=stated({"t": "i", "i": "urn:o"}, s={"t": "i", "i": "urn:other"})) == [["<urn:other>", "<urn:p>", "<urn:o>"]]


def test_iris_that_trustgraphs_client_has_made_literals_are_iris() -> None:
    literal = stated({"t": "l", "v": "urn:o"}, s={"t": "l", "v": "urn:doc:1"}, p={"t": "l", "v": "http://purl.org/dc/terms/license"})
    assert triples(metadata=literal) == [["", "<http://purl.org/dc/terms/license>", '"urn:o"']]


def test_an_object_that_claims_to_be_an_iri_and_is_none_is_a_text() -> None:
    assert triples(metadata=stated({"t": "i", "i": "see page 9"})) == [["", "<urn:p>", '"see page 9"']]


def test_what_no_triple_can_say_is_a_problem_and_not_lost() -> None:
    reference = to_reference(row(metadata=stated({"t": "l", "v": "x"}, p={"t": "i", "i": "no iri at all"})), URI, "")
    assert reference.problem == (
        'The metadata of urn:doc:1 in the library cannot be read: triple 1 of its RDF: "no iri at all" is no absolute IRI.'
    )
    assert (reference.uri, reference.document_id) == (URI, "urn:doc:1")


def test_tags_and_comments_are_texts_whatever_they_look_like() -> None:
    assert triples(tags=["urn:a", "b"], comments='<http://x> "y"') == [
        ["", "<https://schema.org/keywords>", '"urn:a"'],
        ["", "<https://schema.org/keywords>", '"b"'],
        ["", "<http://www.w3.org/2000/01/rdf-schema#comment>", '"<http://x> \\"y\\""'],
    ]


@pytest.mark.parametrize(
    ("document_id", "iri"),
    [
        ("https://trustgraph.ai/doc/1", "https://trustgraph.ai/doc/1"),
        ("urn:a b", "urn:a%20b"),
        ("0b0f0c1e-aaaa", "https://trustgraph.ai/doc/0b0f0c1e-aaaa"),
        ("a/b", "https://trustgraph.ai/doc/a%2Fb"),
    ],
)
def test_every_id_has_an_iri(document_id: str, iri: str) -> None:
    assert document_iri(document_id) == iri


def test_what_was_made_of_a_document_is_no_source() -> None:
    assert is_source(row()) and is_source(row(**{"document-type": ""})) and is_source({"id": "x"})  # noqa: PT018
    for facts in ({"parent-id": "urn:doc:0"}, {"document-type": "page"}, {"document-type": "answer"}):
        assert not is_source(row(**facts))


def test_kinds_are_types_or_globs_and_tags_are_any_of_several() -> None:
    assert is_wanted(row(), Library())
    assert is_wanted(row(kind="Text/Plain"), Library(kinds=("application/pdf", "text/*")))
    assert not is_wanted(row(), Library(kinds=("text",)))
    assert is_wanted(row(tags=["a", "b"]), Library(tags=("b", "c")))
    assert not is_wanted(row(tags=["a"]), Library(tags=("b", "c")))
    assert not is_wanted(row(tags=["b"]), Library(tags=("b",), kinds=("text/html",)))


def test_the_uri_of_a_document_tells_where_it_is() -> None:
    place = Place("https://host/tg", "räume & mehr", "urn:a?b=c&d#é%20")
    uri = document_uri(place)
    assert uri == ("https://host/tg/api/v1/document-stream?workspace=r%C3%A4ume%20%26%20mehr&document-id=urn%3Aa%3Fb%3Dc%26d%23%C3%A9%2520")
    assert parse_document_uri(uri) == place
    for other in (
        "file:///api/v1/document-stream?workspace=w&document-id=d",
        "http://host/api/v1/document-stream?workspace=w",
        "http://host/api/v1/document-stream?workspace=w&document-id=d&token=t",
        "http://user@host/api/v1/document-stream?workspace=w&document-id=d",
        "http://host/api/v1/document-streams?workspace=w&document-id=d",
        "s3://library/doc/1",
    ):
        assert parse_document_uri(other) is None


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://localhost:8088/", "http://localhost:8088"),
        ("https://host/tg/api/v1/", "https://host/tg"),
        (" http://[::1]:80 ", "http://[::1]:80"),
    ],
)
def test_an_address_of_a_gateway_has_one_form(text: str, url: str) -> None:
    assert gateway_url(text) == url


@pytest.mark.parametrize(
    "text", ["", "localhost:8088", "ws://host", "http://", "http://user:secret@host", "http://host?x", "http://host:99999"]
)
def test_what_is_no_address_of_a_gateway_is_refused_without_its_secrets(text: str) -> None:
    with pytest.raises(ValueError) as refused:
        gateway_url(text)
    assert "secret" not in str(refused.value)


def test_an_address_of_cassandra_has_defaults_as_trustgraph_has_them() -> None:
    assert store_address("cassandra://localhost") == StoreAddress(("localhost",), 9042, "librarian", "library")
    assert store_address("cassandra://a,b:9043/other?bucket=books") == StoreAddress(("a", "b"), 9043, "other", "books")
    for text in (
        "localhost",
        "cassandra://",
        "cassandra://u:p@h",
        "cassandra://h:x",
        "cassandra://h?x=1",
        "cassandra://h/a-b",
        "cassandra://,h",
    ):
        with pytest.raises(ValueError):
            store_address(text)
