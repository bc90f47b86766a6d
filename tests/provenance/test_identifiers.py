import hashlib
import itertools
import json
import uuid

import pytest

from transforms.provenance.identifiers import (
    NAMESPACE,
    activity_id,
    attachment_id,
    blank_node_label,
    document_id_from_digest,
    document_iri,
    image_id,
    page_id,
    section_id,
)

DOCUMENT = "https://example.org/report"
SHA256 = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"  # of b"foo\n"


def test_the_namespace_is_that_of_the_agent():
    assert uuid.uuid5(uuid.NAMESPACE_URL, "https://trustgraph.ai/agent/universal-decoder") == NAMESPACE


def test_ids_are_version_5_uuids_over_all_that_makes_the_thing_what_it_is():
    def expected(*parts):
        return uuid.uuid5(NAMESPACE, json.dumps(parts))

    assert page_id(DOCUMENT, SHA256, "f", 3) == f"urn:page:{expected('page', DOCUMENT, SHA256, 'f', 3)}"
    assert section_id(DOCUMENT, SHA256, "f", 2) == f"urn:section:{expected('section', DOCUMENT, SHA256, 'f', None, 2)}"
    assert section_id(DOCUMENT, SHA256, "f", 2, page_number=3) == f"urn:section:{expected('section', DOCUMENT, SHA256, 'f', 3, 2)}"
    assert image_id(DOCUMENT, SHA256, "f", 1) == f"urn:image:{expected('image', DOCUMENT, SHA256, 'f', 1)}"


def test_ids_never_change():
    """Written out: other software has them in its graphs."""
    assert page_id(DOCUMENT, SHA256, "0123456789abcdef", 3) == "urn:page:9ab6f87c-d7df-5fdb-a13c-f79dee062839"
    assert section_id(DOCUMENT, SHA256, "0123456789abcdef", 2) == "urn:section:b03b0cb8-ed87-5f4e-82af-31ef63d98e39"
    assert image_id(DOCUMENT, SHA256, "0123456789abcdef", 1) == "urn:image:d6797e19-5594-5ecf-a327-cc713691c176"
    assert (
        activity_id(DOCUMENT, "0123456789abcdef", "2026-01-01T00:00:00Z")
        == "https://trustgraph.ai/activity/e8c5caa3-8b37-5488-9bdb-452c81ab359e"
    )
    assert attachment_id(DOCUMENT, 1, SHA256) == "https://trustgraph.ai/doc/ffc7867c-831d-5351-af46-b3ac7e727d16"


def test_each_part_makes_another_id():
    ids = [
        *(page_id(*parts) for parts in itertools.product(("d", "d2"), ("s", "s2"), ("f", "f2"), (1, 2))),
        *(section_id("d", "s", "f", number, page_number=page) for number in (1, 2) for page in (None, 1, 2)),
        section_id("ds", "", "f", 1),
        section_id("d", "s", "f", 12),
        *(image_id("d", "s", "f", number) for number in (1, 2)),
        *(activity_id(*parts) for parts in itertools.product(("p", "p2"), ("f", "f2"), ("t", "t2"))),
        *(attachment_id(*parts) for parts in itertools.product(("d", "d2"), (1, 2), ("s", "s2"))),
    ]

    assert len({i.rsplit(":", 1)[-1].rsplit("/", 1)[-1] for i in ids}) == len(ids)


def test_a_document_without_an_id_gets_the_one_that_trustgraph_gives_it():
    assert hashlib.sha256(b"foo\n").hexdigest() == SHA256
    assert document_id_from_digest(SHA256) == "https://trustgraph.ai/doc/bb981afb-d12e-9d8c-d15f-3d21f8088e94"
    with pytest.raises(ValueError, match="64 hex digits"):
        document_id_from_digest("abc")


@pytest.mark.parametrize(
    ("document_id", "iri"),
    [
        ("urn:isbn:0451450523", "urn:isbn:0451450523"),
        ("bb981a9f-bd12-e9d8-cd15-f3d21f80884c", "https://trustgraph.ai/doc/bb981a9f-bd12-e9d8-cd15-f3d21f80884c"),
        ("report 7/a", "https://trustgraph.ai/doc/report%207%2Fa"),
    ],
)
def test_the_graph_knows_every_document_under_an_iri(document_id, iri):
    assert document_iri(document_id) == iri


def test_blank_nodes_are_local_to_their_document():
    labels = {blank_node_label(label, scope) for label in ("a", "b") for scope in ("urn:1", "urn:2")}

    assert len(labels) == 4
    assert blank_node_label("a", "urn:1") in labels
    assert all(label.isalnum() for label in labels)
