import base64
import csv
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transforms.model import DecodedDocument, DecodeError, DocumentReference, Stage, Status
from transforms.references import manifest_files
from transforms.references.listing import MissingInput, list_files
from transforms.references.manifest_files import digest_version, expand_reference_files, read_inline, read_references
from transforms.sinks import dead_letters


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def read(path: Path) -> list[DocumentReference]:
    return list(read_references(str(path)))


def json_lines(folder: Path, *lines: Any, name: str = "refs.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines))
    return path


def problems(path: Path) -> list[str]:
    """The problems of a file, without its name."""
    return [reference.problem.removeprefix(path.as_uri()) for reference in read(path)]


def test_a_line_has_all_that_is_known_of_a_document(tmp_path: Path) -> None:
    path = json_lines(
        tmp_path,
        {
            "document_id": "urn:doc:1",
            "uri": "s3://bucket/a b.pdf",
            "kind": "application/pdf",
            "title": "A",
            "collection": "c",
            "metadata": {"creator": "B"},
            "size": 7,
            "etag": '"abc"',
            "other": [1],
        },
    )
    assert read(path) == [
        DocumentReference(
            uri="s3://bucket/a b.pdf",
            document_id="urn:doc:1",
            kind="application/pdf",
            title="A",
            collection="c",
            metadata='[["","<http://purl.org/dc/elements/1.1/creator>","\\"B\\""]]',
            size=7,
            version='"abc"',
        )
    ]


def test_paths_are_relative_to_the_file_and_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/50%20#.pdf").write_bytes(b"123")
    path = json_lines(
        tmp_path,
        *({"uri": uri} for uri in ("d/50%20#.pdf", "../up.pdf", "/abs/x y.pdf", "file:/a%20b", "file:///a b", "gs://b/o", "a:b.pdf")),
    )
    listed = read(path)
    assert [reference.uri for reference in listed] == [
        f"{tmp_path.as_uri()}/d/50%2520%23.pdf",
        f"{tmp_path.parent.as_uri()}/up.pdf",
        "file:///abs/x%20y.pdf",
        "file:///a%20b",
        "file:///a%20b",
        "gs://b/o",
        f"{tmp_path.as_uri()}/a%3Ab.pdf",
    ]
    (by_listing,) = list_files(str(tmp_path / "d"))
    assert listed[0] == by_listing, "the same version token, so the same document"
    assert listed[1] == DocumentReference(uri=f"{tmp_path.parent.as_uri()}/up.pdf"), "what is not there is for the fetch to tell"


def test_paths_in_an_object_store(store: Any) -> None:
    store.objects["shelf://b/lists/refs.jsonl"] = b'{"uri": "x.pdf"}\n{"uri": "../y.pdf"}\n{"uri": "../../z.pdf"}\n{"uri": "/local/z"}'
    store.objects["shelf://b/lists/x.pdf"] = b"123"
    assert list(read_references("shelf://b/lists/refs.jsonl")) == [
        DocumentReference(uri="shelf://b/lists/x.pdf", size=3, version="3-1700000000.500"),
        DocumentReference(uri="shelf://b/y.pdf"),
        DocumentReference(
            uri="shelf://b/lists/refs.jsonl#line=3",
            problem='shelf://b/lists/refs.jsonl, line 3: its uri "../../z.pdf" leads out of shelf://b.',
        ),
        DocumentReference(uri="file:///local/z"),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"uri": ', "is no JSON: Expecting value at column 8"),
        (b'{"uri": "a', "is no JSON: Unterminated string starting at column 9"),
        (b"7", "is no JSON object: 7"),
        (b"x{}", "is no JSON: Expecting value at column 1"),
        (b'{"uri":' + b"[" * 100_000, "is no JSON: maximum recursion depth exceeded while decoding a JSON array from a unicode string"),
        (
            b'{"size":' + b"9" * 5000 + b"}",
            "is no JSON: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits",
        ),
        (b'{"uri": "caf\xe9.pdf"}', "is not UTF-8 (byte 0xe9 at column 13)"),
        ({"title": "x", "kind": ""}, "has neither uri nor data (it has: title, kind)"),
        ({}, "has neither uri nor data (it has: nothing)"),
        ({"uri": "a", "data": "YQ=="}, "has both uri and data, so it is not clear which is meant"),
        ({"data": "YQ"}, "its data is no base64: incorrect padding"),
        ({"data": "Y!Q=="}, "its data is no base64: only base64 data is allowed"),
        ({"data": 7}, "its data is 7, not base64"),
        ({"uri": "a", "document_id": "7"}, 'its document_id "7" is no absolute IRI (such as https://example.org/doc/7 or urn:doc:7)'),
        (
            {"uri": "a", "document_id": "urn:a b"},
            'its document_id "urn:a b" is no absolute IRI (such as https://example.org/doc/7 or urn:doc:7)',
        ),
        (
            {"uri": "a", "metadata": 7},
            'its metadata cannot be read: is a number, not an object such as {"creator": "A. Author"} or an array of triples',
        ),
        ({"uri": "a", "title": ["x"]}, 'its title is ["x"], not a text'),
        (b'{"uri": "a", "title": "\\ud83d"}', 'its title is not UTF-8: "\\ud83d"'),
        ({"uri": "a\0b"}, "its uri holds a NUL character"),
        ({"uri": "data:text/plain;base64,YQ=="}, "its uri is a data: URI; put the base64 alone into data"),
        ({"uri": "file://host/a"}, "its uri cannot be used: file://host/a names the file of another host: use file:///, or a plain path"),
        (
            {"uri": "http://example.org/a.pdf"},
            'its uri "http://example.org/a.pdf" cannot be used: there is no file system for http:// here: use a local path, or one of '
            "gs://, s3://, azfs:// or hdfs://",
        ),
        ({"uri": "a", "size": "big"}, 'its size "big" is no number of bytes'),
        ({"uri": "a", "size": -7}, "its size -7 is no number of bytes"),
        ({"reference": {"title": "x"}}, "is a dead letter whose reference has no uri"),
        ({"reference": {"uri": "file:///a#line=1", "locator": "../x"}}, 'is a dead letter with an unknown locator "../x"'),
    ],
)
def test_a_line_that_cannot_be_used_is_told_and_the_others_are_read(tmp_path: Path, line: Any, problem: str) -> None:
    path = json_lines(tmp_path, {"uri": "/a"}, b"", line, {"uri": "/b"})
    listed = read(path)
    assert listed == [
        DocumentReference(uri="file:///a"),
        DocumentReference(uri=f"{path.as_uri()}#line=3", problem=f"{path.as_uri()}, line 3: {problem}."),
        DocumentReference(uri="file:///b"),
    ]


def test_byte_order_mark_crlf_and_no_last_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "refs.ndjson"
    path.write_bytes(b'\xef\xbb\xbf{"data": "YQ=="}\r\n\r\n{"data": "YmM="}')
    listed = read(path)
    assert [reference.uri for reference in listed] == [f"{path.as_uri()}#line=1", f"{path.as_uri()}#line=3"]
    assert [read_inline(reference) for reference in listed] == [b"a", b"bc"]


def test_inline_data_stays_in_the_file_and_is_found_again(tmp_path: Path) -> None:
    path = json_lines(
        tmp_path, {"title": "é", "data": base64_of(b"one")}, {"uri": "/a"}, {"data": " " + base64_of(b"two" * 90)[:40] + "\n\t"}
    )
    one, _, two = read(path)
    first = len(json.dumps({"title": "é", "data": base64_of(b"one")})) + 1
    assert one == DocumentReference(
        uri=f"{path.as_uri()}#line=1",
        title="é",
        locator=f"json:0:{first}",
        size=3,
        version="sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
    )
    assert read_inline(one) == b"one"
    assert read_inline(two) == b"two" * 10
    assert digest_version(b"one") == one.version


def csv_file(path: Path, rows: list[list[Any]], **dialect: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, **dialect).writerows(rows)
    return path


def test_csv_with_quotes_line_feeds_and_inline_data(tmp_path: Path) -> None:
    big = os.urandom(200_000)  # over the csv module's limit of 128 KiB
    rows = [
        ["Title", "data", " uri ", "x"],
        ['two\nlines, and "quotes"', "", "/a b.pdf", ""],
        [],
        ["é", base64_of(big), "", "y"],
        ["z", base64_of(b"z")],
    ]
    path = csv_file(tmp_path / "refs.CSV", rows)
    listed = read(path)
    assert [(reference.uri, reference.title, reference.size) for reference in listed] == [
        ("file:///a%20b.pdf", 'two\nlines, and "quotes"', -1),
        (f"{path.as_uri()}#line=5", "é", 200_000),
        (f"{path.as_uri()}#line=6", "z", 1),
    ]
    assert read_inline(listed[1]) == big
    assert read_inline(listed[2]) == b"z"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_of_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    path = csv_file(
        tmp_path / "refs.csv", [["document_id", "uri", "data"], ["urn:a", "/a", ""], ["urn:b", "", base64_of(b"b")]], delimiter=delimiter
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    a, b = read(path)
    assert a == DocumentReference(uri="file:///a", document_id="urn:a")
    assert (b.document_id, read_inline(b)) == ("urn:b", b"b")


def test_csv_records_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "refs.csv"
    path.write_bytes(b'uri,title\n/a,b,c\n"x"y,z\n/d,caf\xe9\n/e,ok\n"/f,\n/g,1\n/h,2\n')
    uri = path.as_uri()
    assert read(path) == [
        DocumentReference(uri=f"{uri}#line=2", problem=f"{uri}, line 2: has 3 columns, and the header has 2."),
        DocumentReference(uri=f"{uri}#line=3", problem=f"{uri}, line 3: is no CSV record: ',' expected after '\"'."),
        DocumentReference(uri=f"{uri}#line=4", problem=f'{uri}, line 4: its title is not UTF-8: "caf\\udce9".'),
        DocumentReference(uri="file:///e", title="ok"),
        DocumentReference(uri=f"{uri}#line=6", problem=f"{uri}, line 6: is no CSV record, up to line 8: unexpected end of data."),
    ]


def test_lines_over_the_limit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_files, "LINE_BYTES", 100)
    assert problems(json_lines(tmp_path, {"uri": "/a"}, {"data": "Y" * 300}, {"uri": "/b"})) == [
        "",
        f", line 2: {manifest_files.TOO_LONG}.",
        "",
    ]
    path = tmp_path / "refs.csv"
    path.write_bytes(b"uri,data\n/a,\n," + b"Y" * 300 + b"\n/b,\n")
    assert problems(path) == ["", f", line 3: {manifest_files.TOO_LONG}.", ""]


def test_parquet_with_row_groups_structs_and_inline_data(tmp_path: Path) -> None:
    table = pa.table(
        {
            "uri": ["/a", None, None, None],
            "data": pa.array([None, base64_of(b"one"), base64_of(b"two"), "?"], pa.large_string()),
            "metadata": [{"creator": "A", "date": None}, None, {"creator": None, "date": "2024"}, None],
            "size": [5, None, None, None],
            "version": ["v1", None, None, None],
            "unused": [1, 2, 3, 4],
        }
    )
    path = tmp_path / "refs.parquet"
    pq.write_table(table, path, row_group_size=2)
    a, one, two, bad = read(path)
    assert a == DocumentReference(
        uri="file:///a", metadata='[["","<http://purl.org/dc/elements/1.1/creator>","\\"A\\""]]', size=5, version="v1"
    )
    assert (one.uri, one.locator, read_inline(one)) == (f"{path.as_uri()}#row=2", "parquet:0:1", b"one")
    assert (two.uri, two.locator, read_inline(two)) == (f"{path.as_uri()}#row=3", "parquet:1:0", b"two")
    assert two.metadata == '[["","<http://purl.org/dc/elements/1.1/date>","\\"2024\\""]]'
    assert bad.problem.startswith(f"{path.as_uri()}, row 4: its data is no base64: ")


def test_parquet_with_binary_data_maps_and_text_that_is_no_utf8(tmp_path: Path) -> None:
    texts = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"caf\xe9"], pa.binary()).buffers())
    table = pa.table(
        {
            "data": pa.array([b"\x00\xff", b"x"], pa.binary()),
            "title": texts,
            "metadata": pa.array([[("creator", "A")], []], pa.map_(pa.string(), pa.string())),
        }
    )
    path = tmp_path / "refs.parquet"
    pq.write_table(table, path)
    good, bad = read(path)
    assert read_inline(good) == b"\x00\xff"
    assert good.metadata == '[["","<http://purl.org/dc/elements/1.1/creator>","\\"A\\""]]'
    assert bad.problem == f'{path.as_uri()}, row 2: its title is not UTF-8: "caf\\udce9".'


def test_a_damaged_row_group_is_told_and_the_next_is_read(tmp_path: Path) -> None:
    path = tmp_path / "refs.parquet"
    pq.write_table(pa.table({"uri": ["/a", "/b", "/c"]}), path, row_group_size=2, compression="zstd", use_dictionary=False)
    place = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 8] = b"\xff" * 8
    path.write_bytes(content)
    damaged, c = read(path)
    assert damaged.uri == f"{path.as_uri()}#row=1"
    assert damaged.problem.startswith(f"{path.as_uri()}, row 1: cannot be read, nor the 1 behind it in row group 0: ")
    assert c == DocumentReference(uri="file:///c")


@pytest.mark.parametrize("name", ["refs.jsonl", "refs.csv", "refs.parquet"])
def test_a_references_file_that_changed_since_is_told(tmp_path: Path, name: str) -> None:
    def write(*texts: str) -> Path:
        path = tmp_path / name
        data = [base64_of(text.encode()) for text in texts]
        if name.endswith("parquet"):
            pq.write_table(pa.table({"data": data}), path)
        elif name.endswith("csv"):
            csv_file(path, [["data"], *([text] for text in data)])
        else:
            json_lines(tmp_path, *({"data": text} for text in data))
        return path

    reference = read(write("one", "two"))[1]
    assert read_inline(reference) == b"two"
    moved = () if name.endswith("parquet") else (("longer than one", "two"),)  # a row is found by its number
    for texts in (("one", "TWO"), ("one",), *moved, ()):
        write(*texts)
        with pytest.raises(DecodeError) as caught:
            read_inline(reference)
        place = f"{tmp_path.as_uri()}/{name}#{'row' if name.endswith('parquet') else 'line'}={3 if name.endswith('csv') else 2}"
        sentence = f"The references file has changed since it was listed: {place} does not hold the same data any more."
        assert (caught.value.status, caught.value.message) == (Status.FETCH_FAILED, sentence)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError):
        read_inline(reference)


def test_what_is_no_references_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,file\n")
    (tmp_path / "twice.csv").write_text("uri,URI\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "b.parquet")
    (tmp_path / "array.json").write_text('\n[{"uri": "a"}]')
    (tmp_path / "pretty.json").write_text('{\n  "uri": "a"\n}')
    (tmp_path / "a.txt").write_text("a")
    uri = tmp_path.as_uri()
    jq = "has no JSON object a line; jq -c turns it into one that has: jq -c '.[]?' (for an array), or jq -c ."
    for name, sentence in {
        "none.jsonl": f"The references file {uri}/none.jsonl cannot be read: no such file or directory.",
        "a.txt": f"{uri}/a.txt is no references file: its name ends in none of .jsonl, .ndjson, .json, .csv, .parquet.",
        "a.csv": f"{uri}/a.csv has no column uri and no column data: the first line of a CSV of references names its columns "
        "(document_id, uri, data, kind, title, collection, metadata, size, version, etag).",
        "twice.csv": f"{uri}/twice.csv has two columns uri.",
        "b.parquet": f"{uri}/b.parquet has no column uri and no column data (it has: name).",
        "array.json": f"{uri}/array.json {jq}",
        "pretty.json": f"{uri}/pretty.json {jq}",
    }.items():
        with pytest.raises(MissingInput) as caught:
            read(tmp_path / name)
        assert caught.value.sentence == sentence
    with pytest.raises(MissingInput, match=r"a\.parquet is no Parquet file: "):
        read(tmp_path / "a.parquet")


def test_files_of_references_by_folder_and_glob(tmp_path: Path) -> None:
    json_lines(tmp_path, name="b.jsonl")
    json_lines(tmp_path, name="a.jsonl")
    assert expand_reference_files(str(tmp_path)) == [f"{tmp_path.as_uri()}/a.jsonl", f"{tmp_path.as_uri()}/b.jsonl"]
    assert expand_reference_files(str(tmp_path / "b*")) == [f"{tmp_path.as_uri()}/b.jsonl"]
    assert read(tmp_path / "a.jsonl") == []
    os.mkfifo(tmp_path / "c.jsonl")
    with pytest.raises(MissingInput, match=r"c\.jsonl is a pipe, not a file\."):
        expand_reference_files(str(tmp_path))


def dead_letter(reference: DocumentReference | None, source_uri: str = "") -> bytes:
    document = DecodedDocument(
        document_id="",
        source_uri=source_uri or (reference.uri if reference else ""),
        status=Status.CORRUPT,
        stage=Stage.PARTITION,
        reference=reference,
    )
    (row,) = dead_letters.rows(document)
    return dead_letters.line(row).rstrip(b"\n")


def test_dead_letters_of_files_are_listed_as_they_are_now(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"repaired")
    now = next(list_files(str(tmp_path / "a.pdf")))
    rich = DocumentReference(
        uri=now.uri,
        document_id="urn:a",
        kind="application/pdf",
        title="T",
        collection="c",
        metadata='[["","<urn:p>","\\"x\\""]]',
        size=1,
        version="1-1",
    )
    gone = DocumentReference(uri="file:///gone", size=1, version="1-1")
    path = json_lines(tmp_path, dead_letter(rich), dead_letter(gone), dead_letter(None, "file:///x"))
    assert read(path) == [
        rich._replace(size=now.size, version=now.version),
        DocumentReference(uri="file:///gone"),
        DocumentReference(
            uri=f"{path.as_uri()}#line=3",
            problem=f"{path.as_uri()}, line 3: has neither uri nor data "
            "(it has: document_id, error_class, message, reference, source_uri, stage, status, traceback).",
        ),
    ]


def test_dead_letters_of_inline_documents_point_to_their_first_file(tmp_path: Path) -> None:
    (inline,) = read(json_lines(tmp_path, {"data": base64_of(b"one"), "title": "T"}))
    (again,) = read(json_lines(tmp_path, dead_letter(inline), name="dead.jsonl"))
    assert again == inline
    assert read_inline(again) == b"one"


def test_dead_letters_of_references_that_could_not_be_used(tmp_path: Path) -> None:
    (malformed,) = read(json_lines(tmp_path, b"{}"))
    (tmp_path / "late").symlink_to("file")
    (tmp_path / "never").symlink_to("nowhere")
    late, never = (next(list_files(str(tmp_path / name))) for name in ("late", "never"))
    (tmp_path / "file").write_bytes(b"now")
    path = json_lines(tmp_path, dead_letter(malformed), dead_letter(late), dead_letter(never), name="dead.jsonl")
    assert read(path) == [malformed, next(list_files(str(tmp_path / "late"))), never]


def test_a_mail_and_its_attachments_that_failed_are_one_reference(tmp_path: Path) -> None:
    mail, other = DocumentReference(uri="file:///mail.eml"), DocumentReference(uri="file:///other.eml")
    letters = [dead_letter(mail, "file:///mail.eml#1"), dead_letter(mail, "file:///mail.eml#2"), dead_letter(other)]
    assert read(json_lines(tmp_path, *letters)) == [mail, other]


@pytest.mark.parametrize("name", ["refs.jsonl", "refs.csv", "refs.parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, name: str) -> None:
    count, path = 20_000, tmp_path / name
    rows = [f"s3://bucket/{number:06}.pdf" for number in range(count)]
    if name.endswith("parquet"):
        pq.write_table(pa.table({"uri": rows, "version": ["v"] * count}), path)
    elif name.endswith("csv"):
        csv_file(path, [["uri", "version"], *([uri, "v"] for uri in rows)])
    else:
        json_lines(tmp_path, *({"uri": uri, "version": "v"} for uri in rows))
    del rows
    next(read_references(str(path)))
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_references(str(path))) == count
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000  # the list of URIs alone takes as much
