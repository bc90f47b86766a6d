import pytest

from pipeline.report.finished_run import finished_runs, open_run
from transforms.errors import UsageError


def sentence_of(output, run_id=None):
    with pytest.raises(UsageError) as caught:
        open_run(str(output), run_id)
    return caught.value.sentence


def test_the_newest_run_is_the_default(output):
    assert open_run(str(output.path)).run_id == "first"
    assert open_run(str(output.path)).manifest == output.manifest


def test_parts_are_those_of_the_manifest(output):
    (output.path / "runs/first/documents/part-00009-of-00010.parquet").write_bytes(b"left over")
    folder = f"{output.path}/runs/first/documents"
    assert open_run(str(output.path)).parts("documents") == [
        f"{folder}/part-00000-of-00002.parquet",
        f"{folder}/part-00001-of-00002.parquet",
    ]


def test_a_row_is_found_in_whichever_part_it_is(output):
    run = open_run(str(output.path))
    for name in ("https://example.org/report", "https://example.org/letter"):
        assert run.find_row("documents", [("document_id", name)], ["document_id", "status"]) == {"document_id": name, "status": "ok"}
    assert run.find_row("documents", [("document_id", "urn:none")], ["status"]) is None


def test_finished_runs_have_a_manifest(output):
    (output.path / "runs/second/documents").mkdir(parents=True)
    (output.path / "runs/second/documents/part").write_bytes(b"")
    assert finished_runs(str(output.path)) == ["first"]


def test_each_way_not_to_be_there_has_its_sentence(output, tmp_path):
    (tmp_path / "empty").mkdir()
    assert sentence_of(tmp_path / "none") == f"There is no folder {tmp_path}/none: give the --output of a backfill."
    assert sentence_of(tmp_path / "empty") == (
        f"{tmp_path}/empty holds no finished run: a run that goes on or was stopped has none yet, and backfill with the same "
        "options ends it."
    )
    assert sentence_of(tmp_path / "empty", "x") == f"Run x is not finished, and {tmp_path}/empty holds no other."
    assert sentence_of(output.path, "frist") == f"{output.path} holds no finished run frist: did you mean first?"
    assert sentence_of(output.path, "zzz") == f"{output.path} holds no finished run zzz: the newest is first."


def test_a_damaged_manifest_is_told(output):
    (output.path / "runs/first/manifest.json").write_text('{"run_id"')
    assert sentence_of(output.path) == (
        f"The manifest of run first in {output.path} is damaged: run the backfill again under another --run-id."
    )
