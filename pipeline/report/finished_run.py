"""A finished run, read back: its manifest and its parts. What `report`, `trace` and the summary know of a job, they know from here."""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pipeline.sentences import nearest
from transforms.errors import UsageError
from transforms.sinks.manifest import LATEST, MANIFEST
from transforms.sinks.write import RUNS, run_folder
from transforms.storage import filesystem

SUBMITTED = "staging/submitted"
"""Relative to OUTPUT: one file for each run that a cluster was given, until its end was seen."""


@dataclass(frozen=True)
class FinishedRun:
    """One run that ended with a manifest."""

    output: str
    run_id: str
    manifest: dict[str, Any]

    @property
    def folder(self) -> str:
        """Path or URI of the run's folder."""
        return run_folder(self.output, self.run_id)

    def parts(self, dataset: str) -> list[str]:
        """The parts of a dataset, in order, as the manifest names them."""
        return [filesystem.join(self.folder, part["path"]) for part in self.manifest["datasets"][dataset]["parts"]]

    def rows(self, dataset: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows of a Parquet dataset, a row group in memory at a time."""
        import pyarrow.parquet as pq

        for uri in self.parts(dataset):
            with filesystem.open_read(uri) as stream:
                for batch in pq.ParquetFile(stream).iter_batches(columns=list(columns)):
                    yield from batch.to_pylist()

    def find_row(self, dataset: str, values: Iterable[tuple[str, str]], columns: Sequence[str]) -> dict[str, Any] | None:
        """The first row of a Parquet dataset in which one of some columns has a value.

        Row groups whose statistics exclude the value are not read; of the others the column alone is, until it is found: the texts of a
        large library never pass through memory.

        Args:
          values: column and value; any of them.
          columns: what to give of the row.
        """
        import pyarrow.dataset as ds

        condition = None
        pairs = list(values)
        for column, value in pairs:
            one = ds.field(column) == value
            condition = one if condition is None else condition | one
        for uri in self.parts(dataset):
            with filesystem.open_read(uri) as stream:
                whole: Any = ds.ParquetFileFormat().make_fragment(stream)
                for group in whole.split_by_row_group(condition):
                    if group.count_rows(filter=condition):
                        return dict(group.head(1, columns=list(columns), filter=condition).to_pylist()[0])
        return None

    def dead_letters(self) -> Iterator[dict[str, Any]]:
        """The dead letters, one at a time."""
        for uri in self.parts("dead_letters"):
            with filesystem.open_read(uri) as stream:
                for line in stream:
                    if line.strip():
                        yield json.loads(line)

    def quads_about(self, subject: str) -> list[bytes]:
        """The lines of the provenance whose subject is an IRI. All about a document stands in one part, so the search ends there."""
        start = b"<" + subject.encode("utf-8", "surrogatepass") + b"> "
        for uri in self.parts("provenance"):
            with filesystem.open_read(uri) as stream, gzip.open(stream) as lines:
                found = [line for line in lines if line.startswith(start)]
            if found:
                return found
        return []


def open_run(output: str, run_id: str | None = None) -> FinishedRun:
    """Opens a run that is finished.

    Args:
      output: the job's `--output`.
      run_id: None: the newest.
    Raises:
      UsageError: there is none of that name, or none at all.
    """
    if missing := filesystem.missing_file_system(output):
        raise UsageError(f"{output} cannot be read: {missing}.")
    if not filesystem.is_local(output):
        filesystem.configure()
    try:
        chosen = run_id or _latest(output)
        content = filesystem.read_bytes(filesystem.join(run_folder(output, chosen), MANIFEST)) if chosen else b""
    except FileNotFoundError:
        content = b""
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(f"{output} cannot be read: {filesystem.reason_of(error)}.") from error
    if not content:
        raise UsageError(_not_there(output, run_id))
    try:
        return FinishedRun(output, chosen, json.loads(content))
    except ValueError as error:
        raise UsageError(f"The manifest of run {chosen} in {output} is damaged: run the backfill again under another --run-id.") from error


def open_run_at(place: str) -> FinishedRun:
    """Opens the run that a path or URI names: `OUTPUT/runs/NAME`, or `OUTPUT`, which means its newest.

    Raises:
      UsageError: there is none, or it is not finished.
    """
    output, runs, run_id = place.rstrip("/").rpartition(f"/{RUNS}/")
    if runs and "/" not in run_id and not filesystem.missing_file_system(place):
        if not filesystem.is_local(place):
            filesystem.configure()
        with suppress(OSError, ValueError, ImportError):
            if not filesystem.exists(filesystem.join(place, LATEST)):  # else an OUTPUT that lies in a folder `runs`
                return open_run(output, run_id)
    return open_run(place)


def unfinished_on_cluster(output: str, run_id: str | None = None) -> str:
    """The run that a cluster was given and that nobody has seen finished yet, by name or the newest; empty: there is none."""
    try:
        names = [file.name.removesuffix(".json") for file in filesystem.list_folder(filesystem.join(output, SUBMITTED))]
    except (OSError, ValueError, ImportError):  # `open_run` says it in a sentence
        return ""
    return max((name for name in names if run_id in (None, name)), default="")


def _latest(output: str) -> str:
    uri = filesystem.join(output, LATEST)
    return filesystem.read_bytes(uri).decode("utf-8", "replace").strip() if filesystem.exists(uri) else ""


def _not_there(output: str, run_id: str | None) -> str:
    if not filesystem.exists(output) and filesystem.is_local(output):
        return f"There is no folder {output}: give the --output of a backfill."
    if run_id is None:
        return (
            f"{output} holds no finished run: a run that goes on or was stopped has none yet, and backfill with the same options ends it."
        )
    finished = finished_runs(output)
    if not finished:
        return f"Run {run_id} is not finished, and {output} holds no other."
    meant = nearest(run_id, finished)
    return f"{output} holds no finished run {run_id}: " + (f"did you mean {meant}?" if meant else f"the newest is {finished[-1]}.")


def newest_first(output: str) -> list[FinishedRun]:
    """All finished runs whose manifest can be read, by the time of their end: a name says nothing of it where it was given."""
    runs = []
    for run_id in finished_runs(output):
        with suppress(UsageError):
            runs.append(open_run(output, run_id))
    return sorted(runs, key=lambda run: (run.manifest["finished_at"], run.run_id), reverse=True)


def finished_runs(output: str) -> list[str]:
    """The names of the finished runs, in alphabetical order: by time, where they were not named by hand."""
    names = [file.name.split("/") for file in filesystem.list_folder(filesystem.join(output, RUNS), recursive=True)]
    return sorted(parts[0] for parts in names if parts[1:] == [MANIFEST])
