"""What the workers of a cluster have done so far, as one small file a worker: so a submitter shows the progress of a job elsewhere.

A runner's own counters do not serve: Flink has them from Beam when a bundle ends, and on its batch engine a bundle is all that a slot
decodes (seen with Beam 2.77.0 and Flink 1.19). The numbers are hints like all counters: a bundle that is tried again counts twice.
"""

import atexit
import contextlib
import json
import os
import socket
import threading
from collections import defaultdict
from collections.abc import Container, Mapping

from transforms import counters
from transforms.storage import filesystem

INTERVAL = 2.0
"""Seconds between two writes of a worker that has something new: one PUT to an object store, nothing beside a decode."""

Counts = Mapping[str, tuple[int, int]]
"""Name of a counter (`found`, `staged`, a status) -> documents and their bytes."""


def progress_folder(output: str, run_id: str) -> str:
    """Of a run: outside of its own folder, which holds only what is finished."""
    return filesystem.join(output, "staging", "progress", run_id)


class WorkerReport:
    """The file of this process. A thread of its own writes it, so that no document waits for a slow store."""

    def __init__(self, folder: str) -> None:
        self._uri = filesystem.join(folder, f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}.json")
        self._counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._changed = threading.Event()
        counters.observe(self._count)
        threading.Thread(target=self._write_now_and_then, name="progress-file", daemon=True).start()

    def _count(self, name: str, documents: int, size: int) -> None:
        with self._lock:
            counts = self._counts[name]
            counts[0] += documents
            counts[1] += size
        self._changed.set()

    def _write_now_and_then(self) -> None:
        pause = threading.Event()
        while True:
            self._changed.wait()
            pause.wait(INTERVAL)
            self.flush()

    def flush(self) -> None:
        """Writes what is new. A store that is away for a moment is no reason to stop: the next write tells all."""
        with self._writing:
            if not self._changed.is_set():
                return
            self._changed.clear()
            with self._lock:
                content = json.dumps(self._counts).encode()
            with contextlib.suppress(Exception):
                filesystem.write_atomically(self._uri, content)


_reports: dict[str, WorkerReport] = {}
_reports_lock = threading.Lock()


def report_to(folder: str) -> WorkerReport | None:
    """Has this process report all that it counts from now on, however often it is called; no folder: nobody wants to know."""
    if not folder:
        return None
    with _reports_lock:
        if folder not in _reports:
            _reports[folder] = WorkerReport(folder)
            atexit.register(_reports[folder].flush)
        return _reports[folder]


def read_counts(folder: str, without: Container[str] = ()) -> Counts:
    """The sum over all workers but those whose files are left out; a file that is just being replaced counts with the next look."""
    sums: dict[str, tuple[int, int]] = {}
    for file in filesystem.list_folder(folder):
        if file.name in without:
            continue
        try:
            counts = json.loads(filesystem.read_bytes(filesystem.join(folder, file.name)))
        except (OSError, ValueError):
            continue
        for name, (documents, size) in counts.items():
            known = sums.get(name, (0, 0))
            sums[name] = (known[0] + documents, known[1] + size)
    return sums
