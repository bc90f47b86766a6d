import base64
import errno
import json
import os
import resource
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from apache_beam.io.filesystem import BeamIOError

from transforms.backoff import Backoff
from transforms.model import DecodeError, DocumentReference, Stage, Status
from transforms.references import fetch as fetch_module
from transforms.references.fetch import fetch
from transforms.references.listing import find_version, list_files
from transforms.references.manifest_files import read_references
from transforms.storage import filesystem

LIMIT = 3_000_000


def listed(path: Path) -> DocumentReference:
    (reference,) = list_files(str(path))
    return reference


def failure(
    reference: DocumentReference, destination: Path, backoff: Backoff | None = None, limit: int = LIMIT
) -> tuple[Status, Stage, str]:
    destination.write_bytes(b"of the last document")
    with pytest.raises(DecodeError) as caught:
        fetch(reference, destination, limit_bytes=limit, backoff=backoff)
    assert not destination.exists()
    return caught.value.status, caught.value.stage, caught.value.message


@pytest.mark.parametrize("size", [0, 1, fetch_module.CHUNK_BYTES, 2 * fetch_module.CHUNK_BYTES + 1])
def test_the_bytes_arrive(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "a #%.pdf").write_bytes(content)
    assert fetch(listed(tmp_path / "a #%.pdf"), tmp_path / "copy", limit_bytes=LIMIT) == size
    assert (tmp_path / "copy").read_bytes() == content


def test_the_limit_is_told_before_a_byte_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    for reference in (listed(tmp_path / "a"), DocumentReference(uri=(tmp_path / "a").as_uri())):
        sentence = f"{reference.uri} has 5 bytes, over the limit of 4 bytes; --max-document-size sets it (in MiB)."
        assert failure(reference, tmp_path / "copy", limit=4) == (Status.TOO_LARGE, Stage.FETCH, sentence)
        assert fetch(reference, tmp_path / "copy", limit_bytes=5) == 5


def test_the_limit_holds_for_a_download_of_unknown_size(tmp_path: Path, store: Any) -> None:
    store.objects["shelf://b/a"] = b"x" * LIMIT
    sentence = "shelf://b/a has more than the limit of 2,999,999 bytes; --max-document-size sets it (in MiB)."
    assert failure(DocumentReference(uri="shelf://b/a"), tmp_path / "copy", limit=LIMIT - 1) == (Status.TOO_LARGE, Stage.FETCH, sentence)
    assert fetch(DocumentReference(uri="shelf://b/a"), tmp_path / "copy", limit_bytes=LIMIT) == LIMIT


def test_what_changed_since_the_listing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"123")
    reference = listed(path)
    path.write_bytes(b"12")
    assert failure(reference, tmp_path / "copy") == (
        Status.FETCH_FAILED,
        Stage.FETCH,
        f"{reference.uri} has changed since it was listed: it has 2 bytes, not 3.",
    )
    path.write_bytes(b"321")
    os.utime(path, ns=(1, 1))
    assert failure(reference, tmp_path / "copy")[2] == f"{reference.uri} has changed since it was listed: it was written to again."
    path.unlink()
    assert failure(reference, tmp_path / "copy")[2] == f"{reference.uri} is gone since it was listed."
    path.mkdir()
    assert failure(reference, tmp_path / "copy")[2] == f"{reference.uri} is a folder, not a file."
    path.rmdir()
    os.mkfifo(path)
    assert failure(reference, tmp_path / "copy")[2] == f"{reference.uri} is a pipe, not a file."
    never = DocumentReference(uri="file:///never/was/there.pdf")
    assert failure(never, tmp_path / "copy")[2] == "There is no file file:///never/was/there.pdf."


def test_a_version_of_the_users_own_is_not_compared(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    assert fetch(listed(tmp_path / "a")._replace(version="v7"), tmp_path / "copy", limit_bytes=LIMIT) == 3


def test_a_file_that_may_not_be_read(open_folder: Path, not_root: Callable[[], AbstractContextManager[None]]) -> None:
    (open_folder / "a").write_bytes(b"123")
    (open_folder / "a").chmod(0)
    with not_root():
        reference = listed(open_folder / "a")
        assert failure(reference, open_folder / "copy")[2] == f"{reference.uri} may not be read: permission denied."


def test_a_problem_of_the_listing_is_the_reason(tmp_path: Path) -> None:
    assert failure(DocumentReference(uri="file:///a", problem="It is a pipe."), tmp_path / "copy") == (
        Status.FETCH_FAILED,
        Stage.REFERENCE,
        "It is a pipe.",
    )


def test_inline_data(tmp_path: Path) -> None:
    path = tmp_path / "refs.jsonl"
    path.write_text(json.dumps({"data": base64.b64encode(b"12345").decode()}))
    (reference,) = read_references(str(path))
    assert fetch(reference, tmp_path / "copy", limit_bytes=5) == 5
    assert (tmp_path / "copy").read_bytes() == b"12345"
    assert failure(reference, tmp_path / "copy", limit=4)[0] == Status.TOO_LARGE
    path.write_text("{}")
    assert "has changed since it was listed" in failure(reference, tmp_path / "copy")[2]
    path.unlink()
    assert failure(reference, tmp_path / "copy")[2] == f"{path.as_uri()}#line=1 is gone since it was listed."


def test_failures_that_may_pass_are_tried_again_with_growing_delays(tmp_path: Path, store: Any) -> None:
    store.objects["shelf://b/a"] = b"123"
    delays: list[float] = []
    backoff = Backoff(attempts=4, first=1, factor=2, longest=3, sleep=delays.append, chance=lambda: 0.5)
    store.failures = [
        BeamIOError("503 Slow Down"),
        TimeoutError("timed out"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    ]
    reference = DocumentReference(uri="shelf://b/a", size=3, version="v")
    assert fetch(reference, tmp_path / "copy", limit_bytes=LIMIT, backoff=backoff) == 3
    assert delays == [0.75, 1.5, 2.25]
    store.failures = [BeamIOError("503 Slow Down")] * 4
    assert failure(reference, tmp_path / "copy", backoff)[2] == "shelf://b/a cannot be read: 503 Slow Down (tried 4 times)."
    store.cut_short = 1
    assert fetch(reference, tmp_path / "copy", limit_bytes=LIMIT, backoff=backoff) == 3
    store.cut_short = 4
    assert failure(reference, tmp_path / "copy", backoff)[2] == "shelf://b/a cannot be read: it ended after 1 of 3 bytes (tried 4 times)."
    store.objects["shelf://b/a"] = b"1234"
    assert failure(reference, tmp_path / "copy")[2] == "shelf://b/a has changed since it was listed: it has 4 bytes, not 3."


@pytest.mark.parametrize(
    ("uri", "error", "sentence"),
    [
        ("shelf://b/gone", None, "There is no file shelf://b/gone."),
        ("shelf://b/a", PermissionError(errno.EACCES, "denied"), "shelf://b/a may not be read: permission denied."),
        ("nowhere://b/a", None, "nowhere://b/a cannot be read: there is no file system for nowhere:// here: use a local path, or one of "),
        ("file://host/a", None, "file://host/a names the file of another host: use file:///, or a plain path."),
    ],
)
def test_what_will_not_pass_is_tried_once(tmp_path: Path, store: Any, uri: str, error: Exception | None, sentence: str) -> None:
    store.failures = [error] if error else []
    delays: list[float] = []
    assert failure(DocumentReference(uri=uri), tmp_path / "copy", Backoff(sleep=delays.append))[2].startswith(sentence)
    assert delays == []


def test_a_store_whose_package_is_missing_costs_its_documents_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Beam 2.77.0 raises a RuntimeError for it, once its options are set: as in every worker.
    monkeypatch.setattr(filesystem, "FILE_SYSTEMS", {"s3": ("aws", "no_such_package")})
    filesystem._missing_scheme.cache_clear()
    filesystem.configure()
    reference = DocumentReference("s3://b/a")
    assert find_version(reference) == reference
    assert failure(reference, tmp_path / "copy")[2].startswith(
        "s3://b/a cannot be read: there is no file system for s3:// here: pip install 'apache-beam[aws]=="
    )
    filesystem._missing_scheme.cache_clear()


def test_a_full_or_missing_work_folder_is_not_blamed_on_the_document(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    with pytest.raises(DecodeError) as caught:
        fetch(listed(tmp_path / "a"), tmp_path / "none" / "copy", limit_bytes=LIMIT)
    assert caught.value.message == f"The work folder {tmp_path}/none cannot take the document: no such file or directory."
    (tmp_path / "big").write_bytes(b"x" * LIMIT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT - 1, hard))
    try:
        with pytest.raises(DecodeError) as caught:
            fetch(listed(tmp_path / "big"), tmp_path / "copy", limit_bytes=LIMIT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.message == f"The work folder {tmp_path} cannot take the document: file too large."
    assert not (tmp_path / "copy").exists()


def test_a_link_in_the_work_folder_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "precious").write_bytes(b"kept")
    (tmp_path / "copy").symlink_to(tmp_path / "precious")
    assert fetch(listed(tmp_path / "a"), tmp_path / "copy", limit_bytes=LIMIT) == 3
    assert (tmp_path / "precious").read_bytes() == b"kept"
    assert (tmp_path / "copy").read_bytes() == b"123"


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"123")
    reference = listed(path)
    real = fetch_module.open_read

    def open_and_let_grow(uri: str) -> Any:
        stream = real(uri)
        with path.open("ab") as growing:
            growing.write(b"4")
        return stream

    monkeypatch.setattr(fetch_module, "open_read", open_and_let_grow)
    assert failure(reference, tmp_path / "copy")[2] == f"{reference.uri} has changed since it was listed: it has 4 bytes, not 3."
