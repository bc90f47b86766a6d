"""A long run: thousands of small documents in one job, and whether its memory stays what it was after the first tenth.

    python tests/hostile/soak.py --documents 10000

Exits with 1 when the job's memory (its own process, and all of its processes together; medians) in the last tenth of the documents is more
than a tenth above that in the first, or when a document has no outcome.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from transforms.isolation.processes import descendants_of, proportional_bytes, resident_bytes

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
TOLERANCE = 0.10
TENTHS = 10


def make_documents(folder: Path, count: int) -> None:
    """Texts, pages, tables and Markdown of some hundred characters, no two alike."""
    for number in range(count):
        sentence = f"Document number {number} tells that instrument {number % 97} was seen by observer {number % 89} on a clear night."
        kind = ("txt", "html", "md", "csv")[number % 4]
        text = {
            "txt": f"REPORT {number}\n\n{sentence}\n\n- one\n- two\n",
            "html": f"<html><body><h1>Report {number}</h1><p>{sentence}</p></body></html>",
            "md": f"# Report {number}\n\n{sentence}\n",
            "csv": f"number,sentence\n{number},{sentence}\n{number + 1},again\n",
        }[kind]
        place = folder / f"{number // 1000:03d}"
        place.mkdir(exist_ok=True)
        (place / f"{number:06d}.{kind}").write_text(text)


def measure(pid: int) -> tuple[int, int]:
    """MiB of the job's own process, and of all of its processes (shared pages counted once)."""
    return resident_bytes(pid) // MIB, sum(map(proportional_bytes, [pid, *descendants_of(pid)])) // MIB


def medians(samples: list[tuple[int, int]]) -> tuple[float, float]:
    """Of the job's own memory, and of all: that of the children goes up and down with what they decode, and when they are replaced."""
    return statistics.median(own for own, _ in samples), statistics.median(whole for _, whole in samples)


def committed(output: Path) -> int:
    return sum(1 for _ in (output / "staging").rglob("*.zip"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--children", type=int, default=2)
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="soak-"))
    library, output = work / "library", work / "out"
    library.mkdir()
    make_documents(library, options.documents)
    started = time.monotonic()
    job = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "backfill", "--input", library, "--output", output, f"--children={options.children}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    samples: list[list[tuple[int, int]]] = [[] for _ in range(TENTHS)]
    done = told = 0
    while job.poll() is None and done < options.documents:
        time.sleep(1.0)
        done = committed(output)
        if 0 < done < options.documents:
            samples[done * TENTHS // options.documents].append(measure(job.pid))
        while told < done * TENTHS // options.documents:
            own, whole = medians(samples[told])
            told += 1
            print(
                f"{told * options.documents // TENTHS:>8,} documents {time.monotonic() - started:>7,.0f} s   "
                f"job {own:>6,.0f} MiB   with children {whole:>6,.0f} MiB",
                flush=True,
            )
    code = job.wait()
    first, last = medians(samples[0]), medians(samples[-1])
    grown = [end / start - 1 for start, end in zip(first, last, strict=True)]
    print(f"exit code {code}, {done:,} commits, {time.monotonic() - started:,.0f} s")
    print(f"from the first tenth to the last: the job {grown[0]:+.1%}, with its children {grown[1]:+.1%}")
    shutil.rmtree(work)
    return 1 if code or done < options.documents or max(grown) > TOLERANCE else 0


if __name__ == "__main__":
    sys.exit(main())
