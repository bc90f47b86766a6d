"""How fast a TrustGraph takes documents, and how much of that a load makes of it.

    make trustgraph-up
    PYTHONPATH=.:tests/object_store:tests/trustgraph:tests/sinks python benchmarks/load_throughput.py .make/trustgraph/2.11.1

The yardstick is `add-document` alone, over as many connections, before and after each load: what else the machine does shows in both.
"""

import argparse
import os
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from handmade_run import make_run
from stack import TOKEN, Stack

from transforms.trustgraph.gateway import Gateway, Token
from transforms.trustgraph.run_documents import shards_of
from transforms.trustgraph.sending import Loaded, Loader, LoadTask

ADDED = 100
"""Documents of one measurement of the yardstick."""


def main() -> None:
    """Measures, and prints a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of a stack that runs")
    parser.add_argument("--documents", type=int, default=200, help="of the run; three times as many of the library")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--every-quad", action="store_true")
    found = parser.parse_args()
    stack = Stack(found.folder)
    print(f"TrustGraph {stack.version}, a run of {found.documents} references")
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), found.documents, shards=1)
        for connections in found.connections:
            workspace = f"load-{os.getpid()}-{connections}"
            stack.add_workspace(workspace).close()
            before = added(stack, workspace, connections)
            seconds, loaded = load(stack, workspace, run, connections, found.every_quad)
            after = added(stack, workspace, connections)
            print(
                f"{connections} connections: add-document alone {before:.1f}/s before and {after:.1f}/s after; load "
                f"{loaded.sent / seconds:.1f} documents/s with {loaded.quads / seconds:.0f} quads/s counted back ({loaded.sent} and "
                f"{loaded.quads} in {seconds:.1f} s)"
            )
            sys.stdout.flush()


def added(stack: Stack, workspace: str, connections: int) -> float:
    """Documents a second, of add-document alone."""
    gateway = Gateway(stack.url, Token(TOKEN), workspace)
    names = [f"urn:{uuid.uuid4()}" for _ in range(ADDED)]

    def add(name: str) -> None:
        metadata = {"id": name, "time": 1, "kind": "text/plain", "title": "Page 1", "parent-id": "urn:doc", "document-type": "page"}
        gateway.add_document(metadata, b"Lenses bend light. " * 30)

    began = time.monotonic()
    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(add, names))
    gateway.close()
    return ADDED / (time.monotonic() - began)


def load(stack: Stack, workspace: str, run, connections: int, every_quad: bool) -> tuple[float, Loaded]:
    """Seconds, and what was loaded."""
    markers = str(run.folder / "loads" / workspace)
    task = LoadTask(str(run.output), markers, stack.url, workspace, "default", "", connections=connections, rate=1e6, every_quad=every_quad)
    gateway = Gateway(stack.url, Token(TOKEN), workspace, streams=connections)
    loader = Loader(task, gateway)
    began = time.monotonic()
    total = Loaded()
    for number, parts in enumerate(shards_of(run.manifest, str(run.folder))):
        total = total.plus(loader.load(str(number), parts))
    seconds = time.monotonic() - began
    loader.close()
    gateway.close()
    return seconds, total


if __name__ == "__main__":
    main()
