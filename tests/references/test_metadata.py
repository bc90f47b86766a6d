import json
from datetime import date
from typing import Any

import pytest
from pyoxigraph import RdfFormat, parse

from transforms.references.metadata import canonical_metadata, is_iri

DC = "http://purl.org/dc/elements/1.1/"


def canonical(metadata: Any) -> list[list[str]]:
    text = canonical_metadata(metadata)
    assert canonical_metadata(text) == text, "the canonical form stays as it is"
    triples: list[list[str]] = json.loads(text)
    for subject, predicate, thing in triples:
        list(parse(f"{subject or '<urn:document>'} {predicate} {thing} .", format=RdfFormat.N_TRIPLES))
    return triples


def test_names_are_elements_of_dublin_core() -> None:
    assert canonical({"creator": "A. Author", "subject": ["tides", "moon"], "date": None, "source": "https://example.org/a?b=c"}) == [
        ["", f"<{DC}creator>", '"A. Author"'],
        ["", f"<{DC}subject>", '"tides"'],
        ["", f"<{DC}subject>", '"moon"'],
        ["", f"<{DC}source>", "<https://example.org/a?b=c>"],
    ]


def test_iris_and_prefixed_names_are_predicates_as_they_are() -> None:
    metadata = {"http://purl.org/dc/terms/license": "urn:l:1", "dcterms:issued": 2024, "tg:draft": True, "urn:p": 1.5}
    assert canonical(metadata) == [
        ["", "<http://purl.org/dc/terms/license>", "<urn:l:1>"],
        ["", "<http://purl.org/dc/terms/issued>", '"2024"^^<http://www.w3.org/2001/XMLSchema#integer>'],
        ["", "<https://trustgraph.ai/ns/draft>", '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'],
        ["", "<urn:p>", '"1.5"^^<http://www.w3.org/2001/XMLSchema#double>'],
    ]


def test_text_that_only_begins_like_an_iri_is_a_literal() -> None:
    assert canonical({"title": 'urn:x is "a"\nname', "description": "note: see https://example.org", "relation": "mailto:a@b"}) == [
        ["", f"<{DC}title>", '"urn:x is \\"a\\"\\nname"'],
        ["", f"<{DC}description>", '"note: see https://example.org"'],
        ["", f"<{DC}relation>", '"mailto:a@b"'],
    ]


def test_triples_in_n_triples_syntax_and_in_plain_text() -> None:
    triples = [
        ["", "dc:creator", "A. Author"],
        ["https://example.org/d", "<urn:p>", '"chat"@fr'],
        ["<urn:s>", "title", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'],
        [None, "urn:p", "<urn:o>"],
        ["_:a", "urn:p", "_:b"],
        ["", "urn:p", 'say "no"'],
        ["", "urn:p", '"tab\\t\\u00e9"'],
    ]
    assert canonical(triples) == [
        ["", f"<{DC}creator>", '"A. Author"'],
        ["<https://example.org/d>", "<urn:p>", '"chat"@fr'],
        ["<urn:s>", f"<{DC}title>", '"3"^^<http://www.w3.org/2001/XMLSchema#integer>'],
        ["", "<urn:p>", "<urn:o>"],
        ["_:a", "<urn:p>", "_:b"],
        ["", "<urn:p>", '"say \\"no\\""'],
        ["", "<urn:p>", '"tab\\t\\u00e9"'],
    ]


def test_terms_of_trustgraph_in_its_three_forms() -> None:
    expected = [["<urn:d>", "<urn:p>", '"hallo"@de'], ["<urn:d>", "<urn:p>", "<urn:o>"]]
    gateway = [
        {"s": {"t": "i", "i": "urn:d"}, "p": {"t": "i", "i": "urn:p"}, "o": {"t": "l", "v": "hallo", "ln": "de"}},
        {"s": {"t": "i", "i": "urn:d"}, "p": {"t": "i", "i": "urn:p"}, "o": {"t": "i", "i": "urn:o"}},
    ]
    empty = {"id": "", "value": "", "datatype": "", "language": "", "triple": None}
    message = [
        {
            "s": {"type": "i", **empty, "iri": "urn:d"},
            "p": {"type": "i", **empty, "iri": "urn:p"},
            "o": {"type": "l", **empty, "iri": "", "value": "hallo", "language": "de"},
        },
        {
            "s": {"type": "i", **empty, "iri": "urn:d"},
            "p": {"type": "i", **empty, "iri": "urn:p"},
            "o": {"type": "i", **empty, "iri": "urn:o"},
        },
    ]
    assert canonical(gateway) == expected
    assert canonical(message) == expected
    librarian = [{"s": {"v": "urn:d", "e": True}, "p": {"v": "urn:p", "e": True}, "o": {"v": "https://example.org", "e": False}}]
    assert canonical(librarian) == [["<urn:d>", "<urn:p>", '"https://example.org"']]


def test_json_text_and_dates_of_parquet() -> None:
    assert canonical('{"creator": "B"}') == [["", f"<{DC}creator>", '"B"']]
    assert canonical({"date": date(2024, 5, 1)}) == [["", f"<{DC}date>", '"2024-05-01"']]
    for nothing in (None, "", " ", {}, [], "[]", "null"):
        assert canonical_metadata(nothing) == "[]"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (7, 'is a number, not an object such as {"creator": "A. Author"} or an array of triples'),
        ("no json", "is a text that is no JSON (Expecting value at column 1)"),
        ('"text"', 'is a text, not an object such as {"creator": "A. Author"} or an array of triples'),
        ([["a", "b"]], "triple 1: is an array of 2, not [subject, predicate, object]"),
        ([["", "urn:p", "x"], ["no iri", "urn:p", "x"]], 'triple 2: "no iri" is no absolute IRI'),
        ([{"s": "urn:s", "p": "urn:p"}], 'triple 1: has no "p" or no "o"'),
        ([["", "urn:p", None]], "triple 1: its object is null, not a text, a number or a term"),
        ([["", {"v": "p"}, "x"]], "triple 1: its predicate is no IRI"),
        ([[{"v": "s"}, "urn:p", "x"]], "triple 1: its subject is a literal"),
        ([["", "urn:p", '"x"^^<int>']], "triple 1: its datatype <int> is no absolute IRI"),
        ([["", "urn:p", {"t": "t", "tr": {}}]], 'triple 1: {"t": "t", "tr": {}} is no term that is known here'),
        ([["", "urn:p", {"t": "l", "v": "x", "ln": "not a tag"}]], "triple 1: not a language tag: 'not a tag'"),
        (
            {"two words": "x"},
            'its key "two words" is none of: a name (such as creator), a name with one of the prefixes dc, dcterms, rdf, rdfs, prov, '
            "schema, tg, an absolute IRI",
        ),
        (
            {"creator": [["x"]]},
            'the value ["x"] of its key "creator" is none of: a text, a number, true or false, an array of these, '
            'a term such as {"t": "l", "v": "text"}',
        ),
        (
            {"creator": {"name": "Ada"}},
            'the value {"name": "Ada"} of its key "creator" is none of: a text, a number, true or false, an array of these, '
            'a term such as {"t": "l", "v": "text"}',
        ),
        ("[" * 100_000, "is a text that is no JSON (maximum recursion depth exceeded while decoding a JSON array from a unicode string)"),
    ],
)
def test_an_unknown_shape_is_told(metadata: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        canonical_metadata(metadata)
    assert str(caught.value) == message


def test_is_iri() -> None:
    for text in ("urn:doc:7", "https://example.org/é#x", "a:b"):
        assert is_iri(text)
    for text in ("", "7", "a b", "urn:a b", "urn:", "/a", "urn:<x>", "https://e/%zz", "x\nurn:a"):
        assert not is_iri(text)
