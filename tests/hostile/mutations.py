"""The mutation run: thousands of broken documents of all formats through the real job, and what must hold after it.

    python tests/hostile/mutations.py --documents 2000 --seed 1

Exits with 1 and says what is broken when something does not hold. The same seed makes the same documents.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SLOW = 5
"""A seed that needs OCR or LibreOffice takes seconds: it is taken so much more rarely."""
EXPLAINED = ("ok", "empty", "duplicate", "needs_ocr", "encrypted", "corrupt", "unsupported", "missing_tool", "too_large")
"""Outcomes that are the document's own; the others are listed one by one."""

Seed = tuple[str, bytes]


# --- the documents -------------------------------------------------------------------------------------------------------------------


def flip(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Changes some bytes, more often few than many."""
    mutated = bytearray(data)
    for _ in range(chance.choice((1, 2, 8, 64, 512))):
        if mutated:
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
    return bytes(mutated)


def truncate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def splice(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """The head of one document and the tail of another."""
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def insert(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Puts something strange in: a piece of another document, zeros, noise, characters that mean something to somebody."""
    place = chance.randrange(len(data) + 1)
    start = chance.randrange(len(other) + 1)
    piece = chance.choice(
        (
            other[start : start + chance.randrange(1, 4096)],
            bytes(chance.randrange(1, 4096)),
            chance.randbytes(chance.randrange(1, 4096)),
            b"\x1b[2J\x1b]0;title\x07",
            "\u202e\ufeff\u0000\ud7ff".encode(),
            b"<" * chance.randrange(1, 3000),
            b"(" * chance.randrange(1, 3000),
            b"{" * chance.randrange(1, 3000),
            b"&amp;" * 50,
            b"99999999999999999999",
            b"-1",
            b"%PDF-1.4",
            b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
        )
    )
    return data[:place] + piece + data[place:]


def cut(data: bytes, other: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + data[place + chance.randrange(1, 2 + len(data) // 2) :]


def repeat(data: bytes, other: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    piece = data[place : place + chance.randrange(1, 2000)]
    return data[:place] + piece * chance.randrange(2, 50) + data[place:]


def inside(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Changes members of an archive and packs it again, so that the container is whole; members of another archive may come in."""
    members, strangers = _members(data), _members(other)
    if not members:
        return chance.choice((flip, insert, repeat))(data, other, chance)
    for name in chance.sample(sorted(members), min(len(members), chance.choice((1, 1, 2, 5)))):
        do = chance.choice(("change", "change", "change", "drop", "swap", "rename"))
        if do == "change":
            members[name] = chance.choice((flip, truncate, insert, cut, repeat))(members[name], other, chance)
        elif do == "swap":
            members[name] = chance.choice(sorted((strangers or members).values()))
        elif do == "rename":
            members[chance.choice((f"../{name}", f"/{name}", name.upper(), f"{name}/x", "\u202e"))] = members.pop(name)
        else:
            del members[name]
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _members(data: bytes) -> dict[str, bytes]:
    found = {}
    with contextlib.suppress(Exception), zipfile.ZipFile(BytesIO(data)) as archive:  # zipfile raises nearly anything over broken ones
        for info in archive.infolist():
            with contextlib.suppress(Exception):
                found[info.filename] = archive.read(info)
    return found


Mutation = Callable[[bytes, bytes, random.Random], bytes]
MUTATIONS: Sequence[Mutation] = (flip, flip, truncate, splice, insert, cut, repeat, inside, inside, inside)


def make_documents(folder: Path, count: int, seed: int, seeds: Sequence[Seed]) -> dict[str, str]:
    """Writes the broken documents.

    Returns:
      File name -> the extension of the seed that it was made from.
    """
    rare = [entry for entry in seeds if _is_slow(*entry)]
    usual = [entry for entry in seeds if entry not in rare]
    origins = {}
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        name, data = chance.choice(rare) if rare and chance.random() < len(rare) / (len(seeds) * SLOW) else chance.choice(usual)
        other_name, other = chance.choice(usual)
        for _ in range(chance.choice((1, 1, 2, 3))):
            data = chance.choice(MUTATIONS)(data, other, chance)
        extension = Path(other_name if chance.random() < 0.1 else name).suffix
        file = f"{number:06d}{extension}"
        (folder / file).write_bytes(data)
        origins[file] = Path(name).suffix
    return origins


def _is_slow(name: str, data: bytes) -> bool:
    return Path(name).suffix in (".doc", ".ppt", ".png", ".gif", ".bmp", ".webp", ".tiff", ".tif", ".jpg", ".jpeg", ".heic") or (
        name.startswith("logbook")
    )


# --- the run -------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What the job left and said."""

    code: int
    said: str
    seconds: float
    output: Path
    temporary: Path
    left_processes: Sequence[str]

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.output / "runs" / "mutations" / "manifest.json").read_text())
        return found

    def rows(self) -> list[dict[str, Any]]:
        import pyarrow.parquet as pq

        return [row for part in sorted((self.output / "runs/mutations/documents").iterdir()) for row in pq.read_table(part).to_pylist()]


def run_job(library: Path, work: Path, *arguments: str) -> Run:
    """Runs the command over a folder, with a folder for temporary files of its own."""
    output, temporary = work / "out", work / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "backfill", "--input", library, "--output", output, "--run-id", "mutations", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    mark = f"TMPDIR={temporary}".encode()
    return Run(done.returncode, done.stdout + done.stderr, time.monotonic() - started, output, temporary, _processes_with(mark))


def _processes_with(mark: bytes) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def broken_promises(run: Run, names: Sequence[str]) -> list[str]:
    """What does not hold of what must hold after any run."""
    if run.code != 0:
        return [f"The job ended with exit code {run.code}: {run.said[-2000:]}"]
    rows = [row for row in run.rows() if not row["parent_document_id"]]
    count = collections.Counter(row["source_uri"].rpartition("/")[2] for row in rows)
    invariant = run.manifest["invariant"]
    outcomes = invariant["ok"] + invariant["empty"] + invariant["duplicate"] + invariant["dead_letters"]
    bare = [row["source_uri"] for row in rows if row["status"] == "ok" and not row["text_chars"] and not row["image_count"]]
    unexplained = [row["source_uri"] for row in rows if row["status"] not in ("ok", "duplicate") and not row["reason"]]
    left = [str(path) for path in run.temporary.rglob("*")]
    half = [str(path) for path in run.output.rglob("*") if path.name.startswith(".")]
    promises = {
        "Files without an outcome": sorted(set(names) - set(count)),
        "Files with more than one": [name for name, times in count.items() if times != 1],
        "The counts do not add up": [] if invariant["matched"] == outcomes == len(names) else [json.dumps(invariant)],
        "Ok without text or images": bare,
        "No reason given": unexplained,
        "Processes left": list(run.left_processes),
        "Temporary files left": left,
        "Half-written files left": half,
        "A traceback on the terminal": [run.said] if "Traceback" in run.said else [],
        "Control characters on the terminal": sorted({repr(c) for c in run.said if (c < " " and c not in "\n\t\r") or c == "\u202e"}),
    }
    return [f"{what}: {', '.join(which[:5])}{' …' if len(which) > 5 else ''}" for what, which in promises.items() if which]


def table(run: Run, origins: Mapping[str, str]) -> str:
    """Outcomes by the format that the documents were made from."""
    statuses: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for row in run.rows():
        if not row["parent_document_id"]:
            statuses[origins[row["source_uri"].rpartition("/")[2]]][row["status"]] += 1
    total: collections.Counter[str] = sum(statuses.values(), collections.Counter())
    names = [name for name, _ in total.most_common()]
    lines = [f"{'made from':<10}" + "".join(f"{name:>14}" for name in names) + f"{'all':>8}"]
    for extension in sorted(statuses):
        counts = statuses[extension]
        lines.append(f"{extension:<10}" + "".join(f"{counts[name] or '':>14}" for name in names) + f"{sum(counts.values()):>8}")
    lines.append(f"{'all':<10}" + "".join(f"{total[name]:>14}" for name in names) + f"{sum(total.values()):>8}")
    return "\n".join(lines)


def unexplained(run: Run) -> list[str]:
    return [
        f"{row['status']:<14} {row['source_uri'].rpartition('/')[2]}  {row['reason']}"
        for row in run.rows()
        if row["status"] not in EXPLAINED
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=Path, nargs="*", default=[], help="folders of more documents to start from (files up to 200 kB)")
    parser.add_argument(
        "--keep", type=Path, default=None, help="a new folder for the documents and the output; default: removed when all holds"
    )
    options = parser.parse_args()
    from seeds import seeds

    more = [
        (path.name, path.read_bytes())
        for folder in options.seeds
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix and path.stat().st_size <= 200_000
    ]
    work = options.keep or Path(tempfile.mkdtemp(prefix="mutations-"))
    library = work / "library"
    library.mkdir(parents=True)
    origins = make_documents(library, options.documents, options.seed, [*seeds(), *more])
    run = run_job(library, work, "--document-timeout", "120")
    broken = broken_promises(run, list(origins))
    if run.code == 0:
        print(table(run, origins))
        print(f"\n{len(origins):,} documents in {run.seconds:,.0f} s, seed {options.seed}")
        print("\n".join(["", *unexplained(run)]))
    print("\n".join(broken) if broken else "Everything holds that must hold.")
    if not broken and not options.keep:
        shutil.rmtree(work)
    else:
        print(f"Documents and output: {work}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
