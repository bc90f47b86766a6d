"""Decodes the files of a folder by path and out of a TrustGraph's library, and compares what came of them, value by value. Then brings it
back to TrustGraph, has its chunker read every text, and compares what the library and the graph hold, from each chunk up to its document.

    make compare-trustgraph FOLDER=… [TRUSTGRAPH=2.9.12]

The files (60 of them, the formats in turn) are put in by TrustGraph's own client, each with the MIME type of its extension.
Exit code 1 where anything differs, or is not there.
"""

import argparse
import hashlib
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from handmade_run import RUN, HandmadeRun
from library_contents import chain_of, found_graph, found_library, parents, until, wanted_graph, wanted_library
from library_of_test import LibraryOfTest, rows_by_id
from runs import FinishedRun, backfill
from stack import FOLDER, VERSIONS, Stack

from transforms.partition.formats import by_extension

LARGEST = 2 << 20
"""Bytes: TrustGraph's client sends what is larger in parts of 3 MiB, which S3 refuses (2.9.12, 2.11.1)."""


def main() -> int:
    """Compares, and prints what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stack", type=Path, default=FOLDER / VERSIONS[0], help="folder of one that runs (default: %(default)s)")
    found = parser.parse_args()
    stack = Stack(found.stack)
    name = f"compare-{os.getpid()}"
    library = LibraryOfTest(stack, name, stack.add_workspace(name))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "files").mkdir()
        files = [Path(shutil.copy(file, Path(folder, "files", f"{number:04d}-{file.name}"))) for number, file in enumerate(chosen(found))]
        ids = library.upload(*({"path": str(file), "kind": by_extension(file.name).mime_type, "title": file.stem} for file in files))
        print(f"{len(set(ids))} documents in TrustGraph {stack.version}", flush=True)
        began = time.monotonic()
        by_path = backfill(Path(folder, "files"), Path(folder, "path"))
        print(f"by path: {time.monotonic() - began:.1f} s", flush=True)
        differences = 0
        for label, source in (("gateway", ()), ("store", library.store)):
            began = time.monotonic()
            run = library.backfill(Path(folder, label), *source)
            print(f"by {label}: {time.monotonic() - began:.1f} s", flush=True)
            for dataset in ("text_documents", "images", "documents"):
                here, there = rows_by_id(by_path, dataset), rows_by_id(run, dataset)
                differing = [key for key in here.keys() | there.keys() if here.get(key) != there.get(key)]
                print(
                    f"  {dataset}: {len(here)} rows by path, {len(there)} by {label}, {len(differing)} differ {differing[:5]}", flush=True
                )
                differences += len(differing)
        differences += bring_back(library, Path(folder, "gateway"))
    return 1 if differences else 0


def bring_back(library: LibraryOfTest, output: Path) -> int:
    """Loads a run of the library and looks for all of it. Returns how much is missing or different."""
    run = HandmadeRun(output, FinishedRun(output, RUN).manifest)
    began = time.monotonic()
    said = library.run(
        "load", run.folder, "--gateway", library.stack.url, "--workspace", library.workspace, "--start-processing", "default"
    )
    print(f"load: {time.monotonic() - began:.1f} s\n{said.rstrip()}", flush=True)

    texts = {row["id"] for row in run.rows("text_documents")}
    chunks = until(lambda: chunks_of(library, texts), "not every text is chunked")
    documents = {row["document_id"] for row in run.rows("documents")}
    wanted, found = wanted_library(run, sources=False), found_library(library, without=("chunk",))
    misplaced = [name for name, facts in wanted.items() if found.get(name) != facts]
    stray = found.keys() - wanted.keys() - documents
    print(f"  library: {len(found)} documents, {len(wanted)} of them below another, {len(misplaced)} differ, {len(stray)} are of nobody")

    quads = wanted_graph(run)
    missing = quads - found_graph(library, run)
    print(f"  graph: {len(quads)} quads, {len(missing)} missing {sorted(missing)[:3]}")

    broken = [name for name in texts if not reaches(library, chunks[name], name, documents)]
    pieces = sum(map(len, chunks.values()))
    print(f"  chunks: {pieces} of {len(texts)} texts; from {len(broken)} of these no chain reaches a document {broken[:3]}")
    return len(misplaced) + len(stray) + len(missing) + len(broken)


def chunks_of(library: LibraryOfTest, texts: set[str]) -> dict[str, list[str]]:
    """The chunks of each text; nothing as long as a text has none."""
    found: dict[str, list[str]] = {}
    for row in library.gateway.list_documents():
        if row["document-type"] == "chunk":
            found.setdefault(row["parent-id"], []).append(row["id"])
    return found if found.keys() >= texts else {}


def reaches(library: LibraryOfTest, chunks: Sequence[str], text: str, documents: set[str]) -> bool:
    """Whether the way up from a text's last chunk goes by the text and ends at a document."""
    until(lambda: parents(library, chunks[-1]), "a chunk has no parent in the graph")
    chain = chain_of(library, chunks[-1])
    return chain[1] == text and chain[-1] in documents


def chosen(found: argparse.Namespace) -> Sequence[Path]:
    """Files of a known extension, each content once, the formats in turn."""
    formats: dict[str, list[Path]] = {}
    seen: set[bytes] = set()
    for file in sorted(found.folder.rglob("*")):
        known = by_extension(file.name)
        if known and file.is_file() and 0 < file.stat().st_size < LARGEST:
            digest = hashlib.sha256(file.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                formats.setdefault(known.name, []).append(file)
    generator = random.Random(found.seed)
    for files in formats.values():
        generator.shuffle(files)

    def in_turn() -> Iterator[Path]:
        while any(formats.values()):
            yield from (files.pop() for files in formats.values() if files)

    return [file for file, _ in zip(in_turn(), range(found.documents), strict=False)]


if __name__ == "__main__":
    sys.exit(main())
