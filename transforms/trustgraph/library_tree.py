"""What becomes of a decoded document in TrustGraph's library: the document, below it its pages and sections, below these their pictures.

The library gets the same tree as the graph. That includes pages without a text of their own (those that hold only pictures, are divided
into sections, or are blank): the datasets have no row of them, so they are read from the quads.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from io import BytesIO, RawIOBase
from typing import Any, BinaryIO
from urllib.parse import unquote

from transforms.model import DecodeError, DocumentReference
from transforms.provenance import vocabulary
from transforms.provenance.identifiers import document_iri
from transforms.provenance.nquads import unescape
from transforms.references import librarian_metadata
from transforms.references.listing import MissingInput
from transforms.references.manifest_files import read_inline, read_references
from transforms.references.metadata import PREFIXES
from transforms.sinks import images
from transforms.storage import filesystem
from transforms.trustgraph.library import parse_document_uri
from transforms.trustgraph.run_documents import Row, RunDocument

TEXT_KIND = "text/plain"
"""TrustGraph's librarian hands documents of this kind, and of no other, to the chunker (trustgraph-flow 2.11.1)."""
NO_TEXT = "\n"
"""Content of a page without text of its own: TrustGraph's readers wait up to ten minutes for a document of no bytes (2.9 to 2.11.1)."""
SOURCE = "source"
ATTACHMENT = "extracted"
"""TrustGraph's document type for a document that was found in another one."""

_IDENTIFIER = PREFIXES["dcterms"] + "identifier"
_INLINE = re.compile(r"#(?:line|row)=\d+\Z")
_ENTITY = re.compile(rb"<(urn:(?:page|section):[^>]*)> <([^>]*)> (.*) <[^>]*> \.\n", re.DOTALL)
_TYPE, _PARENT, _LABEL = (iri.encode() for iri in (vocabulary.RDF_TYPE, vocabulary.PROV_WAS_DERIVED_FROM, vocabulary.RDFS_LABEL))
_TYPES = {
    f"<{iri}>".encode(): document_type for document_type, iri in vocabulary.ENTITY_TYPES.items() if document_type != images.DOCUMENT_TYPE
}


class Unavailable(Exception):  # noqa: N818 - what the bytes are
    """The bytes of a document cannot be had, or are others by now; the sentence says so."""


@dataclass(frozen=True)
class LibraryDocument:
    """One document of the library, source or child."""

    id: str
    kind: str
    title: str
    parent_id: str
    """Empty: it has none."""
    document_type: str
    time: int
    """Seconds since 1970, of the run that decoded it: the same at each load."""
    size: int
    """Bytes of its content, where they are known before it is read; -1: not known."""
    text: str | None = None
    """The content of a page or section."""
    source: Row | None = None
    """Of a document: its row, which tells where its bytes are."""
    image: Row | None = None
    """Of a picture: its row."""
    chunkable: bool = False
    """Whether it is for the chunker: a page or section with text."""

    def metadata(self) -> dict[str, Any]:
        """As `document-metadata` of the gateway."""
        found: dict[str, Any] = {"id": self.id, "time": self.time, "kind": self.kind, "title": self.title}
        if self.parent_id:
            found["parent-id"] = self.parent_id
        return {**found, "document-type": self.document_type}

    def content(self, output: str) -> bytes:
        """Its bytes.

        Args:
          output: path or URI of OUTPUT, where the pictures lie.
        Raises:
          Unavailable: they cannot be had.
        """
        if self.text is not None:
            return self.text.encode("utf-8", "replace")
        place = self.source["source_uri"] if self.source is not None else filesystem.join(output, (self.image or {})["blob_uri"])
        try:
            return _source_bytes(self.source) if self.source is not None else filesystem.read_bytes(place)
        except OSError as error:
            raise Unavailable(f"The bytes of {self.id} cannot be read from {place}: {filesystem.reason_of(error)}.") from error


def library_documents(document: RunDocument) -> Iterator[LibraryDocument]:
    """All that the library holds of a document, parents before their children: the document itself first.

    Args:
      document: its texts and images are taken by this.
    """
    time = _seconds(document.row["started_at"])
    own_iri, own_id = document_iri(document.id), library_id(document)
    yield _source(document.row, own_id, time)
    for entity_id, document_type, parent, title in _entities(document):
        row = document.texts.next_of(document.id, entity_id)
        if row is not None:
            yield _text(row, own_id, time)
            continue
        parent_id = own_id if parent == own_iri else parent
        yield LibraryDocument(entity_id, TEXT_KIND, title, parent_id, document_type, time, len(NO_TEXT), text=NO_TEXT)
    for row in document.texts.all_of(document.id):
        yield _text(row, own_id, time)
    for row in document.images.all_of(document.id):
        parent_id = own_id if row["parent_id"] == document.id else row["parent_id"]
        yield LibraryDocument(
            row["id"], row["mime_type"], row["title"], parent_id, images.DOCUMENT_TYPE, time, row["size_bytes"], image=row
        )


def library_id(document: RunDocument) -> str:
    """The id that the library has for a document of the run. One that came from a library with an id that is no IRI has it as its
    dcterms:identifier (`librarian_metadata`); all others have theirs."""
    start = f'<{document_iri(document.id)}> <{_IDENTIFIER}> "'.encode()
    for line in document.quads:
        if line.startswith(start):
            value = line[len(start) :].rpartition(b'"')[0].decode()
            if librarian_metadata.document_iri(unescape(value)) == document.id:
                return unescape(value)
    return document.id


def _text(row: Row, own_id: str, time: int) -> LibraryDocument:
    parent_id = own_id if row["parent_id"] == row["document_id"] else row["parent_id"]
    return LibraryDocument(row["id"], TEXT_KIND, row["title"], parent_id, row["document_type"], time, -1, text=row["text"], chunkable=True)


def _source(row: Row, own_id: str, time: int) -> LibraryDocument:
    name = unquote(row["source_uri"].partition("#")[0].rpartition("/")[2])
    parent = row["parent_document_id"]
    if parent:
        # Its bytes are in its mail, and nowhere else: what stands here says where.
        attached = unquote(row["source_uri"].rpartition("name=")[2])
        text = (
            f"{attached} ({row['mime_type']}, {row['size_bytes']} bytes, sha256 {row['source_sha256']}) is attached to {parent}. "
            "Its texts and pictures are below this document, its bytes are in the mail.\n"
        )
        mail = parse_document_uri(row["source_uri"])
        if mail and librarian_metadata.document_iri(mail.document_id) == parent:
            parent = mail.document_id
        return LibraryDocument(own_id, TEXT_KIND, row["title"] or attached, parent, ATTACHMENT, time, -1, text=text)
    kind = row["mime_type"] or "application/octet-stream"
    size = -1 if row["size_bytes"] is None else row["size_bytes"]
    return LibraryDocument(own_id, kind, row["title"] or name, "", SOURCE, time, size, source=row)


def _entities(document: RunDocument) -> Iterator[tuple[str, str, str, str]]:
    """Id, type, parent and label of each page and section that the quads tell of, in their order (`triples._derived`)."""
    entity, document_type, parent = "", "", ""
    for line in document.quads:
        found = _ENTITY.fullmatch(line)
        if found is None:
            continue
        subject, predicate, value = found.groups()
        if predicate == _TYPE and value in _TYPES:
            entity, document_type, parent = subject.decode(), _TYPES[value], ""
        elif subject.decode() == entity and predicate == _PARENT:
            parent = value.decode()[1:-1]
        elif subject.decode() == entity and predicate == _LABEL:
            yield entity, document_type, parent, unescape(value.decode()[1:-1])
            entity = ""


def _seconds(started_at: str | None) -> int:
    return int(datetime.fromisoformat(started_at).timestamp()) if started_at else 0


def _source_bytes(row: Row) -> bytes:
    uri = row["source_uri"]
    if library := parse_document_uri(uri):
        raise Unavailable(f"{row['document_id']} is in workspace {library.workspace} of {library.gateway}, and not here: add it first.")
    try:
        place = _INLINE.search(uri)
        data = read_inline(_inline_references(uri[: place.start()])[uri]) if place else filesystem.read_bytes(uri)
    except (DecodeError, MissingInput, LookupError, ValueError, ImportError) as error:
        raise Unavailable(f"The bytes of {row['document_id']} cannot be had from {uri}: {error}.") from error
    if hashlib.sha256(data).hexdigest() != row["source_sha256"]:
        raise _changed(row)
    return data


class _Checked(RawIOBase):
    """A document's bytes as they are read, of which the last are given only if all have the digest that was decoded."""

    def __init__(self, stream: BinaryIO, row: Row) -> None:
        self._stream, self._row = stream, row
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """As of a binary file, but as many bytes as are asked for."""
        data = self._stream.read(size)
        self._digest.update(data)
        if not data and self._digest.hexdigest() != self._row["source_sha256"]:
            raise _changed(self._row)
        return data


@contextmanager
def open_source(row: Row) -> Iterator[RawIOBase]:
    """The bytes of a document, one part in memory at a time.

    Args:
      row: of `documents`.
    Raises:
      Unavailable: they cannot be had, or (when the last was read) they are others than those that were decoded.
    """
    try:
        with BytesIO(_source_bytes(row)) if _INLINE.search(row["source_uri"]) else filesystem.open_read(row["source_uri"]) as stream:
            yield _Checked(stream, row)
    except (OSError, ValueError, ImportError) as error:
        raise Unavailable(f"The bytes of {row['document_id']} cannot be read from {row['source_uri']}: {error}.") from error


def _changed(row: Row) -> Unavailable:
    return Unavailable(f"{row['source_uri']} holds other bytes than those that were decoded: run the backfill again, and load its new run.")


@lru_cache(maxsize=1)
def _inline_references(file: str) -> dict[str, DocumentReference]:
    """URI of each inline document of a references file -> its reference (200 bytes each)."""
    return {reference.uri: reference for reference in read_references(file) if reference.locator}
