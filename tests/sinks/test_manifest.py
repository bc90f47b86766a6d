"""No manifest, no run: it is written last, and only over parts that account for every reference."""

import json

import pytest
from decoded_documents import FINGERPRINT, TWO_PAGES, Output, decode, fail

from transforms.errors import UsageError
from transforms.model import Status
from transforms.sinks.manifest import RunIncomplete, build_manifest, discard_manifest, read_manifest, write_manifest
from transforms.sinks.write import shard_of, write_shard


@pytest.fixture
def output(tmp_path):
    return Output(tmp_path / "out")


def stage_some(output):
    return [
        output.stage(decode("a", TWO_PAGES)),
        output.stage(decode("b", TWO_PAGES), copies=2, fresh=False),
        output.stage(decode("c")),
        output.stage(fail("d"), fail("d#1", Status.CORRUPT, document_id="urn:d1", parent_document_id="urn:d")),
        output.stage(fail("e", Status.TIMEOUT, mime_type="text/html")),
    ]


def write_shards(output, staged, shards, run_id="r1"):
    return [
        write_shard(str(output.path), run_id, shard, shards, [one for one in staged if shard_of(one, shards) == shard])
        for shard in range(shards)
    ]


def manifest_of(results, *, matched=6, shards=3, run_id="r1"):
    return build_manifest(
        run_id=run_id,
        started_at="2024-05-01T10:00:00Z",
        finished_at="2024-05-01T10:01:00Z",
        matched=matched,
        shards=shards,
        results=results,
        fingerprint=FINGERPRINT,
        settings={"strategy": "auto"},
        options={"shards": shards},
    )


def test_a_manifest_accounts_for_every_reference_and_every_part(output):
    results = write_shards(output, stage_some(output), 3)
    manifest = manifest_of(results)
    assert manifest["invariant"] == {"matched": 6, "ok": 2, "empty": 1, "duplicate": 1, "dead_letters": 2}
    counts = manifest["counts"]
    assert counts["by_status"] == {"ok": 2, "empty": 1, "duplicate": 1, "encrypted": 1, "timeout": 1}
    assert counts["by_format"]["application/pdf"]["by_status"] == {"ok": 2, "empty": 1, "duplicate": 1}
    assert {name: facts["documents"] for name, facts in counts["by_format"].items()} == {"application/pdf": 4, "text/html": 1, "unknown": 1}
    assert counts["attachments"]["by_status"] == {"corrupt": 1}
    assert (counts["decoded"], counts["staged_before"], counts["text_chars"]) == (4, 2, 140)
    assert {name: (dataset["rows"], len(dataset["parts"])) for name, dataset in manifest["datasets"].items()} == {
        "text_documents": (4, 3),
        "images": (2, 3),
        "documents": (7, 3),
        "provenance": (sum(result.parts[3].rows for result in results), 3),
        "dead_letters": (3, 3),
    }
    assert [part["path"] for part in manifest["datasets"]["images"]["parts"]] == [f"images/part-{n:05d}-of-00003.parquet" for n in range(3)]
    assert set(manifest["versions"]) == {"universal-decoder", "unstructured", "apache-beam", "pyarrow", "python"}


def test_a_manifest_does_not_depend_on_the_order_of_the_results_nor_on_a_retried_shard(output):
    results = write_shards(output, stage_some(output), 3)
    assert manifest_of([*reversed(results), results[1]]) == manifest_of(results)


def test_a_lost_document_or_shard_is_no_finished_run(output):
    results = write_shards(output, stage_some(output), 3)
    with pytest.raises(RunIncomplete, match="7 references were found, and the datasets account for 6"):
        manifest_of(results, matched=7)
    with pytest.raises(RunIncomplete, match=r"3 shards were to be written, and shards \[0, 1\] were"):
        manifest_of(results[:2])
    with pytest.raises(RunIncomplete, match="2 shards were to be written"):
        manifest_of(results, shards=2)


def test_a_finished_run_is_the_latest_and_has_only_its_own_parts(output):
    staged = stage_some(output)
    write_shards(output, staged, 4)  # an earlier try with another number of shards
    leftover = output.path / ".writing/.part.tmp"
    leftover.parent.mkdir(exist_ok=True)
    leftover.touch()
    manifest = manifest_of(write_shards(output, staged, 3))
    write_manifest(str(output.path), manifest)
    run = output.path / "runs/r1"
    assert {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()} == {
        "manifest.json",
        *(part["path"] for dataset in manifest["datasets"].values() for part in dataset["parts"]),
    }
    assert not leftover.parent.exists()
    assert (output.path / "latest").read_text() == "r1\n"
    assert json.loads((run / "manifest.json").read_text()) == manifest == read_manifest(str(output.path))


def test_the_latest_is_the_newest_finished_run_and_each_can_be_read(output):
    staged = stage_some(output)
    for run_id in ("r1", "r0"):
        write_manifest(str(output.path), manifest_of(write_shards(output, staged, 3, run_id), run_id=run_id))
    assert read_manifest(str(output.path))["run_id"] == "r0"
    assert read_manifest(str(output.path), "r1")["run_id"] == "r1"


def test_a_run_that_is_written_again_is_unfinished_until_its_end(output):
    write_manifest(str(output.path), manifest_of(write_shards(output, stage_some(output), 3)))
    discard_manifest(str(output.path), "r1")
    with pytest.raises(UsageError, match="There is no finished run r1 in"):
        read_manifest(str(output.path))
    discard_manifest(str(output.path), "r1")


def test_an_output_without_a_run_is_a_usage_error(output):
    with pytest.raises(UsageError, match="There is no finished run in"):
        read_manifest(str(output.path))
    with pytest.raises(UsageError, match="There is no finished run r9 in"):
        read_manifest(str(output.path), "r9")


def test_a_run_can_be_published_on_an_output_with_any_name(tmp_path):
    output = Output(tmp_path / "a b%20é")
    write_manifest(output.path.as_uri(), manifest_of(write_shards(output, stage_some(output), 3)))
    assert read_manifest(str(output.path))["run_id"] == "r1"


def test_a_manifest_tells_how_many_pdfs_were_read_with_the_kernel_and_why_not_all(output):
    states = ["on: proven", "on: proven", "off: it is not compiled", "off: another version", "off: it is not compiled", ""]
    staged = [output.stage(decode(f"a{number}"))._replace(pdf_kernel=state) for number, state in enumerate(states)]
    assert manifest_of(write_shards(output, staged, 3))["pdf_kernel"] == {
        "on": 2,
        "off": 3,
        "why": {"another version": 1, "it is not compiled": 2},
    }
