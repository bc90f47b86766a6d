"""What the kernel says of processes: who descends from whom, how much memory they take, whether one is still the one it was.

Read from /proc where there is one (a look at a child costs 30 µs; psutil takes 10 times that), else from psutil.
"""

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

HAS_PROC = Path("/proc/self/statm").exists()
_HAS_CHILDREN = HAS_PROC and Path(f"/proc/self/task/{os.getpid()}/children").exists()  # CONFIG_PROC_CHILDREN
_PAGE = os.sysconf("SC_PAGE_SIZE")


def children_of(pid: int) -> list[int]:
    """The direct children of a process, those of all its threads; ended ones that nobody has waited for included."""
    if not HAS_PROC:
        return _psutil_children(pid, recursive=False)
    if not _HAS_CHILDREN:
        return [other for other in _all_processes() if _stat_field(other, 4) == str(pid)]
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.scandir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found.extend(map(int, _read(f"{thread.path}/children").split()))
    return found


def descendants_of(pid: int) -> list[int]:
    """All processes below one, at any depth."""
    if not HAS_PROC:
        return _psutil_children(pid, recursive=True)
    found: list[int] = []
    level = [pid]
    while level:
        level = [child for parent in level for child in children_of(parent)]
        found.extend(level)
    return found


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, shared pages included; 0 when it is gone."""
    if HAS_PROC:
        try:
            return int(_read(f"/proc/{pid}/statm").split()[1]) * _PAGE
        except (OSError, IndexError):
            return 0
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def proportional_bytes(pid: int) -> int:
    """Resident memory of a process, each page divided by the number of processes that share it. Costs 1 ms per 100 MB."""
    return _rollup(pid).get("Pss", resident_bytes(pid))


def added_bytes(pid: int, inherited: int) -> int:
    """Resident memory of a forked process without the pages that it still shares with the process it was forked from.

    Args:
      inherited: resident bytes of that process. No more than this is taken off: pages shared with its own children are its own.
    """
    rollup = _rollup(pid)
    shared = rollup.get("Shared_Clean", 0) + rollup.get("Shared_Dirty", 0)
    return rollup.get("Rss", resident_bytes(pid)) - min(shared, inherited)


def data_bytes(pid: int) -> int:
    """Private writable memory that a process has asked for, touched or not: what RLIMIT_DATA counts."""
    return int(_read(f"/proc/{pid}/statm").split()[5]) * _PAGE


def high_water_bytes() -> int:
    """The most resident memory that this process has had since `reset_high_water`; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError):
        for line in _read("/proc/self/status").splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def reset_high_water() -> None:
    """Has `high_water_bytes` start anew."""
    with contextlib.suppress(OSError), io.FileIO("/proc/self/clear_refs", "w") as stream:
        stream.write(b"5")  # 5 = reset VmHWM only, see proc(5)


def thread_count() -> int:
    """Threads of this process, those made by native libraries included where the kernel tells."""
    if HAS_PROC:
        return sum(1 for _ in os.scandir("/proc/self/task"))
    import threading

    return threading.active_count()


def thread_names() -> list[str]:
    """What the kernel calls the threads of this process, its first one excepted; empty where it does not tell."""
    if not HAS_PROC:
        return []
    threads = [entry for entry in os.scandir("/proc/self/task") if entry.name != str(os.getpid())]
    return [_read(f"{thread.path}/comm").decode(errors="replace").strip() for thread in threads]


def start_time(pid: int) -> str:
    """When a process started, in the kernel's own units: with the pid it names a process for good. Empty: there is none."""
    if HAS_PROC:
        return _stat_field(pid, 22)
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.2f}".replace(".", "")
    except psutil.Error:
        return ""


def oom_kills() -> int:
    """How many processes the kernel has ended for want of memory, since boot and on the whole machine."""
    with contextlib.suppress(OSError):
        for line in _read("/proc/vmstat").splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    return 0


def kill_marked(variable: str, value: str) -> int:
    """Kills the processes of this user that were started with an environment variable of this value, this process excepted.

    Returns:
      How many there were. A process that has started another one before it died leaves that one to the next call.
    """
    if not HAS_PROC:
        return 0
    mark = f"{variable}={value}".encode()
    killed = 0
    for pid in _all_processes():
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError), _held(pid) as process:
            if mark in _read(f"/proc/{pid}/environ").split(b"\0") and _stat_field(pid, 3) != "Z":
                process.kill()
                killed += 1
    return killed


class _Held:
    """A process that cannot become another one between a look at it and a signal to it (pidfd: Linux 5.3)."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._descriptor = open_pidfd(pid)

    def kill(self) -> None:
        if self._descriptor is not None and sys.platform == "linux":
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        else:
            os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


@contextlib.contextmanager
def _held(pid: int) -> Iterator[_Held]:
    process = _Held(pid)
    try:
        yield process
    finally:
        process.close()


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the system has none (macOS, Linux before 5.3).

    Raises:
      ProcessLookupError: there is no such process.
    """
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:  # ENOSYS, or a sandbox that refuses the call
        return None


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def _stat_field(pid: int, number: int) -> str:
    """A field of /proc/PID/stat, numbered from 1 as in proc(5); empty when the process is gone. From the third on only."""
    try:
        # The second field is the command's name in parentheses and may contain anything, also ")".
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[number - 3].decode()
    except OSError:
        return ""


def _rollup(pid: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines()[1:]:
            name, _, size = line.partition(b":")
            sizes[name.decode()] = int(size.split()[0]) << 10
    return sizes


def _read(path: str) -> bytes:
    with io.FileIO(path) as stream:
        return stream.readall()


def _psutil_children(pid: int, *, recursive: bool) -> list[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=recursive)]
    except psutil.Error:
        return []
