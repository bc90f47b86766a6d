"""Runs a command and measures what it and all of its descendants take: wall time, CPU time, and memory as the kernel counts it.

Memory is PSS, in which a page that several processes share counts once: a sum of RSS would charge each forked child with its parent's
pages. It is read from /proc four times a second, so a peak of less than a quarter of a second can be missed; after the first minute so
seldom that it takes a hundredth of one CPU: a command that uses all CPUs waits for whoever looks (198 s instead of 180 of a scan with two
children), and one that leaves a CPU free does not.
"""

import ctypes
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PERIOD = 0.25
"""Seconds between two looks at memory: a look at 1 GB costs 5 to 10 ms of CPU, which is not charged to the command."""
SPARING_AFTER = 60.0
SHARE = 0.01
"""Of one CPU for the looks, from then on."""

_PR_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")
_MB = 1e6


@dataclass(frozen=True)
class Measurement:
    """Of one run."""

    seconds: float
    cpu_seconds: float
    """Of all processes, their start-up included."""
    first_cpu_seconds: float
    """Of the process that was started, alone."""
    peak_pss_mb: float
    """MB (10^6 bytes), of all processes at the same moment."""
    peak_rss_mb: float
    """The same sum of RSS, as `top` shows it."""
    largest_pss_mb: float
    """The most that one process had."""
    processes: int
    """The most at the same moment."""


def measure(
    command: Sequence[str | Path], *, environment: Mapping[str, str], output: Path, cwd: Path, may_fail: bool = False
) -> Measurement:
    """Runs a command to its end; what it prints goes to a file.

    Args:
      environment: variables besides this process's own.
      may_fail: its exit code says nothing about it.
    Raises:
      RuntimeError: it ended with another exit code than 0; with the end of what it printed.
    """
    # Orphans come to this process, so that their CPU time is counted as well.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _cpu_of_children()
    pss = rss = largest = first = 0.0
    processes = 0
    with output.open("w", encoding="utf-8") as stream:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **environment}, cwd=cwd
        )
        while process.poll() is None:
            looked, spent = time.perf_counter(), time.process_time()
            first = max(first, _cpu_of(process.pid))
            found = [_memory(pid) for pid in descendants(process.pid)]
            pss = max(pss, sum(own for own, _ in found))
            rss = max(rss, sum(own for _, own in found))
            largest = max([largest, *(own for own, _ in found)])
            processes = max(processes, len(found))
            sparing = looked > started + SPARING_AFTER
            pause = max(PERIOD, (time.process_time() - spent) / SHARE if sparing else 0.0)
            while process.poll() is None and time.perf_counter() < looked + pause:
                time.sleep(0.1 if sparing else 0.01)
                first = max(first, _cpu_of(process.pid))
        seconds = time.perf_counter() - started
    _reap()
    if process.returncode and not may_fail:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {output.read_text(encoding='utf-8', errors='replace')[-2000:]}")
    return Measurement(
        round(seconds, 3),
        round(_cpu_of_children() - before, 3),
        round(first, 3),
        round(pss, 1),
        round(rss, 1),
        round(largest, 1),
        processes,
    )


def descendants(pid: int) -> list[int]:
    """A process and all below it, as they are now."""
    found, todo = [], [pid]
    while todo:
        pid = todo.pop()
        found.append(pid)
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended meanwhile
            continue
    return found


def _memory(pid: int) -> tuple[float, float]:
    """PSS and RSS in MB; zeros when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 / _MB for line in lines[1:]}
    return found.get("Pss", 0.0), found.get("Rss", 0.0)


def _cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _reap(patience: float = 10.0) -> None:
    """Waits for orphans, and ends what does not end by itself."""
    deadline = time.monotonic() + patience
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            if time.monotonic() > deadline:
                for left in descendants(os.getpid())[1:]:
                    os.kill(left, signal.SIGKILL)
            time.sleep(0.01)
