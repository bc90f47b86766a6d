"""A client of Flink's REST API, as far as this job asks it: what a cluster is, how a job goes, and its end."""

import json
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

WORKER_LOST = "a Python worker ended unexpectedly (its machine's log may tell why: out of memory, most often)"
WHAT_IT_MEANS = {
    "CANCELLED: client cancelled": WORKER_LOST,
    # And its place is still taken when the job is started again.
    "CANCELLED: call already cancelled. Use ServerCallStreamObserver.setOnCancelHandler() to disable this exception": WORKER_LOST,
}
"""Causes that say nothing to who does not know gRPC (Beam 2.70.0)."""
ANSWER_WITHIN = 10.0
"""Seconds; a JobManager that is busy with a large graph takes one or two."""


class FlinkError(Exception):
    """The cluster did not answer, or not as Flink does. The text can end a sentence in parentheses."""


class JobStatus(StrEnum):
    """Flink's own names."""

    INITIALIZING = "INITIALIZING"
    CREATED = "CREATED"
    RUNNING = "RUNNING"
    FAILING = "FAILING"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELED = "CANCELED"
    FINISHED = "FINISHED"
    RESTARTING = "RESTARTING"
    SUSPENDED = "SUSPENDED"
    RECONCILING = "RECONCILING"

    @property
    def is_final(self) -> bool:
        """Whether nothing follows on it."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)


@dataclass(frozen=True)
class Overview:
    """A cluster at a moment."""

    version: str
    task_managers: int
    slots: int
    free_slots: int


@dataclass(frozen=True)
class TaskManager:
    """One TaskManager, and the machine or container that it runs in."""

    id: str
    slots: int
    free_slots: int
    cpus: int
    network_memory: int
    """Bytes, of all network buffers."""
    segments: int
    """Network buffers in all; 0: not known."""
    free_segments: int


@dataclass(frozen=True)
class Job:
    """A job on the cluster."""

    id: str
    name: str
    status: JobStatus


@dataclass(frozen=True)
class Cluster:
    """The cluster at HOST:PORT, its REST address. Every call asks it anew.

    Raises: FlinkError from all of them.
    """

    address: str

    @property
    def url(self) -> str:
        """The address with its scheme."""
        return self.address if "://" in self.address else f"http://{self.address}"

    def version(self) -> str:
        """Of Flink, such as 1.19.3."""
        answer = self._get("/config")
        if not isinstance(answer, dict) or "flink-version" not in answer:
            raise FlinkError("what answers there is not Flink")
        return str(answer["flink-version"])

    def overview(self) -> Overview:
        """Slots and TaskManagers."""
        answer = self._get("/overview")
        return Overview(answer["flink-version"], answer["taskmanagers"], answer["slots-total"], answer["slots-available"])

    def settings(self) -> dict[str, str]:
        """The JobManager's configuration."""
        return {entry["key"]: entry["value"] for entry in self._get("/jobmanager/config")}

    def task_managers(self) -> list[TaskManager]:
        """All TaskManagers that have registered."""
        return [self._task_manager(entry) for entry in self._get("/taskmanagers")["taskmanagers"]]

    def _task_manager(self, entry: dict[str, Any]) -> TaskManager:
        detail = self._get(f"/taskmanagers/{entry['id']}")
        metrics = detail.get("metrics") or {}
        return TaskManager(
            id=entry["id"],
            slots=entry["slotsNumber"],
            free_slots=entry["freeSlots"],
            cpus=entry["hardware"]["cpuCores"],
            network_memory=entry["memoryConfiguration"]["networkMemory"] or 0,
            segments=metrics.get("nettyShuffleMemorySegmentsTotal") or 0,
            free_segments=metrics.get("nettyShuffleMemorySegmentsAvailable") or 0,
        )

    def jobs(self) -> list[Job]:
        """All jobs that the cluster remembers, the newest first."""
        entries = sorted(self._get("/jobs/overview")["jobs"], key=lambda entry: entry["start-time"], reverse=True)
        return [Job(entry["jid"], entry["name"], JobStatus(entry["state"])) for entry in entries]

    def status(self, job: str) -> JobStatus:
        """Of a job, by its id."""
        return JobStatus(self._get(f"/jobs/{job}/status")["status"])

    def failure(self, job: str) -> str:
        """What ended a job, or had it start again: Java's stack, with Python's traceback in it. Empty: nothing did."""
        history = self._get(f"/jobs/{job}/exceptions").get("exceptionHistory", {}).get("entries", [])
        return str(history[0]["stacktrace"]) if history else ""

    def cancel(self, job: str) -> None:
        """Asks the cluster to end a job; `status` tells when it has. A job that has ended already is left alone."""
        try:
            self._ask(f"/jobs/{job}?mode=cancel", "PATCH")
        except FlinkError:
            if not self.status(job).is_final:
                raise

    def _get(self, path: str) -> Any:
        return self._ask(path, "GET")

    def _ask(self, path: str, method: str) -> Any:
        request = urllib.request.Request(f"{self.url}{path}", method=method)  # noqa: S310 - the scheme is the operator's
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_WITHIN) as answer:  # noqa: S310
                body = answer.read()
            return json.loads(body) if body else {}
        except urllib.error.HTTPError as error:
            raise FlinkError(f"it answers {error.code}{_told(error)}") from error
        except (OSError, ValueError) as error:  # URLError is an OSError; JSONDecodeError a ValueError
            raise FlinkError(_reason(error)) from error


def _told(error: urllib.error.HTTPError) -> str:
    """The first line of Flink's own message."""
    try:
        told = json.loads(error.read())["errors"][0]
    except (ValueError, LookupError, OSError):
        return ""
    return f": {str(told).strip().splitlines()[0][:200]}"


def _reason(error: Exception) -> str:
    if isinstance(error, ValueError):
        return "what answers there is not Flink"
    reason = getattr(error, "reason", error)
    strerror = getattr(reason, "strerror", None)
    return str(strerror or reason)


def python_error(failure: str) -> str:
    """The line of a failure that tells its cause: the last one of Python's traceback, else Flink's own innermost cause.

    Args:
      failure: as `Cluster.failure` gives it.
    Returns:
      One line, without the name of the step and without its stop.
    """
    lines = failure.splitlines()
    starts = [number for number, line in enumerate(lines) if "Traceback (most recent call last)" in line]
    if starts:
        # The error is the first line after the last traceback that is not indented.
        for line in lines[starts[-1] + 1 :]:
            if line and not line.startswith((" ", "\t")):
                return _tidy(line)
    causes = [line for line in lines if re.match(r"(Caused by: )?[\w.$]+(Exception|Error)\b", line)]
    cause = _tidy(re.sub(r"^(Caused by: )?(([\w$]+\.)*[\w$]+(Exception|Error): )*", "", causes[-1])) if causes else _tidy(failure)
    return WHAT_IT_MEANS.get(cause, cause)


def _tidy(line: str) -> str:
    return re.sub(r"\s*\[while running '[^']*'\]$", "", line.strip()).rstrip(".")
