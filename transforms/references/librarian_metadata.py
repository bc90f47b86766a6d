"""Makes references of what a librarian tells of its documents.

The MIME type and the title become the reference's own as they are, all else triples about the document:

| of the librarian | triple |
|---|---|
| `metadata` (RDF) | as it is; an object that claims to be an IRI and is none becomes a text |
| `tags` | schema:keywords, which TrustGraph's own commands write for `--keyword` |
| `comments` | rdfs:comment |
| `time` | dcterms:dateSubmitted: when it was added, which tells nothing of the document's own date |
| an `id` that is no IRI | dcterms:identifier |

The bytes of an id never change, and what `update-document` changes is all in the reference. So the version of a document is its time: one
that was removed and added again under its id has another.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from transforms.model import DocumentReference
from transforms.provenance.iris import percent_encode_segment, repair_iri
from transforms.references.metadata import PREFIXES, XSD, canonical_metadata, is_iri
from transforms.trustgraph.library import Library

DOCUMENT_PREFIX = "https://trustgraph.ai/doc/"
"""Of the ids that TrustGraph's own commands give."""
SOURCE = "source"
"""Type of a document that was put in; pages, sections, images, chunks and answers were made of one."""


def document_iri(document_id: str) -> str:
    """The id of a librarian as the IRI that it has in the graph: itself where it is one.

    TrustGraph's Python client gives a document without an id its bare hash, where its commands put DOCUMENT_PREFIX before it.
    """
    if is_iri(document_id):
        return document_id
    repaired = repair_iri(document_id)
    return repaired if repaired and is_iri(repaired) else DOCUMENT_PREFIX + percent_encode_segment(document_id)


def is_source(row: Mapping[str, Any]) -> bool:
    """Whether a document was put in, and not made of another one."""
    return not row.get("parent-id") and row.get("document-type") in (None, "", SOURCE)


def is_wanted(row: Mapping[str, Any], library: Library) -> bool:
    """Whether `--kind` and `--tag` ask for a document."""
    kind, tags = str(row.get("kind") or "").lower(), row.get("tags") or ()
    return (not library.kinds or any(fnmatchcase(kind, wanted.lower()) for wanted in library.kinds)) and (
        not library.tags or not set(library.tags).isdisjoint(tags)
    )


def to_reference(row: Mapping[str, Any], uri: str, collection: str) -> DocumentReference:
    """The reference of a document from what the librarian tells of it, in the gateway's words.

    Args:
      uri: of its bytes.
      collection: of all documents: a librarian has none.
    Returns:
      The reference; one with a `problem` where its metadata cannot be said in RDF.
    """
    document_id = str(row["id"])
    reference = DocumentReference(
        uri=uri,
        document_id=document_iri(document_id),
        kind=str(row.get("kind") or ""),
        title=str(row.get("title") or ""),
        collection=collection,
        version=f"time={row.get('time') or 0}",
    )
    try:
        metadata = json.dumps(list(_triples(row)), ensure_ascii=False, separators=(",", ":"))
        metadata.encode()
    except ValueError as error:  # a lone surrogate among them
        return reference._replace(problem=f"The metadata of {document_id} in the library cannot be read: {error}.")
    return reference._replace(metadata=metadata)


def _triples(row: Mapping[str, Any]) -> Iterator[list[str]]:
    document_id = str(row["id"])
    for number, triple in enumerate(row.get("metadata") or (), start=1):
        try:
            yield _triple(triple, document_id)
        except ValueError as error:
            raise ValueError(f"triple {number} of its RDF: {str(error).removeprefix('triple 1: ')}") from error
    yield from _known(f"<{PREFIXES['schema']}keywords>", *(row.get("tags") or ()))
    yield from _known(f"<{PREFIXES['rdfs']}comment>", row.get("comments"))
    if time := row.get("time"):
        moment = datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield ["", f"<{PREFIXES['dcterms']}dateSubmitted>", f'"{moment}"^^<{XSD}dateTime>']
    if document_iri(document_id) != document_id:
        yield from _known(f"<{PREFIXES['dcterms']}identifier>", document_id)


def _known(predicate: str, *texts: Any) -> Iterator[list[str]]:
    """Triples with texts that are texts, whatever they look like."""
    for text in texts:
        if text:
            yield from json.loads(canonical_metadata([["", predicate, {"t": "l", "v": str(text)}]]))


def _triple(triple: Mapping[str, Any], document_id: str) -> list[str]:
    # Subject and predicate by what they say: TrustGraph's client sends the Uri of its own `trustgraph.api` as a literal (2.9.12, 2.11.1).
    subject, predicate = _text(triple.get("s")), _text(triple.get("p"))
    about = None if subject == document_id else subject  # the document, whatever its id is
    parts: dict[str, Any] = {"s": about, "p": predicate, "o": triple.get("o")}
    try:
        (found,) = json.loads(canonical_metadata([parts]))
    except ValueError:
        (found,) = json.loads(canonical_metadata([{**parts, "o": {"t": "l", "v": _text(parts["o"])}}]))
    return list(found)


def _text(term: Any) -> str:
    """What stands in a term, IRI or literal."""
    return str(term.get("i") or term.get("v") or "") if isinstance(term, Mapping) else ""
