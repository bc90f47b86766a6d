"""Ctrl-C and SIGTERM: the job ends within 5 s, says what is kept, and leaves no process, also when its children hang."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from kill_matrix import count, no_process_within
from runs import ROOT, STARTED_AT, backfill

HANGING = """
import sys
from pipeline.cli import main
sys.exit(main(decoder="hostile:decode_file"))
"""
"""The command with a decoder that does what the first word of a document says."""
IMPORTING = """
import signal, sys
from pipeline.cli import main

class Pause:
    def find_spec(self, name, *_):
        if name == "apache_beam":
            try:
                signal.pause()
            except KeyboardInterrupt:  # as where the import system loses it
                pass

sys.meta_path.insert(0, Pause())
sys.exit(main())
"""
"""The command, stopped where it imports Beam."""
FIRST = """
import pathlib, signal, sys
from pipeline.__main__ import start

class Pause:
    def find_spec(self, name, *_):
        if name == "pipeline.cli":
            pathlib.Path("{mark}").touch()
            signal.pause()

sys.meta_path.insert(0, Pause())
start()
"""
"""The program, stopped before it has imported anything."""
PROMISE = 5.0


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02d}.txt").write_text(f"Document number {number} speaks of lenses.")
    return folder


def begin(library: Path, output: Path, program: tuple[str, ...] = ("-m", "pipeline"), **options: object) -> "subprocess.Popen[str]":
    (output.parent / "tmp").mkdir()
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "end_to_end")])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(output.parent / "tmp"), "COLUMNS": "500"}
    arguments = [sys.executable, *program, "backfill", "--input", str(library), "--output", str(output), "--children", "2"]
    arguments += ["--started-at", STARTED_AT, "--run-id", "first"]
    return subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)


def end(process: "subprocess.Popen[str]", number: int) -> str:
    """Sends a signal; the process must end by it in time, with its exit code and no traceback. What it says after its progress."""
    started = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate()
    seconds = time.monotonic() - started
    assert process.returncode == 128 + number, out + err
    assert seconds < PROMISE
    assert "Traceback" not in out + err
    said = [line for line in err.splitlines() if line.startswith("universal-decoder: ")]
    assert len(said) == 1, err
    return said[0]


def helpers_of(library: Path) -> list[int]:
    """What hanging documents of the library have started, by the mark that `hostile` gives it."""
    mark = f"file://{library}/"
    found = [
        process.info for process in psutil.process_iter(["pid", "cmdline", "status"]) if process.info["status"] != psutil.STATUS_ZOMBIE
    ]
    return [info["pid"] for info in found if any(word.startswith(mark) for word in info["cmdline"] or ())]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_what_is_kept_and_the_same_command_goes_on(tmp_path: Path, library: Path, number: int) -> None:
    output = tmp_path / "out"
    process = begin(library, output)
    wait_for(lambda: count(output, "staging/*/*/*.zip") >= 6, process)

    said = end(process, number)

    assert f"Stopped by {signal.Signals(number).name}. " in said
    assert "of the 40 documents found until then are decoded, and kept in" in said
    assert "run first is not finished, and nothing of it is published. The same command goes on from there." in said
    assert no_process_within(tmp_path / "tmp", seconds=2)
    assert not (output / "runs" / "first" / "manifest.json").exists()
    kept = {path: path.stat().st_mtime_ns for path in output.glob("staging/*/*/*.zip")}
    assert 6 <= len(kept) < 40

    run = backfill(library, output, "--children", "2")

    assert run.manifest["counts"]["staged_before"] == len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert not list((tmp_path / "tmp").glob("universal-decoder-*"))


def test_a_signal_ends_a_run_whose_children_hang(tmp_path: Path, library: Path) -> None:
    for name in ("a", "b"):
        (library / f"{name}.txt").write_text("sleep")
    for path in library.glob("[0-9]*.txt"):
        path.unlink()
    process = begin(library, tmp_path / "out", ("-c", HANGING))
    wait_for(lambda: len(helpers_of(library)) == 2, process)

    said = end(process, signal.SIGINT)

    assert "0 of the 2 documents found until then are decoded" in said
    assert no_process_within(tmp_path / "tmp", seconds=2)
    assert helpers_of(library) == []


def test_a_signal_before_the_first_document_ends_the_run_too(tmp_path: Path, library: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").touch()  # with something in OUTPUT no decoder starts before the run
    process = begin(library, tmp_path / "out")
    wait_for(lambda: count(tmp_path / "tmp", "universal-decoder-*") == 1, process)  # the zygote warms up, which takes seconds

    said = end(process, signal.SIGINT)

    assert "Stopped by SIGINT" in said
    assert no_process_within(tmp_path / "tmp", seconds=2)


def test_an_interrupt_before_the_run_ends_decoders_that_have_a_head_start(tmp_path: Path, library: Path) -> None:
    process = begin(library, tmp_path / "out", ("-c", IMPORTING))
    wait_for(lambda: count(tmp_path / "tmp", "universal-decoder-*") == 1, process)

    said = end(process, signal.SIGINT)

    assert said == "universal-decoder: Interrupted before any work."
    assert no_process_within(tmp_path / "tmp", seconds=2)
    assert not list((tmp_path / "tmp").iterdir())
    assert not (tmp_path / "out").exists()


def test_an_interrupt_of_the_first_imports_ends_the_program_without_a_traceback(tmp_path: Path) -> None:
    program = FIRST.format(mark=tmp_path / "mark")
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for((tmp_path / "mark").exists, process)

    process.send_signal(signal.SIGINT)

    assert process.communicate() == ("", None)
    assert process.returncode == -signal.SIGINT


def test_a_kill_before_the_run_ends_decoders_that_have_a_head_start(tmp_path: Path, library: Path) -> None:
    process = begin(library, tmp_path / "out", ("-c", IMPORTING))
    wait_for(lambda: count(tmp_path / "tmp", "universal-decoder-*") == 1, process)

    process.kill()
    process.communicate()

    assert no_process_within(tmp_path / "tmp", seconds=5)


def test_who_started_it_with_nohup_has_it_go_on_after_an_interrupt(tmp_path: Path, library: Path) -> None:
    output = tmp_path / "out"
    process = begin(library, output, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    wait_for(lambda: count(output, "staging/*/*/*.zip") >= 1, process)

    process.send_signal(signal.SIGINT)

    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert (output / "latest").read_text() == "first\n"
