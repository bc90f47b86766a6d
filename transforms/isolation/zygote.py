"""`python -m transforms.isolation.zygote`: warms up once, then forks a decoding child in milliseconds. Started by `isolation.ChildPool`.

Three kinds of processes, each with one thread:

    owner (the Beam worker) ── guard ── zygote ── child ── soffice, pandoc, tesseract …
                                           └───── child

- The *guard* is this program before it has imported anything. It watches the owner and the zygote; when either ends, it kills all that is
  below it and leaves. It does so for a process that has made a session of its own, or lost its parents, too: guard, zygote and each child
  are "child subreapers" (Linux 3.4), so an orphan goes up to the next of them, never to init, and none gets away.
- The *zygote* runs `preload` and then only waits: for a request to fork, for a child's end, for the owner's wish to end one. A child that
  has ended has left its orphans to the zygote; they are killed before the end is reported.
- A *child* is a session of its own and runs one request after the other: `decoder(request, folder)`.

What each does when another one is gone, whatever the signal: the guard sees the owner's end by a pidfd (not by PR_SET_PDEATHSIG, which
fires when the *thread* that started it ends, and not by a socket alone, which a fork of the owner would hold open); the zygote is killed
with the guard, and the children with the zygote, by PR_SET_PDEATHSIG, which is sound there as both have a single thread. Only when owner
and guard are killed in the same moment can a tool survive; the next pool on the machine kills it (`remove_folders_of_dead_owners`).

Why not multiprocessing's forkserver: it imports the owner's `__main__` anew in each child (`sdk_worker_main`: 1 s and 100 MB each).

Protocol. A frame is a length (8 bytes, big endian) and JSON. On the control socket: one frame of settings, then for each child one byte
with two descriptors (SCM_RIGHTS), its connection and its lifeline. On a connection: one frame a request, one frame an answer. On a
lifeline, to the owner: lines of JSON, first `{"pid", "resident"}` or `{"error"}`, last `{"exit"}` or `{"signal"}`, after which nothing of
the child is left; to the zygote: "k" kills, "d" has the child write its stack to its log; the end of the file kills as well.

macOS has no subreapers, no PR_SET_PDEATHSIG and no /proc: there a tool that makes a session of its own may survive a crash of its child,
and a child a crash of the zygote until its document is done.
"""

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import io
import json
import os
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Self

from transforms.isolation.confinement import Places, confine_files, cut_network, drop_capabilities, lower_limits, readable_places
from transforms.isolation.processes import (
    HAS_PROC,
    children_of,
    data_bytes,
    descendants_of,
    high_water_bytes,
    open_pidfd,
    reset_high_water,
    resident_bytes,
    thread_count,
    thread_names,
)
from transforms.model import DecodeError, Status

PRELOAD_FAILED = 70
"""Exit code (EX_SOFTWARE): the zygote will fail again, its log says why."""

DUMP_SIGNAL = signal.SIGUSR2
"""A child that gets it writes its Python stack to its log, even inside of native code."""

Decoder = Callable[[Any, Path], Any]

_OF_THE_GUARD = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_LENGTH = struct.Struct("!Q")
_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36  # <sys/prctl.h>
_TRACEBACK_CHARACTERS = 4000


def frame(payload: bytes) -> bytes:
    """A payload with its length before it."""
    return _LENGTH.pack(len(payload)) + payload


def receive_frame(connection: socket.socket) -> bytes | None:
    """The next frame's payload; None when the other side has closed."""
    header = _receive_exactly(connection, _LENGTH.size)
    return None if header is None else _receive_exactly(connection, _LENGTH.unpack(header)[0])


def _receive_exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        received = connection.recv_into(view)
        if not received:
            return None
        view = view[received:]
    return bytes(data)


# ------------------------------------------------------------------------------------------------------------------------------ guard


def main(arguments: list[str]) -> int:
    """Becomes the guard and forks the zygote.

    Args:
      arguments: descriptor of the control socket, pid of the owner, the pool's folder (removed if the owner is gone).
    Returns:
      The zygote's exit code, or 128 + the signal that ended it.
    """
    control = socket.socket(fileno=int(arguments[0]))
    control.set_inheritable(False)
    owner, folder = int(arguments[1]), Path(arguments[2])
    _default_signals()  # those that the owner's thread blocks or ignores are inherited, also by exec
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    guard = os.getpid()
    zygote = os.fork()
    if zygote == 0:
        _die_with(guard)
        _run_zygote(control)
    control.close()
    _set_name("decode-guard")
    signals = _wake_on(*_OF_THE_GUARD)
    code = _watch(owner, zygote, signals)
    # Whoever asks it to end from now on gets the exit code that it has found, and no word in the log, whose last line is the zygote's.
    signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_GUARD)
    _kill_all_below()
    if os.getppid() != owner:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def _watch(owner: int, zygote: int, signals: socket.socket) -> int:
    """Returns when the owner or the zygote has ended, or when this process is asked to end."""
    poll = select.poll()
    poll.register(signals, select.POLLIN)
    try:
        owner_end = open_pidfd(owner)
    except ProcessLookupError:
        return 0
    if owner_end is not None:
        poll.register(owner_end, select.POLLIN)
    received = b""
    while os.getppid() == owner:
        ended, status = os.waitpid(zygote, os.WNOHANG)
        if ended:  # said also to who has asked this process to end meanwhile: a zygote whose preload fails is not started again
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if set(received) - {signal.SIGCHLD}:
            break
        poll.poll(None if owner_end is not None else 1000)
        received = b""
        with contextlib.suppress(BlockingIOError):
            received = signals.recv(4096)
    return 0


def _kill_all_below() -> None:
    """Kills and awaits every descendant: each that dies leaves its own children to this process, until there are none."""
    if not HAS_PROC:
        for pid in descendants_of(os.getpid()):
            _kill(pid)
    with contextlib.suppress(ChildProcessError):
        while True:
            for pid in children_of(os.getpid()):
                _kill(pid)
            os.waitpid(-1, 0)


# ----------------------------------------------------------------------------------------------------------------------------- zygote


def _run_zygote(control: socket.socket) -> NoReturn:
    """Preloads and serves; ends this process."""
    _set_name("decode-zygote")
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _default_signals()
    code = 0
    try:
        received = receive_frame(control)
        if received is not None:
            cut_network()
            zygote = _prepare(json.loads(received), control)
            if zygote is None:
                code = PRELOAD_FAILED
            else:
                zygote.serve()
    except BaseException:  # the log is the only place where it can be seen
        traceback.print_exc()
        code = 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _prepare(settings: Mapping[str, Any], control: socket.socket) -> "_Zygote | None":
    """Makes this process what the children shall be; None, with the reason on stderr, where that fails."""
    sys.path[:] = settings["path"]
    for name, value in settings["environment"].items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    watch = _ThreadWatch()
    try:
        with watch:
            decoder = _load(settings["decoder"])
            if settings["preload"]:
                _load(settings["preload"])()
    except BaseException:  # whatever it is, the owner must hear of it
        traceback.print_exc()
        return None
    complaint = watch.complaint()
    if complaint:
        print(complaint, file=sys.stderr)
        return None
    gc.collect()
    # Without it each child's first garbage collection writes to all objects of the zygote, and so copies their pages.
    gc.freeze()
    # A page of a PDF makes thousands of objects and hardly a cycle. Python's own (700, 10, 10) looks for cycles 70 times as often, which
    # takes a fifth of the time of a text layer of 400 pages.
    gc.set_threshold(50_000, 20, 100)
    lower_limits(settings["document_size"] << 20)
    return _Zygote(control, decoder, settings["limit"], [*map(Path, settings["writable"])])


def _load(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


class _ThreadWatch:
    """Finds out who starts threads: a fork copies one thread only, and the locks that others hold stay locked for ever in the copy.

    Threads of Python are seen when they start; those of native libraries at the next import, or at the end. (An audit hook would be
    simpler, but cannot be taken off again, and pdfminer calls `id()`, an audited function, in its inner loops.)
    """

    def __init__(self) -> None:
        self._makers: list[str] = []
        self._count = thread_count()
        self._importing = "the interpreter"
        self._start = threading.Thread.start

    def __enter__(self) -> Self:
        def start(thread: threading.Thread) -> None:
            self._makers.append(_module_outside_threading(sys._getframe(1)))
            self._start(thread)
            self._count = thread_count()

        threading.Thread.start = start  # type: ignore[method-assign, assignment]
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)
        threading.Thread.start = self._start  # type: ignore[method-assign]

    def find_spec(self, name: str, *_: object) -> None:
        """Called by the import system before each import; finds nothing."""
        self._note_native()
        self._importing = name

    def complaint(self, patience: float = 1.0) -> str:
        """Empty when this process has one thread; else a sentence that names who made the others."""
        until = time.monotonic() + patience
        while thread_count() > 1 and time.monotonic() < until:
            time.sleep(0.01)  # a thread that was joined takes a moment to leave the kernel's list
        if thread_count() == 1:
            return ""
        self._note_native()
        names = ", ".join(sorted(thread_names())) or "unnamed"
        return (
            f"The zygote has {thread_count()} threads after its preload ({names}), and so cannot fork safely. "
            f"Threads were started by: {'; '.join(dict.fromkeys(self._makers))}."
        )

    def _note_native(self) -> None:
        count = thread_count()
        if count > self._count:
            self._makers.append(f"native code in or after the import of {self._importing}")
        self._count = count


def _module_outside_threading(frame: FrameType | None) -> str:
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name not in ("threading", "concurrent.futures.thread", __name__):
            return name
        frame = frame.f_back
    return "an unknown module"


@dataclass
class _Forked:
    """A child as the zygote knows it."""

    pid: int
    lifeline: socket.socket
    ending: dict[str, int] = field(default_factory=dict)


class _Zygote:
    def __init__(self, control: socket.socket, decoder: Decoder, limit: int, writable: list[Path]) -> None:
        self._control = control
        self._decoder = decoder
        self._limit = limit
        self._places = readable_places(writable)
        self._children: dict[int, _Forked] = {}
        self._lifelines: dict[int, _Forked] = {}
        # Made by the preload (multiprocessing's resource tracker would be one): not an orphan of a child.
        self._own = set(children_of(os.getpid()))
        self._resident = resident_bytes(os.getpid())
        self._poll = select.poll()

    def serve(self) -> None:
        """Until the owner closes the control socket."""
        self._signals = _wake_on(signal.SIGCHLD)
        self._poll.register(self._control, select.POLLIN)
        self._poll.register(self._signals, select.POLLIN)
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._signals.fileno():
                    self._signals.recv(4096)
                    self._bury()
                elif descriptor in self._lifelines:
                    self._obey(self._lifelines[descriptor])
                elif descriptor == self._control.fileno():
                    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
                    message, descriptors, _, _ = socket.recv_fds(self._control, 1, 2, flags)
                    if not message:
                        return
                    self._fork(*(socket.socket(fileno=number) for number in descriptors))

    def _fork(self, connection: socket.socket, lifeline: socket.socket) -> None:
        for end in (connection, lifeline):
            end.set_inheritable(False)
        zygote = os.getpid()
        try:
            if thread_count() > 1:
                raise RuntimeError("a thread has started in the zygote since its preload")  # noqa: TRY301
            pid = os.fork()
        except (OSError, RuntimeError) as error:
            _tell(lifeline, {"error": str(error)})
            connection.close()
            lifeline.close()
            return
        if pid == 0:
            try:
                _die_with(zygote)
                self._forget_in_child()
                lifeline.close()
                _run_child(connection, self._decoder, self._limit, self._places)
            except BaseException:  # must not return into the zygote's loop
                traceback.print_exc()
            finally:
                os._exit(1)
        connection.close()
        lifeline.setblocking(False)
        child = _Forked(pid, lifeline)
        self._children[pid] = self._lifelines[lifeline.fileno()] = child
        self._poll.register(lifeline, select.POLLIN)
        _tell(lifeline, {"pid": pid, "resident": self._resident})

    def _forget_in_child(self) -> None:
        signal.set_wakeup_fd(-1)
        self._control.close()
        self._signals.close()
        for child in self._lifelines.values():
            child.lifeline.close()
        _default_signals()

    def _obey(self, child: _Forked) -> None:
        try:
            wishes = child.lifeline.recv(64)
        except BlockingIOError:
            return
        except OSError:
            wishes = b""
        if b"d" in wishes and not child.ending:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, DUMP_SIGNAL)
        if not wishes or b"k" in wishes:
            if not child.ending:
                _kill_family(child.pid)
            if not wishes:
                self._drop(child)

    def _bury(self) -> None:
        """Reaps who has ended, kills the orphans that they have left, and reports those of whom nothing is left."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._note_end(*ended)
        gone = [child for child in self._children.values() if child.ending]
        if not gone:
            return
        # The living children are subreapers, so an unknown process here was left by an ended one.
        orphans = [pid for pid in children_of(os.getpid()) if pid not in self._children and pid not in self._own]
        if orphans:
            for pid in orphans:
                _kill(pid)
            return  # their end wakes this loop again
        for child in gone:
            del self._children[child.pid]
            if child.lifeline.fileno() in self._lifelines:
                _tell(child.lifeline, child.ending)
                self._drop(child)

    def _note_end(self, pid: int, status: int) -> None:
        child = self._children.get(pid)
        if child is None:  # an orphan
            return
        code = os.waitstatus_to_exitcode(status)
        child.ending = {"exit": code} if code >= 0 else {"signal": -code}
        if not HAS_PROC:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)

    def _drop(self, child: _Forked) -> None:
        self._poll.unregister(child.lifeline)
        del self._lifelines[child.lifeline.fileno()]
        child.lifeline.close()


def _tell(lifeline: socket.socket, facts: Mapping[str, Any]) -> None:
    with contextlib.suppress(OSError):
        lifeline.sendall(json.dumps(facts).encode() + b"\n")


# ------------------------------------------------------------------------------------------------------------------------------ child


def _run_child(connection: socket.socket, decoder: Decoder, limit: int, places: Places) -> NoReturn:
    os.setsid()
    _set_name("decode-child")
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _limit_child(limit)
    faulthandler.enable(file=2)
    faulthandler.register(DUMP_SIGNAL, file=2, all_threads=True)
    is_confined = False
    while True:
        received = receive_frame(connection)
        if received is None:
            os._exit(0)
        request = json.loads(received)
        del received
        if not is_confined:  # now that its folder is known, which stays the same
            confine_files(Path(request["log"]).parent, places)
            drop_capabilities()
            is_confined = True
        connection.sendall(frame(_answer(request, decoder)))


def _limit_child(limit: int) -> None:
    """Backstops behind the owner's watch, which looks ten times a second only.

    Args:
      limit: MiB.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if not HAS_PROC:
        return
    # When the machine runs out of memory the kernel shall choose a child, not the Beam worker or the zygote.
    with contextlib.suppress(OSError), io.FileIO("/proc/self/oom_score_adj", "r+") as stream:
        score = int(stream.read())
        stream.seek(0)
        stream.write(b"%d" % min(1000, score + 500))
    # RLIMIT_DATA, not RLIMIT_AS: it counts what can be written to, not the address space that allocators, JVMs and model files reserve.
    backstop = data_bytes(os.getpid()) + max(2 * limit, limit + 4096) * (1 << 20)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (backstop if hard == resource.RLIM_INFINITY else min(backstop, hard), hard))


def _answer(request: Mapping[str, Any], decoder: Decoder) -> bytes:
    _enter(Path(request["temporary"]), Path(request["log"]))
    reset_high_water()
    try:
        result = json.dumps(decoder(request["request"], Path(request["folder"])))
        failure = "null"
    except BaseException as error:  # also a library's sys.exit(): it is the document's outcome, not this process's
        result = "null"
        failure = json.dumps(_describe(error))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    facts = f'"high_water": {high_water_bytes()}, "processes_left": {json.dumps(_has_processes_left())}'
    return f'{{"result": {result}, "failure": {failure}, {facts}}}'.encode()


def _enter(temporary: Path, log: Path) -> None:
    """Everything that the decode writes without being told where goes to the lease's own folder."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    for name in ("TMPDIR", "TEMP", "TMP"):
        os.environ[name] = str(temporary)
    tempfile.tempdir = str(temporary)
    os.chdir(temporary)  # unstructured 0.27.35 writes ./figures where it is not told otherwise


def _describe(error: BaseException) -> dict[str, str]:
    if isinstance(error, DecodeError):
        status, message = error.status, error.message
    elif isinstance(error, MemoryError):
        status, message = Status.OUT_OF_MEMORY, "The decode asked for more memory than it may have."
    else:
        status, message = Status.FAILED, f"{type(error).__name__}: {str(error).strip() or 'no message'}"
    lines = ""
    with contextlib.suppress(MemoryError, RecursionError):
        lines = "".join(traceback.format_exception(error))[-_TRACEBACK_CHARACTERS:]
    return {"status": status.value, "message": message, "error_class": type(error).__name__, "detail": lines}


def _has_processes_left() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


# -------------------------------------------------------------------------------------------------------------------------- processes


def _die_with(parent: int) -> None:
    """Has this process killed when its parent ends. Sound only under a parent with one thread."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel knew
        os._exit(1)


def _kill_family(pid: int) -> None:
    if HAS_PROC:
        _kill(pid)  # its orphans come to the zygote, which kills them
        return
    family = [pid, *descendants_of(pid)]
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    for member in family:
        _kill(member)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _wake_on(*numbers: int) -> socket.socket:
    """A socket that becomes readable when one of these signals arrives; each byte is a signal's number."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    return reader


def _default_signals() -> None:
    for number in _OF_THE_GUARD:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _prctl(option: int, value: int | bytes) -> None:
    if _libc is not None:
        zero = ctypes.c_ulong(0)
        _libc.prctl(option, ctypes.c_ulong(value) if isinstance(value, int) else value, zero, zero, zero)


def _set_name(name: str) -> None:
    """For ps and top; at most 15 characters."""
    _prctl(_PR_SET_NAME, name.encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
