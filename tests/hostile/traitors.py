"""Decoders that a document has taken over, run by test_traitors: each leaves or answers something that shall harm the owner."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    return {**answer, "blobs": [f"blobs/sha256/ab/{name}"]}


def do_blobfolderlink(folder, answer, secret):
    (folder / decode.BLOBS).rmdir()
    (folder / decode.BLOBS).symlink_to(Path(secret).parent)
    return {**answer, "blobs": [Path(secret).name]}


def do_blobescape(folder, answer, secret):
    (folder / decode.BLOBS / "escaped").write_text("x")
    return {**answer, "blobs": ["../escaped"]}


def do_blobother(folder, answer, _):
    """In the place of the picture of another document."""
    name = f"{'ab' * 32}.png"
    (folder / decode.BLOBS / name).write_bytes(b"another picture")
    return {**answer, "blobs": [f"blobs/sha256/ab/{name}"]}


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


def _connection():
    """The child's own connection to its owner: the lowest socket that it has open."""
    for descriptor in range(3, 64):
        try:
            return socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
    raise LookupError
