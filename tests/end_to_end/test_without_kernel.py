"""Where the PDF kernel is not compiled, or was proven against another pdfminer: the job gives the same, and says what is off."""

import shutil
from pathlib import Path

import pytest
from runs import ROOT, SAMPLES, FinishedRun, start

PDF = "annual-report-2024.pdf"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    shutil.copyfile(SAMPLES / PDF, folder / PDF)
    return folder


def texts(run: FinishedRun) -> list[str]:
    return [row["text"] for row in run.rows("text_documents") if row["source_uri"].endswith(f"/{PDF}")]


def assert_runs_without(why: str, package: Path, library: Path, output: Path, path: str, sample_run: FinishedRun) -> None:
    process = start(*("backfill", "--input", library, "--output", output, "--run-id", "only"), extra={"PYTHONPATH": path}, cwd=package)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "Traceback" not in out + err
    assert " ".join(why.split()) in " ".join((out + err).split())
    run = FinishedRun(output, "only")
    assert run.manifest["pdf_kernel"] == {"on": 0, "off": 1, "why": {why: 1}}
    assert run.statuses() == {PDF: "ok"}
    assert texts(run) == texts(sample_run) != []


def test_not_compiled(library: Path, tmp_path: Path, sample_run: FinishedRun) -> None:
    package = tmp_path / "package"
    for name in ("pipeline", "transforms"):
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))

    why = "it is not compiled: install a C compiler (Debian: apt-get install gcc python3-dev) and the decoder again"
    assert_runs_without(why, package, library, tmp_path / "out", str(package), sample_run)


def test_another_pdfminer(library: Path, tmp_path: Path, sample_run: FinishedRun) -> None:
    facts = tmp_path / "other" / "pdfminer_six-20990101.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: pdfminer.six\nVersion: 20990101\n")

    why = "it was proven against pdfminer.six 20260107, and 20990101 is installed"
    assert_runs_without(why, ROOT, library, tmp_path / "out", f"{facts.parent}:{ROOT}", sample_run)
