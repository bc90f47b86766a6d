"""What workers report, read back by the submitter."""

from pathlib import Path

from transforms import counters
from transforms.progress_files import WorkerReport, progress_folder, read_counts


def test_the_reports_of_all_workers_are_summed(tmp_path: Path) -> None:
    first, second = WorkerReport(str(tmp_path)), WorkerReport(str(tmp_path))  # both see what this process counts
    counters.count("found", 100, 3)
    counters.count("ok", 40)
    first.flush()

    assert read_counts(str(tmp_path)) == {"found": (3, 100), "ok": (1, 40)}

    counters.count("ok", 60)
    first.flush()
    second.flush()

    assert read_counts(str(tmp_path)) == {"found": (6, 200), "ok": (4, 200)}


def test_nothing_reported_is_nothing_known(tmp_path: Path) -> None:
    assert read_counts(str(tmp_path / "none")) == {}


def test_a_file_that_is_no_report_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")

    assert read_counts(str(tmp_path)) == {}


def test_a_run_has_its_folder_outside_of_what_is_published() -> None:
    assert progress_folder("/out", "one") == "/out/staging/progress/one"
