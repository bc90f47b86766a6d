"""Publishing is atomic, also between processes, and local paths are any names that a disk can have."""

import hashlib
import io
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem

from transforms.isolation.handover import LeftBehindError
from transforms.storage.blobs import put_blob
from transforms.storage.filesystem import (
    ListedFile,
    delete,
    delete_folder,
    exists,
    is_local,
    join,
    list_folder,
    local_path,
    open_read,
    publishing,
    quote_segment,
    read_bytes,
    size_of,
    sweep,
    to_uri,
    write_atomically,
)

ROOT = Path(__file__).parents[2]


class MemoryFileSystem(FileSystem):
    """An object store: flat names, and an object is there when its writer closes."""

    objects: ClassVar[dict[str, bytes]] = {}

    @classmethod
    def scheme(cls):
        return "objects"

    def join(self, basepath, *paths):
        return "/".join([basepath, *paths])

    def split(self, path):
        return tuple(path.rsplit("/", 1))

    def mkdirs(self, path):
        raise AssertionError("an object store has no folders")

    def has_dirs(self):
        return False

    def _list(self, dir_or_prefix):
        for name, data in sorted(self.objects.items()):
            if name.startswith(dir_or_prefix):
                yield FileMetadata(name, len(data))

    def create(self, path, mime_type="application/octet-stream", compression_type="auto"):
        objects = self.objects

        class Writer(io.BytesIO):
            def close(self):
                if not self.closed:
                    objects[path] = self.getvalue()
                super().close()

        assert compression_type == "uncompressed"
        return Writer()

    def open(self, path, mime_type="application/octet-stream", compression_type="auto"):
        assert compression_type == "uncompressed"
        return io.BytesIO(self.objects[path])

    def exists(self, path):
        return path in self.objects

    def size(self, path):
        return len(self.objects[path])

    def delete(self, paths):
        for path in paths:
            del self.objects[path]

    def copy(self, source_file_names, destination_file_names):
        raise AssertionError("never copied")

    def rename(self, source_file_names, destination_file_names):
        raise AssertionError("never renamed")

    def last_updated(self, path):
        raise NotImplementedError

    def checksum(self, path):
        raise NotImplementedError

    def metadata(self, path):
        raise BeamIOError("not asked for")


@pytest.fixture
def objects():
    MemoryFileSystem.objects.clear()
    return MemoryFileSystem.objects


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/a b.pdf", "file:///data/a%20b.pdf"),
        ("/data/50%.pdf", "file:///data/50%25.pdf"),
        ("/data/é#1?.txt", "file:///data/%C3%A9%231%3F.txt"),
        ("/data/\udcff.txt", "file:///data/%FF.txt"),
        ("/data/../x", "file:///x"),
    ],
)
def test_a_local_path_has_one_uri_and_comes_back_from_it(path, uri):
    assert to_uri(path) == uri
    assert local_path(uri) == os.path.abspath(path)


def test_uris_of_other_schemes_stay_as_they_are():
    assert to_uri("s3://bucket/a b") == "s3://bucket/a b"
    assert not is_local("s3://bucket/a")
    assert is_local("a:b/c")
    with pytest.raises(ValueError, match="not a local file"):
        local_path("gs://bucket/a")


def test_a_file_of_another_host_is_refused():
    assert local_path("file://localhost/a") == "/a"
    with pytest.raises(ValueError, match="another host"):
        local_path("file://server/share/a")


@pytest.mark.parametrize(
    ("base", "joined"),
    [
        ("out", "out/runs/a b%"),
        ("/out/", "/out/runs/a b%"),
        ("/", "/runs/a b%"),
        ("file:///my%20out", "file:///my%20out/runs/a%20b%25"),
        ("gs://bucket/out/", "gs://bucket/out/runs/a b%"),
    ],
)
def test_join_encodes_names_only_for_file_uris(base, joined):
    assert join(base, "runs/", "a b%") == joined


def test_quote_segment_leaves_no_separator():
    assert quote_segment("a/b é\udcff") == "a%2Fb%20%C3%A9%FF"


@pytest.mark.parametrize("durable", [False, True])
def test_write_atomically_makes_folders_replaces_and_leaves_no_temporary_name(tmp_path, durable):
    target = tmp_path / "a/b/name"
    assert write_atomically(str(target), b"first", durable=durable) == 5
    source = tmp_path / "source"
    source.write_bytes(b"second one")
    assert write_atomically(to_uri(str(target)), source, durable=durable) == 10
    assert target.read_bytes() == b"second one"
    assert source.exists()
    assert os.listdir(target.parent) == ["name"]


def write_half(uri):
    with publishing(uri) as stream:
        stream.write(b"new, but not all")
        raise RuntimeError("halfway")


def test_a_failed_write_publishes_nothing_and_keeps_what_was_there(tmp_path):
    target = tmp_path / "name"
    write_atomically(str(target), b"old")
    with pytest.raises(RuntimeError, match="halfway"):
        write_half(str(target))
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["name"]


def test_nothing_shows_in_the_folder_before_the_end(tmp_path):
    with publishing(str(tmp_path / "parts/part"), scratch=str(tmp_path / ".writing")) as stream:
        stream.write(b"whole")
        assert not (tmp_path / "parts").exists()
    assert (tmp_path / "parts/part").read_bytes() == b"whole"
    assert os.listdir(tmp_path / ".writing") == []


def test_a_name_of_the_longest_length_can_be_published(tmp_path):
    write_atomically(str(tmp_path / ("n" * 255)), b"x")
    assert os.listdir(tmp_path) == ["n" * 255]


def _publish_many_times(path: str, letter: bytes) -> None:
    for _ in range(200):
        write_atomically(path, letter * 100_000)


def test_two_processes_may_publish_one_name_and_a_reader_sees_only_whole_files(tmp_path):
    path = tmp_path / "contested"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_publish_many_times, args=(str(path), letter)) for letter in (b"a", b"b")]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            seen.add(path.read_bytes())
    for writer in writers:
        writer.join()
    seen.add(path.read_bytes())
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert seen <= {b"a" * 100_000, b"b" * 100_000}
    assert os.listdir(tmp_path) == ["contested"]


def test_list_folder_names_files_in_order_without_temporary_ones(tmp_path):
    for name in ("b", "a", "sub/c", "sub/deeper/d", ".hidden"):
        write_atomically(str(tmp_path / name), name.encode())
    (tmp_path / f".b.{'0' * 32}.tmp").touch()
    assert list_folder(str(tmp_path)) == [ListedFile(".hidden", 7), ListedFile("a", 1), ListedFile("b", 1)]
    assert [file.name for file in list_folder(str(tmp_path), recursive=True)] == [".hidden", "a", "b", "sub/c", "sub/deeper/d"]
    assert list_folder(str(tmp_path / "nowhere")) == []


def test_sizes_and_deletion(tmp_path):
    path = str(tmp_path / "x")
    assert size_of(path) is None
    assert size_of(path + "/below") is None
    assert not delete(path)
    write_atomically(path, b"123")
    assert size_of(path + "/below") is None
    assert (size_of(path), exists(path)) == (3, True)
    assert delete(path)
    assert not exists(path)
    delete_folder(path)


def test_a_blob_is_written_once_and_mended_when_its_size_is_wrong(tmp_path):
    picture = tmp_path / "picture"
    picture.write_bytes(b"\x89PNG")
    path = blob_path(b"\x89PNG")
    blob = tmp_path / "out" / path

    def put():
        with picture.open("rb") as source:
            return put_blob(str(tmp_path / "out"), path, source)

    assert put()
    inode = blob.stat().st_ino
    assert not put()
    assert blob.stat().st_ino == inode
    blob.write_bytes(b"")
    assert put()
    assert blob.read_bytes() == b"\x89PNG"


def blob_path(data):
    digest = hashlib.sha256(data).hexdigest()
    return f"blobs/sha256/{digest[:2]}/{digest}.png"


@pytest.mark.parametrize(
    "path",
    [
        "../escaped.png",
        "/tmp/escaped.png",
        "blobs/sha256/../../../escaped.png",
        blob_path(b"another picture"),
        "blobs/sha256/ab/abc.png",
        "",
    ],
)
def test_a_blob_is_written_nowhere_but_under_the_digest_of_its_bytes(tmp_path, path):
    picture = tmp_path / "picture"
    picture.write_bytes(b"\x89PNG")
    with picture.open("rb") as source, pytest.raises(LeftBehindError):
        put_blob(str(tmp_path / "out"), path, source)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [picture]


def test_an_object_store_gets_one_put_and_nothing_of_a_failed_write(objects, tmp_path):
    with pytest.raises(RuntimeError, match="halfway"):
        write_half("objects://bucket/out/x")
    assert objects == {}
    assert write_atomically("objects://bucket/out/x", b"whole", durable=True) == 5
    source = tmp_path / "source"
    source.write_bytes(b"file")
    blob = blob_path(b"file")
    with source.open("rb") as stream:
        assert put_blob("objects://bucket/out", blob, stream)
        assert not put_blob("objects://bucket/out", blob, stream)
    assert objects == {"objects://bucket/out/x": b"whole", f"objects://bucket/out/{blob}": b"file"}
    with open_read("objects://bucket/out/x") as stream:
        stream.seek(2)
        assert stream.read() == b"ole"
    assert list_folder("objects://bucket/out") == [ListedFile("x", 5)]
    assert list_folder("objects://bucket/out", recursive=True) == [ListedFile(blob, 4), ListedFile("x", 5)]
    assert size_of("objects://bucket/out/none") is None
    assert delete("objects://bucket/out/x")
    assert not delete("objects://bucket/out/x")
    delete_folder("objects://bucket/out")
    assert objects == {}


def test_local_reading_needs_no_beam(tmp_path):
    """A decoding child imports the module: Beam would cost it seconds and 100 MB."""
    code = (
        "import sys, transforms.storage.commit, transforms.storage.blobs, transforms.sinks.write\n"
        "from transforms.storage.filesystem import *\n"
        f"write_atomically({str(tmp_path / 'x')!r}, b'1'); assert read_bytes({str(tmp_path / 'x')!r}) == b'1'\n"
        "assert not [name for name in sys.modules if name.startswith(('apache_beam', 'unstructured'))]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_read_bytes_of_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_bytes(str(tmp_path / "nothing"))


KILLED_WRITER = """
import os, signal, sys
from transforms.storage.filesystem import publishing
with publishing(sys.argv[1], scratch=sys.argv[2]) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_sweep_removes_what_killed_writers_left_and_nothing_that_a_living_one_writes(tmp_path):
    scratch = tmp_path / ".writing"
    for number in range(3):
        subprocess.run([sys.executable, "-c", KILLED_WRITER, str(tmp_path / f"dead{number}"), str(scratch)], cwd=ROOT, check=False)
    assert len(os.listdir(scratch)) == 3
    with publishing(str(tmp_path / "living"), scratch=str(scratch)) as stream:
        stream.write(b"whole")
        assert sweep(str(scratch)) == 3
        assert len(os.listdir(scratch)) == 1
    assert (tmp_path / "living").read_bytes() == b"whole"
    assert sorted(os.listdir(tmp_path)) == [".writing", "living"]
    assert sweep(str(scratch)) == 0
    assert os.listdir(tmp_path) == ["living"]
    assert sweep(str(scratch)) == 0


def _publish_while_swept(folder: str, number: int) -> None:
    for index in range(300):
        write_atomically(f"{folder}/{number}-{index}", b"x" * 1000, scratch=f"{folder}/.writing")
        sweep(f"{folder}/.writing")


def test_writers_that_sweep_all_the_time_lose_nothing(tmp_path):
    processes = [multiprocessing.get_context("spawn").Process(target=_publish_while_swept, args=(str(tmp_path), n)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert sum(path.stat().st_size == 1000 for path in tmp_path.glob("*-*")) == 900
