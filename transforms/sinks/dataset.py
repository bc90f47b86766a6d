"""The datasets of a run, in one table, and how a part of each is written: in bounded memory, and the same bytes for the same rows.

A writer takes commit after commit and holds no more than one row group. What it writes depends on the rows alone: no file name, no
time, no random number, no thread order. (A new version of pyarrow or zlib may write other bytes for the same rows.)
"""

import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.sinks import dead_letters, documents, images, provenance, text_documents
from transforms.storage.commit import Commit

ROW_GROUP_ROWS = 100_000
"""Near DuckDB's own 122,880: its threads share out row groups."""

ROW_GROUP_BYTES = 64 << 20
"""Of Arrow memory. Texts reach it first, at some 3,500 pages of 50 elements. A writer holds it twice, its rows and
one copy in one piece: 320 MB resident in all for 40,000 small documents, as for 200 of 5,000 elements."""

ROWS_AT_ONCE = 1_000
"""Rows that come as dictionaries are made into Arrow memory in steps of this: a dictionary takes several times what its row does."""

TABLES_AT_ONCE = 250
"""So many are held before they are made one: a table of one row takes some 40 KB, 4 KB of them its content. Writing 20,000 small commits
takes 305 MB with it, and 914 MB without (pyarrow 25)."""

ZSTD_LEVEL = 3
GZIP_LEVEL = 6


class PartFile(NamedTuple):
    """A part as it was published; small enough to be shuffled."""

    dataset: str
    path: str
    """Relative to the run's folder."""
    rows: int
    bytes: int
    sha256: str


class PartWriter(Protocol):
    """Writes one part of one dataset to a stream, which stays open."""

    rows: int

    def add(self, commit: Commit) -> None:
        """Adds the dataset's rows of one commit."""

    def close(self) -> None:
        """Writes what is left. The part is whole only now, also one without rows."""


@dataclass(frozen=True)
class Dataset:
    """One dataset of a run."""

    name: str
    extension: str
    open_part: Callable[[BinaryIO], PartWriter]

    def part_path(self, shard: int, shards: int) -> str:
        """Of a part, relative to the run's folder: it tells how many there must be, so that a missing one shows."""
        return f"{self.name}/part-{shard:05d}-of-{shards:05d}.{self.extension}"


class ParquetPart:
    """Parquet with zstd, statistics for each row group, and dictionaries for the columns that repeat their values."""

    def __init__(
        self,
        stream: BinaryIO,
        schema: pa.Schema,
        dictionary: Sequence[str],
        take: Callable[[Commit], "pa.Table | Sequence[Mapping[str, Any]] | None"],
        *,
        no_statistics: Sequence[str] = (),
        row_group_rows: int = ROW_GROUP_ROWS,
        row_group_bytes: int = ROW_GROUP_BYTES,
    ) -> None:
        self.rows = 0
        self._schema = schema
        self._take = take
        self._row_group_rows = row_group_rows
        self._row_group_bytes = row_group_bytes
        self._rows_held: list[Mapping[str, Any]] = []
        self._loose: list[pa.Table] = []
        self._tables: list[pa.Table] = []
        self._table_rows = 0
        self._table_bytes = 0
        self._writer = pq.ParquetWriter(
            stream,
            schema,
            compression="zstd",
            compression_level=ZSTD_LEVEL,
            use_dictionary=cast(Any, list(dictionary)),
            write_statistics=[name for name in _leaves(schema) if name not in no_statistics],
        )

    def add(self, commit: Commit) -> None:
        """See `PartWriter`."""
        taken = self._take(commit)
        if taken is None:
            return
        if isinstance(taken, pa.Table):
            self._hold(taken)
            return
        self._rows_held.extend(taken)
        if len(self._rows_held) >= ROWS_AT_ONCE:
            self._hold_rows()

    def close(self) -> None:
        """See `PartWriter`."""
        self._hold_rows()
        self._write_group()
        self._writer.close()

    def _hold_rows(self) -> None:
        if self._rows_held:
            self._hold(pa.Table.from_pylist(self._rows_held, schema=self._schema))
            self._rows_held = []

    def _hold(self, table: pa.Table) -> None:
        start, total, size = 0, table.num_rows, table.get_total_buffer_size()  # 2 µs; nbytes takes 44 µs (pyarrow 25)
        self.rows += total
        while start < total:
            # A document larger than a row group is cut by its mean row; a row is never cut.
            room = (self._row_group_bytes - self._table_bytes) * total // max(size, 1)
            count = min(total - start, self._row_group_rows - self._table_rows, room)
            if count < 1 and self._table_rows:
                self._write_group()
                continue
            piece = table.slice(start, max(count, 1))
            start += piece.num_rows
            self._loose.append(piece)
            self._table_rows += piece.num_rows
            self._table_bytes += size * piece.num_rows // total
            if len(self._loose) >= TABLES_AT_ONCE:
                self._join_loose()

    def _join_loose(self) -> None:
        if self._loose:
            self._tables.append(pa.concat_tables(self._loose).combine_chunks())
            self._loose = []

    def _write_group(self) -> None:
        self._join_loose()
        if self._tables:
            group = pa.concat_tables(self._tables).combine_chunks()  # in one piece: pages must not depend on where commits end
            self._tables, self._table_rows, self._table_bytes = [], 0, 0
            self._writer.write_table(group, row_group_size=group.num_rows)


class NQuadsPart:
    """N-Quads under gzip, with a header that tells neither time nor name."""

    def __init__(self, stream: BinaryIO) -> None:
        self.rows = 0
        self._gzip = gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=GZIP_LEVEL)

    def add(self, commit: Commit) -> None:
        """See `PartWriter`."""
        if commit.quads:
            self._gzip.write(commit.quads)
            self.rows += commit.outcome.quads

    def close(self) -> None:
        """See `PartWriter`."""
        self._gzip.close()


class JsonLinesPart:
    """JSON lines with sorted keys."""

    def __init__(self, stream: BinaryIO) -> None:
        self.rows = 0
        self._stream = stream

    def add(self, commit: Commit) -> None:
        """See `PartWriter`."""
        for row in commit.dead_letters:
            self._stream.write(dead_letters.line(row))
            self.rows += 1

    def close(self) -> None:
        """See `PartWriter`."""


class DigestedStream:
    """Counts and digests what is written through it: a part is never read again to learn its sha256."""

    closed = False  # pyarrow asks

    def __init__(self, target: BinaryIO) -> None:
        self._target: BinaryIO | None = target
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: "bytes | memoryview") -> int:
        """As of a binary file."""
        if self._target is not None:
            self._target.write(data)
        self._digest.update(data)
        length = memoryview(data).nbytes
        self._size += length
        return length

    def tell(self) -> int:
        """Bytes so far."""
        return self._size

    def flush(self) -> None:
        """As of a binary file."""
        if self._target is not None:
            self._target.flush()

    def detach(self) -> None:
        """Lets go of the file: a writer that was left half-way still writes its end when it is collected (pyarrow 25), to nowhere."""
        self._target = None

    @property
    def sha256(self) -> str:
        """Hex digits, over all so far."""
        return self._digest.hexdigest()


def _text_documents(stream: BinaryIO) -> PartWriter:
    # Bounds of a text tell nothing, and take its comparison with every other one.
    return ParquetPart(
        stream, text_documents.SCHEMA, text_documents.DICTIONARY, lambda commit: commit.texts, no_statistics=text_documents.NO_STATISTICS
    )


def _images(stream: BinaryIO) -> PartWriter:
    return ParquetPart(stream, images.SCHEMA, images.DICTIONARY, lambda commit: commit.images)


def _documents(stream: BinaryIO) -> PartWriter:
    return ParquetPart(stream, documents.SCHEMA, documents.DICTIONARY, lambda commit: commit.documents)


DATASETS = (
    Dataset(text_documents.NAME, "parquet", _text_documents),
    Dataset(images.NAME, "parquet", _images),
    Dataset(documents.NAME, "parquet", _documents),
    Dataset(provenance.NAME, "nq.gz", NQuadsPart),
    Dataset(dead_letters.NAME, "jsonl", JsonLinesPart),
)
"""All that a run writes, one folder each. Source: design, section 4."""


def _leaves(schema: pa.Schema) -> list[str]:
    """The names that Parquet has for the columns: `elements.list.element.category`."""
    leaves: list[str] = []
    for column in schema:
        leaves += _leaves_of(column.name, column.type)
    return leaves


def _leaves_of(path: str, kind: pa.DataType) -> list[str]:
    if pa.types.is_list(kind):
        return _leaves_of(f"{path}.list.element", kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for member in kind for leaf in _leaves_of(f"{path}.{member.name}", member.type)]
    return [path]
