"""What leaves the decoder is what TrustGraph's own code takes and would have made: its translators and builders, of both versions."""

import base64
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from handmade_run import STARTED_AT, STARTED_AT_SECONDS, make_run
from stack import VERSIONS, python_with_trustgraph

from transforms.errors import CommandError
from transforms.provenance import vocabulary as v
from transforms.trustgraph.export import Export, export
from transforms.trustgraph.gateway import Gateway, Token
from transforms.trustgraph.library_tree import library_documents
from transforms.trustgraph.run_documents import read_shard, shards_of
from transforms.trustgraph.sending import processing_id
from transforms.trustgraph.wire import import_messages, triple_from_line

pytestmark = pytest.mark.trustgraph


@pytest.fixture(params=VERSIONS)
def ask(request):
    """Asks trustgraph-base of each version."""
    try:
        python = python_with_trustgraph(request.param)
    except CommandError as error:
        pytest.skip(f"no TrustGraph {request.param} here: {error.sentence}")

    def ask(do, whats):
        lines = "".join(json.dumps({"do": do, "what": what}) + "\n" for what in whats)
        program = [str(python), str(Path(__file__).with_name("trustgraph_contract.py"))]
        done = subprocess.run(program, input=lines, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path, 12)


def documents(run):
    for parts in shards_of(run.manifest, str(run.folder)):
        yield from read_shard(parts)


def test_every_message_of_the_import_socket_passes_the_translators(ask, run):
    messages = [message for document in documents(run) for message in import_messages(document.quads, document.id, "default")]
    assert len(messages) == 14
    assert ask("triples", messages) == [message["triples"] for message in messages]


def test_every_request_to_the_librarian_passes_its_translator(ask, run, monkeypatch):
    sent = []
    gateway = Gateway("http://localhost:1", Token("tg_none"))
    monkeypatch.setattr(gateway, "call", lambda service, body, **_: sent.append((service, body)) or {"upload-id": "u"})
    library = [one for document in documents(run) for one in library_documents(document)]
    for one in library:
        gateway.add_document(one.metadata(), one.content(str(run.output)))
        if one.chunkable:
            gateway.add_processing(processing_id(one.id, "default", "law"), one.id, flow="default", collection="law", at=7)
    gateway.begin_upload({"id": "urn:doc", "kind": "application/pdf", "time": 1, "title": "t"}, 11 << 20)
    gateway.upload_part("u", 2, b"part")
    assert {service for service, _ in sent} == {"librarian"}
    answers = ask("librarian", [body for _, body in sent])
    by_id = {one.id: one for one in library}
    kinds = Counter()
    for (_, body), answer in zip(sent, answers, strict=True):
        kinds[body["operation"]] += 1
        assert answer["request"]["operation"] == body["operation"]
        if body["operation"] == "add-document":
            one = by_id.pop(body["document-metadata"]["id"])
            assert answer["content"] == one.content(str(run.output)).hex()
            expected = {"id": one.id, "time": STARTED_AT_SECONDS, "kind": one.kind, "title": one.title, "parent_id": one.parent_id}
            assert answer["document"].items() >= {**expected, "document_type": one.document_type}.items()
        elif body["operation"] == "add-processing":
            wanted = {"document_id": body["processing-metadata"]["document-id"], "flow": "default", "collection": "law", "time": 7}
            assert answer["processing"].items() >= wanted.items()
    assert by_id == {}
    assert answers[-2]["sizes"] == [11 << 20, 5 << 20, "", 0]
    assert (answers[-1]["sizes"], answers[-1]["content"]) == ([0, 0, "u", 2], b"part".hex())
    assert kinds == {"add-document": 36, "add-processing": 16, "begin-upload": 1, "upload-chunk": 1}


def test_every_record_of_a_knowledge_core_is_read_by_trustgraphs_own_command(ask, run, tmp_path):
    export(Export(str(run.output), str(tmp_path / "to"), "kg-core"), shards_of(run.manifest, str(run.folder)))
    records = [record for core in ask("core", [str(path) for path in (tmp_path / "to").rglob("*.msgpack")]) for record in core]
    library = {one.id: one for document in documents(run) for one in library_documents(document)}
    metadata = {record["id"]: record for kind, record in records if kind == "lm"}
    assert metadata == {
        one.id: {
            "id": one.id,
            "kind": one.kind,
            "title": one.title,
            "parent-id": one.parent_id,
            "document-type": one.document_type,
            "comments": "",
            "tags": [],
        }
        for one in library.values()
    }
    blobs = {record["id"]: base64.b64decode(record["data"]) for kind, record in records if kind == "lb"}
    assert blobs == {one.id: one.content(str(run.output)) for one in library.values()}
    triples = [triple for kind, record in records if kind == "t" for triple in record["triples"]]
    assert Counter(map(str, triples)) == Counter(str(triple_from_line(line)) for line in run.quads())
    roots = {record["metadata"]["root"] for kind, record in records if kind == "t"}
    assert roots == {row["document_id"] for row in run.rows("documents")}


def described(run, subject):
    """The quads of the run about a subject, as (predicate, value) with the datatype and the graph that they have."""
    triples = [triple_from_line(line) for line in run.quads()]
    return [triple for triple in triples if triple["s"] == {"t": "i", "i": subject}]


TYPED = {
    v.TG_PAGE_NUMBER: v.XSD_INTEGER,
    v.TG_CHAR_OFFSET: v.XSD_INTEGER,
    v.TG_CHAR_LENGTH: v.XSD_INTEGER,
    v.TG_TABLE_COUNT: v.XSD_INTEGER,
    v.TG_IMAGE_COUNT: v.XSD_INTEGER,
    v.TG_PAGE_COUNT: v.XSD_INTEGER,
    v.PROV_STARTED_AT_TIME: v.XSD_DATE_TIME,
}
"""The first improvement: literals have the datatypes that TrustGraph's ontology says. TrustGraph's builders give plain strings."""


def improved(triples, activity):
    """TrustGraph's triples with the improvements that are ours: typed literals, the named graph, and one activity a parent."""
    made = {triple["s"]["i"] for triple in triples if triple["o"] == {"t": "i", "i": v.PROV_ACTIVITY}}

    def own(term):
        return {"t": "i", "i": activity} if term.get("i") in made else term

    for triple in triples:
        value = own(triple["o"])
        if triple["p"]["i"] in TYPED:
            value = {**value, "dt": TYPED[triple["p"]["i"]]}
        yield {"s": own(triple["s"]), "p": triple["p"], "o": value, "g": v.SOURCE_GRAPH}


def canonical(triples):
    return Counter(json.dumps(triple, sort_keys=True) for triple in triples)


@pytest.mark.parametrize("document_type", ["page", "section", "image"])
def test_the_quads_of_an_entity_are_those_of_trustgraphs_own_builder(ask, run, document_type):
    facts, wanted = [], []
    rows = (
        run.rows("images") if document_type == "image" else [r for r in run.rows("text_documents") if r["document_type"] == document_type]
    )
    assert rows
    for row in rows:
        own = described(run, row["id"])
        activity = next(triple["o"]["i"] for triple in own if triple["p"]["i"] == v.PROV_WAS_GENERATED_BY)
        parent = next(triple["o"]["i"] for triple in own if triple["p"]["i"] == v.PROV_WAS_DERIVED_FROM)
        every = [*own, *described(run, activity), *described(run, v.AGENT_IRI)[:2]]
        known = {
            "builder": "derived",
            "entity_uri": row["id"],
            "parent_uri": parent,
            "component_name": "universal-decoder",
            "component_version": "0.1.0",
            "label": row["title"],
            "timestamp": STARTED_AT,
            "mime_type": row["mime_type"],
            document_type: True,
            "page_number": row["page_number"],
        }
        known.pop("page", None)
        if document_type == "image":
            # Theirs records no place of an image, and has no predicates for it.
            added = {v.TG_IMAGE_WIDTH, v.TG_IMAGE_HEIGHT, v.TG_ELEMENT_ID, v.TG_COORDINATES}
            assert {triple["p"]["i"] for triple in every} >= added
            every = [triple for triple in every if triple["p"]["i"] not in added]
        else:
            known |= {name: row[name] for name in ("char_offset", "char_length", "table_count", "image_count")}
            known["element_types"] = ",".join(row["element_types"])
        facts.append(known)
        wanted.append((activity, canonical(every)))
    for (activity, own), theirs in zip(wanted, ask("built", facts), strict=True):
        assert own == canonical(improved(theirs, activity))


def test_the_quads_of_a_document_are_those_of_trustgraphs_own_builder(ask, run):
    rows = [row for row in run.rows("documents") if row["status"] == "ok" and not row["parent_document_id"] and row["title"] != "0 report"]
    facts, wanted = [], []
    for row in rows:
        own = described(run, row["document_id"])
        if not own:  # ids that are no IRIs are known by one that is
            own = described(run, "https://trustgraph.ai/doc/" + row["document_id"])
        if any(triple["p"]["i"] == "http://purl.org/dc/elements/1.1/subject" for triple in own):
            continue  # its reference's own metadata takes the place of what is compared
        facts.append(
            {
                "builder": "document",
                "doc_uri": own[0]["s"]["i"],
                "title": row["title"],
                "source": row["source_uri"],
                "page_count": row["page_count"],
                "mime_type": row["mime_type"],
            }
        )
        wanted.append(canonical(own))
    assert len(wanted) == 8
    for own, theirs in zip(wanted, ask("built", facts), strict=True):
        assert own == canonical(improved(theirs, ""))
