"""What a TrustGraph must hold of a run that was loaded, and what it holds, by its own answers."""

import hashlib
import time

from handmade_run import HandmadeRun
from library_of_test import LibraryOfTest

from transforms.provenance import vocabulary as v
from transforms.trustgraph.library_tree import library_documents
from transforms.trustgraph.run_documents import read_shard, shards_of
from transforms.trustgraph.wire import as_stored, triple_from_line

PATIENCE = 120.0


def tree(run: HandmadeRun):
    return [
        one for parts in shards_of(run.manifest, str(run.folder)) for document in read_shard(parts) for one in library_documents(document)
    ]


def wanted_library(run: HandmadeRun, *, sources: bool = True) -> dict[str, tuple]:
    """All that the library must hold of a run, by id: parent, type, kind, title, and the digest of the bytes.

    Args:
      sources: the documents that were decoded as well, and not only what is below them.
    """
    return {
        one.id: (one.parent_id, one.document_type, one.kind, one.title, hashlib.sha256(one.content(str(run.output))).hexdigest())
        for one in tree(run)
        if sources or one.parent_id
    }


def found_library(library: LibraryOfTest, *, without: tuple[str, ...] = ()) -> dict[str, tuple]:
    """What it holds, children included."""
    found = {}
    for row in library.gateway.list_documents():
        if row["document-type"] in without:
            continue
        digest = hashlib.sha256(b"".join(part.content for part in library.gateway.stream_document(row["id"]))).hexdigest()
        assert row["id"] not in found
        found[row["id"]] = (row.get("parent-id", ""), row["document-type"], row["kind"], row["title"], digest)
    return found


def wanted_graph(run: HandmadeRun) -> set[tuple]:
    return {as_stored(triple_from_line(line)) for line in run.quads()}


def found_graph(library: LibraryOfTest, run: HandmadeRun, collection: str = "default") -> set[tuple]:
    """All quads of urn:graph:source about what has a type there, and about the subjects of the run (blank nodes have no type)."""
    asked = {"graph": v.SOURCE_GRAPH, "collection": collection}
    typed = library.gateway.query_triples(p={"t": "i", "i": v.RDF_TYPE}, **asked)
    subjects = {as_stored(triple)[0] for triple in typed} | {stored[0] for stored in wanted_graph(run)}
    return {as_stored(triple) for name in subjects for triple in library.gateway.query_triples(s={"t": "i", "i": name}, **asked)}


def parents(library: LibraryOfTest, name: str) -> list[str]:
    asked = {"p": {"t": "i", "i": v.PROV_WAS_DERIVED_FROM}, "graph": v.SOURCE_GRAPH}
    return [triple["o"]["i"] for triple in library.gateway.query_triples(s={"t": "i", "i": name}, **asked)]


def chain_of(library: LibraryOfTest, name: str) -> list[str]:
    """What something was derived from, step by step, by queries alone."""
    chain = [name]
    while up := parents(library, chain[-1]):
        assert len(up) == 1
        chain.append(up[0])
    return chain


def until(condition, what: str):
    deadline = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, what
        time.sleep(0.3)
