"""A part is bounded in memory, and its bytes follow from its rows alone."""

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from decoded_documents import FINGERPRINT, TWO_PAGES, decode

from transforms.sinks import documents, text_documents
from transforms.sinks.dataset import DATASETS, DigestedStream, JsonLinesPart, NQuadsPart, ParquetPart
from transforms.storage.commit import read_commit, write_commit

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])


def part_of(tables, **limits):
    stream = io.BytesIO()
    writer = ParquetPart(stream, SCHEMA, ["text"], lambda table: table, **limits)
    for table in tables:
        writer.add(table)
    writer.close()
    file = pq.ParquetFile(io.BytesIO(stream.getvalue()))
    groups = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
    return stream.getvalue(), groups, writer.rows


def table_of(first, count, text="x"):
    return pa.table({"n": range(first, first + count), "text": [text] * count}, schema=SCHEMA)


def test_row_groups_are_cut_by_rows_also_within_a_commit():
    data, groups, rows = part_of([table_of(0, 4), table_of(4, 11)], row_group_rows=5)
    assert (groups, rows) == ([5, 5, 5], 15)
    assert pq.read_table(io.BytesIO(data))["n"].to_pylist() == list(range(15))


def test_row_groups_are_cut_by_bytes_and_a_row_never_is():
    data, groups, rows = part_of([table_of(n, 1, "x" * 600) for n in range(5)], row_group_bytes=1500)
    assert (groups, rows) == ([2, 2, 1], 5)
    data, groups, rows = part_of([table_of(0, 3, "x" * 5000)], row_group_bytes=1000)
    assert (groups, rows) == ([1, 1, 1], 3)
    assert pq.read_table(io.BytesIO(data))["n"].to_pylist() == [0, 1, 2]


def test_one_large_commit_is_cut_into_row_groups():
    data, groups, _ = part_of([table_of(0, 10_000, "x" * 100)], row_group_bytes=300_000)
    assert len(groups) == 4
    assert pq.read_table(io.BytesIO(data))["n"].to_pylist() == list(range(10_000))


def test_where_commits_end_does_not_show():
    whole, *_ = part_of([table_of(0, 30)])
    pieces, *_ = part_of([table_of(n, 1) for n in range(30)])
    dictionaries, *_ = part_of([table_of(n, 5).to_pylist() for n in range(0, 30, 5)])
    assert whole == pieces == dictionaries


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_a_part_without_rows_is_a_whole_part(dataset):
    stream = io.BytesIO()
    writer = dataset.open_part(stream)
    writer.close()
    assert writer.rows == 0
    if dataset.extension == "parquet":
        assert pq.read_table(io.BytesIO(stream.getvalue())).num_rows == 0
    elif dataset.extension == "nq.gz":
        assert gzip.decompress(stream.getvalue()) == b""
    else:
        assert stream.getvalue() == b""


def test_a_parquet_part_keeps_the_schema_has_statistics_and_dictionaries_where_they_pay(tmp_path):
    write_commit(tmp_path / "commit", [decode("a", TWO_PAGES)], fingerprint=FINGERPRINT)
    with (tmp_path / "commit").open("rb") as stream:
        commit = read_commit(stream)
    target = io.BytesIO()
    writer = DATASETS[0].open_part(target)
    writer.add(commit)
    writer.close()
    file = pq.ParquetFile(io.BytesIO(target.getvalue()))
    assert file.schema_arrow.remove_metadata().types == text_documents.SCHEMA.types
    assert file.read().to_pylist() == commit.texts.to_pylist()
    group = file.metadata.row_group(0)
    columns = {group.column(index).path_in_schema: group.column(index) for index in range(group.num_columns)}
    assert {column.compression for column in columns.values()} == {"ZSTD"}
    assert {name for name, column in columns.items() if "RLE_DICTIONARY" in column.encodings} == set(text_documents.DICTIONARY)
    assert {name for name, column in columns.items() if not column.is_stats_set} == set(text_documents.NO_STATISTICS)
    assert columns["document_id"].statistics.min == "https://example.org/a"


def test_gzip_tells_neither_time_nor_name(tmp_path):
    with (tmp_path / "named.nq.gz").open("wb") as stream:
        NQuadsPart(stream).close()
    header = (tmp_path / "named.nq.gz").read_bytes()[:10]
    assert header[:8] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00"


def test_json_lines_of_commits_without_dead_letters_are_none(tmp_path):
    write_commit(tmp_path / "commit", [decode("a")], fingerprint=FINGERPRINT)
    target = io.BytesIO()
    writer = JsonLinesPart(target)
    with (tmp_path / "commit").open("rb") as stream:
        writer.add(read_commit(stream))
    assert (target.getvalue(), writer.rows) == (b"", 0)


def test_the_digest_is_that_of_the_bytes_that_were_written():
    target = io.BytesIO()
    stream = DigestedStream(target)
    assert [stream.write(data) for data in (b"ab", memoryview(b"c"))] == [2, 1]
    assert (target.getvalue(), stream.tell()) == (b"abc", 3)
    assert stream.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_repeating_columns_are_columns_of_parquet():
    names = set(documents.SCHEMA.names) | {"warnings.list.element"}
    assert set(documents.DICTIONARY) <= names
