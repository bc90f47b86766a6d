"""Kills a run over the sample library at random moments and runs it again: the result must be that of a run that nobody disturbed.

`make kill-matrix` runs it at 20 moments; `test_killed_runs.py` at a few. A moment is drawn from the seed: a share of the time that the
undisturbed run took, or the appearance of the nth commit, of a file that is being written, or of the nth part, and some milliseconds more.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from runs import SAMPLES, STARTED_AT, FinishedRun, backfill, start

from transforms.isolation.pool import FOLDER_PREFIX, POOL_VARIABLE
from transforms.storage.filesystem import SCRATCH

DATASETS = ("text_documents", "images", "provenance", "dead_letters")
MEASURED = ("seconds", "peak_memory_mb")
"""Columns of `documents` that tell of the run, not of the document."""
GIVE_UP = 300.0


@dataclass(frozen=True)
class Moment:
    """When to kill: at the first sight of something, or after a share of the time; then after a delay."""

    sight: str
    """staged, writing, parts or time."""
    number: float
    """Which one; of the time the share."""
    delay: float

    def __str__(self) -> str:
        what = {"staged": "commit", "writing": "file being written", "parts": "part", "time": "share of the time"}[self.sight]
        return f"{what} {self.number:.3g} + {1000 * self.delay:.0f} ms"

    def wait(self, output: Path, duration: float, running: Callable[[], bool]) -> None:
        """Returns at the moment, or when the run is over."""
        started = time.monotonic()
        while running() and time.monotonic() - started < GIVE_UP and not self._is_there(output, time.monotonic() - started, duration):
            time.sleep(0.001)
        time.sleep(self.delay)

    def _is_there(self, output: Path, elapsed: float, duration: float) -> bool:
        match self.sight:
            case "staged":
                return count(output, "staging/*/*/*.zip") >= self.number
            case "writing":
                return count(output, f"{SCRATCH}/*") >= 1
            case "parts":
                return count(output, "runs/*/*/part-*") >= self.number
            case _:
                return elapsed >= self.number * duration


def moments(seed: int, number: int, commits: int) -> Iterator[Moment]:
    """Draws moments, of all kinds in turn."""
    chance = random.Random(seed)
    for index in range(number):
        match index % 4:
            case 0:
                yield Moment("staged", chance.randint(1, commits), chance.uniform(0, 0.3))
            case 1:
                yield Moment("parts", chance.randint(1, 20), chance.uniform(0, 0.01))
            case 2:
                yield Moment("time", chance.uniform(0.05, 0.95), 0.0)
            case _:
                yield Moment("writing", 1, chance.uniform(0, 0.05))


def count(folder: Path, pattern: str) -> int:
    try:
        return sum(1 for _ in folder.glob(pattern))
    except FileNotFoundError:  # renamed while it was listed
        return 0


def facts(run: FinishedRun) -> dict[str, str]:
    """Digests of all that a run leaves and that must not differ: parts, the rows about the documents, and the blobs."""
    rows = [
        {name: value for name, value in row.items() if name not in MEASURED}
        for part in sorted((run.folder / "documents").iterdir())
        for row in pq.read_table(part).to_pylist()
    ]
    found = run.digests(*DATASETS) | {"documents": hashlib.sha256(repr(rows).encode()).hexdigest()}
    for blob in sorted((run.output / "blobs").rglob("*")):
        if blob.is_file():
            found[str(blob.relative_to(run.output))] = hashlib.sha256(blob.read_bytes()).hexdigest()
    return found


def kill_and_run_again(moment: Moment, folder: Path, duration: float, library: Path = SAMPLES) -> tuple[str, FinishedRun]:
    """Starts a run, kills its process (not its children: they have to notice), makes sure that nothing is left running, and runs again.

    Returns:
      What the kill met, and the second run.
    """
    output, temporary = folder / "out", folder / "tmp"
    temporary.mkdir(parents=True)
    here = {"TMPDIR": str(temporary)}
    arguments = ["--input", library, "--output", output, "--started-at", STARTED_AT, "--children", "2", "--run-id", "first"]
    process = start("backfill", *arguments, extra=here)
    moment.wait(output, duration, lambda: process.poll() is None)
    process.kill()
    process.communicate()
    was = "killed" if process.returncode == -signal.SIGKILL else "too late"
    assert no_process_within(temporary, seconds=10), "processes outlive their owner"
    staged, parts = count(output, "staging/*/*/*.zip"), count(output, "runs/*/*/part-*")
    finished = (output / "runs" / "first" / "manifest.json").exists()
    met = f"{was}: {staged} commits, {parts} parts, {count(output, f'{SCRATCH}/*')} half-written" + (", finished" if finished else "")
    run = backfill(library, output, "--children", "2", run_id="again" if finished else "first", extra=here)
    left = [*output.rglob("*.tmp"), *output.glob(SCRATCH), *temporary.glob(f"{FOLDER_PREFIX}*")]
    assert left == [], f"temporary files are left: {left}"
    assert no_process_within(temporary, seconds=10)
    return met, run


def no_process_within(temporary: Path, seconds: float) -> bool:
    """Whether all decoding processes whose work folders are there have ended, or do so in time."""
    until = time.monotonic() + seconds
    while any(belongs_to(process, temporary) for process in psutil.process_iter()):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def belongs_to(process: psutil.Process, temporary: Path) -> bool:
    try:
        environment = process.environ()
        return POOL_VARIABLE in environment and str(temporary) in "".join(environment.values())
    except psutil.Error:
        return False


def undisturbed(folder: Path, library: Path = SAMPLES) -> tuple[FinishedRun, float]:
    """The run that all others are compared with, and the seconds that it took."""
    started = time.monotonic()
    return backfill(library, folder / "out", "--children", "2"), time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    differing = 0
    with tempfile.TemporaryDirectory(prefix="kill-matrix-") as name:
        folder = Path(name)
        run, duration = undisturbed(folder / "undisturbed")
        expected = facts(run)
        commits = count(run.output, "staging/*/*/*.zip")
        print(f"undisturbed: {duration:.1f} s, {commits} commits, {len(expected)} digests", flush=True)
        for index, moment in enumerate(moments(arguments.seed, arguments.moments, commits), start=1):
            met, again = kill_and_run_again(moment, folder / str(index), duration)
            found = facts(again)
            different = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
            differing += bool(different)
            print(f"{index:3}  {moment!s:32} {met:58} {f'DIFFERENT: {different}' if different else 'identical'}", flush=True)
            shutil.rmtree(folder / str(index))
    print(f"{arguments.moments - differing} of {arguments.moments} identical (seed {arguments.seed})")
    return int(differing > 0)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONPATH", str(Path(__file__).parents[2]))
    sys.exit(main())
