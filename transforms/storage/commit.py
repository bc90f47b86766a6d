"""The commit: the one object that a document's decode leaves, whole or not at all, and from which all datasets are written.

It is a ZIP, because a ZIP proves itself: a truncated one has no directory, and each member has a checksum. Members: `outcome.json` first
(rows of `documents`, dead letters, blobs, and how many rows the others must have), `text_documents.arrow`, `images.arrow` (Arrow IPC
streams: read as they are, no row is made anew) and `provenance.nq`; a member without rows is left out. Equal documents give equal
bytes: times and modes in the ZIP are fixed, and the JSON's keys sorted.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from transforms.model import DecodedDocument
from transforms.sinks import dead_letters, documents, images, provenance, text_documents
from transforms.sinks.values import encodable
from transforms.storage.filesystem import is_local, join, size_of

FORMAT = 1
"""Of the commit; one of another format counts as damaged, and is decoded again."""

OUTCOME = "outcome.json"
TEXTS = "text_documents.arrow"
IMAGES = "images.arrow"
QUADS = "provenance.nq"

_EPOCH = (1980, 1, 1, 0, 0, 0)
_DEFLATE_LEVEL = 1  # level 6 makes the commit of a 5,000-element document 12 % smaller and takes 3 times as long

# All that zipfile, zlib, json and Arrow raise over bytes that are not what was written: tests damage every byte of a commit.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    NotImplementedError,
    RuntimeError,
    struct.error,
    MemoryError,
)


class CommitDamaged(Exception):  # noqa: N818 - what it is
    """A commit that is not what was written: truncated, altered, of another format, or without its blobs. To be decoded again.

    `path` is the commit's, relative to OUTPUT, where the reader knows it.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        return f"The commit {self.path or '(unnamed)'} is damaged: {self.reason}."


class Outcome(NamedTuple):
    """What became of a reference: of its main document, and how much its commit holds in all."""

    document_id: str
    source_uri: str
    status: str
    reason: str = ""
    mime_type: str = ""
    documents: int = 1
    """The document and its attachments."""
    texts: int = 0
    images: int = 0
    quads: int = 0
    dead_letters: int = 0
    fingerprint: str = ""
    may_pass: int = 0
    """How many of the dead letters have a cause that may pass (`Status.may_pass`): the next run tries the document again."""
    missing_pages: int = 0
    """How many pages hold something that was not read."""


class StagedDocument(NamedTuple):
    """Where a reference's commit lies. Small: this is what is shuffled to the writers of the datasets."""

    path: str
    """Of the commit, relative to OUTPUT."""
    key: str
    document_id: str
    source_uri: str
    status: str
    copies: int = 1
    """How often the same reference was given."""
    size: int = -1
    """Bytes of the document; -1: unknown."""
    fresh: bool = True
    """Whether this run decoded it."""
    pdf_kernel: str = ""
    """Of a PDF that this run decoded: `on` or `off`, with the reason."""


@dataclass(frozen=True)
class Commit:
    """The content of a commit: rows for each dataset."""

    outcome: Outcome
    documents: Sequence[dict[str, Any]]
    """The main document's row first, then its attachments'."""
    dead_letters: Sequence[dict[str, Any]] = ()
    texts: pa.Table | None = None
    images: pa.Table | None = None
    quads: bytes = b""
    blobs: Sequence[tuple[str, int]] = field(default=())
    """Path relative to OUTPUT and size of each blob that `images` names."""


def write_commit(path: Path, decoded: Sequence[DecodedDocument], *, fingerprint: str) -> Outcome:
    """Writes the commit of a document to a local file, to be published by the caller.

    Args:
      path: the file; overwritten.
      decoded: the document first, its attachments after it.
      fingerprint: of the settings; part of the activities' identity.
    Returns:
      The outcome of the main document.
    Raises:
      ValueError: a value that the datasets do not allow, such as a text without an id: better here, for one document, than in the writer
        of the dataset, for all.
    """
    texts = _table([row for document in decoded for row in text_documents.rows(document)], text_documents.SCHEMA)
    pictures = _table([row for document in decoded for row in images.rows(document)], images.SCHEMA)
    quads = b"".join(provenance.lines(document, fingerprint=fingerprint) for document in decoded)
    letters = [row for document in decoded for row in dead_letters.rows(document)]
    main = decoded[0]
    outcome = Outcome(
        document_id=main.document_id,
        source_uri=main.source_uri,
        status=main.status.value,
        reason=main.reason,
        mime_type=main.mime_type,
        documents=len(decoded),
        texts=texts.num_rows,
        images=pictures.num_rows,
        quads=quads.count(b"\n"),
        dead_letters=len(letters),
        fingerprint=fingerprint,
        may_pass=sum(document.status.may_pass for document in decoded),
        missing_pages=sum(len(document.missing_pages) for document in decoded),
    )
    blobs = sorted({(image.blob_path, image.picture.size) for document in decoded for image in document.images})
    content = {
        "format": FORMAT,
        "outcome": outcome._asdict(),
        "documents": [row for document in decoded for row in documents.rows(document)],
        "dead_letters": letters,
        "blobs": blobs,
    }
    with zipfile.ZipFile(path, "w") as archive:
        _add(archive, OUTCOME, json.dumps(encodable(content), sort_keys=True, separators=(",", ":")).encode())
        if texts.num_rows:
            _add(archive, TEXTS, _stream(texts))
        if pictures.num_rows:
            _add(archive, IMAGES, _stream(pictures))
        if quads:
            _add(archive, QUADS, quads)
    return outcome


def read_commit(stream: BinaryIO, *, path: str = "") -> Commit:
    """Reads a commit whole, and proves it: the checksum of each member, and that no member is missing.

    Args:
      stream: seekable; stays open.
      path: for the error.
    Raises:
      CommitDamaged: the bytes are not a commit, or not all of one. An error of the file system itself comes as it is.
    """
    with _damage_told(path), zipfile.ZipFile(stream) as archive:
        content = _content(archive)
        outcome: Outcome = content["outcome"]
        commit = Commit(
            outcome=outcome,
            documents=content["documents"],
            dead_letters=content["dead_letters"],
            texts=_read_table(archive, TEXTS, text_documents.SCHEMA) if outcome.texts else None,
            images=_read_table(archive, IMAGES, images.SCHEMA) if outcome.images else None,
            quads=archive.read(QUADS) if outcome.quads else b"",
            blobs=content["blobs"],
        )
        found = (
            len(commit.documents),
            commit.texts.num_rows if commit.texts is not None else 0,
            commit.images.num_rows if commit.images is not None else 0,
            commit.quads.count(b"\n"),
            len(commit.dead_letters),
        )
        if found != (outcome.documents, outcome.texts, outcome.images, outcome.quads, outcome.dead_letters):
            raise ValueError(f"its members have {found} rows, its outcome says otherwise")
    return commit


def read_outcome(stream: BinaryIO, *, blobs_in: str = "", path: str = "") -> Outcome:
    """Reads what became of the document, and no more: the ZIP's directory (so that a truncated commit is found) and its first member.

    Args:
      stream: seekable; stays open.
      blobs_in: OUTPUT, to make sure that the blobs of the commit are there with their size; local only: an object store does not lose
        what it has acknowledged, and a look-up takes 10 to 30 ms there. After a power cut, or when somebody deleted the blobs, a commit
        would otherwise be taken as done without its pictures.
      path: for the error.
    Raises:
      CommitDamaged: as `read_commit`, as far as was read.
    """
    with _damage_told(path), zipfile.ZipFile(stream) as archive:
        content = _content(archive)
    if blobs_in and is_local(blobs_in):
        for blob, size in content["blobs"]:
            if size_of(join(blobs_in, blob)) != size:
                raise CommitDamaged(f"its blob {blob} is not there, or not whole", path)
    outcome: Outcome = content["outcome"]
    return outcome


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    try:
        table = pa.Table.from_pylist(rows, schema=schema)
    except UnicodeEncodeError:
        table = pa.Table.from_pylist(encodable(rows), schema=schema)
    for column in schema:
        if not column.nullable and table.column(column.name).null_count:
            raise ValueError(f"A row has no {column.name}, which each must have.")
    return table


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    member = zipfile.ZipInfo(name, date_time=_EPOCH)
    member.create_system = 3  # Unix, also where it is not: the bytes must not tell the machine
    member.external_attr = 0o644 << 16
    archive.writestr(member, data, compress_type=zipfile.ZIP_DEFLATED, compresslevel=_DEFLATE_LEVEL)


def _content(archive: zipfile.ZipFile) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(archive.read(OUTCOME))
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']}, this decoder's is {FORMAT}")
    content["outcome"] = Outcome(**content["outcome"])
    content["blobs"] = [(path, size) for path, size in content["blobs"]]
    return content


def _read_table(archive: zipfile.ZipFile, name: str, schema: pa.Schema) -> pa.Table:
    data = archive.read(name)
    broken = ""
    try:
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
    except OSError as error:  # so Arrow says of broken bytes; an error of the disk would come above
        broken = str(error)
    if broken:
        raise ValueError(broken)  # not in the except clause: `_damage_told` would take it for one of the disk
    if not table.schema.equals(schema):
        raise ValueError(f"the columns of {name} are not this decoder's")
    return table


@contextmanager
def _damage_told(path: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        if isinstance(error.__context__, OSError):  # zipfile (3.11) says "not a zip file" over an error of the disk as well
            raise error.__context__ from None
        raise CommitDamaged(str(error) or type(error).__name__, path) from error
