"""Decodes documents in child processes that can be killed: what hangs, leaks or crashes there costs one document, never the worker.

A `ChildPool` belongs to one process (a Beam worker) and serves all its threads; each document takes a lease. The children are forked by a
warm zygote (`transforms.isolation.zygote`, which also says how nothing survives its owner). What this side adds: time and memory limits,
outcomes as values, replacement, and the work folders.

Memory. A child is charged with what it has *added*: its resident pages without those that it still shares with the zygote (420 MB after
`transforms.decode:preload`, which would else be charged once a child), plus the proportional share (PSS) of the processes that it has
started. So a limit means the same with 1 child as with 16. The exact numbers come from smaps_rollup, which takes 1 ms per 100 MB. The plain
resident size (11 µs) is never smaller: only when that is over the limit are the exact ones read. A child is looked at every 0.1 s, so one
that allocates 2 GB/s goes 200 MB over. Behind the watch stand RLIMIT_DATA in each process (twice the limit, or 4 GiB over it: numpy, lxml,
a session of onnxruntime, pdfium and OpenCV together reach 0.3 GB of what it counts), which turns an absurd allocation into a MemoryError,
and a raised oom_score_adj, so that the kernel under pressure takes a child and not the worker.
"""

import contextlib
import fcntl
import itertools
import json
import os
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import transforms
from transforms.isolation.handover import LeftBehindError, open_left
from transforms.isolation.processes import (
    HAS_PROC,
    added_bytes,
    descendants_of,
    kill_marked,
    oom_kills,
    proportional_bytes,
    resident_bytes,
    start_time,
)
from transforms.isolation.zygote import PRELOAD_FAILED, frame
from transforms.model import DecodeError, Stage, Status
from transforms.partition.environment import DECODE_ENVIRONMENT
from transforms.settings import Limits

MEMORY_INTERVAL = 0.1
"""Seconds between two looks at a child's memory."""

EXACT_INTERVAL = 0.5
"""Seconds between two exact measurements (4 ms each) of a child whose resident size is over the limit, but hardly what it has added."""

END_DEADLINE = 20.0
"""Seconds for the kernel to tear down a killed child and its tools; after it the zygote is given up."""

END_PATIENCE = 2.0
"""Seconds for the zygote to say how a child has ended that has closed its connection; mostly it takes 1 ms."""

START_DEADLINE = 300.0
"""Seconds for the preload (4 s measured; a cold network disk takes longer) and a fork."""

STACK_DEADLINE = 0.5
"""Seconds for a child over its time to write down where it is, before it is killed."""

MAX_PROCESSES = 256
"""Below one child: what has more is a document that makes some program start itself over and over. LibreOffice starts 3."""

MAX_ANSWER = 256 << 20
"""Bytes. The answer to a decode has 100 for each different picture."""

LOG_TAIL = 4000
"""Bytes of a child's stderr that go into a failure."""

POOL_VARIABLE = "UNIVERSAL_DECODER_POOL"
"""In the environment of all processes of a pool: the name of its folder."""

ZYGOTE_ENVIRONMENT: Mapping[str, str] = {
    # Sets of strings have the same order in every run, so that a library that iterates over one gives the same result.
    "PYTHONHASHSEED": "0",
    # The import of pyarrow 25.0.1 starts a thread (jemalloc_bg_thd), whichever memory pool is the default one.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}

_SECRET = re.compile(r"secret|token|passw|credential|private|api_?key|access_?key|auth", re.IGNORECASE)
"""Variables that children do not get: whoever decodes needs no key to anything."""

FOLDER_PREFIX = "universal-decoder-"

_MIB = 1 << 20


class ChildFailure(DecodeError):  # noqa: N818 - a document's outcome, not an error of the program
    """A document ended its child, or overran a limit, or the decoder raised. The child has been replaced."""

    def __init__(
        self, status: Status, message: str, seconds: float, peak_memory_mb: float | None, detail: str = "", error_class: str = ""
    ) -> None:
        super().__init__(status, message, Stage.PARTITION)
        self.seconds = seconds
        self.peak_memory_mb = peak_memory_mb
        self.detail = detail
        """The end of the traceback, or of what the child wrote to stderr (a Python stack, if it crashed or ran out of time)."""
        self.error_class = error_class
        """Of the exception that the decoder raised; else empty."""


class IsolationError(RuntimeError):
    """No child can be had: no document's fault, and no outcome of one."""


class PoolClosedError(IsolationError):
    """The pool was closed before the document was done."""


class ChildPool:
    """Child processes for the threads of this process."""

    def __init__(
        self,
        children: int,
        limits: Limits,
        decoder: str = "transforms.decode:decode_file",
        preload: str | None = "transforms.decode:preload",
        *,
        python_path: Sequence[str] = (),
        environment: Mapping[str, str] = DECODE_ENVIRONMENT,
        max_documents: int = 100,
        retained_memory: int = 256,
        folder: Path | None = None,
        writable: Sequence[Path] = (),
    ) -> None:
        """Starts the zygote, and does not wait for it.

        Args:
          children: how many documents at most are decoded at the same time.
          limits: of each call.
          decoder: "module:function" of a function `(request, folder) -> result`; both values as JSON. It finds its working
            directory and TMPDIR in a folder of the lease; it may be called a second time with the same folder (see `Child.call`).
          preload: "module:function" that the zygote calls once before any fork. It must leave no thread behind.
          python_path: searched before this process's own `sys.path`.
          environment: variables of the zygote and its children besides this process's own.
          max_documents: a child is replaced after as many; a new one takes 9 ms.
          retained_memory: MiB; a child that keeps more than that after a document is replaced.
          folder: where the work folders are made; default: the system's temporary folder.
          writable: where else than in its work folder a child may write.
        """
        self._limits = limits
        self._max_documents = max_documents
        self._retained = retained_memory * _MIB
        parent = folder or Path(tempfile.gettempdir())
        remove_folders_of_dead_owners(parent)
        self._folder, self._lock_file = _make_folder(parent)
        self._remove_folder = weakref.finalize(self, _if_owner, os.getpid(), _remove, self._folder)
        self._owner = os.getpid()
        own = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
        self._environment = {
            **own,
            **ZYGOTE_ENVIRONMENT,
            **environment,
            POOL_VARIABLE: self._folder.name,
            # For what the preload writes, which is removed with the pool's folder if it is killed meanwhile; a child has that of its lease.
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self._folder)),
        }
        self._settings = {
            "decoder": decoder,
            "preload": preload,
            "limit": limits.memory,
            "document_size": limits.document_size,
            "writable": [str(path.absolute()) for path in writable],
            "path": [str(Path(entry).absolute()) for entry in (*python_path, *sys.path)],
            "environment": {"PYTHONPATH": os.environ.get("PYTHONPATH")},
        }
        self._free = threading.BoundedSemaphore(children)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._folders: list[_LeaseFolder] = []
        self._numbers = itertools.count(1)
        self._closed = False
        self._oom_kills = oom_kills()
        self._zygote: _Zygote | None = self._new_zygote()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def lease(self) -> "Iterator[Child]":
        """A child for one document; waits until one is free. The lease's folder is emptied at its end.

        Raises:
          IsolationError: the zygote does not start, e.g. because its preload fails; `PoolClosedError`: after `close`.
        """
        if os.getpid() != self._owner:
            raise IsolationError("A pool of decoding processes serves only the process that made it, not a fork of it.")
        with self._free:
            process = self._take()
            try:
                folder = process.folder or self._take_folder()
            except BaseException:
                process.dismiss()
                raise
            child = Child(self, folder, self._limits, process)
            try:
                yield child
            finally:
                child._end_lease()

    @contextlib.contextmanager
    def spool(self) -> Iterator[Path]:
        """A folder for files of the owner alone, which no child reaches: emptied at the end of the block, and removed with the pool.

        Raises:
          PoolClosedError: after `close`.
        """
        folder = self._take_folder()
        try:
            yield folder.path
        finally:
            self._put_folder(folder)

    def close(self) -> None:
        """Ends all children at once, also those that decode: their calls raise `PoolClosedError`. Returns when none is left."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self._closed = True
            zygote, self._zygote = self._zygote, None
            idle, self._idle = self._idle, []
        for process in idle:
            process.dismiss()
        if zygote is not None:
            zygote.end()
        self._remove_folder()
        self._lock_file.close()

    def _take(self) -> "_Process":
        """An idle child that lives, or a new one."""
        while True:
            with self._lock:
                if self._closed:
                    raise PoolClosedError("The pool of decoding processes is closed.")
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._start()
            if process.is_waiting():
                return process
            self._dismiss(process)

    def _start(self) -> "_Process":
        for last in (False, True):
            with self._lock:
                if self._closed:
                    raise PoolClosedError("The pool of decoding processes is closed.")
                if self._zygote is None:
                    self._zygote = self._new_zygote()
                zygote = self._zygote
            try:
                return zygote.fork()
            except _ZygoteGoneError as gone:
                self._replace(zygote)
                if last or zygote.exit_code == PRELOAD_FAILED:
                    if self._closed:
                        raise PoolClosedError("The pool of decoding processes is closed.") from None
                    raise IsolationError(f"No decoding process can be started: {zygote.last_words() or gone}") from None
        raise AssertionError("unreachable")

    def _replace(self, zygote: "_Zygote") -> None:
        """Ends a zygote that is of no use any more; the next lease starts another one."""
        with self._lock:
            if self._zygote is zygote:
                self._zygote = None
        zygote.end()

    def _put(self, process: "_Process", folder: "_LeaseFolder", resident: int) -> None:
        process.documents += 1
        process.folder = folder
        is_empty = folder.empty()
        with self._lock:
            wanted = (
                is_empty
                and not self._closed
                and process.documents < self._max_documents
                and resident - (process.shared or 0) <= self._retained
            )
            if wanted:
                self._idle.append(process)
        if not wanted:
            self._dismiss(process)

    def _dismiss(self, process: "_Process") -> None:
        """Has a process end that serves no more; its folder is used again only when it is gone."""
        folder, process.folder = process.folder, None
        with contextlib.suppress(TimeoutError, _ZygoteGoneError):
            process.end()
        if folder is not None:
            self._put_folder(folder)

    def _take_folder(self) -> "_LeaseFolder":
        with self._lock:
            if self._closed:
                raise PoolClosedError("The pool of decoding processes is closed.")
            if self._folders:
                return self._folders.pop()
        folder = _LeaseFolder(self._folder / f"{next(self._numbers):06d}")
        folder.make()
        return folder

    def _put_folder(self, folder: "_LeaseFolder") -> None:
        if folder.empty():
            with self._lock:
                self._folders.append(folder)
        else:
            _remove(folder.path)

    def _new_zygote(self) -> "_Zygote":
        return _Zygote(self._folder, self._settings, self._environment)

    def _kernel_has_killed(self) -> bool:
        """Whether the kernel has ended processes for want of memory since the last question (on the whole machine: a hint)."""
        with self._lock:
            before, self._oom_kills = self._oom_kills, oom_kills()
            return self._oom_kills > before


class Child:
    """A lease: one document's process and folder. For one thread."""

    seconds: float = 0.0
    """Of the last call."""
    peak_memory_mb: float = 0.0
    """MiB, of the last call: the most that the child and its tools have added to the zygote's memory."""

    def __init__(self, pool: ChildPool, folder: "_LeaseFolder", limits: Limits, process: "_Process") -> None:
        self._pool = pool
        self._limits = limits
        self._process: _Process | None = process
        self._places = folder
        self.folder = folder.work
        """Private to the lease, empty at its start, emptied at its end. What is in it comes from the child: see `isolation.handover`."""
        self.own_folder = folder.path
        """For the owner's own files, emptied at the lease's end: the child can make no links in it, and remove nothing."""

    def call(self, request: Mapping[str, Any], timeout: float | None = None) -> Mapping[str, Any]:
        """Has the decoder run in the child. If the zygote dies meanwhile, and the child with it, a new child is tried once.

        Args:
          request: JSON, of any size.
          timeout: seconds; default: that of the pool's limits.
        Returns:
          What the decoder has returned, through JSON.
        Raises:
          ChildFailure: TIMEOUT, OUT_OF_MEMORY, CRASHED (with the signal or exit code), or FAILED (the decoder raised).
            Nothing of the child or of what it has started is left then, and the next call gets a new one.
          IsolationError: no child can be started; PoolClosedError: the pool was closed meanwhile.
        """
        places = {"folder": str(self.folder), "temporary": str(self._places.temporary), "log": str(self._places.log)}
        payload = frame(json.dumps({"request": request, **places}).encode())
        self._places.log.unlink(missing_ok=True)
        try:
            return self._call(payload, timeout or self._limits.timeout)
        except _ZygoteGoneError:
            try:
                return self._call(payload, timeout or self._limits.timeout)
            except _ZygoteGoneError:
                message = "The decoding process was lost twice, each time with the process that had started it."
                raise self._failure(Status.CRASHED, message) from None

    def _call(self, payload: bytes, timeout: float) -> Mapping[str, Any]:
        process = self._process or self._pool._start()
        self._process = None  # until it has answered
        meter = _Meter(process, self._limits.memory * _MIB)
        started = time.monotonic()
        try:
            answer = _Answer.read(process.exchange(payload, started + timeout, meter))
        except TimeoutError:
            self._measure(started, meter)
            process.dump_stack(self._places.log)
            self._end(process)
            message = f"The decode was not done after {round(timeout, 1):,g} s."
            raise self._failure(Status.TIMEOUT, message) from None
        except _TooMuchMemoryError:
            self._measure(started, meter)
            self._end(process)
            message = f"The decode took {self.peak_memory_mb:.0f} MiB of memory; its limit is {self._limits.memory} MiB."
            raise self._failure(Status.OUT_OF_MEMORY, message) from None
        except _TooManyProcessesError:
            self._measure(started, meter)
            self._end(process)
            raise self._failure(Status.CRASHED, f"The decode started more than {MAX_PROCESSES} processes.") from None
        except EOFError:
            self._measure(started, meter)
            raise self._crash(self._end(process, lost=True)) from None
        except (ValueError, RecursionError):
            self._measure(started, meter)
            self._end(process)
            raise self._failure(Status.CRASHED, "The decoding process gave an answer that cannot be read.") from None
        except BaseException:  # KeyboardInterrupt: what the child does now is of no interest, and it must not go on
            self._end(process)
            raise
        self._measure(started, meter, answer.high_water)
        if answer.failure is not None:
            self._end(process)
            raise self._failure(**answer.failure)
        if answer.processes_left:
            self._end(process)
        else:
            self._process = process
        return answer.result

    def _end(self, process: "_Process", *, lost: bool = False) -> Mapping[str, int]:
        """Kills the child and all that it has started.

        Args:
          lost: it has ended by itself.
        Returns:
          How it has ended: {"signal"} or {"exit"}; {} when that is not known.
        Raises:
          _ZygoteGoneError: it was lost, and with it the zygote.
          PoolClosedError: it was lost because the pool is closed.
        """
        try:
            return process.end(END_PATIENCE if lost else 0.0)
        except TimeoutError:
            self._pool._replace(process.zygote)
            return {}
        except _ZygoteGoneError:
            self._pool._replace(process.zygote)
            if self._pool._closed:
                raise PoolClosedError("The pool of decoding processes was closed before the document was done.") from None
            if lost:
                raise
            return {}

    def _crash(self, ending: Mapping[str, int]) -> ChildFailure:
        if "exit" in ending:
            return self._failure(Status.CRASHED, f"The decoding process ended with exit code {ending['exit']} before it had answered.")
        if "killed" in ending:
            return self._failure(Status.CRASHED, "The decoding process had closed its connection without an answer, and was killed.")
        if "signal" not in ending:
            return self._failure(Status.CRASHED, f"The decoding process has ended, and was not gone after {END_DEADLINE:g} s.")
        number = ending["signal"]
        if number == signal.SIGKILL and self._pool._kernel_has_killed():
            return self._failure(Status.OUT_OF_MEMORY, "The kernel has killed the decoding process: the machine was out of memory.")
        return self._failure(Status.CRASHED, f"The decoding process was killed by {_signal_name(number)} (signal {number}).")

    def _measure(self, started: float, meter: "_Meter", high_water: int = 0) -> None:
        self.seconds = time.monotonic() - started
        self.peak_memory_mb = round(meter.peak(high_water) / _MIB, 1)

    def _failure(self, status: Status, message: str, detail: str = "", error_class: str = "") -> ChildFailure:
        return ChildFailure(status, message, self.seconds, self.peak_memory_mb, detail or _tail(self._places.log), error_class)

    def _end_lease(self) -> None:
        if self._process is None:
            self._pool._put_folder(self._places)
        else:
            self._pool._put(self._process, self._places, resident_bytes(self._process.pid))


class _LeaseFolder:
    """Where a lease's files lie. Used again, once emptied: on a disk, mkdir and rmdir take 0.4 and 3 ms each, unlink 8 µs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.work = path / "work"
        self.temporary = path / "tmp"
        self.log = path / "log"

    def make(self) -> None:
        for path in (self.path, self.work, self.temporary):
            path.mkdir(mode=0o700)

    def empty(self) -> bool:
        """Whether it is as it was when it was made."""
        try:
            for folder in (self.path, self.work, self.temporary):
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if folder == self.path and entry.name in (self.work.name, self.temporary.name):
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            _remove(Path(entry.path))
                        else:
                            Path(entry.path).unlink()
            left = [*os.scandir(self.work), *os.scandir(self.temporary)]
            return not left and all(stat.S_IMODE(path.lstat().st_mode) == 0o700 for path in (self.path, self.work, self.temporary))
        except OSError:
            return False


class _ZygoteGoneError(Exception):
    """The process that forks has ended, and all children with it."""


class _TooMuchMemoryError(Exception):
    pass


class _TooManyProcessesError(Exception):
    pass


@dataclass(frozen=True)
class _Answer:
    """What a child has answered. It comes from where a document was: nothing of it is taken for what it should be."""

    result: Mapping[str, Any]
    failure: Mapping[str, Any] | None
    high_water: int
    processes_left: bool

    @classmethod
    def read(cls, payload: bytes | bytearray) -> "_Answer":
        """Raises: ValueError or RecursionError, where it is none."""
        facts = json.loads(payload)
        try:
            failure = facts["failure"]
            if failure is not None:
                failure = {name: str(failure[name]) for name in ("message", "detail", "error_class")} | {
                    "status": Status(failure["status"])
                }
            return cls(facts["result"], failure, int(facts["high_water"]), bool(facts["processes_left"]))
        except (KeyError, TypeError) as error:
            raise ValueError("no answer") from error


class _Zygote:
    """The zygote and its guard, as the owner knows them."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        self._log = folder / "zygote.log"
        self._mark = folder.name
        self._lock = threading.Lock()
        # The package is imported from where this process has it, whether installed or not, whatever the working directory is (-P).
        root = str(Path(transforms.__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH"))))
        arguments = [str(theirs.fileno()), str(os.getpid()), str(folder)]
        with theirs, self._log.open("wb") as log:
            self._guard = subprocess.Popen(
                [sys.executable, "-P", "-m", "transforms.isolation.zygote", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                env={**environment, "PYTHONPATH": path},
                cwd=folder,
                start_new_session=True,  # an interrupt from the terminal is the owner's to decide on
            )
        self._end_it = weakref.finalize(self, _if_owner, os.getpid(), _end_guard, self._guard, self._control, self._mark)
        with contextlib.suppress(OSError):
            self._control.sendall(frame(json.dumps(settings).encode()))

    @property
    def exit_code(self) -> int | None:
        return self._guard.returncode

    def fork(self) -> "_Process":
        """A new child; waits for the preload.

        Raises:
          _ZygoteGoneError: it has ended, or gives no answer.
          IsolationError: the kernel gives no process.
        """
        connection, child_connection = socket.socketpair()
        lifeline, zygote_lifeline = socket.socketpair()
        connection.setblocking(False)
        lifeline.setblocking(False)
        with child_connection, zygote_lifeline:
            try:
                with self._lock:
                    socket.send_fds(self._control, [b"f"], [child_connection.fileno(), zygote_lifeline.fileno()])
            except OSError:
                connection.close()
                lifeline.close()
                raise _ZygoteGoneError("the zygote has ended") from None
        process = _Process(self, connection, lifeline)
        try:
            born = process.report(time.monotonic() + START_DEADLINE)
        except TimeoutError:
            process.dismiss()
            raise _ZygoteGoneError(f"the zygote has not answered for {START_DEADLINE:g} s") from None
        except BaseException:
            process.dismiss()
            raise
        if "error" in born:
            process.dismiss()
            raise IsolationError(f"No decoding process can be started: {born['error']}")
        process.pid, process.inherited = born["pid"], born["resident"]
        return process

    def end(self) -> None:
        """Ends the zygote and all children; returns when they are gone."""
        self._end_it()
        self._guard.wait()

    def last_words(self) -> str:
        lines = _tail(self._log).strip().splitlines()
        return lines[-1] if lines else ""


def _end_guard(guard: subprocess.Popen[bytes], control: socket.socket, mark: str) -> None:
    control.close()
    guard.terminate()  # a zygote that is still warming does not see the control socket
    try:
        guard.wait(END_DEADLINE)
    except subprocess.TimeoutExpired:
        guard.kill()  # the zygote and the children die with it
        guard.wait()
    # A guard that did not get to its work has left the tools of the children behind.
    if guard.returncode < 0:
        _kill_all_marked(mark)


class _Process:
    """One forked child, as the owner knows it: `connection` for requests, `lifeline` for its life."""

    def __init__(self, zygote: _Zygote, connection: socket.socket, lifeline: socket.socket) -> None:
        self.zygote = zygote
        self.pid = 0
        self.inherited = 0
        """Resident bytes of the zygote at the fork."""
        self.shared: int | None = None
        """Resident bytes that the child shares with the zygote, when they were last measured."""
        self.documents = 0
        self.folder: _LeaseFolder | None = None
        """The folder of all its leases, once it has had one: it can write nowhere else (`confinement.confine_files`)."""
        self._connection = connection
        self._lifeline = lifeline
        self._reported = b""

    def is_waiting(self) -> bool:
        """Whether it still lives, and waits for a request."""
        poll = select.poll()
        poll.register(self._lifeline, select.POLLIN)
        poll.register(self._connection, select.POLLIN)
        return not poll.poll(0)

    def exchange(self, request: bytes, deadline: float, meter: "_Meter") -> bytes | bytearray:
        """Sends a request and waits for its answer.

        Raises:
          TimeoutError: the deadline (of the monotonic clock) is over.
          _TooMuchMemoryError: the meter says so.
          _TooManyProcessesError: it has started more than `MAX_PROCESSES`.
          EOFError: the child has ended, or closed its connection.
          ValueError: its answer is none.
        """
        unsent = memoryview(request)
        answer = _FrameReader(self._connection)
        poll = select.poll()
        poll.register(self._connection, select.POLLIN | select.POLLOUT)
        poll.register(self._lifeline, select.POLLIN)
        while True:
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError
            meter.look(now)
            events = dict(poll.poll(max(1, 1000 * (min(meter.next_look, deadline) - now))))
            event = events.get(self._connection.fileno(), 0)
            if not event and events:  # nothing unread on the connection: the lifeline says that the child has ended
                raise EOFError
            try:
                if event & ~select.POLLOUT and answer.read():
                    return answer.payload
                if event & select.POLLOUT:
                    unsent = unsent[self._connection.send(unsent) :]
                    if not unsent:
                        poll.modify(self._connection, select.POLLIN)
            except BlockingIOError:
                pass
            except OSError as error:  # a child that was killed resets the connection
                raise EOFError from error

    def dump_stack(self, log: Path) -> None:
        """Has the child write to its log where it is, and waits until it has."""
        before = last = _size(log)
        until = time.monotonic() + STACK_DEADLINE
        with contextlib.suppress(OSError):
            self._lifeline.send(b"d")
        while time.monotonic() < until:
            time.sleep(0.02)
            size = _size(log)
            if size > before and size == last:
                return
            last = size

    def end(self, patience: float = 0.0) -> Mapping[str, int]:
        """Kills the child, if it lives, with all that it has started, and waits until nothing is left.

        Args:
          patience: seconds for it to end by itself.
        Returns:
          {"signal": number} or {"exit": code}; {"killed": 1} when the patience did not suffice.
        Raises:
          TimeoutError: it is not gone after END_DEADLINE.
          _ZygoteGoneError: the zygote has ended; the children end with it.
        """
        try:
            if patience:
                with contextlib.suppress(TimeoutError):
                    return self.report(time.monotonic() + patience)
            with contextlib.suppress(OSError):
                self._lifeline.send(b"k")
            ending = self.report(time.monotonic() + END_DEADLINE)
        except _ZygoteGoneError:
            if not HAS_PROC:  # macOS has no PR_SET_PDEATHSIG
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
            raise
        else:
            return {"killed": 1} if patience else ending
        finally:
            self.dismiss()

    def dismiss(self) -> None:
        """Has the child end, and does not wait."""
        self._connection.close()
        self._lifeline.close()

    def report(self, deadline: float) -> Mapping[str, Any]:
        """The next thing that the zygote says of this child.

        Raises:
          TimeoutError, _ZygoteGoneError: as for `end`.
        """
        poll = select.poll()
        poll.register(self._lifeline, select.POLLIN)
        while b"\n" not in self._reported:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if poll.poll(1000 * left):
                try:
                    received = self._lifeline.recv(4096)
                except BlockingIOError:
                    continue
                except OSError:
                    received = b""
                if not received:
                    raise _ZygoteGoneError("the zygote has ended")
                self._reported += received
        line, _, self._reported = self._reported.partition(b"\n")
        facts: Mapping[str, Any] = json.loads(line)
        return facts


class _FrameReader:
    """Reads one frame from a socket that does not block."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._header = bytearray()
        self.payload = bytearray()
        self._unread = memoryview(b"")

    def read(self) -> bool:
        """Takes what is there; whether the frame is complete.

        Raises:
          EOFError: the other side has closed; ValueError: its frame is larger than `MAX_ANSWER`.
        """
        if len(self._header) < 8:
            received = self._connection.recv(8 - len(self._header))
            if not received:
                raise EOFError
            self._header += received
            if len(self._header) == 8:
                size = int.from_bytes(self._header)
                if size > MAX_ANSWER:
                    raise ValueError("the answer is too long")
                self.payload = bytearray(size)
                self._unread = memoryview(self.payload)
            return False
        count = self._connection.recv_into(self._unread)
        if not count:
            raise EOFError
        self._unread = self._unread[count:]
        return not self._unread


class _Meter:
    """The memory of one call."""

    def __init__(self, process: _Process, limit: int) -> None:
        self._process = process
        self._limit = limit
        self._resident = 0
        self._charged = 0
        self._next_exact = 0.0
        self.next_look = time.monotonic() + MEMORY_INTERVAL
        """Of the monotonic clock."""

    def look(self, now: float) -> None:
        """Measures, if it is time.

        Raises:
          _TooMuchMemoryError: the limit is exceeded.
        """
        if now >= self.next_look:
            if self._is_over():
                raise _TooMuchMemoryError
            self.next_look = time.monotonic() + MEMORY_INTERVAL

    def _is_over(self) -> bool:
        pid = self._process.pid
        tools = descendants_of(pid)
        if len(tools) > MAX_PROCESSES:
            raise _TooManyProcessesError
        own = resident_bytes(pid)
        resident = own + sum(map(resident_bytes, tools))
        self._resident = max(self._resident, resident)
        if resident <= self._limit:
            return False
        now = time.monotonic()
        if now < self._next_exact and resident - (self._process.shared or 0) <= self._limit:
            return False
        added = added_bytes(pid, self._process.inherited)
        self._process.shared = max(0, own - added)
        charged = added + sum(map(proportional_bytes, tools))
        self._charged = max(self._charged, charged)
        self._next_exact = now + EXACT_INTERVAL
        return charged > self._limit

    def peak(self, high_water: int) -> int:
        """Bytes.

        Args:
          high_water: the child's own resident peak, where it has told it.
        """
        process = self._process
        if process.shared is None:
            resident = resident_bytes(process.pid)
            if resident:
                process.shared = max(0, resident - added_bytes(process.pid, process.inherited))
        shared = process.inherited if process.shared is None else process.shared
        return max(self._charged, max(self._resident, high_water) - shared, 0)


def remove_folders_of_dead_owners(parent: Path) -> None:
    """Removes what pools have left whose process was killed, and kills what still runs of them.

    A folder's name says whose it is: pid and start time. As pids mean nothing across containers that share a disk, its lock must be free
    too: the kernel frees it with the owner.
    """
    for folder in parent.glob(f"{FOLDER_PREFIX}*-*-*"):
        if not _is_own(folder):
            continue
        pid, started = folder.name.removeprefix(FOLDER_PREFIX).split("-")[:2]
        if pid.isdigit() and started == start_time(int(pid)):
            continue
        try:
            with (folder / "lock").open("rb+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _kill_all_marked(folder.name)
                _remove(folder)
        except OSError:  # its owner lives in another container, or is another user, or another pool is removing it
            continue


def _is_own(folder: Path) -> bool:
    """Whether it is a folder of this user, and not something that another one has put there for this one to follow."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _kill_all_marked(mark: str) -> None:
    until = time.monotonic() + END_DEADLINE
    while kill_marked(POOL_VARIABLE, mark) and time.monotonic() < until:
        time.sleep(0.01)


def _make_folder(parent: Path) -> tuple[Path, BinaryIO]:
    unnamed = Path(tempfile.mkdtemp(prefix=".universal-decoder-", dir=parent))
    lock = (unnamed / "lock").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    token = unnamed.name.rpartition("-")[2]
    return unnamed.rename(parent / f"{FOLDER_PREFIX}{os.getpid()}-{start_time(os.getpid())}-{token}"), lock


def _if_owner(owner: int, function: Callable[..., None], *arguments: Any) -> None:
    if os.getpid() == owner:  # a finalizer also runs in a fork of the owner
        function(*arguments)


def _remove(folder: Path) -> None:
    """Removes a folder as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    for path, _, _ in os.walk(folder):  # from the top: the decode may have taken the rights away, or unpacked them so
        with contextlib.suppress(OSError):
            Path(path).chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return "a signal"


def _tail(log: Path) -> str:
    try:
        with open_left(log.parent, log.name) as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LOG_TAIL))
            return stream.read(LOG_TAIL).decode(errors="replace")
    except (OSError, LeftBehindError):
        return ""


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
