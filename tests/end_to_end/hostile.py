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
    """Behaves as the first word of the document says; any other document is decoded for real.

    The mark in the command of a helper is the document's URI: by it a test finds what is left of it.
    """
    word = (folder / decode.DOCUMENT).read_bytes()[:40].split(b" ")[0]
    helper = [sys.executable, "-c", "import time; time.sleep(10_000)", request["reference"]["uri"]]
    if word == b"sleep":
        subprocess.Popen(helper)
        time.sleep(10_000)
    if word == b"eat":
        subprocess.Popen(helper, start_new_session=True)
        eaten = []
        while True:
            eaten.append(bytearray(os.urandom(1 << 20) * 16))
    if word == b"crash":
        subprocess.Popen(helper)
        os.kill(os.getpid(), signal.SIGSEGV)
    return decode.decode_file(request, folder)
