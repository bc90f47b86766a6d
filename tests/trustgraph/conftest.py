"""One TrustGraph for all tests here, and a workspace for each. `TRUSTGRAPH` in the environment names its version.

`TRUSTGRAPH_FOLDER` names one that runs, such as `.make/trustgraph/2.11.1` of `make trustgraph-up`: for who runs a test again and again.
"""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from library_of_test import LibraryOfTest
from stack import VERSIONS, Stack, check_tools, running_stack

from transforms.errors import CommandError
from transforms.storage import s3

_numbers = count(1)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """RabbitMQ, Cassandra, S3 and TrustGraph itself; a machine that cannot have them says so by the name of what is missing."""
    if running := os.environ.get("TRUSTGRAPH_FOLDER"):
        yield Stack(Path(running))
        return
    version = os.environ.get("TRUSTGRAPH") or VERSIONS[0]
    if version not in VERSIONS:
        pytest.fail(f"TRUSTGRAPH={version} is not one of {', '.join(VERSIONS)}")
    try:
        check_tools()
    except CommandError as error:
        pytest.skip(f"no TrustGraph here: {error.sentence}")
    with running_stack(tmp_path_factory.mktemp("trustgraph"), version) as stack:
        yield stack


@pytest.fixture
def library(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[LibraryOfTest]:
    """An empty library, without a graph; this process's environment is set to use it."""
    for variable, value in stack.environment().items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(s3, "_clients", {})
    name = f"test-{os.getpid()}-{next(_numbers)}"
    gateway = stack.add_workspace(name, flow=False)
    yield LibraryOfTest(stack, name, gateway)
    gateway.close()
