"""Decoders of PDFs in ranges of pages, in which some ranges do what a page may do to a parser; all else is decoded for real."""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transforms import decode


def decode_file(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A range with page 3 does what the document's name says: sleep, eat, crash, or leave nothing; `all-…`: each range does."""
    name = request["reference"]["uri"].rpartition("/")[2]
    first, last = request.get("pages", (0, -1))
    if first <= last and (name.startswith("all-") or first <= 3 <= last):
        if "sleep" in name:
            threading.Event().wait()
        if "eat" in name:
            eaten = []
            while True:
                eaten.append(bytearray(os.urandom(1 << 20) * 16))
        if "crash" in name:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "nothing" in name:
            return {"blobs": []}
    return decode.decode_file(request, folder)


def stop_at_page_3(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Ranges from page 3 on are never done."""
    if request.get("pages", (0, 0))[0] >= 3:
        threading.Event().wait()
    return decode.decode_file(request, folder)


def only_from_page_3(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Ranges before page 3 end their child."""
    if request.get("pages", (3, 3))[0] < 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    return decode.decode_file(request, folder)


def main(library: str, output: str, decoder: str, *arguments: str) -> None:
    """Runs the job with one of these decoders, in this process."""
    from test_pdf_ranges import decode_with

    decode_with(f"hostile_ranges:{decoder}", Path(library), Path(output), *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
