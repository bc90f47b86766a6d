"""How fast documents come out of a TrustGraph, and how much of that a backfill makes of it.

    make trustgraph-up
    PYTHONPATH=.:tests/object_store:tests/trustgraph python benchmarks/librarian_throughput.py .make/trustgraph/2.11.1 --documents 400

Small texts tell of requests, a few large ones of bytes. The gateway's own `document-stream` over HTTP is the yardstick: what a single
`curl` gets, without a size, an error or another try.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import requests
from stack import TOKEN, Stack

from transforms.trustgraph.gateway import Gateway, Token
from transforms.trustgraph.library import Place, document_uri

LARGE = 16 << 20
LARGE_DOCUMENTS = 4


def main() -> None:
    """Measures, and prints a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of a stack that runs")
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--children", type=int, default=2)
    found = parser.parse_args()
    stack = Stack(found.folder)
    workspace = f"throughput-{os.getpid()}"
    library = stack.add_workspace(workspace, flow=False)
    large = stack.add_workspace(f"{workspace}-large", flow=False)
    names = [f"urn:doc:{number}" for number in range(found.documents)]
    for name in names:
        library.add_document({"id": name, "kind": "text/plain", "time": 1, "title": ""}, f"The text of {name}. ".encode() * 40)
    large_names = [f"urn:large:{number}" for number in range(LARGE_DOCUMENTS)]
    for name in large_names:
        large.add_document({"id": name, "kind": "text/plain", "time": 1, "title": ""}, os.urandom(LARGE))
    megabytes = LARGE * LARGE_DOCUMENTS / (1 << 20)

    def by_http(client: Gateway, name: str) -> None:
        url = document_uri(Place(client.url, client.workspace, name))
        requests.get(url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=120).raise_for_status()

    def by_websocket(client: Gateway, name: str) -> None:
        for _part in client.stream_document(name):
            pass

    print(f"TrustGraph {stack.version}, {found.documents} texts of 1 kB, {LARGE_DOCUMENTS} documents of {LARGE >> 20} MiB")
    for label, read in (("HTTP document-stream", by_http), ("websocket, as the job reads", by_websocket)):
        for streams in (1, 2, 4, 8):
            small_seconds = timed(read, stack, workspace, names[:200], streams)
            large_seconds = timed(read, stack, f"{workspace}-large", large_names, min(streams, LARGE_DOCUMENTS))
            print(f"{label}, {streams} at a time: {200 / small_seconds:.1f} documents/s, {megabytes / large_seconds:.1f} MiB/s")
    with tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-m", "pipeline", "backfill", "--librarian", stack.url, "--workspace", workspace, "--output", output]
        for label, more in (("all decoded", ()), ("nothing to decode", ())):
            began = time.monotonic()
            run = [*command, "--children", str(found.children), *more]
            subprocess.run(run, check=True, env={**os.environ, **stack.environment()}, capture_output=True)
            seconds = time.monotonic() - began
            print(f"backfill --librarian, {found.children} children, {label}: {seconds:.1f} s, {found.documents / seconds:.1f} documents/s")


def timed(read: Callable[[Gateway, str], None], stack: Stack, workspace: str, names: Sequence[str], streams: int) -> float:
    """Seconds to read all, so many at a time."""
    client = Gateway(stack.url, Token(TOKEN), workspace, streams=streams)
    remaining = list(names)
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not remaining:
                    return
                name = remaining.pop()
            read(client, name)

    threads = [threading.Thread(target=work) for _ in range(streams)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    return time.monotonic() - began


if __name__ == "__main__":
    main()
