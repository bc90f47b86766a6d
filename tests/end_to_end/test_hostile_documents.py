"""A document that hangs, eats memory or kills its process costs itself only, and leaves no process behind."""

from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from runs import ROOT, STARTED_AT, FinishedRun

from pipeline.options.backfill import parse_backfill
from pipeline.run import run


class Silent:
    """A progress that nobody watches."""

    def count(self, name: str, documents: int, size: int) -> None: ...


def decode_with(decoder: str, library: Path, output: Path, *arguments: str) -> FinishedRun:
    settings, beam_arguments = parse_backfill(
        ["--input", str(library), "--output", str(output), "--run-id", "hostile", "--started-at", STARTED_AT, *arguments]
    )
    run(replace(settings, children=2), beam_arguments, Silent(), decoder=decoder)
    return FinishedRun(output, "hostile")


@pytest.fixture
def hostile_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The zygote imports the decoder by name."""
    import os

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests" / "end_to_end")]))


@pytest.mark.usefixtures("hostile_on_path")
def test_hostile_documents_end_as_what_they_did_and_the_others_are_decoded(tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    for word in ("sleep", "eat", "crash"):
        (library / f"{word}.txt").write_text(f"{word} is what this document does.")
    for number in range(6):
        (library / f"good{number}.txt").write_text(f"Document number {number} does no harm at all.")

    finished = decode_with("hostile:decode_file", library, tmp_path / "out", "--document-timeout", "15", "--document-memory", "900")

    expected = {"sleep.txt": "timeout", "eat.txt": "out_of_memory", "crash.txt": "crashed"}
    assert finished.statuses() == expected | {f"good{number}.txt": "ok" for number in range(6)}
    assert len(finished.rows("text_documents")) == 6
    letters = {letter["source_uri"].rsplit("/", 1)[-1]: letter["message"] for letter in finished.dead_letters()}
    assert "15 s" in letters["sleep.txt"]
    assert "900" in letters["eat.txt"]
    assert "SIGSEGV" in letters["crash.txt"]
    uris = {(library / f"{word}.txt").as_uri() for word in ("sleep", "eat", "crash")}
    assert [process for process in psutil.process_iter(["cmdline"]) if uris & set(process.info["cmdline"] or ())] == []
