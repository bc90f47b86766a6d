"""What is read of processes, in each of the ways that a system may offer, on real ones."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from transforms.isolation import processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="compares with /proc")

SLEEPER = "import sys; print('ready', flush=True); sys.stdin.read()"
PARENT = (
    f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {SLEEPER!r}]); print(child.pid, flush=True); child.wait()"
)


@contextlib.contextmanager
def running(code, **options):
    """A Python process that has said that it is ready, and its first line."""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    with process:
        try:
            yield process, process.stdout.readline()
        finally:
            process.stdin.close()


@pytest.mark.parametrize(("has_proc", "has_children"), [(True, True), (True, False), (False, False)])
def test_children_and_descendants(monkeypatch, has_proc, has_children):
    monkeypatch.setattr(processes, "HAS_PROC", has_proc)
    monkeypatch.setattr(processes, "_HAS_CHILDREN", has_children)
    with running(PARENT) as (parent, line):
        child = int(line)
        assert parent.pid in processes.children_of(os.getpid())
        assert child not in processes.children_of(os.getpid())
        assert processes.children_of(parent.pid) == processes.descendants_of(parent.pid) == [child]
        assert set(processes.descendants_of(os.getpid())) >= {parent.pid, child}
    assert processes.children_of(parent.pid) == []


@pytest.mark.parametrize("has_proc", [True, False])
def test_resident_bytes_and_start_time(monkeypatch, has_proc):
    monkeypatch.setattr(processes, "HAS_PROC", has_proc)
    with running(f"eaten = b'1' * (40 << 20); {SLEEPER}") as (process, _):
        assert 40 << 20 < processes.resident_bytes(process.pid) < 80 << 20
        started = processes.start_time(process.pid)
        assert started.isdigit()
        assert processes.start_time(process.pid) == started
    assert processes.resident_bytes(process.pid) == 0
    assert processes.start_time(process.pid) == ""


def test_added_bytes_leave_out_what_is_shared_with_the_parent_only():
    """A fork shares 40 MiB with its parent and adds 20 MiB."""
    code = "import os; old = b'1' * (40 << 20)\nif os.fork(): os.wait()\nelse:\n  new = b'1' * (20 << 20); print(os.getpid(), flush=True); "
    code += "import sys; sys.stdin.read()"
    with running(code) as (parent, line):
        inherited = processes.resident_bytes(parent.pid)
        child = int(line)
        assert inherited > 40 << 20
        assert 20 << 20 <= processes.added_bytes(child, inherited) < 25 << 20
        assert processes.added_bytes(child, 0) >= 60 << 20
        assert 20 << 20 < processes.proportional_bytes(child) < 60 << 20 < processes.resident_bytes(child)


def test_only_processes_with_the_mark_are_killed():
    marked, other = {**os.environ, "TEST_POOL": "mine"}, {**os.environ, "TEST_POOL": "mine-not"}
    with running(SLEEPER, env=marked) as (one, _), running(SLEEPER, env=other) as (two, _):
        assert processes.kill_marked("TEST_POOL", "mine") == 1
        assert one.wait() == -signal.SIGKILL
        assert two.poll() is None
        assert processes.kill_marked("TEST_POOL", "mine") == 0
