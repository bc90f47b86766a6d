"""The probe: a job of seconds that goes before the real one, and has the workers themselves say whether they could do it.

Only a worker knows what is installed where it runs, which paths it sees, and whether the job's output can be written from there. Each
leaves a marker in OUTPUT; that the submitter can read it shows that both mean the same place.
"""

import json
import platform
import socket
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import apache_beam as beam

from pipeline import doctor, preflight
from pipeline.options.backfill import BackfillSettings
from transforms.errors import UsageError
from transforms.references.sources import absolute_library, absolute_pattern
from transforms.settings import unstructured_version
from transforms.storage import filesystem
from transforms.version import VERSION

PROBE_WITHIN = 300.0
"""Seconds for all workers to start and answer; 8 s on an idle machine."""


@dataclass(frozen=True)
class Versions:
    """What has to be the same on submitter and workers: another one gives other results, or cannot read what is sent."""

    decoder: str
    unstructured: str
    beam: str
    python: str


def versions_here() -> Versions:
    """Of this process."""
    # Beam's pickles of functions hold byte code, which is the same within a minor version.
    python = ".".join(platform.python_version_tuple()[:2])
    return Versions(VERSION, unstructured_version(), doctor.version_of("apache-beam") or "none", python)


@dataclass(frozen=True)
class Marker:
    """What a worker says."""

    host: str
    versions: Versions
    problem: str
    """The sentence about what is wrong there; empty: nothing."""


def build_probe(pipeline: beam.Pipeline, folder: str, settings: BackfillSettings, workers: int) -> None:
    """Adds the probe to a pipeline: as many markers as there are slots, dealt to all of them."""
    (
        pipeline
        | "NameMarkers" >> beam.Create([f"{number}.json" for number in range(workers)], reshuffle=False)
        | "DealToWorkers" >> beam.Reshuffle()
        | "LeaveMarker" >> beam.Map(leave_marker, folder, with_absolute_places(settings))
    )


def with_absolute_places(settings: BackfillSettings) -> BackfillSettings:
    """The settings with the places as they are meant on this machine: a worker has the working directory of its TaskManager."""
    return replace(
        settings,
        inputs=tuple(map(absolute_pattern, settings.inputs)),
        references=tuple(map(absolute_pattern, settings.references)),
        output=absolute_pattern(settings.output),
        library=absolute_library(settings.library),
    )


def leave_marker(name: str, folder: str, settings: BackfillSettings) -> None:
    """Runs on a worker."""
    marker = Marker(socket.gethostname(), versions_here(), problem_here(settings))
    try:
        filesystem.write_atomically(filesystem.join(folder, name), json.dumps(asdict(marker)).encode())
    except Exception as error:  # every file system has exceptions of its own
        # A plain error, as its text is all that comes back from a worker.
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        raise OSError(f"{settings.output} cannot be written from {marker.host} ({reason})") from error


def problem_here(settings: BackfillSettings) -> str:
    """What stops a worker on this machine."""
    try:
        preflight.check_sources(settings)
        preflight.check_decode_tools(settings)
    except UsageError as error:
        return error.sentence
    return ""


def probe_folder(output: str) -> str:
    """A new one, in which no marker can be an old one."""
    return filesystem.join(filesystem.to_uri(output), "staging", "probes", uuid.uuid4().hex)


def read_markers(folder: str) -> list[Marker]:
    """What the workers left, in order."""
    found: list[Marker] = []
    for file in filesystem.list_folder(folder):
        facts: dict[str, Any] = json.loads(filesystem.read_bytes(filesystem.join(folder, file.name)))
        found.append(Marker(facts["host"], Versions(**facts["versions"]), facts["problem"]))
    return found


def judge(markers: Sequence[Marker], here: Versions, output: str) -> None:
    """Compares what the workers say with this machine.

    Raises:
      UsageError: the job could not run there, or would give other results.
    """
    if not markers:
        raise UsageError(
            f"--output {output} is not the same place here and on the workers: they have written there, and nothing is to be seen here. "
            "Give a path on a disk that all machines share, or an object store's URI."
        )
    for marker in markers:
        for name, mine in asdict(here).items():
            theirs = getattr(marker.versions, name)
            if theirs != mine:
                what = {"decoder": "universal-decoder", "beam": "apache-beam", "python": "Python"}.get(name, name)
                raise UsageError(f"The worker on {marker.host} has {what} {theirs}, and this machine {mine}: install the same on both.")
        if marker.problem:
            raise UsageError(f"On the worker {marker.host}: {marker.problem}")
