"""Decoders that a test puts in the place of the real one: each does what a document may do to a parser."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transforms import decode


def decode_file(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Behaves as the first word of the document says; any other document is decoded for real."""
    word = (folder / decode.DOCUMENT).read_bytes()[:40].split(b" ")[0]
    if word == b"sleep":
        helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10_000)"])
        report_pids(request, helper.pid)
        time.sleep(10_000)
    if word == b"eat":
        helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10_000)"], start_new_session=True)
        report_pids(request, helper.pid)
        eaten = []
        while True:
            eaten.append(bytearray(os.urandom(1 << 20) * 16))
    if word == b"crash":
        report_pids(request, os.getpid())
        os.kill(os.getpid(), signal.SIGSEGV)
    return decode.decode_file(request, folder)


def report_pids(request: Mapping[str, Any], *pids: int) -> None:
    """Leaves the ids of the processes that must be gone later beside the document (the test made that folder)."""
    source = Path(request["reference"]["uri"].removeprefix("file://"))
    source.with_suffix(".pids").write_text(" ".join(map(str, pids)))
