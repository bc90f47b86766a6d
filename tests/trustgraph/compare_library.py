"""Decodes the files of a folder by path and out of a TrustGraph's library, and compares what came of them, value by value.

    make trustgraph-up
    PYTHONPATH=.:tests/end_to_end:tests/object_store:tests/trustgraph python tests/trustgraph/compare_library.py FOLDER --documents 60

The files are put in by TrustGraph's own client, each with the MIME type of its extension. Exit code 1 where anything differs.
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

from library_of_test import LibraryOfTest, rows_by_id
from runs import backfill
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
    library = LibraryOfTest(stack, name, stack.add_workspace(name, flow=False))
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
    return 1 if differences else 0


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
