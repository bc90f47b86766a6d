"""Decoders that a document has taken over, run by test_traitors: each leaves or answers something that shall harm the owner."""

import json
import os
import socket
import struct
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from transforms import decode


def decode_file(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Does what the first word of the document says; any other document is decoded for real."""
    word, _, argument = (folder / decode.DOCUMENT).read_text().partition(" ")
    answer = decode.decode_file(request, folder)
    do = globals().get("do_" + word)
    return do(folder, answer, argument.split("\n")[0]) if do else answer


def do_commitlink(folder, answer, secret):
    (folder / decode.COMMIT).unlink()
    (folder / decode.COMMIT).symlink_to(secret)
    return answer


def do_commitpipe(folder, answer, _):
    (folder / decode.COMMIT).unlink()
    os.mkfifo(folder / decode.COMMIT)
    return answer


def do_commitfolder(folder, answer, _):
    (folder / decode.COMMIT).unlink()
    (folder / decode.COMMIT).mkdir()
    return answer


def do_nocommit(folder, answer, _):
    (folder / decode.COMMIT).unlink()
    return answer


def do_badcommit(folder, answer, _):
    (folder / decode.COMMIT).write_bytes(b"PK\x03\x04 and nothing else")
    return answer


def do_bloblink(folder, answer, secret):
    name = f"{'ab' * 32}.png"
    (folder / decode.BLOBS / name).symlink_to(secret)
    return _with_blob(folder, answer, f"blobs/sha256/ab/{name}")


def do_blobfolderlink(folder, answer, secret):
    (folder / decode.BLOBS).rmdir()
    (folder / decode.BLOBS).symlink_to(Path(secret).parent)
    return _with_blob(folder, answer, f"blobs/sha256/ab/{Path(secret).name}")


def do_blobescape(folder, answer, secret):
    (folder / decode.BLOBS / "escaped").write_text("x")
    return _with_blob(folder, answer, "../escaped")


def do_blobother(folder, answer, _):
    """In the place of the picture of another document."""
    name = f"{'ab' * 32}.png"
    (folder / decode.BLOBS / name).write_bytes(b"another picture")
    return _with_blob(folder, answer, f"blobs/sha256/ab/{name}")


def do_outcome(folder, answer, _):
    return {"outcome": {"status": 7}, "blobs": 5}


def do_status(folder, answer, _):
    return {**answer, "outcome": {**answer["outcome"], "status": "splendid"}}


def do_nothing(folder, answer, _):
    return None


def do_deep(folder, answer, _):
    _connection().sendall((100_000).to_bytes(8, "big") + b"[" * 100_000)
    os._exit(0)


def do_endless(folder, answer, _):
    _connection().sendall((1 << 62).to_bytes(8, "big"))
    os._exit(0)


def do_noise(folder, answer, _):
    _connection().sendall((4).to_bytes(8, "big") + b"\xff\xfe\x00{")
    os._exit(0)


def do_place(folder, answer, _):
    (folder / decode.PLACE).unlink()
    os.mkfifo(folder / decode.PLACE)
    os._exit(3)


def do_places(folder, answer, _):
    """Says each time that it was another attachment."""
    (folder / decode.PLACE).write_text(f"{time.monotonic_ns()}")
    os._exit(3)


def do_brokentexts(folder, answer, _):
    """Whole as a ZIP, and with the outcome that was answered: the writer of the datasets would stumble over it."""
    _rewrite(folder, {"text_documents.arrow": lambda data: data[:200]})
    return answer


def do_outside(folder, answer, _):
    """A text that is said to end far behind the memory that it is in."""

    def change(data):
        with pa.ipc.open_stream(data) as reader:
            size = len(reader.read_all()["text"][0].as_py().encode())
        offsets = data.rindex(struct.pack("<qq", 0, size), 0, data.index(b"outside "))  # they stand before the text itself
        return data[:offsets] + struct.pack("<qq", 0, 1 << 40) + data[offsets + 16 :]

    _rewrite(folder, {"text_documents.arrow": change})
    return answer


def do_bomb(folder, answer, _):
    """Zeros, more of them than a child may have memory."""
    path = folder / decode.COMMIT
    with zipfile.ZipFile(path) as archive:
        outcome = archive.read("outcome.json")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("outcome.json", outcome)
        with archive.open("text_documents.arrow", "w") as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    return answer


def do_norows(folder, answer, _):
    return _reworded(folder, answer, lambda content: content["documents"][0].pop("warnings"))


def do_quads(folder, answer, _):
    _rewrite(folder, {"provenance.nq": lambda data: data.replace(b"<urn:graph:source> .", b"<urn:graph:source> ;", 1)})
    return answer


def do_othergraph(folder, answer, _):
    _rewrite(folder, {"provenance.nq": lambda data: data.replace(b"<urn:graph:source> .", b"<urn:graph:other> .", 1)})
    return answer


def do_otherid(folder, answer, _):
    """Takes the place of another document, which would be its duplicate."""
    own = answer["outcome"]["document_id"]
    _rewrite(folder, {name: lambda data: data.replace(own.encode(), VICTIM.encode()) for name in ("outcome.json", "provenance.nq")})
    return {**answer, "outcome": {**answer["outcome"], "document_id": VICTIM}}


def do_otherrow(folder, answer, _):
    return _reworded(folder, answer, lambda content: content["documents"][0].update(document_id=VICTIM))


def do_othersource(folder, answer, secret):
    return _reworded(folder, answer, lambda content: content["documents"][0].update(source_uri=f"file://{secret}"))


def do_othercollection(folder, answer, _):
    return _reworded(folder, answer, lambda content: content["documents"][0].update(collection="of-others"))


def do_attached(folder, answer, _):
    """A second document, that is attached to nothing of this one."""
    return _reworded(folder, answer, lambda content: content["documents"].append({**content["documents"][0], "parent_document_id": VICTIM}))


def do_letter(folder, answer, secret):
    """A dead letter that has the next run read a file of the host."""
    letter = {"document_id": answer["outcome"]["document_id"], "source_uri": answer["outcome"]["source_uri"], "status": "failed"}
    letter |= {"stage": "partition", "error_class": None, "message": "m", "traceback": None, "reference": {"uri": secret}}

    def change(content):
        content["documents"][0]["status"] = "failed"
        content["dead_letters"].append(letter)

    return _reworded(folder, answer, change)


VICTIM = "https://trustgraph.ai/doc/00000000-0000-0000-0000-000000000000"


def _with_blob(folder, answer, path):
    """Names a picture in the answer, and in the commit."""
    return {**_reworded(folder, answer, lambda content: content["blobs"].append([path, 15])), "blobs": [path]}


def _reworded(folder, answer, change):
    """Changes the outcome of the commit, with counts that fit."""
    found = {}

    def reword(data):
        content = json.loads(data)
        change(content)
        content["outcome"] |= {"documents": len(content["documents"]), "dead_letters": len(content["dead_letters"])}
        content["outcome"]["status"] = content["documents"][0]["status"]
        found.update(content["outcome"])
        return json.dumps(content).encode()

    _rewrite(folder, {"outcome.json": reword})
    return {**answer, "outcome": found}


def _rewrite(folder, changes):
    path = folder / decode.COMMIT
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, changes.get(name, bytes)(data))


def _connection():
    """The child's own connection to its owner: the lowest socket that it has open."""
    for descriptor in range(3, 64):
        try:
            return socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
    raise LookupError
