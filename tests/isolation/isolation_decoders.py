"""Decoders that misbehave, each in one way; they run in the children of test_pool.py."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def preload_nothing():
    pass


def preload_and_count():
    """Leaves a line for each preload: how often was the zygote started?"""
    with open(os.environ["PRELOADS"], "a") as stream:
        stream.write(f"{os.getpid()}\n")


def preload_ballast():
    """300 MiB that all children share with the zygote."""
    sys.modules[__name__].ballast = b"\1" * (300 << 20)


def preload_with_a_thread():
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


def preload_with_a_native_thread():
    """As OpenBLAS would: a thread that Python does not know of."""
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, libc.pause, None) == 0


def preload_that_fails():
    raise LookupError("the model is not installed")


def decode(request, folder):
    return globals()["do_" + request["do"]](folder, **{name: value for name, value in request.items() if name != "do"})


def do_echo(folder, value=None):
    return value


def do_describe(folder):
    (folder / "left-over").write_text("x")
    (Path(tempfile.gettempdir()) / "temporary").write_text("x")
    Path("stray").write_text("x")
    return {
        "pid": os.getpid(),
        "session": os.getsid(0),
        "group": os.getpgrp(),
        "folder": str(folder),
        "entries": sorted(os.listdir(folder)),
        "temporary": tempfile.gettempdir(),
        "tmpdir": os.environ["TMPDIR"],
        "descriptors": len(os.listdir("/proc/self/fd")),
        "parent": os.getppid(),
        "guard": int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]),
        "ignored": [number.name for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_DFL],
        "main": getattr(sys.modules["__main__"].__spec__, "name", None),
        "hash": hash("a text"),
        "python_path": os.environ.get("PYTHONPATH"),
    }


def do_hang(folder):
    for_ever = threading.Event()
    for_ever.wait()


def do_hang_deaf(folder, mark=None):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if mark:
        Path(mark).write_text(str(os.getpid()))
    signal.pause()


def do_wait_for(folder, path, mark=None):
    if mark:
        Path(mark).write_text(str(os.getpid()))
    while not Path(path).exists():
        time.sleep(0.005)
    return os.getpid()


def do_meet(folder, mine, other):
    """Comes back only if another child is in here at the same time."""
    Path(mine).write_text("")
    return do_wait_for(folder, other)


def do_eat(folder, mb):
    eaten = b"\1" * (mb << 20)
    time.sleep(600)
    return len(eaten)


def do_eat_in_a_grandchild(folder, mb):
    subprocess.run([sys.executable, "-c", f"import time; eaten = b'1' * ({mb} << 20); time.sleep(600)"], check=True)


def do_touch(folder, mb):
    """Takes memory for a moment only, shorter than the owner looks."""
    return len(b"\1" * (mb << 20))


def do_keep(folder, mb):
    sys.modules[__name__].kept = b"\1" * (mb << 20)
    return os.getpid()


def do_read_the_ballast(folder):
    ballast = sys.modules[__name__].ballast
    time.sleep(0.3)
    return sum(ballast[:: 1 << 12])


def do_allocate_absurdly(folder):
    return len(bytearray(1 << 40))


def do_die(folder, number):
    print("some words to stderr", file=sys.stderr, flush=True)
    os.kill(os.getpid(), number)
    signal.pause()


def do_segfault(folder):
    ctypes.string_at(0)


def do_exit(folder, code):
    os._exit(code)


def do_sys_exit(folder):
    sys.exit("done")


def do_raise(folder):
    raise ZeroDivisionError("nothing fits")


def do_refuse(folder):
    from transforms.model import DecodeError, Status

    raise DecodeError(Status.ENCRYPTED, "It has a password.")


def do_object(folder):
    return object()


def do_large(folder, mb):
    return "x" * (mb << 20)


def do_close_all(folder):
    os.closerange(3, 1024)
    signal.pause()


def _grandchildren(mark):
    """Four that sleep. Their pids in `mark`: in the session, in a group of its own, in a session of its own; its pid in `mark`.bare:
    one in a session of its own without parents and with an empty environment."""
    sleep = "import os, sys, time; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); time.sleep(600)"
    command = [sys.executable, "-c", sleep, mark]
    subprocess.Popen(command)
    subprocess.Popen(command, process_group=0)
    subprocess.Popen(command, start_new_session=True)
    command[-1] = mark + ".bare"
    daemon = (
        f"import os, sys\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.execve(sys.executable, {command!r}, {{}})"
    )
    subprocess.run([sys.executable, "-c", daemon], check=True)
    while len(_lines(mark) + _lines(mark + ".bare")) < 4:
        time.sleep(0.005)


def _lines(path):
    with contextlib.suppress(FileNotFoundError):
        return Path(path).read_text().splitlines()
    return []


def do_spawn_and_hang(folder, mark):
    _grandchildren(mark)
    Path(mark + ".complete").write_text(str(os.getpid()))
    do_hang_deaf(folder)


def do_spawn_and_eat(folder, mark):
    _grandchildren(mark)
    return do_eat(folder, mb=350)


def do_spawn_and_die(folder, mark):
    _grandchildren(mark)
    os.kill(os.getpid(), signal.SIGKILL)


def do_spawn_and_return(folder, mark):
    _grandchildren(mark)
    return os.getpid()


def do_hold_the_connection(folder, mark):
    """A forked grandchild keeps all descriptors of the child open, which then dies."""
    if os.fork() == 0:
        os.setsid()
        Path(mark).write_text(str(os.getpid()))
        time.sleep(600)
    do_wait_for(folder, mark)
    os._exit(4)


def do_lock_up_folders(folder):
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    inner.chmod(0)
    inner.parent.chmod(0)
    return True


def do_hang_once_for_each(folder, marks):
    """Leaves the zygote's pid in the first mark that is not there, and hangs; answers when all are."""
    for mark in map(Path, marks):
        if not mark.exists():
            mark.with_suffix(".part").write_text(str(os.getppid()))
            mark.with_suffix(".part").rename(mark)
            signal.pause()
    return "answered"


def do_exit_when(folder, mark, path):
    Path(mark).write_text(str(os.getppid()))
    do_wait_for(folder, path)
    os._exit(1)


def do_attempt(folder, code):
    """Runs a line of Python in a child; what it raises is the answer."""
    try:
        return str(eval(code, {"os": os, "socket": socket, "subprocess": subprocess, "Path": Path, "folder": folder, "ctypes": ctypes}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
