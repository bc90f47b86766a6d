"""A job that is killed while a document hangs leaves no process and no temporary file; what it has committed stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import ROOT, STARTED_AT

JOB = """
import sys
from pipeline import cli
sys.exit(cli.main(sys.argv[1:], decoder="hostile:decode_file"))
"""
"""The command as it is, with the decoder of the end-to-end tests: a document that says so hangs, with a helper process."""


class Job:
    """A job of three documents that are decoded and one that hangs, stopped where it hangs."""

    def __init__(self, folder: Path) -> None:
        self.library, self.output, self.temporary = folder / "library", folder / "out", folder / "tmp"
        self.library.mkdir()
        self.temporary.mkdir()
        for number in range(3):
            (self.library / f"good{number}.txt").write_text(f"Document number {number} does no harm at all.")
        (self.library / "sleep.txt").write_text("sleep is what this document does.")
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "end_to_end")])
        arguments = ["backfill", "--input", self.library, "--output", self.output, "--children", "2", "--started-at", STARTED_AT]
        self.process = subprocess.Popen(
            [sys.executable, "-c", JOB, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        deadline = time.monotonic() + 240
        while not (self.helpers() and self.commits() == 3) and self.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.helpers(), self.process.communicate()[0] if self.process.poll() is not None else "it does not hang"

    def helpers(self) -> list[int]:
        """The pids of what the hanging document has started."""
        mark = (self.library / "sleep.txt").as_uri().encode()
        return [pid for pid in processes() if mark in read(f"/proc/{pid}/cmdline")]

    def left(self) -> list[str]:
        """What still runs of the job, and what still lies in its temporary folder."""
        mark = f"TMPDIR={self.temporary}".encode()
        running = [pid for pid in processes() if mark in read(f"/proc/{pid}/environ") and b") Z" not in read(f"/proc/{pid}/stat")]
        return [read(f"/proc/{pid}/cmdline").decode(errors="replace") for pid in running] + [str(p) for p in self.temporary.iterdir()]

    def commits(self) -> int:
        return sum(1 for _ in self.output.rglob("*.zip"))


def processes() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


@pytest.fixture
def job(tmp_path):
    job = Job(tmp_path)
    yield job
    if job.process.poll() is None:
        os.killpg(job.process.pid, signal.SIGKILL)
    job.process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGHUP], ids=lambda number: number.name)
def test_nothing_is_left_of_a_job_that_was_killed(job, number):
    os.kill(job.process.pid, number)
    job.process.communicate(timeout=60)
    assert job.process.returncode == -number
    deadline = time.monotonic() + 30  # the guard sees it at once, and the kernel takes a moment to tear down
    while job.left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.left() == []
    assert job.commits() == 3
