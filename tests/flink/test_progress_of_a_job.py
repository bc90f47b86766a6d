"""What the submitter shows of workers elsewhere, when Flink starts their job again."""

import io
import json
from pathlib import Path

from rich.console import Console

from pipeline.flink.run import _Shown
from pipeline.progress import Progress


def tell(folder: Path, worker: str, **counts: int) -> None:
    (folder / f"{worker}.json").write_text(json.dumps({name: [number, 10 * number] for name, number in counts.items()}))


def shown(folder: Path) -> tuple[Progress, _Shown]:
    progress = Progress(Console(file=io.StringIO()), ticking=False)
    return progress, _Shown(progress, str(folder))


def test_workers_that_go_on_with_what_was_found_add_to_what_was_done(tmp_path: Path) -> None:
    progress, job = shown(tmp_path)
    tell(tmp_path, "first", found=5, staged=1, ok=2)
    job.update()
    job.start_again()
    tell(tmp_path, "second", ok=1, corrupt=1)

    job.update()

    tally = progress.tally()
    assert (tally.found, tally.staged, tally.decoded, tally.failed) == (5, 1, 4, 1)


def test_workers_that_find_all_again_take_the_place_of_those_before(tmp_path: Path) -> None:
    progress, job = shown(tmp_path)
    tell(tmp_path, "first", found=5, staged=1, ok=2)
    job.update()
    job.start_again()
    tell(tmp_path, "second", found=5, staged=3, ok=1)

    job.update()
    job.update()

    tally = progress.tally()
    assert (tally.found, tally.found_bytes, tally.staged, tally.decoded, tally.failed) == (5, 50, 3, 1, 0)
