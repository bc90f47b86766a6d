"""Two jobs at once into one output: both finish, and each has all that it would have had alone."""

from pathlib import Path

import pytest
from kill_matrix import facts
from runs import STARTED_AT, FinishedRun, backfill, start

NUMBER = 30


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    for number in range(NUMBER):
        (folder / f"{number:02d}.md").write_text(
            f"# Lenses\n\nDocument number {number} speaks of lenses.\n\n# Mirrors\n\nAnd of mirrors.\n"
        )
    return folder


def run_at_once(library: Path, output: Path, *commands: tuple[str, ...]) -> list[FinishedRun]:
    common = ("backfill", "--input", library, "--output", output, "--started-at", STARTED_AT, "--children", "1")
    processes = [start(*common, *arguments) for arguments in commands]
    for process in processes:
        out, err = process.communicate()
        assert process.returncode == 0, out + err
        assert "Traceback" not in out + err
    return [FinishedRun(output, arguments[arguments.index("--run-id") + 1]) for arguments in commands]


def assert_whole(run: FinishedRun) -> None:
    assert run.manifest["invariant"] == {"matched": NUMBER, "ok": NUMBER, "empty": 0, "duplicate": 0, "dead_letters": 0}
    parts = [part for dataset in run.manifest["datasets"].values() for part in dataset["parts"]]
    digests = run.digests("text_documents", "images", "provenance", "documents", "dead_letters")
    assert digests == {part["path"]: part["sha256"] for part in parts}


def test_two_jobs_with_the_same_settings(library: Path, tmp_path: Path) -> None:
    alone = backfill(library, tmp_path / "alone", "--children", "2")

    one, other = run_at_once(library, tmp_path / "out", ("--run-id", "one"), ("--run-id", "other"))

    for run in (one, other):
        assert_whole(run)
        assert facts(run) == facts(alone)
    assert (tmp_path / "out" / "latest").read_text() in ("one\n", "other\n")
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_two_jobs_with_other_settings(library: Path, tmp_path: Path) -> None:
    whole, headings = run_at_once(
        library, tmp_path / "out", ("--run-id", "whole"), ("--run-id", "headings", "--section-strategy", "heading")
    )

    for run, texts in ((whole, NUMBER), (headings, 2 * NUMBER)):
        assert_whole(run)
        assert len(run.rows("text_documents")) == texts
    assert len(list((tmp_path / "out" / "staging").iterdir())) == 2


def test_two_jobs_under_one_run_id(library: Path, tmp_path: Path) -> None:
    alone = backfill(library, tmp_path / "alone", "--children", "2")

    one, _same = run_at_once(library, tmp_path / "out", ("--run-id", "same"), ("--run-id", "same"))

    assert facts(one) == facts(alone)
    assert one.manifest["invariant"]["ok"] == NUMBER
