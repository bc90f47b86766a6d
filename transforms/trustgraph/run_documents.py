"""The documents of a run, one after the other, each with its texts, pictures and quads: the datasets of a shard read side by side.

All datasets of a shard are written from the same commits in the same order, so one pass over each is enough, and what is in memory does
not grow with the run: some rows of each dataset, and the quads of one document, which beyond 8 MB lie in a file.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

import pyarrow.parquet as pq

from transforms.model import Status
from transforms.provenance import vocabulary
from transforms.provenance.identifiers import document_iri
from transforms.sinks import documents, images, provenance, text_documents
from transforms.storage import filesystem

Row = Mapping[str, Any]

DECODED = (Status.OK.value, Status.EMPTY.value)
TEXT_COLUMNS = ("id", "document_id", "document_type", "parent_id", "title", "text")
IMAGE_COLUMNS = ("id", "document_id", "parent_id", "title", "mime_type", "sha256", "size_bytes", "blob_uri")
DOCUMENT_COLUMNS = (
    "document_id",
    "source_uri",
    "title",
    "collection",
    "mime_type",
    "status",
    "source_sha256",
    "size_bytes",
    "parent_document_id",
    "started_at",
)
ROWS_AT_ONCE = 64
"""Pages of text in memory; mostly 3 KB each."""
SPOOLED_BYTES = 8 << 20
"""Of quads, before they go to a file: 40,000 of them, a document of some 3,000 pages."""


class Quads:
    """The lines of one document's quads, to be read more than once."""

    def __init__(self) -> None:
        self._lines = cast(BinaryIO, SpooledTemporaryFile(SPOOLED_BYTES))  # noqa: SIM115 - closed by `close`
        self.count = 0

    def add(self, line: bytes) -> None:
        """Appends a line, with its line feed."""
        self._lines.write(line)
        self.count += 1

    def __iter__(self) -> Iterator[bytes]:
        """From the first line; one reader at a time."""
        self._lines.seek(0)
        for line in self._lines:  # noqa: UP028 - `yield from` would close the file when its reader has seen enough
            yield line

    def close(self) -> None:
        """Lets go of the file, where there is one."""
        self._lines.close()


@dataclass(frozen=True)
class RunDocument:
    """One decoded document of a run."""

    row: Row
    """Of `documents`."""
    quads: Quads
    texts: "Rows"
    """At the document's first row of `text_documents`: its rows are taken in their order, once."""
    images: "Rows"
    """The same, of `images`."""

    @property
    def id(self) -> str:
        return cast(str, self.row["document_id"])


class Rows:
    """The rows of one part, in order, with a look at the next."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def next_of(self, document_id: str, row_id: str | None = None) -> Row | None:
        """Takes the next row if it belongs to a document (and has an id); None: it does not, and stays."""
        row = self._next
        if row is None or row["document_id"] != document_id or row_id not in (None, row["id"]):
            return None
        self._next = next(self._rows, None)
        return row

    def all_of(self, document_id: str) -> Iterator[Row]:
        """Takes all that is left of a document."""
        while (row := self.next_of(document_id)) is not None:
            yield row


def shards_of(manifest: Mapping[str, Any], folder: str) -> list[dict[str, str]]:
    """The parts of each shard of a run: name of the dataset -> URI.

    Args:
      manifest: of the run.
      folder: of the run, path or URI.
    """
    datasets = {name: [part["path"] for part in dataset["parts"]] for name, dataset in manifest["datasets"].items()}
    count = len(datasets[documents.NAME])
    return [{name: filesystem.join(folder, paths[shard]) for name, paths in datasets.items()} for shard in range(count)]


def read_shard(parts: Mapping[str, str]) -> Iterator[RunDocument]:
    """The documents of a shard that were decoded (ok or empty), in the order of the datasets.

    Each is valid until the next is taken; what was not taken of its rows is skipped then.

    Args:
      parts: of the shard, as `shards_of` gives them.
    """
    with ExitStack() as files:

        def rows(name: str, columns: Sequence[str]) -> Iterator[Row]:
            return _parquet(files.enter_context(filesystem.open_read(parts[name])), columns)

        texts = Rows(rows(text_documents.NAME, TEXT_COLUMNS))
        pictures = Rows(rows(images.NAME, IMAGE_COLUMNS))
        lines = _Lines(files.enter_context(gzip.open(files.enter_context(filesystem.open_read(parts[provenance.NAME])))))
        decoded = (row for row in rows(documents.NAME, DOCUMENT_COLUMNS) if row["status"] in DECODED)
        row = next(decoded, None)
        while row is not None:
            following = next(decoded, None)
            document = RunDocument(row, Quads(), texts, pictures)
            try:
                lines.take_until(None if following is None else first_line(following["document_id"]), document.quads.add)
                yield document
            finally:
                document.quads.close()
            for rest in (texts, pictures):
                for _ in rest.all_of(document.id):
                    pass
            row = following


def first_line(document_id: str) -> bytes:
    """The line with which the quads of a document begin (`triples.describe`)."""
    return f"<{document_iri(document_id)}> <{vocabulary.RDF_TYPE}> <{vocabulary.PROV_ENTITY}> <{vocabulary.SOURCE_GRAPH}> .\n".encode()


class _Lines:
    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._held: bytes | None = next(lines, None)

    def take_until(self, end: bytes | None, take: Callable[[bytes], None]) -> None:
        """Takes the lines up to one, which stays; None: all. The first is taken in any case."""
        line = self._held
        while line is not None:
            take(line)
            line = next(self._lines, None)
            if line == end and end is not None:
                break
        self._held = line


def _parquet(stream: BinaryIO, columns: Sequence[str]) -> Iterator[Row]:
    for batch in pq.ParquetFile(stream, pre_buffer=False).iter_batches(batch_size=ROWS_AT_ONCE, columns=list(columns)):
        yield from batch.to_pylist()


def json_line(value: Any) -> bytes:
    """JSON on one line, readable as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"
