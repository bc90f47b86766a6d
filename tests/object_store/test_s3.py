"""What the job does with single objects, against a real server."""

import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from seaweed import Server

from transforms.model import DecodeError, DocumentReference, Status
from transforms.references import MissingInput, list_files
from transforms.references.fetch import fetch
from transforms.references.listing import find_version
from transforms.storage import filesystem, s3

ODD_NAMES = ("a b.txt", "100%.txt", "a%20b.txt", "no#1.txt", "why?.txt", "a+b&c=d.txt", "Ünïcode – 文.txt", "[x]*.txt", "deep/er/f.txt")


def test_an_object_comes_back_as_it_was_put_also_an_empty_one(bucket: str, tmp_path: Path) -> None:
    for name, content in {"one": b"1" * 100_000, "empty": b""}.items():
        assert filesystem.write_atomically(f"s3://{bucket}/{name}", content) == len(content)
        assert filesystem.read_bytes(f"s3://{bucket}/{name}") == content
        assert filesystem.size_of(f"s3://{bucket}/{name}") == len(content)
    file = tmp_path / "file"
    file.write_bytes(os.urandom(3 << 20))
    filesystem.write_atomically(f"s3://{bucket}/one", file)
    assert filesystem.read_bytes(f"s3://{bucket}/one") == file.read_bytes()


def test_a_large_object_is_sent_in_parts_and_read_from_any_place(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "SINGLE_PUT", 1 << 20)
    content = os.urandom(20 << 20)
    uri = f"s3://{bucket}/large"
    s3.put(uri, io.BytesIO(content))
    with s3.open_read(uri) as stream:
        assert stream.read(10) == content[:10]
        assert stream.seek(-7, os.SEEK_END) == len(content) - 7
        assert stream.read() == content[-7:]
        stream.seek(11 << 20)
        assert stream.read(1000) == content[11 << 20 : (11 << 20) + 1000]
        stream.seek(0)
        assert stream.read() == content


def test_a_block_that_raises_publishes_nothing(bucket: str) -> None:
    def write_half() -> None:
        with filesystem.publishing(f"s3://{bucket}/half") as target:
            target.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert filesystem.size_of(f"s3://{bucket}/half") is None
    assert not filesystem.exists(f"s3://{bucket}/half")


def test_listing_one_folder_or_all_below_it_and_deleting_them(bucket: str) -> None:
    for name in ("a", "b/c", "b/d/e", "bb"):
        filesystem.write_atomically(f"s3://{bucket}/run/{name}", name.encode())
    assert filesystem.list_folder(f"s3://{bucket}/run") == [("a", 1), ("bb", 2)]
    assert filesystem.list_folder(f"s3://{bucket}/run/b", recursive=True) == [("c", 3), ("d/e", 5)]
    assert filesystem.list_folder(f"s3://{bucket}/not/there") == []
    assert filesystem.delete(f"s3://{bucket}/run/a")
    assert not filesystem.delete(f"s3://{bucket}/run/a")
    filesystem.delete_folder(f"s3://{bucket}/run/b")
    assert filesystem.list_folder(f"s3://{bucket}/run", recursive=True) == [("bb", 2)]


def test_names_of_any_kind_are_listed_and_fetched_under_their_own_uri(bucket: str, tmp_path: Path) -> None:
    for name in ODD_NAMES:
        filesystem.write_atomically(f"s3://{bucket}/odd/{name}", name.encode())
    found = {reference.uri: reference for reference in list_files(f"s3://{bucket}/odd")}
    assert set(found) == {f"s3://{bucket}/odd/{name}" for name in ODD_NAMES}
    for name in ODD_NAMES:
        reference = found[f"s3://{bucket}/odd/{name}"]
        assert fetch(reference, tmp_path / "document", limit_bytes=1 << 20) == reference.size
        assert (tmp_path / "document").read_bytes() == name.encode()
        assert filesystem.name_of(reference.uri) == name.rpartition("/")[2]


def test_globs_and_folders_on_a_store(bucket: str) -> None:
    for name in ("a.txt", "b.md", "x/c.txt", "x/y/d.txt", "xx/e.txt", "folder/"):
        filesystem.write_atomically(f"s3://{bucket}/lib/{name}", b"x")

    def names(pattern: str) -> list[str]:
        return sorted(reference.uri.removeprefix(f"s3://{bucket}/lib/") for reference in list_files(f"s3://{bucket}/{pattern}"))

    assert names("lib") == names("lib/") == ["a.txt", "b.md", "x/c.txt", "x/y/d.txt", "xx/e.txt"]
    assert names("lib/*.txt") == ["a.txt"]
    assert names("lib/**.txt") == ["a.txt", "x/c.txt", "x/y/d.txt", "xx/e.txt"]
    assert names("lib/**/*.txt") == ["a.txt", "x/c.txt", "x/y/d.txt", "xx/e.txt"]
    assert names("lib/x/**") == ["x/c.txt", "x/y/d.txt"]
    assert names("lib/a.txt") == ["a.txt"]
    with pytest.raises(MissingInput, match="matches no file"):
        names("lib/*.pdf")


def test_ten_thousand_keys_are_listed_each_once(bucket: str) -> None:
    uris = [f"s3://{bucket}/many/{number:05d}.txt" for number in range(10_000)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda uri: s3.put(uri, b"x"), uris))
    assert [reference.uri for reference in list_files(f"s3://{bucket}/many")] == uris
    assert len(filesystem.list_folder(f"s3://{bucket}/many")) == 10_000


def test_the_etag_is_the_version_and_an_object_that_changed_is_not_taken_for_the_one_that_was_listed(bucket: str, tmp_path: Path) -> None:
    uri = f"s3://{bucket}/a.txt"
    filesystem.write_atomically(uri, b"first")
    listed = next(list_files(uri))
    assert listed == find_version(DocumentReference(uri=uri))
    assert listed.version == "5-8b04d5e3775d298e78455efc5ca404d5"  # MD5 of the content: a single put without encryption
    filesystem.write_atomically(uri, b"other")
    with pytest.raises(DecodeError, match="has changed since it was listed") as error:
        fetch(listed, tmp_path / "document", limit_bytes=100)
    assert error.value.status is Status.FETCH_FAILED
    assert not (tmp_path / "document").exists()


def test_what_is_not_there_or_not_allowed_is_said_in_a_sentence(bucket: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=f"^there is no object s3://{bucket}/gone$"):
        s3.open_read(f"s3://{bucket}/gone")
    with pytest.raises(FileNotFoundError, match=r"^there is no bucket no-such-bucket$"):
        s3.put("s3://no-such-bucket/a", b"")
    with pytest.raises(MissingInput, match="there is no bucket no-such-bucket"):
        list(list_files("s3://no-such-bucket/lib"))
    with pytest.raises(ValueError, match="names no bucket"):
        s3.check("s3://")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setattr(s3, "_clients", {})
    with pytest.raises(PermissionError, match=f"refuses these credentials for s3://{bucket} .SignatureDoesNotMatch"):
        s3.put(f"s3://{bucket}/a", b"")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setattr(s3, "_clients", {})
    with pytest.raises(PermissionError, match="there are no credentials"):
        s3.put(f"s3://{bucket}/a", b"")


def test_a_broken_connection_is_opened_again_where_it_was(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = os.urandom(9 << 20)
    s3.put(f"s3://{bucket}/a", content)
    with s3.open_read(f"s3://{bucket}/a") as stream:
        first = stream.read(3 << 20)
        stream.raw._body._raw_stream._fp.fp.raw._sock.shutdown(2)  # type: ignore[attr-defined] # the socket under it all
        assert first + stream.read() == content


def test_a_server_that_starts_again_meanwhile_is_waited_for(mortal_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in mortal_server.environment(AWS_MAX_ATTEMPTS="30").items():  # a machine with much to do starts it slowly
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(s3, "_clients", {})
    mortal_server.client().create_bucket(Bucket="library")
    s3.put("s3://library/a", b"kept")
    mortal_server.kill()
    with ThreadPoolExecutor(1) as threads:
        read = threads.submit(filesystem.read_bytes, "s3://library/a")
        mortal_server.start()
        assert read.result() == b"kept"


def test_a_server_that_is_gone_ends_in_a_sentence_and_one_that_comes_back_is_used_again(
    mortal_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in mortal_server.environment(AWS_MAX_ATTEMPTS="2").items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(s3, "_clients", {})
    mortal_server.client().create_bucket(Bucket="library")
    s3.put("s3://library/a", b"kept")
    mortal_server.kill()
    with pytest.raises(s3.StoreError, match=r"^the store of s3://library/a cannot be reached: "):
        s3.open_read("s3://library/a")
    mortal_server.start()
    assert filesystem.read_bytes("s3://library/a") == b"kept"
