"""Jobs on a real cluster as a user submits them, and the means to disturb them."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from runs import STARTED_AT

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
WORKER = Path(sys.executable).parent / "universal-decoder-worker"
DIVIDED = ("--section-strategy", "heading")
"""The strategy with the most different records."""
WITHIN = 900.0
"""Seconds for what takes ten on an idle machine."""


def until(condition: Callable[[], Any], what: str, process: "subprocess.Popen[str] | None" = None) -> Any:
    """Waits until a condition holds, and gives its value."""
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        if process is not None and process.poll() is not None:
            raise AssertionError(f"ended with {process.returncode} before {what}: {process.communicate()}")
        time.sleep(0.05)
    raise AssertionError(f"not within {WITHIN} s: {what}")


def start(*arguments: str | Path, decoder: str = "gated_decoder:decode") -> "subprocess.Popen[str]":
    """`universal-decoder`, with another decoder in its children."""
    command = [sys.executable, str(HERE / "with_decoder.py"), decoder, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def _ignore_ctrl_c() -> None:
    """As a shell has a program do that it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def ended(process: "subprocess.Popen[str]", expect: int = 0) -> str:
    """What a command said, once it is at its end."""
    out, err = process.communicate(timeout=WITHIN)
    assert process.returncode == expect, err + out
    assert "Traceback" not in out + err
    return out + err


def flink_arguments(library: Path, output: Path, master: str, run_id: str = "first") -> list[str]:
    """Of a backfill with two children in one slot, where a document may wait for as long as a test does."""
    return [
        *("backfill", "--input", str(library), "--output", str(output), "--run-id", run_id, "--started-at", STARTED_AT),
        *("--runner", "FlinkRunner", "--flink_master", master, "--parallelism", "1", "--children", "2"),
        *("--document-timeout", str(int(WITHIN))),
    ]


def staged(output: Path) -> dict[Path, int]:
    """The commits, with the times at which they were written."""
    return {path: path.stat().st_mtime_ns for path in (output / "staging").rglob("*.zip")}


def workers(below: int | None = None) -> list[psutil.Process]:
    """The Python workers of this test's TaskManagers and pools that run now."""
    root = psutil.Process(below or os.getpid())
    return [process for process in root.children(recursive=True) if _is_worker(process)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        line = process.cmdline()
    except psutil.Error:
        return False
    return any(part.endswith("universal-decoder-worker") for part in line) and any(part.startswith("--id") for part in line)


def lives(process: psutil.Process) -> bool:
    """Whether it runs; one that has ended and that nobody has asked for its end does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True)
class WorkerPool:
    """`universal-decoder-worker --worker_pool`, as a sidecar of a TaskManager runs it."""

    address: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @classmethod
    def start(cls, log: Path) -> "WorkerPool":
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            port = probe.getsockname()[1]
        with log.open("wb") as stream:
            command = [str(WORKER), "--worker_pool", f"--service_port={port}"]
            process = subprocess.Popen(command, stdout=stream, stderr=stream, preexec_fn=_ignore_ctrl_c)
        until(lambda: _listens(port) or process.poll() is not None, "the worker pool listens")
        return cls(f"localhost:{port}", process, log)

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(30) == 0


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), 1).close()
    except OSError:
        return False
    return True
