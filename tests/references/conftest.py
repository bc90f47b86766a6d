"""An object store as Beam sees one (a real Beam file system, in memory, that can be told to fail), and a user whom permissions bind."""

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, FileSystem


class ObjectStore:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.failures: list[BaseException] = []
        """Raised one by one by the next requests for a content."""
        self.cut_short = 0
        """How many of the next downloads end after half of their bytes."""
        self.opened: list[str] = []


STORE = ObjectStore()


class ShelfFileSystem(FileSystem):
    @classmethod
    def scheme(cls) -> str:
        return "shelf"

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for path, content in sorted(STORE.objects.items()):
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, len(content), 1_700_000_000.5)

    def exists(self, path: str) -> bool:
        return path in STORE.objects

    def metadata(self, path: str) -> FileMetadata:
        if path not in STORE.objects:
            raise BeamIOError(f"No object {path}.")
        return FileMetadata(path, len(STORE.objects[path]), 1_700_000_000.5)

    def open(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> Any:
        assert compression_type == CompressionTypes.UNCOMPRESSED
        STORE.opened.append(path)
        if STORE.failures:
            raise STORE.failures.pop(0)
        if path not in STORE.objects:
            raise FileNotFoundError(path)
        content = STORE.objects[path]
        if STORE.cut_short:
            STORE.cut_short -= 1
            content = content[: len(content) // 2]
        return io.BytesIO(content)

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath, *paths])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def size(self, path: str) -> int:
        return len(STORE.objects[path])

    def last_updated(self, path: str) -> float:
        return 1_700_000_000.5

    def _unused(self, *arguments: Any, **named: Any) -> Any:
        raise NotImplementedError

    mkdirs = create = copy = rename = checksum = delete = _unused


@pytest.fixture
def store() -> ObjectStore:
    """`shelf://`, empty."""
    STORE.__init__()  # type: ignore[misc]
    return STORE


@contextmanager
def _another_user() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def not_root() -> Callable[[], AbstractContextManager[None]]:
    """Permissions do not bind root."""
    return _another_user


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user reaches and writes too, which pytest's tmp_path is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder
