"""A shard's parts follow from its commits alone: every part is there, every reference has its row, and no id comes twice."""

import gc
import gzip
import hashlib
import json
import os
import random

import pyarrow.parquet as pq
import pytest
from apache_beam import coders
from decoded_documents import TWO_PAGES, Output, decode, fail

from transforms.model import Element, Status
from transforms.sinks.write import KernelCount, PartFile, ShardResult, Tally, run_folder, shard_of, write_shard
from transforms.storage.commit import CommitDamaged, StagedDocument


@pytest.fixture
def output(tmp_path):
    return Output(tmp_path / "out")


def write(output, *staged, run_id="r1", shard=0, shards=1):
    return write_shard(str(output.path), run_id, shard, shards, staged)


def read(output, dataset, run_id="r1", part="part-00000-of-00001"):
    folder = output.path / "runs" / run_id / dataset
    if dataset == "provenance":
        return gzip.decompress((folder / f"{part}.nq.gz").read_bytes()).decode().splitlines()
    if dataset == "dead_letters":
        return [json.loads(line) for line in (folder / f"{part}.jsonl").read_text().splitlines()]
    return pq.read_table(folder / f"{part}.parquet").to_pylist()


def documents_of(output):
    return [(row["source_uri"].rpartition("/")[2], row["status"], row["duplicate_of"]) for row in read(output, "documents")]


def parts(output, run_id="r1"):
    folder = output.path / "runs" / run_id
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_parts_of_a_shard_without_documents_are_written(output):
    result = write(output, shard=2, shards=4)
    assert sorted(parts(output)) == [
        "dead_letters/part-00002-of-00004.jsonl",
        "documents/part-00002-of-00004.parquet",
        "images/part-00002-of-00004.parquet",
        "provenance/part-00002-of-00004.nq.gz",
        "text_documents/part-00002-of-00004.parquet",
    ]
    assert [part.rows for part in result.parts] == [0, 0, 0, 0, 0]
    assert result.tallies == []


def test_the_result_tells_rows_bytes_and_digest_of_what_was_published(output):
    result = write(output, output.stage(decode("a", TWO_PAGES)), output.stage(fail("b")))
    published = parts(output)
    assert [(part.dataset, part.rows) for part in result.parts] == [
        ("text_documents", 2),
        ("images", 1),
        ("documents", 2),
        ("provenance", len(read(output, "provenance"))),
        ("dead_letters", 1),
    ]
    for part in result.parts:
        assert part.path.startswith(part.dataset + "/")
        assert part.bytes == len(published[part.path])
        assert part.sha256 == hashlib.sha256(published[part.path]).hexdigest()


def test_rows_are_sorted_by_document_and_the_order_of_arrival_does_not_show(output):
    staged = [output.stage(decode(f"d{number:02d}", TWO_PAGES)) for number in range(12)]
    write(output, *staged)
    random.Random(1).shuffle(staged)
    write(output, *staged, run_id="r2")
    assert parts(output) == parts(output, "r2")
    assert [row["document_id"] for row in read(output, "documents")] == [f"https://example.org/d{number:02d}" for number in range(12)]
    assert [row["title"] for row in read(output, "text_documents")][:3] == ["Page 1", "Page 2", "Page 1"]


def test_of_one_document_id_the_first_in_uri_order_is_kept_and_nothing_of_the_others(output):
    second = output.stage(decode("b", TWO_PAGES, document_id="urn:same", data="x"))
    first = output.stage(decode("a", TWO_PAGES, document_id="urn:same", data="x"))
    other = output.stage(decode("c", TWO_PAGES, document_id="urn:same", data="other bytes"))
    result = write(output, second, other, first)
    assert documents_of(output) == [("a", "ok", None), ("b", "duplicate", "file:///library/a"), ("c", "duplicate", "file:///library/a")]
    rows = read(output, "documents")
    assert rows[1]["reason"] == "Its document id and its bytes are those of file:///library/a."
    assert rows[2]["reason"] == (
        "Its document id is that of file:///library/a, but its bytes are others: give each document an id of its own."
    )
    assert [row["warnings"] for row in rows[1:]] == [[], [rows[2]["reason"]]]
    assert (rows[1]["text_chars"], rows[1]["image_count"], rows[1]["size_bytes"]) == (None, None, 100)
    assert {row["source_uri"] for row in read(output, "text_documents") + read(output, "images")} == {"file:///library/a"}
    alone = write(output, first, run_id="r2")
    assert [part.rows for part in result.parts] == [2, 1, 3, alone.parts[3].rows, 0]


def test_a_dead_letter_is_no_duplicate_and_makes_none(output):
    dead = output.stage(fail("a", Status.TIMEOUT, document_id="urn:same", data="x"))
    alive = output.stage(decode("b", TWO_PAGES, document_id="urn:same", data="x"))
    also_dead = output.stage(fail("c", Status.CRASHED, document_id="urn:same", data="x"))
    write(output, dead, alive, also_dead)
    assert documents_of(output) == [("a", "timeout", None), ("b", "ok", None), ("c", "crashed", None)]
    assert [(letter["source_uri"], letter["status"]) for letter in read(output, "dead_letters")] == [
        ("file:///library/a", "timeout"),
        ("file:///library/c", "crashed"),
    ]


def test_documents_that_could_not_be_read_have_no_id_and_are_not_each_others_duplicates(output):
    staged = [output.stage(fail(name, Status.FETCH_FAILED, source_sha256="")) for name in "ab"]
    staged = [document._replace(document_id="") for document in staged]
    write(output, *staged)
    assert [status for _, status, _ in documents_of(output)] == ["fetch_failed", "fetch_failed"]
    assert len(read(output, "dead_letters")) == 2


def mail(name, document_id="urn:mail", **facts):
    main = decode(name, [Element("NarrativeText", "Hello.", page_number=1)], document_id=document_id, data="mail", **facts)
    attached = decode(f"{name}#1", TWO_PAGES, document_id=f"{document_id}:1", data="attached", parent_document_id=document_id)
    letter = fail(f"{name}#2", document_id=f"{document_id}:2", data="locked", parent_document_id=document_id, reference=main.reference)
    return main, attached, letter


def test_attachments_follow_their_mail_and_are_counted_apart(output):
    result = write(output, output.stage(*mail("m")), output.stage(decode("z", document_id="urn:mail:0")))
    assert documents_of(output) == [("m", "ok", None), ("m#1", "ok", None), ("m#2", "encrypted", None), ("z", "empty", None)]
    (letter,) = read(output, "dead_letters")
    assert (letter["source_uri"], letter["reference"]["uri"]) == ("file:///library/m#2", "file:///library/m")
    assert [(tally.attachment, tally.status, tally.documents) for tally in result.tallies] == [
        (False, "empty", 1),
        (False, "ok", 1),
        (True, "encrypted", 1),
        (True, "ok", 1),
    ]


def test_the_attachments_of_a_duplicate_are_duplicates_of_its_twins(output):
    write(output, output.stage(*mail("m")), output.stage(*mail("n")))
    assert documents_of(output) == [
        ("m", "ok", None),
        ("m#1", "ok", None),
        ("m#2", "encrypted", None),
        ("n", "duplicate", "file:///library/m"),
        ("n#1", "duplicate", "file:///library/m#1"),
        ("n#2", "duplicate", "file:///library/m#2"),
    ]
    assert len(read(output, "dead_letters")) == 1
    assert len({row["id"] for row in read(output, "text_documents")}) == len(read(output, "text_documents")) == 3


def test_a_dead_mail_that_is_there_twice_gives_its_attachments_once(output):
    staged = [output.stage(*mail(name, status=Status.FAILED, reason="Broken.")) for name in ("m", "n")]
    write(output, *staged)
    assert [(name, status) for name, status, _ in documents_of(output)] == [
        ("m", "failed"),
        ("m#1", "ok"),
        ("m#2", "encrypted"),
        ("n", "failed"),
        ("n#1", "duplicate"),
        ("n#2", "duplicate"),
    ]
    assert [letter["source_uri"] for letter in read(output, "dead_letters")] == [
        "file:///library/m",
        "file:///library/m#2",
        "file:///library/n",
    ]


def test_a_reference_given_three_times_has_three_rows(output):
    result = write(output, output.stage(decode("a", TWO_PAGES), copies=3))
    assert documents_of(output) == [("a", "ok", None), ("a", "duplicate", "file:///library/a"), ("a", "duplicate", "file:///library/a")]
    assert read(output, "documents")[2]["reason"] == "The same reference was given 3 times."
    assert len(read(output, "text_documents")) == 2
    assert sum(tally.documents for tally in result.tallies) == 3


def test_counts_tell_what_this_run_decoded(output):
    result = write(output, output.stage(decode("a", TWO_PAGES)), output.stage(decode("b", TWO_PAGES), fresh=False))
    assert result.tallies == [Tally(False, "application/pdf", "ok", documents=2, fresh=1, size_bytes=200, text_chars=140, seconds=1.0)]


@pytest.mark.filterwarnings("error")
def test_a_damaged_commit_publishes_nothing_and_is_named(output):
    staged = output.stage(decode("a", TWO_PAGES))
    commit = output.path / staged.path
    commit.write_bytes(commit.read_bytes()[:-1])
    with pytest.raises(CommitDamaged) as caught:
        write(output, output.stage(decode("0")), staged)
    assert caught.value.path == staged.path
    assert parts(output) == {}
    assert os.listdir(output.path / ".writing") == []
    gc.collect()  # the writers that were left half-way: what they still want to write is a warning, and an error here


def test_writing_again_publishes_the_same_bytes(output):
    staged = [output.stage(decode("a", TWO_PAGES)), output.stage(fail("b"))]
    first = write(output, *staged)
    before = parts(output)
    assert write(output, *staged) == first
    assert parts(output) == before


def test_all_of_one_document_id_have_one_shard_and_the_shards_share_alike():
    def staged(document_id, uri="u"):
        return StagedDocument("p", "k", document_id, uri, "ok")

    assert shard_of(staged("urn:a", "x"), 4) == shard_of(staged("urn:a", "y"), 4)
    assert [shard_of(staged(f"urn:{number}"), 4) for number in range(8)] == [3, 3, 3, 0, 3, 2, 3, 3]  # by sha256sum
    sizes = [0] * 4
    for number in range(4000):
        sizes[shard_of(staged("", f"file:///{number}"), 4)] += 1
    assert min(sizes) > 900


def test_a_result_survives_its_coder():
    result = ShardResult(
        1, [PartFile("images", "images/x", 1, 2, "ab")], [Tally(True, "text/html", "ok", 1, 1, 2, 3, 0.5)], [KernelCount("on", 1)]
    )
    coder = coders.registry.get_coder(ShardResult)
    assert coder.decode(coder.encode(result)) == result


def test_the_folder_of_a_run():
    assert run_folder("gs://bucket/out", "r1") == "gs://bucket/out/runs/r1"
