"""No document calls home, and none reads a file of the host: by the libraries' own conduct, and again through the fenced job.

The oracles are a server that must see no connection, and a secret that must stand nowhere.
"""

import socket
from pathlib import Path

import pytest
import seeds
import spies
from runs import FinishedRun, backfill

from transforms.decode import Decoding, decode_document
from transforms.model import DecodedDocument, DocumentReference, Status
from transforms.partition.formats import SOFFICE
from transforms.settings import DecodeSettings

SECRET = "the launch code is 73194"


class Server:
    """Listens on this host, and remembers who has come."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._socket.setblocking(False)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def asked_for(self) -> list[bytes]:
        """The first line of each request, those that say nothing too."""
        lines = []
        while True:
            try:
                connection, _ = self._socket.accept()
            except BlockingIOError:
                return lines
            with connection:
                connection.settimeout(1.0)
                try:
                    lines.append(connection.recv(200).split(b"\r\n")[0])
                except OSError:
                    lines.append(b"")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    return path


def decode(path: Path) -> list[DecodedDocument]:
    decoding = Decoding(DecodeSettings(), "2026-01-31T10:00:00Z")
    return decode_document(path, DocumentReference(path.as_uri()), decoding)


def holds_secret(document: DecodedDocument) -> bool:
    texts = [
        document.title,
        document.creator,
        document.reason,
        document.traceback,
        *document.warnings,
        *(text.text for text in document.texts),
    ]
    return any(SECRET in text for text in texts) or any(SECRET.encode() in image.picture.data for image in document.images)


NAMES = [name for name, _ in spies.spies("http://127.0.0.1:9", "/none")]


@pytest.mark.parametrize("name", NAMES)
def test_a_document_neither_calls_home_nor_reads_the_host(name, server, secret, tmp_path):
    path = tmp_path / name
    path.write_bytes(dict(spies.spies(server.url, str(secret)))[name])
    documents = decode(path)
    assert server.asked_for() == []
    assert not any(map(holds_secret, documents))
    assert documents[0].status in (Status.OK, Status.CORRUPT), documents[0].reason
    assert [entry.name for entry in tmp_path.iterdir()] == sorted({"secret.txt", name}, key=[e.name for e in tmp_path.iterdir()].index)


@pytest.mark.skipif(not SOFFICE.is_available(), reason="LibreOffice is not installed")
def test_a_document_that_libreoffice_reads_does_not_call_home(server, secret, tmp_path):
    from transforms.partition.office.conversion import soffice

    source = tmp_path / "source"
    source.write_bytes(spies.odt(spies.linked_frame(f"{server.url}/picture.png") + spies.linked_frame(f"file://{secret}")))
    made = soffice(source, ".odt", "doc", "MS Word 97")
    server.asked_for()
    assert server.url.encode("utf-16-le") in made.read_bytes() or server.url.encode() in made.read_bytes()
    documents = decode(made)
    assert server.asked_for() == []
    assert not any(map(holds_secret, documents))
    assert documents[0].status is Status.OK


def test_the_whole_job_over_all_of_them_asks_nobody_and_tells_nothing(server, secret, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    for name, data in spies.spies(server.url, str(secret)):
        (library / name).write_bytes(data)
    run: FinishedRun = backfill(library, tmp_path / "out", "--children", "2")
    assert server.asked_for() == []
    assert set(run.statuses().values()) <= {"ok", "corrupt"}
    assert set(NAMES) <= set(run.statuses())
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
    assert SECRET not in str([run.rows(dataset) for dataset in ("text_documents", "images", "documents")])
    assert SECRET not in "\n".join(run.quads())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "out", "secret.txt"]


def test_the_oracle_sees_who_comes(server):
    socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))).sendall(b"GET /x HTTP/1.1\r\n")
    assert server.asked_for() == [b"GET /x HTTP/1.1"]
    assert seeds.SENTENCE
