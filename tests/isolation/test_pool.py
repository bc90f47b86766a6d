"""The process isolation, on real processes that hang, leak, crash and die; the kernel and the file system are the oracle."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import transforms
from transforms.isolation.pool import POOL_VARIABLE, ChildFailure, ChildPool, IsolationError, PoolClosedError
from transforms.isolation.processes import children_of, start_time
from transforms.model import DecodeError, Status
from transforms.settings import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

DECODERS = Path(__file__).with_name("isolation_decoders.py")
DEADLINE = 60.0


def wait_until(condition, what="the condition"):
    """Waits for a condition that must come true by itself, and fails if it does not."""
    until = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.005)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(*pids):
    assert pids
    for pid in pids:
        wait_until(lambda pid=pid: not is_running(pid), f"the end of {pid}")


def pids_in(path):
    return [int(line) for line in Path(path).read_text().split()]


def grandchildren_of(mark):
    """The three that carry the mark of their pool, and the one that does not."""
    known, bare = pids_in(mark), pids_in(f"{mark}.bare")
    assert (len(known), len(bare)) == (3, 1)
    return known, bare


def processes_marked(name):
    mark = f"{POOL_VARIABLE}={name}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0") and is_running(int(entry.name)):
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


@pytest.fixture
def make_pool(tmp_path):
    pools = []

    def make(children=1, timeout=30.0, memory=2048, preload="isolation_decoders:preload_nothing", **options):
        pool = ChildPool(
            children,
            Limits(timeout=timeout, memory=memory),
            decoder="isolation_decoders:decode",
            preload=preload,
            python_path=[str(DECODERS.parent)],
            folder=tmp_path,
            writable=[tmp_path],
            **options,
        )
        pools.append(pool)
        return pool

    yield make
    for pool in pools:
        pool.close()
    assert list(tmp_path.glob("universal-decoder-*")) == []
    for pool in pools:
        assert processes_marked(pool._folder.name) == []


@pytest.fixture
def pool(make_pool):
    return make_pool()


def call(pool, do, **request):
    with pool.lease() as child:
        return child.call({"do": do, **request})


def failure_of(pool, do, **request):
    with pytest.raises(ChildFailure) as caught:
        call(pool, do, **request)
    return caught.value


# --- what a child is ---------------------------------------------------------------------------------------------------------------


def test_a_call_gives_back_what_the_decoder_returns(pool):
    value = {"text": "Überblick \U0001f4c4 \ud800", "numbers": [1, 2.5, None, True]}
    with pool.lease() as child:
        assert child.call({"do": "echo", "value": value}) == value
        assert 0 < child.seconds < DEADLINE


def test_a_child_is_a_session_of_its_own_and_forked_not_started(pool):
    facts = call(pool, "describe")
    assert facts["session"] == facts["group"] == facts["pid"]
    assert facts["session"] != os.getsid(0)
    assert children_of(os.getpid()).count(facts["guard"]) == 1
    assert facts["main"] == "transforms.isolation.zygote"
    assert facts["ignored"] == []
    # stdin, stdout, stderr, the connection, the dead end of the zygote's wake-up pipe, and the one that lists them
    assert facts["descriptors"] <= 6


def test_each_lease_has_an_empty_folder_of_its_own(make_pool):
    pool = make_pool(children=2)
    with pool.lease() as one, pool.lease() as two:
        facts = one.call({"do": "describe"})
        assert facts["entries"] == ["left-over"]
        assert facts["folder"] == str(one.folder) != str(two.folder)
        assert facts["temporary"] == facts["tmpdir"]
        assert Path(facts["temporary"]).parent == one.folder.parent
        assert sorted(path.name for path in Path(facts["temporary"]).iterdir()) == ["stray", "temporary"]
        assert list(two.folder.iterdir()) == []
    assert list(one.folder.iterdir()) == list(Path(facts["temporary"]).iterdir()) == []
    assert call(pool, "describe")["entries"] == ["left-over"]


def test_the_owner_has_folders_of_its_own_beside_those_of_leases(make_pool):
    pool = make_pool(1)
    with pool.spool() as folder, pool.lease() as child:
        (folder / "kept").write_text("x")
        assert folder not in (child.folder, child.own_folder)
        assert child.folder.parent.parent == folder.parent
    with pool.spool() as again:
        assert not (again / "kept").exists()
    pool.close()
    assert not folder.exists()
    with pytest.raises(PoolClosedError), pool.spool():
        pass


def test_a_folder_without_rights_is_cleared_too(pool):
    with pool.lease() as child:
        assert child.call({"do": "lock_up_folders"})
        folder = child.folder
    assert list(folder.iterdir()) == []


def test_a_folder_that_was_spoiled_is_not_used_again(pool):
    with pool.lease() as child:
        spoiled = child.folder
        spoiled.chmod(0o500)
    assert not spoiled.exists()
    with pool.lease() as child:
        assert child.folder != spoiled


def test_hashes_are_the_same_in_every_run(make_pool):
    assert call(make_pool(), "describe")["hash"] == call(make_pool(), "describe")["hash"]


def test_the_environment_of_a_child_has_this_process_own_python_path(pool, monkeypatch, make_pool):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    assert call(make_pool(), "describe")["python_path"] == "/nowhere"
    monkeypatch.delenv("PYTHONPATH")
    assert call(make_pool(), "describe")["python_path"] is None


def test_two_children_run_at_the_same_time(make_pool, tmp_path):
    pool = make_pool(children=2)
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(call, pool, "meet", mine=mine, other=other) for mine, other in ((one, two), (two, one))]
        assert len({future.result(DEADLINE) for future in calls}) == 2


def test_a_lease_waits_for_a_free_child(make_pool, tmp_path):
    pool = make_pool(children=1)
    go = tmp_path / "go"
    order = []
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(call, pool, "wait_for", path=str(go), mark=str(tmp_path / "mark"))
        wait_until((tmp_path / "mark").exists)
        second = threads.submit(call, pool, "echo", value="second")
        first.add_done_callback(lambda _: order.append("first"))
        second.add_done_callback(lambda _: order.append("second"))
        assert not second.done()
        go.touch()
        assert second.result(DEADLINE) == "second"
    assert order == ["first", "second"]


def test_large_requests_and_answers(pool):
    assert len(call(pool, "large", mb=50)) == 50 << 20
    value = "y" * (20 << 20)
    assert call(pool, "echo", value=value) == value


# --- what ends a child -------------------------------------------------------------------------------------------------------------


def test_a_child_over_its_time_is_killed_and_its_stack_kept(make_pool):
    failure = failure_of(make_pool(timeout=0.5), "hang")
    assert failure.status is Status.TIMEOUT
    assert failure.message == "The decode was not done after 0.5 s."
    assert 0.5 <= failure.seconds < 5
    assert "in do_hang" in failure.detail
    assert isinstance(failure, DecodeError)


def test_a_child_that_ignores_signals_is_killed(make_pool):
    assert failure_of(make_pool(timeout=0.3), "hang_deaf").status is Status.TIMEOUT


def test_a_child_over_its_memory_is_killed(make_pool):
    failure = failure_of(make_pool(memory=150), "eat", mb=200)
    assert failure.status is Status.OUT_OF_MEMORY
    assert 150 < failure.peak_memory_mb < 210
    assert failure.message == f"The decode took {failure.peak_memory_mb:.0f} MiB of memory; its limit is 150 MiB."


def test_the_memory_of_grandchildren_counts(make_pool):
    failure = failure_of(make_pool(memory=150), "eat_in_a_grandchild", mb=200)
    assert failure.status is Status.OUT_OF_MEMORY
    assert failure.peak_memory_mb > 150


def test_memory_shared_with_the_zygote_is_not_charged(make_pool):
    pool = make_pool(children=2, memory=150, preload="isolation_decoders:preload_ballast")
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda _: call(pool, "read_the_ballast"), range(2))) == [300 << 8] * 2
    with pool.lease() as child:
        child.call({"do": "echo"})
        assert 0 < child.peak_memory_mb < 30


def test_a_peak_too_short_to_be_seen_is_measured(pool):
    with pool.lease() as child:
        child.call({"do": "touch", "mb": 64})
        assert 64 <= child.peak_memory_mb < 90
        child.call({"do": "echo"})
        assert child.peak_memory_mb < 30


def test_an_absurd_allocation_is_refused_to_the_child(pool):
    failure = failure_of(pool, "allocate_absurdly")
    assert failure.status is Status.OUT_OF_MEMORY
    assert failure.error_class == "MemoryError"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGKILL])
def test_a_child_killed_by_a_signal(pool, number):
    failure = failure_of(pool, "die", number=number)
    assert failure.status is Status.CRASHED
    assert failure.message == f"The decoding process was killed by {number.name} (signal {number.value})."
    assert failure.detail.startswith("some words to stderr\n")


def test_a_child_that_the_kernel_kills_for_want_of_memory(pool, monkeypatch):
    call(pool, "echo")
    monkeypatch.setattr("transforms.isolation.pool.oom_kills", lambda: 1 << 40)  # a machine out of memory cannot be had in a test
    failure = failure_of(pool, "die", number=signal.SIGKILL)
    assert (failure.status, failure.message) == (
        Status.OUT_OF_MEMORY,
        "The kernel has killed the decoding process: the machine was out of memory.",
    )
    assert failure_of(pool, "die", number=signal.SIGKILL).status is Status.CRASHED


def test_a_real_segmentation_fault_leaves_its_stack(pool):
    failure = failure_of(pool, "segfault")
    assert failure.status is Status.CRASHED
    assert "SIGSEGV" in failure.message
    assert "in do_segfault" in failure.detail


def test_a_child_that_exits(pool):
    failure = failure_of(pool, "exit", code=3)
    assert (failure.status, failure.message) == (Status.CRASHED, "The decoding process ended with exit code 3 before it had answered.")


def test_a_child_that_closes_its_descriptors(pool):
    failure = failure_of(pool, "close_all")
    assert failure.status is Status.CRASHED
    assert "closed its connection" in failure.message


@pytest.mark.parametrize(
    ("do", "status", "error_class", "message"),
    [
        ("raise", Status.FAILED, "ZeroDivisionError", "ZeroDivisionError: nothing fits"),
        ("sys_exit", Status.FAILED, "SystemExit", "SystemExit: done"),
        ("object", Status.FAILED, "TypeError", "TypeError: Object of type object is not JSON serializable"),
        ("refuse", Status.ENCRYPTED, "DecodeError", "It has a password."),
    ],
)
def test_an_exception_of_the_decoder_comes_back(pool, do, status, error_class, message):
    failure = failure_of(pool, do)
    assert (failure.status, failure.error_class, failure.message) == (status, error_class, message)
    assert failure.detail.startswith("Traceback")
    assert message in failure.detail


def test_after_a_failure_the_same_lease_goes_on_with_a_new_child_and_its_folder(pool):
    with pool.lease() as child:
        before = child.call({"do": "describe"})
        with pytest.raises(ChildFailure):
            child.call({"do": "exit", "code": 3})
        after = child.call({"do": "describe"})
    assert before["pid"] != after["pid"]
    assert before["folder"] == after["folder"]
    assert not is_running(before["pid"])


def test_a_failure_does_not_disturb_another_lease(make_pool, tmp_path):
    pool = make_pool(children=2, memory=150, timeout=20)
    go, mark = tmp_path / "go", tmp_path / "mark"
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(call, pool, "wait_for", path=str(go), mark=str(mark))
        wait_until(mark.exists)
        for request in ({"do": "die", "number": 11}, {"do": "exit", "code": 1}, {"do": "raise"}, {"do": "eat", "mb": 200}):
            failure_of(pool, **request)
        assert not other.done()
        go.touch()
        assert other.result(DEADLINE) == pids_in(mark)[0]


# --- replacement -------------------------------------------------------------------------------------------------------------------


def test_a_child_is_replaced_after_so_many_documents(make_pool):
    pool = make_pool(max_documents=3)
    pids = [call(pool, "describe")["pid"] for _ in range(7)]
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]
    wait_until_gone(pids[0], pids[3])


def test_a_child_that_keeps_much_memory_is_replaced(make_pool):
    pool = make_pool(retained_memory=50)
    first, second, third = call(pool, "keep", mb=10), call(pool, "keep", mb=80), call(pool, "describe")["pid"]
    assert first == second
    assert third != second
    wait_until_gone(second)


def test_a_child_killed_while_it_waits_is_replaced_unseen(pool):
    pid = call(pool, "describe")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until_gone(pid)
    assert call(pool, "describe")["pid"] != pid


# --- grandchildren -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("do", ["spawn_and_eat", "spawn_and_die"])
def test_no_grandchild_outlives_a_failed_child(make_pool, tmp_path, do):
    """Not one in a group or session of its own, nor one that has also lost its parents and its environment."""
    mark = tmp_path / "grandchildren"
    pool = make_pool(timeout=DEADLINE, memory=250)
    assert failure_of(pool, do, mark=str(mark)).status is {"spawn_and_eat": Status.OUT_OF_MEMORY, "spawn_and_die": Status.CRASHED}[do]
    known, bare = grandchildren_of(mark)
    assert [pid for pid in known + bare if is_running(pid)] == []  # at once, not some day


def test_no_grandchild_outlives_a_document_that_was_decoded(pool, tmp_path):
    mark = tmp_path / "grandchildren"
    with pool.lease() as child:
        pid = child.call({"do": "spawn_and_return", "mark": str(mark)})
        known, bare = grandchildren_of(mark)
        assert [pid for pid in (pid, *known, *bare) if is_running(pid)] == []
        assert child.call({"do": "describe"})["pid"] != pid


def test_a_grandchild_that_holds_the_connection_does_not_hide_a_crash(pool, tmp_path):
    failure = failure_of(pool, "hold_the_connection", mark=str(tmp_path / "mark"))
    assert failure.message == "The decoding process ended with exit code 4 before it had answered."
    assert not is_running(pids_in(tmp_path / "mark")[0])


# --- the zygote --------------------------------------------------------------------------------------------------------------------


def test_the_preload_runs_once_for_all_children(make_pool, tmp_path):
    pool = make_pool(
        children=2, preload="isolation_decoders:preload_and_count", environment={"PRELOADS": str(tmp_path / "preloads")}, max_documents=1
    )
    for _ in range(5):
        call(pool, "echo")
    assert len(pids_in(tmp_path / "preloads")) == 1


def kill_the_zygote_at(*marks):
    """In a thread: a child cannot do so itself, as no signal gets out of its fence (Linux 6.12)."""

    def kill():
        for mark in marks:
            wait_until(mark.exists)
            os.kill(int(mark.read_text()), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_a_call_whose_zygote_dies_is_tried_again(make_pool, tmp_path):
    pool = make_pool(preload="isolation_decoders:preload_and_count", environment={"PRELOADS": str(tmp_path / "preloads")})
    killer = kill_the_zygote_at(tmp_path / "mark")
    assert call(pool, "hang_once_for_each", marks=[str(tmp_path / "mark")]) == "answered"
    killer.join()
    assert len(pids_in(tmp_path / "preloads")) == 2


def test_all_running_calls_are_tried_again_when_the_zygote_dies(make_pool, tmp_path):
    pool = make_pool(children=3)
    go = tmp_path / "go"
    marks = [tmp_path / f"mark{number}" for number in range(3)]
    with ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(call, pool, "wait_for", path=str(go), mark=str(mark)) for mark in marks]
        wait_until(lambda: all(mark.exists() and mark.read_text() for mark in marks))
        before = [pids_in(mark)[0] for mark in marks]
        zygote = int(Path(f"/proc/{before[0]}/stat").read_text().rpartition(")")[2].split()[1])
        for mark in marks:
            mark.unlink()
        os.kill(zygote, signal.SIGKILL)
        wait_until_gone(zygote, *before)
        go.touch()
        after = [future.result(DEADLINE) for future in calls]
    assert len({*before, *after}) == 6


def test_a_document_whose_zygote_dies_each_time_has_crashed(pool, tmp_path):
    marks = [tmp_path / "first", tmp_path / "second"]
    killer = kill_the_zygote_at(*marks)
    failure = failure_of(pool, "hang_once_for_each", marks=list(map(str, marks)))
    killer.join()
    assert failure.status is Status.CRASHED
    assert failure.message == "The decoding process was lost twice, each time with the process that had started it."
    assert call(pool, "echo", value=1) == 1


def test_no_grandchild_outlives_the_zygote_or_the_guard(make_pool, tmp_path):
    for number, victim in enumerate(("parent", "guard")):
        pool = make_pool(children=2)
        facts = call(pool, "describe")
        mark = tmp_path / f"grandchildren{number}"
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(failure_of, pool, "spawn_and_hang", mark=str(mark))
            wait_until(Path(f"{mark}.complete").exists)
            known, bare = grandchildren_of(mark)
            os.kill(facts[victim], signal.SIGKILL)
            wait_until_gone(*known)
            if victim == "parent":
                wait_until_gone(*bare)
            else:  # it has neither its parents nor the mark of the pool: with the guard dead, nobody knows of it
                os.kill(bare[0], signal.SIGKILL)
            pool.close()
            with pytest.raises(PoolClosedError):
                running.result(DEADLINE)


def test_signals_that_the_owner_blocks_or_ignores_reach_the_others(make_pool):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        pool = make_pool()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGHUP, ignored)
    facts = call(pool, "describe")
    assert facts["ignored"] == []
    os.kill(facts["parent"], signal.SIGKILL)
    wait_until_gone(facts["guard"], facts["pid"])
    assert failure_of(pool, "die", number=signal.SIGTERM).status is Status.CRASHED
    assert call(pool, "describe")["guard"] != facts["guard"]


def test_a_zygote_that_does_not_answer_is_given_up(make_pool, monkeypatch, tmp_path):
    monkeypatch.setattr("transforms.isolation.pool.END_DEADLINE", 0.5)
    monkeypatch.setattr("transforms.isolation.pool.END_PATIENCE", 0.1)
    pool = make_pool()
    facts = call(pool, "describe")
    mark, go = tmp_path / "mark", tmp_path / "go"
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(failure_of, pool, "exit_when", mark=str(mark), path=str(go))
        wait_until(mark.exists)
        os.kill(facts["parent"], signal.SIGSTOP)
        go.touch()
        assert running.result(DEADLINE).status is Status.CRASHED
    wait_until_gone(facts["parent"], facts["guard"])
    assert call(pool, "echo", value=1) == 1


@pytest.mark.parametrize(
    ("preload", "sentence"),
    [
        ("isolation_decoders:preload_that_fails", "LookupError: the model is not installed"),
        ("isolation_decoders:preload_with_a_thread", "Threads were started by: isolation_decoders."),
        ("isolation_decoders:preload_with_a_native_thread", "Threads were started by: native code in or after the import of "),
        ("isolation_decoders:preload_that_is_not_there", "AttributeError"),
        ("no_such_module:preload", "No module named 'no_such_module'"),
    ],
)
def test_a_preload_that_fails_is_told_in_a_sentence(make_pool, preload, sentence):
    pool = make_pool(preload=preload)
    with pytest.raises(IsolationError) as caught, pool.lease():
        pass
    assert str(caught.value).startswith("No decoding process can be started: ")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_why_no_child_can_be_had_is_told_each_time(make_pool):
    # The guard is asked to end just when it ends by itself: 38 of 593 times its own last words took the place of the zygote's.
    for _ in range(40):
        with pytest.raises(IsolationError, match="AttributeError"), make_pool(preload="isolation_decoders:no_such").lease():
            pass


# --- the owner ---------------------------------------------------------------------------------------------------------------------


def test_close_ends_running_calls_without_making_outcomes_of_them(make_pool, tmp_path):
    pool = make_pool(children=2)
    marks = [tmp_path / "one", tmp_path / "two"]
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(call, pool, "hang_deaf", mark=str(mark)) for mark in marks]
        wait_until(lambda: all(mark.exists() and mark.read_text() for mark in marks))
        pool.close()
        for future in running:
            with pytest.raises(PoolClosedError):
                future.result(DEADLINE)
    for mark in marks:
        assert not is_running(pids_in(mark)[0])
    with pytest.raises(PoolClosedError), pool.lease():
        pass
    pool.close()


def test_a_fork_of_the_owner_cannot_use_or_harm_the_pool(pool):
    call(pool, "echo")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with pool.lease():
                pass
        except IsolationError:
            pool.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert call(pool, "echo", value=1) == 1


def test_descriptors_and_folders_do_not_leak(make_pool):
    pool = make_pool(children=2, max_documents=5)
    first = call(pool, "describe")

    def descriptors():
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), first["parent"], first["guard"])]

    before = descriptors()
    for number in range(200):
        if number % 10 == 9:
            failure_of(pool, "exit", code=1)
        else:
            assert call(pool, "echo", value=number) == number
    last = call(pool, "describe")
    assert last["parent"] == first["parent"]
    assert last["descriptors"] == first["descriptors"]
    wait_until(lambda: descriptors() == before, f"{before} descriptors, not {descriptors()}")
    assert sorted(str(path.relative_to(pool._folder)) for path in pool._folder.rglob("*")) == [
        "000001",
        "000001/tmp",
        "000001/work",
        "lock",
        "zygote.log",
    ]
    wait_until(lambda: children_of(first["parent"]) == [last["pid"]], "the children that were replaced")


def test_a_call_costs_the_owner_less_than_a_millisecond(pool):
    call(pool, "echo")
    count = 300
    started = time.process_time()
    for number in range(count):
        call(pool, "echo", value=number)
    assert (time.process_time() - started) / count < 0.001


OWNER = """
import signal, sys, threading, time
sys.path[:0] = {path!r}
open({runs!r}, "a").write("x")  # a __main__ without a guard: who imports it, runs it
from pathlib import Path
from transforms.isolation.pool import ChildPool
from transforms.settings import Limits

def start():
    global pool
    folder = Path({folder!r})
    pool = ChildPool(2, Limits(), "isolation_decoders:decode", "isolation_decoders:preload_nothing", folder=folder, writable=[folder])
    with pool.lease() as child:
        child.call({{"do": "echo"}})

starter = threading.Thread(target=start)  # gone before the children are used, as Beam's threads may be
starter.start()
starter.join()

def use(number):
    with pool.lease() as child:
        print(child.call({{"do": {do!r}, **{request!r}[number]}}), flush=True)

signal.signal(signal.SIGINT, lambda *_: open({runs!r} + ".interrupted", "w").close())
threads = [threading.Thread(target=use, args=(number,)) for number in range(len({request!r}))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.fixture
def start_owner(tmp_path):
    """Starts another Python process with a pool, from a folder that has nothing to do with it and a decoy of the package in it."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "transforms").mkdir(parents=True)
    (elsewhere / "transforms" / "__init__.py").write_text("raise ImportError('the wrong one')")
    owners = []

    def start(do, *requests, root=None):
        script = tmp_path / "owner" / "main.py"
        script.parent.mkdir(exist_ok=True)
        path = [str(DECODERS.parent), str(root or Path(transforms.__file__).parents[1])]
        script.write_text(OWNER.format(path=path, runs=str(tmp_path / "runs"), folder=str(tmp_path), do=do, request=requests))
        owner = subprocess.Popen([sys.executable, str(script)], cwd=elsewhere, start_new_session=True, stdout=subprocess.PIPE, text=True)
        owners.append(owner)
        return owner

    yield start
    for owner in owners:
        owner.kill()
        owner.wait()
        owner.stdout.close()


def processes_of(owner, marks):
    """The guard, zygote, children and grandchildren of an owner whose children all hang."""
    wait_until(lambda: all(Path(f"{mark}.complete").exists() for mark in marks), "the grandchildren")
    (guard,) = children_of(owner.pid)
    (zygote,) = children_of(guard)
    known, bare = zip(*map(grandchildren_of, marks), strict=True)
    return guard, zygote, children_of(zygote), [pid for pids in known for pid in pids], [pid for pids in bare for pid in pids]


def test_nothing_is_left_after_the_owner_was_killed(start_owner, tmp_path):
    marks = [str(tmp_path / "one"), str(tmp_path / "two")]
    owner = start_owner("spawn_and_hang", *({"mark": mark} for mark in marks))
    guard, zygote, children, known, bare = processes_of(owner, marks)
    everybody = [guard, zygote, *children, *known, *bare]
    assert len(everybody) == 12
    assert all(map(is_running, everybody))
    owner.kill()
    owner.wait()
    wait_until_gone(*everybody)
    assert list(tmp_path.glob("universal-decoder-*")) == []


def test_what_owner_and_guard_leave_when_both_are_killed_goes_with_the_next_pool(start_owner, make_pool, tmp_path):
    marks = [str(tmp_path / "one"), str(tmp_path / "two")]
    owner = start_owner("spawn_and_hang", *({"mark": mark} for mark in marks))
    guard, zygote, children, known, bare = processes_of(owner, marks)
    (folder,) = tmp_path.glob("universal-decoder-*")
    assert folder.name.split("-")[2:4] == [str(owner.pid), start_time(owner.pid)]
    for pid in (owner.pid, guard):
        os.kill(pid, signal.SIGSTOP)  # so that neither sees the other's end
    os.kill(guard, signal.SIGKILL)
    wait_until_gone(guard, zygote, *children)  # else a zygote that lives a moment longer than its owner still does its work
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    assert folder.exists()
    assert all(map(is_running, known + bare))
    pool = make_pool()
    assert not folder.exists()
    wait_until_gone(*known)
    for pid in bare:
        os.kill(pid, signal.SIGKILL)
    assert call(pool, "echo", value=1) == 1


def test_the_folder_of_a_living_owner_stays(make_pool, tmp_path):
    first = make_pool()
    second = make_pool()
    assert first._folder.exists()
    # Of an owner in another container: no process here has its pid and start time, but its lock is held.
    foreign = first._folder.rename(tmp_path / "universal-decoder-999999999-1-foreign")
    third = make_pool()
    assert foreign.exists()
    foreign.rename(first._folder)
    assert [call(pool, "echo", value=1) for pool in (first, second, third)] == [1, 1, 1]


def test_an_interrupt_from_the_terminal_is_the_owners_to_decide_on(start_owner, tmp_path):
    mark, go = tmp_path / "mark", tmp_path / "go"
    owner = start_owner("wait_for", {"path": str(go), "mark": str(mark)})
    wait_until(lambda: mark.exists() and mark.read_text())
    os.killpg(owner.pid, signal.SIGINT)
    wait_until((tmp_path / "runs.interrupted").exists)
    go.touch()
    output, _ = owner.communicate(timeout=DEADLINE)
    assert output.split() == [str(pid) for pid in pids_in(mark)]
    assert owner.returncode == 0


def test_an_owner_that_forgets_to_close_leaves_nothing(start_owner, tmp_path):
    owner = start_owner("describe", {})
    output, _ = owner.communicate(timeout=DEADLINE)
    facts = eval(output)
    assert owner.returncode == 0
    wait_until_gone(facts["pid"], facts["parent"], facts["guard"])
    assert list(tmp_path.glob("universal-decoder-*")) == []


def test_it_works_from_wherever_the_package_is_installed_and_never_runs_the_owners_main_again(start_owner, tmp_path):
    site = tmp_path / "site-packages"
    shutil.copytree(Path(transforms.__file__).parent, site / "transforms", ignore=shutil.ignore_patterns("__pycache__"))
    owner = start_owner("describe", {}, {}, root=site)
    output, _ = owner.communicate(timeout=DEADLINE)
    assert output.count("'main': 'transforms.isolation.zygote'") == 2
    assert (tmp_path / "runs").read_text() == "x"


def test_a_thread_that_gives_up_its_call_ends_the_child(pool, tmp_path):
    """As KeyboardInterrupt does in the main thread."""
    mark = tmp_path / "mark"

    def interrupt():
        wait_until(lambda: mark.exists() and mark.read_text())
        signal.raise_signal(signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    with pool.lease() as child:
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            child.call({"do": "hang_deaf", "mark": str(mark)})
        assert not is_running(pids_in(mark)[0])
        assert child.call({"do": "echo", "value": 1}) == 1
    interrupter.join()
