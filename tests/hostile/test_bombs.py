"""A small document that costs much ends with an exact outcome, costs nobody but itself, and is not cut in silence."""

from pathlib import Path

import bombs
import pytest
import seeds
from runs import FinishedRun, backfill

LIMITS = ("--document-timeout", "400", "--document-memory", "450")

EXPECTED = {
    "arrays.pdf": "ok",
    "breaks.txt": "ok",
    "circle.pdf": "ok",
    "columns.csv": "out_of_memory",
    "content.pdf": "ok",
    "deep.eml": "too_large",
    "deep.html": "too_large",
    "deep.json": "corrupt",
    "deep.md": "too_large",
    "deep.org": "ok",
    "deep.rst": "ok",
    "deep.rtf": "ok",
    "deep.xml": "too_large",
    "endless.tiff": "ok",
    "laughs.docx": "too_large",
    "laughs.svg": "too_large",
    "laughs.xml": "too_large",
    "lists.html": "too_large",
    "nested.html": "ok",
    "page.pdf": "out_of_memory",
    "picture.docx": "ok",
    "spaces.txt": "ok",
    "tables.docx": "too_large",
    "tables.html": "too_large",
    "tree.pdf": "corrupt",
    "wide.xlsx": "out_of_memory",
    "words.txt": "ok",
}
GOOD = {f"good{number}.txt": "ok" for number in range(5)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    folder: Path = tmp_path_factory.mktemp("bombs")
    (folder / "library").mkdir()
    for name, make in bombs.BOMBS.items():
        (folder / "library" / name).write_bytes(make())
    for name in GOOD:
        (folder / "library" / name).write_text(f"{name} does no harm at all.")
    return backfill(folder / "library", folder / "out", "--children", "2", *LIMITS)


def texts(run: FinishedRun) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in run.rows("text_documents"):
        name = row["source_uri"].rpartition("/")[2]
        found[name] = found.get(name, "") + row["text"]
    return found


def test_each_has_the_outcome_that_it_should_have(finished: FinishedRun) -> None:
    assert finished.statuses() == {**EXPECTED, **GOOD}
    invariant = finished.manifest["invariant"]
    assert invariant["matched"] == len(EXPECTED) + len(GOOD)
    assert {row["status"] for row in finished.rows("documents") if row["status"] != "ok" and not row["reason"]} == set()


def test_the_others_are_intact(finished: FinishedRun) -> None:
    found = texts(finished)
    assert {name: found[name] for name in GOOD} == {name: f"{name} does no harm at all." for name in GOOD}


def test_what_is_ok_is_there_down_to_the_innermost(finished: FinishedRun) -> None:
    found = texts(finished)
    counts = {name: found[name].count(seeds.SENTENCE) for name in ("nested.html", "deep.org", "deep.rst", "deep.rtf")}
    assert counts == {"nested.html": 1, "deep.org": 499, "deep.rst": 200, "deep.rtf": 1}
    assert found["nested.html"].endswith("The end of it.")
    assert len(found["words.txt"]) == 3_000_000
    assert found["breaks.txt"].count("ab") == 20_000


def test_one_without_end_is_ended_by_its_time(tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "doubling.pdf").write_bytes(bombs.doubling_forms())
    for name in GOOD:
        (tmp_path / "library" / name).write_text(f"{name} does no harm at all.")
    run = backfill(tmp_path / "library", tmp_path / "out", "--children", "2", "--document-timeout", "10")
    assert run.statuses() == {"doubling.pdf": "timeout", **GOOD}
    assert [letter["message"].startswith("The decode was not done after 1") for letter in run.dead_letters()] == [True]
    assert texts(run) == {name: f"{name} does no harm at all." for name in GOOD}
