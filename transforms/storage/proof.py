"""Proves a commit that a decoding process has left, before it is published: a parser that a document has taken over may have written it.

A commit that only looks whole would end the job in the writer of the datasets, at each try anew, and one that speaks of other documents
would take their place there. What a document may still do is to lie about itself: the ids of its pages and its provenance are taken as they
are, as far as their form is right.
"""

import json
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from transforms.isolation.handover import LeftBehindError
from transforms.model import DocumentReference, Status
from transforms.sinks import dead_letters, documents
from transforms.sinks.values import encodable
from transforms.storage.commit import CommitDamaged, Outcome, read_commit

_TERM = rb'(?:<[^<>"{}|^`\\\x00-\x20]*+>|_:[^\s<>"]++)'
_LITERAL = rb'"(?:[^"\\\n\r]|\\.)*+"(?:\^\^<[^<>"{}|^`\\\x00-\x20]*+>|@[A-Za-z0-9-]++)?'
_QUAD = re.compile(_TERM + b" " + _TERM + b" (?:" + _TERM + b"|" + _LITERAL + b") <urn:graph:source> \\.")
"""As `provenance.nquads` writes them."""

_LETTER = frozenset(("document_id", "source_uri", "status", "stage", "error_class", "message", "traceback", "reference"))


class Origin(NamedTuple):
    """What is known of a document where it was fetched."""

    reference: DocumentReference
    document_id: str
    sha256: str


def prove_commit(
    stream: BinaryIO, outcome: Outcome, blobs: Collection[str], published: Collection[str] = (), *, origin: Origin, limit: int
) -> None:
    """Reads a commit as the writer of the datasets will.

    Args:
      stream: seekable, at any place; stays open, and must be the owner's: what a child can still write proves nothing.
      outcome: as the child has answered.
      blobs: the paths that the child has answered.
      published: those that are there already, and which it may speak of.
      origin: of the document that the child was given.
      limit: bytes that the commit may unpack to.
    Raises:
      LeftBehindError: it says something else than the answer, or speaks of other documents; CommitDamaged: it cannot be read.
    """
    stream.seek(0)
    try:
        with zipfile.ZipFile(stream) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > limit:
            raise LeftBehindError("The decoding process has left a commit that unpacks to more than it had memory.")
        commit = read_commit(stream)
        tables = [table for table in (commit.texts, commit.images) if table is not None]
        for table in tables:
            _check_table(table)
        pa.Table.from_pylist(list(commit.documents), schema=documents.SCHEMA)
        for letter in commit.dead_letters:
            dead_letters.line(letter)
    except (
        zipfile.BadZipFile,
        pa.ArrowException,
        AttributeError,
        LookupError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise CommitDamaged(str(error) or type(error).__name__) from error
    said = {path for path, _size in commit.blobs}
    shown = set() if commit.images is None else set(commit.images["blob_uri"].to_pylist())
    if commit.outcome != Outcome(**encodable(outcome._asdict())) or not set(blobs) <= said <= {*blobs, *published} or not shown <= said:
        raise LeftBehindError("The decoding process has left a commit that says something else than its answer.")
    own = encodable({"document_id": origin.document_id, "source_uri": origin.reference.uri, "collection": origin.reference.collection})
    if not (
        (commit.outcome.document_id, commit.outcome.source_uri) == (own["document_id"], own["source_uri"])
        and _are_own(commit.documents, own, origin.sha256)
        and _are_letters(commit.dead_letters, commit.documents, origin.reference)
        and all(_are_of(table, commit.documents) for table in tables)
    ):
        raise LeftBehindError("The decoding process has left a commit that speaks of other documents.")
    if not all(map(_QUAD.fullmatch, commit.quads.split(b"\n")[:-1])) or commit.quads[-1:] not in (b"", b"\n"):
        raise LeftBehindError("The decoding process has left provenance that is none.")


def _check_table(table: pa.Table) -> None:
    table.validate(full=True)  # offsets that point outside of a buffer would be followed
    for column in table.schema:
        if not column.nullable and table.column(column.name).null_count:
            raise ValueError(f"a row has no {column.name}")


def _are_own(rows: Sequence[Mapping[str, Any]], own: Mapping[str, str], sha256: str) -> bool:
    """Whether the rows are of the document and of what is attached to it."""
    main, *attached = rows
    if any(set(row) != set(documents.SCHEMA.names) or Status(row["status"]) is Status.DUPLICATE for row in rows):
        return False
    if any(main[name] != value for name, value in own.items()) or (main["source_sha256"], main["parent_document_id"]) != (sha256, None):
        return False
    known = {own["document_id"]}
    for row in attached:
        fragment = row["source_uri"].removeprefix(own["source_uri"])
        if row["parent_document_id"] not in known or row["collection"] != own["collection"] or not fragment.startswith(("#", "&")):
            return False
        known.add(row["document_id"])
    return True


def _are_letters(letters: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], reference: DocumentReference) -> bool:
    """Whether there is one for each row that needs it, with the reference as it was given: a later run may read what it names."""
    dead = [(row["document_id"], row["source_uri"], row["status"]) for row in rows if Status(row["status"]).is_dead_letter]
    given = json.dumps(encodable(dead_letters.as_given(reference)), sort_keys=True)  # as text: a NaN equals nothing
    return dead == [(letter["document_id"], letter["source_uri"], letter["status"]) for letter in letters] and all(
        set(letter) == _LETTER and json.dumps(letter["reference"], sort_keys=True) == given for letter in letters
    )


def _are_of(table: pa.Table, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all rows of a table belong to these documents."""
    names = ("document_id", "source_uri", "collection")
    found = set(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    return found <= {tuple(row[name] for name in names) for row in rows}
