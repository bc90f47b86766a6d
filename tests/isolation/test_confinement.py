"""What a child that a document has taken over can do: nothing. The kernel is the oracle, and a server that must see no connection."""

import os
import socket
import sys
from pathlib import Path

import pytest

import transforms
from transforms.isolation.confinement import fences, readable_places
from transforms.isolation.pool import ChildFailure, ChildPool
from transforms.model import Status
from transforms.settings import Limits

needs = {name: pytest.mark.skipif(name not in fences(), reason=f"this kernel has no {name}") for name in ("seccomp", "landlock", "signals")}
DECODERS = Path(__file__).parent


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    with ChildPool(
        1,
        Limits(timeout=30.0),
        decoder="isolation_decoders:decode",
        preload="isolation_decoders:preload_nothing",
        python_path=[str(DECODERS)],
        folder=tmp_path_factory.mktemp("pool"),
    ) as pool:
        yield pool


def attempt(pool, code):
    with pool.lease() as child:
        return child.call({"do": "attempt", "code": code})


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def has_been_called(server):
    try:
        server.accept()
    except BlockingIOError:
        return False
    return True


def test_the_test_server_would_see_a_connection(server):
    socket.create_connection(server.getsockname()).close()
    assert has_been_called(server)


@needs["seccomp"]
def test_no_socket_of_the_network_can_be_made(pool, server):
    port = server.getsockname()[1]
    denied = "PermissionError: [Errno 13] Permission denied"
    for family in ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK"):
        assert attempt(pool, f"socket.socket(socket.{family}, socket.SOCK_STREAM if '{family}' != 'AF_PACKET' else 3)") == denied
    assert attempt(pool, f"socket.create_connection(('127.0.0.1', {port}))").startswith(("PermissionError", "OSError"))
    assert attempt(pool, "socket.socketpair()").startswith("(<socket.socket")
    shell = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
    assert attempt(pool, f"subprocess.run(['bash', '-c', '{shell}'], stderr=subprocess.DEVNULL).returncode") != "0"
    assert not has_been_called(server)


@needs["seccomp"]
def test_no_local_socket_of_the_host_can_be_reached(pool, tmp_path):
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(tmp_path / "engine.sock"))
        engine.listen()
        code = f"socket.socket(socket.AF_UNIX).connect({str(tmp_path / 'engine.sock')!r})"
        assert attempt(pool, code) == "PermissionError: [Errno 13] Permission denied"


@needs["seccomp"]
@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("io_uring_setup", "ctypes.CDLL(None, use_errno=True).syscall(425, 1, 0), ctypes.get_errno()", 1),
        ("unshare of a user", "ctypes.CDLL(None, use_errno=True).unshare(0x10000000), ctypes.get_errno()", 1),
        ("ptrace", "ctypes.CDLL(None, use_errno=True).ptrace(16, os.getppid(), 0, 0), ctypes.get_errno()", 1),
        ("a limit of the owner", "ctypes.CDLL(None, use_errno=True).prlimit(os.getppid(), 0, None, None), ctypes.get_errno()", 1),
    ],
    ids=lambda value: value if isinstance(value, str) and "(" not in value else "",
)
def test_a_call_that_leads_out_is_refused(pool, name, code, expected):
    assert attempt(pool, code) == str((-1, expected))


@needs["landlock"]
def test_no_file_of_the_host_can_be_read_changed_or_removed(pool, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    secret.chmod(0o600)
    for code in (
        f"open({str(secret)!r}).read()",
        f"open({str(secret)!r}, 'w')",
        f"open({str(tmp_path / 'new')!r}, 'w')",
        f"os.listdir({str(tmp_path)!r})",
        f"os.unlink({str(secret)!r})",
        f"os.rename({str(secret)!r}, folder / 'mine')",
        f"os.truncate({str(secret)!r}, 0)",
        f"os.symlink('/etc', {str(tmp_path / 'link')!r})",
        f"os.mkdir({str(tmp_path / 'folder')!r})",
        f"open('/proc/{os.getpid()}/environ', 'rb').read()",
        f"open('/proc/{os.getpid()}/mem', 'r+b')",
        "open('/etc/shadow').read()",
    ):
        assert attempt(pool, code).startswith("PermissionError"), code
    assert attempt(pool, f"os.link({str(secret)!r}, folder / 'mine')").startswith(("PermissionError", "OSError: [Errno 18]"))
    code = f"subprocess.run(['cat', {str(secret)!r}], capture_output=True).stdout"
    assert attempt(pool, code) == "b''"
    attempt(pool, f"os.chmod({str(secret)!r}, 0o666)")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert secret.read_text() == "of the host"
    assert secret.stat().st_mode & 0o777 == 0o600


@needs["landlock"]
def test_a_child_writes_in_its_folder_and_in_that_of_no_other_lease(pool):
    assert attempt(pool, "(folder / 'a').write_text('x')") == "1"
    assert attempt(pool, "os.mkdir('deep'), (Path('deep') / 'a').write_text('x'), os.rename('deep/a', folder / 'a')") == "(None, 1, None)"
    assert attempt(pool, "os.listdir(folder.parents[1])").startswith("PermissionError")
    assert attempt(pool, "open(folder.parents[1] / 'zygote.log', 'a')").startswith("PermissionError")
    assert attempt(pool, "os.rename(folder, folder.with_name('other'))").startswith("PermissionError")
    assert attempt(pool, "os.symlink('/etc', folder.with_name('link'))").startswith("PermissionError")


@needs["signals"]
def test_a_child_signals_nobody_outside(pool):
    assert attempt(pool, f"os.kill({os.getpid()}, 0)").startswith("PermissionError")
    assert attempt(pool, "os.kill(os.getppid(), 9)").startswith("PermissionError")


def test_a_child_is_without_the_powers_of_root_and_with_lower_limits(pool):
    status = "[line for line in open('/proc/self/status') if line.startswith(('CapEff', 'CapPrm', 'NoNewPrivs'))]"
    found = dict(line.split(":") for line in eval(attempt(pool, status)))
    assert int(found["CapEff"], 16) | int(found["CapPrm"], 16) in (0, 1 << 2)  # CAP_DAC_READ_SEARCH, where the owner is root
    assert int(found["NoNewPrivs"]) == 1
    limits = attempt(pool, "[__import__('resource').getrlimit(kind) for kind in (7, 1)]")  # RLIMIT_NOFILE, RLIMIT_FSIZE
    assert eval(limits) == [(1024, 1024), (4 << 30, 4 << 30)]
    assert attempt(pool, "os.open('big', os.O_CREAT | os.O_WRONLY) and os.truncate('big', 5 << 30)").startswith("OSError: [Errno 27]")


def test_a_document_that_starts_too_many_processes_is_ended(pool, monkeypatch):
    monkeypatch.setattr("transforms.isolation.pool.MAX_PROCESSES", 8)
    with pytest.raises(ChildFailure) as caught:
        attempt(pool, "[subprocess.Popen(['sleep', '600']) for _ in range(12)] and __import__('time').sleep(600)")
    assert caught.value.status is Status.CRASHED
    assert caught.value.message == "The decode started more than 8 processes."


def test_all_of_this_package_is_readable_also_where_an_editable_installation_leads_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an installation has a finder in place of an entry in Python's path (setuptools); modules are imported as they are needed."""
    own = Path(transforms.__file__).parent
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not own.is_relative_to(Path(entry or ".").absolute())])

    assert any(own.is_relative_to(place) for place in readable_places().readable)
