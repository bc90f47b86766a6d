import json
import os
import sys

import pytest

from pipeline import cli
from transforms.errors import JobFailed

HEAVY = ("apache_beam", "unstructured", "pyarrow", "spacy", "rich")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["backfill", "--help"], 0), (["trace", "-h"], 0), (["--version"], 0), ([], 2), (["backfill", "--limit=x"], 2)],
)
def test_help_and_mistakes_import_nothing_heavy(arguments, code, tmp_path):
    import subprocess

    program = f"import sys, pipeline.cli; code = pipeline.cli.main({arguments!r}); print(sorted(set(sys.modules) & set({HEAVY!r})), code)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == f"[] {code}"


def test_a_dry_run_over_files_imports_neither_unstructured_nor_beam(library, tmp_path):
    import subprocess

    arguments = ["backfill", "--input", str(library), "--output", str(tmp_path / "out"), "--dry-run"]
    program = f"import sys, pipeline.cli; code = pipeline.cli.main({arguments!r}); print(sorted(set(sys.modules) & set({HEAVY!r})), code)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "['pyarrow', 'rich'] 0"  # rich draws the table; the schemas of what is staged are pyarrow's


def test_the_help_shows_every_option_with_its_default_in_groups(command):
    text = command("backfill", "--help").stdout
    groups = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert groups == [
        "input and output:",
        "a TrustGraph library:",
        "what decoding does:",
        "limits:",
        "run:",
        "runner:",
        "on Flink (--runner FlinkRunner):",
    ]
    for words in (
        "(default: auto)",
        "(default: eng)",
        "whole-document)",
        "(default: 20)",
        "(default: 4000)",
        "(default: 600)",
        "(default: 4096)",
        "(default: 1024)",
        "(default: 4)",
        "DirectRunner)",
    ):
        assert words in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["bakfill"], "'bakfill' is not a command: did you mean backfill?"),
        (["--input", "x"], "--input needs a command before it: universal-decoder backfill, trace, report, load, export or doctor."),
        (
            ["backfill", "--input", "x", "--output", "y", "--strategy", "x\x1b[2J"],
            "--strategy 'x\\x1b[2J' is not known: use auto, fast, hi_res or ocr_only.",
        ),
        (["trace", "urn:page:1", "--output", "/none"], "There is no folder /none: give the --output of a backfill."),
        (["report", "/none"], "There is no folder /none: give the --output of a backfill."),
        (["backfill", "--input", "/none", "--output", "/tmp/never"], "There is no file or folder /none."),
        (
            ["backfill", "--input", "/none", "--output", "/tmp/never", "--runner", "Flink"],
            "--runner 'Flink' is not known to Beam: did you mean FlinkRunner?",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(command, arguments, sentence):
    done = command(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"universal-decoder: {sentence}\n")


def test_report_and_trace_read_a_finished_run(command, output):
    report = command("report", output.path)
    assert (report.returncode, report.stderr) == (0, "")
    assert report.stdout.startswith("Run first: 11 documents, finished 2026-01-31T10:00:09Z\n")
    assert "\x1b" not in report.stdout
    traced = command("trace", "urn:section:00000000-0000-5000-8000-000000000004", "--output", output.path, "--run", "first")
    assert (traced.returncode, traced.stderr) == (0, "")
    assert traced.stdout.splitlines()[-1] == f"Run first in {output.path}"


def test_a_reader_that_goes_away_is_no_error(output):
    reading, writing = os.pipe()
    os.close(reading)
    import subprocess

    with os.fdopen(writing, "w") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", "report", str(output.path)], stdout=stream, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_doctor_answers_programs(command):
    done = command("doctor", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["ready"] is True


def test_a_dry_run_writes_nothing(command, library, tmp_path):
    done = command("backfill", "--input", library, "--output", tmp_path / "out", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "3 documents would be decoded. This was a dry run: nothing was written."
    assert not (tmp_path / "out").exists()


def test_a_defect_gives_a_sentence_and_keeps_its_traceback(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(cli.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(cli, "doctor", lambda argv: {}["what is\nmissing"])
    assert cli.main(["doctor"]) == 1
    (log,) = tmp_path.glob("universal-decoder-*.log")
    assert capsys.readouterr().err == (
        f"universal-decoder: This is a defect of the program (KeyError: 'what is\\nmissing'); the traceback to report is in {log}.\n"
    )
    assert "KeyError" in log.read_text()


def test_a_job_that_failed_is_exit_1_and_an_interrupt_130(monkeypatch, capsys):
    def fail(argv):
        raise JobFailed("The job failed: the disk is full.")

    def interrupt(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "report", fail)
    assert cli.main(["report"]) == 1
    monkeypatch.setattr(cli, "report", interrupt)
    assert cli.main(["report"]) == 130
    assert capsys.readouterr().err == (
        "universal-decoder: The job failed: the disk is full.\nuniversal-decoder: Interrupted before any work.\n"
    )
