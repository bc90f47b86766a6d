"""Writes one shard of a run: one part of each dataset, from the commits of the shard's documents and nothing else.

No Beam here: the job calls `write_shard` once for each shard, also for one without documents, so that all parts are always there.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import groupby
from typing import Any, BinaryIO, NamedTuple, cast

from transforms.model import Status
from transforms.sinks import documents
from transforms.sinks.dataset import DATASETS, DigestedStream, PartFile, PartWriter
from transforms.storage.commit import Commit, CommitDamaged, StagedDocument, read_commit
from transforms.storage.filesystem import SCRATCH, join, publishing, read_bytes
from transforms.storage.read_ahead import read_ahead

RUNS = "runs"
_DECODED = (Status.OK.value, Status.EMPTY.value)


class Tally(NamedTuple):
    """How many documents of one format came out one way."""

    attachment: bool
    """Whether they are attachments: not among the references."""
    mime_type: str
    """Empty: not known."""
    status: str
    documents: int = 0
    fresh: int = 0
    """Decoded by this run; the rest was staged before."""
    size_bytes: int = 0
    text_chars: int = 0
    seconds: float = 0.0


class KernelCount(NamedTuple):
    """How many PDFs this run read in one state of the PDF kernel."""

    state: str
    """`on` or `off`, with the reason."""
    pdfs: int


class ShardResult(NamedTuple):
    """What one call of `write_shard` published."""

    shard: int
    parts: Sequence[PartFile]
    tallies: Sequence[Tally]
    pdf_kernel: Sequence[KernelCount] = ()


def run_folder(output: str, run_id: str) -> str:
    """Of a run, as path or URI like `output`."""
    return join(output, RUNS, run_id)


def shard_of(staged: StagedDocument, shards: int) -> int:
    """The shard of a document: one for all of a document id, so that duplicates meet. Not by `hash()`, which differs in each process."""
    name = staged.document_id or staged.source_uri
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards


def write_shard(output: str, run_id: str, shard: int, shards: int, staged: Sequence[StagedDocument]) -> ShardResult:
    """Writes and publishes the parts of one shard.

    One commit is in memory at a time (from an object store a few, which are read ahead). Of documents with the same id the first in URI
    order that was decoded is kept; the others have a row in `documents` that says so, and nothing else. A dead letter stays a dead letter,
    also when another document of its id was decoded.

    Args:
      output: path or URI of OUTPUT.
      run_id: a plain name.
      shard: from 0.
      shards: of the run.
      staged: the commits of this shard (`shard_of`), in any order.
    Returns:
      The parts and the counts. Called again with the same arguments it publishes the same bytes again.
    Raises:
      CommitDamaged: with the commit's `path`; nothing was published.
    """
    folder = run_folder(output, run_id)
    counts = _Counts()
    with ExitStack() as publications:
        open_parts = []
        for dataset in DATASETS:
            path = dataset.part_path(shard, shards)
            target = publications.enter_context(publishing(join(folder, path), scratch=join(output, SCRATCH), durable=True))
            stream = DigestedStream(target)
            publications.callback(stream.detach)
            open_parts.append((dataset.name, path, stream, dataset.open_part(cast(BinaryIO, stream))))
        _write(output, staged, [writer for *_, writer in open_parts], counts)
        parts = []
        for name, path, stream, writer in open_parts:
            writer.close()
            parts.append(PartFile(name, path, writer.rows, stream.tell(), stream.sha256))
    kernel = Counter(document.pdf_kernel for document in staged if document.pdf_kernel)
    return ShardResult(shard, parts, counts.tallies(), [KernelCount(*count) for count in sorted(kernel.items())])


def _write(output: str, staged: Sequence[StagedDocument], writers: Sequence[PartWriter], counts: "_Counts") -> None:
    ordered = sorted(staged, key=_order)
    # Each in one piece: one request on an object store, where zipfile's seeking would make several.
    contents = read_ahead(output, lambda document: _read(output, document.path), ordered)
    for _document_id, group in groupby(ordered, key=lambda document: document.document_id):
        same = list(group)
        kept = next((document for document in same if document.status in _DECODED), same[0])
        kept_rows: dict[str, dict[str, Any]] = {}
        for document in same:
            commit = read_commit(BytesIO(next(contents)), path=document.path)
            if document is kept:
                kept_rows = {row["document_id"]: row for row in commit.documents}
            else:
                commit = _without_content(commit, kept.source_uri, kept_rows)
            commit = _with_copies(commit, document.copies)
            for writer in writers:
                writer.add(commit)
            counts.add(commit, document.fresh)


def _read(output: str, path: str) -> bytes:
    try:
        return read_bytes(join(output, path))
    except FileNotFoundError:
        raise CommitDamaged("it is gone", path) from None


def _order(document: StagedDocument) -> tuple[str, str, str]:
    return document.document_id, document.source_uri, document.path


def _without_content(commit: Commit, kept_uri: str, kept_rows: Mapping[str, dict[str, Any]]) -> Commit:
    main, *attachments = commit.documents
    letters = []
    if main["status"] in _DECODED:
        main = _duplicate(main, kept_uri, kept_rows)
    else:
        letters = [letter for letter in commit.dead_letters if letter["source_uri"] == main["source_uri"]]
    rows = [main, *(_duplicate(row, kept_uri, kept_rows) for row in attachments)]
    outcome = commit.outcome._replace(texts=0, images=0, quads=0, dead_letters=len(letters))
    return Commit(outcome=outcome, documents=rows, dead_letters=letters)


def _duplicate(row: dict[str, Any], kept_uri: str, kept_rows: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    twin = kept_rows.get(row["document_id"])
    if twin is None:
        return documents.as_duplicate(row, kept_uri, f"It is attached to a document whose id is that of {kept_uri}.")
    uri = twin["source_uri"]
    if twin["source_sha256"] == row["source_sha256"]:
        return documents.as_duplicate(row, uri, f"Its document id and its bytes are those of {uri}.")
    reason = f"Its document id is that of {uri}, but its bytes are others: give each document an id of its own."
    return {**documents.as_duplicate(row, uri, reason), "warnings": [reason]}  # unlike of an equal file, the run lacks what is in it


def _with_copies(commit: Commit, copies: int) -> Commit:
    """A reference that was given more than once has a row for each time: as many rows as references."""
    if copies < 2:
        return commit
    main = commit.documents[0]
    row = documents.as_duplicate(main, main["source_uri"], f"The same reference was given {copies} times.")
    return replace(commit, documents=[*commit.documents, *[row] * (copies - 1)])


@dataclass
class _Counts:
    _sums: dict[tuple[bool, str, str], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0, 0.0]))

    def add(self, commit: Commit, fresh: bool) -> None:
        for row in commit.documents:
            sums = self._sums[row["parent_document_id"] is not None, row["mime_type"] or "", row["status"]]
            sums[0] += 1
            sums[1] += fresh
            sums[2] += row["size_bytes"] or 0
            sums[3] += row["text_chars"] or 0
            sums[4] += row["seconds"] or 0.0

    def tallies(self) -> list[Tally]:
        return list(self._tallies())

    def _tallies(self) -> Iterator[Tally]:
        for (attachment, mime_type, status), (number, fresh, size, chars, seconds) in sorted(self._sums.items()):
            yield Tally(attachment, mime_type, status, int(number), int(fresh), int(size), int(chars), round(seconds, 3))
