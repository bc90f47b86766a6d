"""What goes wrong on a cluster, done to real processes: the job goes on, or ends in a sentence, and the next run gives the same bytes."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from flink_jobs import WORKER, ended, flink_arguments, kill, lives, staged, start, until, workers
from runs import SAMPLES, FinishedRun, backfill

from pipeline.flink.cluster import DevelopmentCluster
from pipeline.flink.rest import JobStatus

pytestmark = [pytest.mark.flink, pytest.mark.timeout(2400)]

DATASETS = ("text_documents", "images", "provenance")
QUICK = 6


@dataclass
class HeldJob:
    """A job of which all is decoded but one document that waits for a gate."""

    library: Path
    output: Path
    gate: Path
    cluster: DevelopmentCluster
    job_server: str
    undisturbed: FinishedRun

    def start(self, *more: str) -> "subprocess.Popen[str]":
        """Submits it, and waits until it stands half-way."""
        process = start(*self.arguments(), *more)
        until(lambda: len(staged(self.output)) >= QUICK, "all that does not wait is decoded", process)
        return process

    def arguments(self) -> list[str]:
        return [
            *flink_arguments(self.library, self.output, self.cluster.address),
            *([f"--job_endpoint={self.job_server}"] if self.job_server else []),
        ]

    def open(self) -> None:
        self.gate.touch()

    def check(self) -> None:
        """The datasets are those of an undisturbed run."""
        assert FinishedRun(self.output, "first").digests(*DATASETS) == self.undisturbed.digests(*DATASETS)

    def go_on(self, kept: dict[Path, int], *more: str) -> None:
        """The same command again decodes what is missing and nothing else."""
        self.open()
        said = ended(start(*self.arguments(), *more))
        assert f"{QUICK + 1 - len(kept)} decoded now, {len(kept)} before" in said
        assert {path: written for path, written in staged(self.output).items() if path in kept} == kept
        self.check()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("held")
    gate = folder / "gate"
    (folder / "library").mkdir()
    for number in range(QUICK):
        (folder / "library" / f"quick-{number}.txt").write_text(f"Document {number} is decoded at once.")
    # One, so that the other child is free for the rest.
    (folder / "library" / "slow.txt").write_text(f"This document has to wait for {gate} to be there.")
    return folder


@pytest.fixture(scope="module")
def undisturbed(library: Path) -> FinishedRun:
    return backfill(library / "library", library / "undisturbed", "--children", "2")


@pytest.fixture
def held(library: Path, undisturbed: FinishedRun, cluster: DevelopmentCluster, job_server: str, tmp_path: Path) -> Iterator[HeldJob]:
    gate = library / "gate"
    gate.unlink(missing_ok=True)
    yield HeldJob(library / "library", tmp_path / "out", gate, cluster, job_server, undisturbed)
    gate.touch()
    for job in cluster.client().jobs():
        if not job.status.is_final:
            cluster.client().cancel(job.id)
    until(lambda: cluster.client().overview().free_slots == 2, "the slots are free again")


ENGINES = pytest.mark.parametrize("engine", [[], ["--streaming"]], ids=["batch", "streaming"])


@ENGINES
def test_a_job_goes_on_when_a_python_worker_is_killed(held: HeldJob, engine: list[str]) -> None:
    process = held.start(*engine)
    kept = staged(held.output)
    for worker in workers():
        worker.kill()
    held.open()

    said = ended(process)

    assert "Flink starts the job again: a Python worker ended unexpectedly" in said
    assert {path: written for path, written in staged(held.output).items() if path in kept} == kept
    held.check()


@ENGINES
def test_a_job_goes_on_when_its_task_manager_is_killed_and_started_again(held: HeldJob, engine: list[str]) -> None:
    process = held.start(*engine)
    kept = staged(held.output)
    [task_manager], orphans = held.cluster.running("taskmanager"), workers()
    kill(task_manager)
    assert orphans
    until(lambda: not any(lives(orphan) for orphan in orphans), "no worker outlives its TaskManager")
    held.cluster.start_task_manager()
    held.open()

    said = ended(process)

    assert "Flink starts the job again: " in said
    assert {path: written for path, written in staged(held.output).items() if path in kept} == kept
    held.check()


def test_without_retries_a_lost_task_manager_ends_the_job_and_the_rerun_goes_on(held: HeldJob) -> None:
    process = held.start("--streaming", "--number_of_execution_retries=0")
    kept = staged(held.output)
    [task_manager] = held.cluster.running("taskmanager")
    kill(task_manager)

    said = ended(process, expect=1)

    assert "The job failed: " in said
    assert "the same command goes on from there." in said
    assert staged(held.output) == kept
    held.cluster.start_task_manager()
    held.go_on(kept, "--streaming")


def test_ctrl_c_cancels_the_job_on_the_cluster_and_the_rerun_goes_on(held: HeldJob) -> None:
    process = held.start()
    kept = staged(held.output)
    os.killpg(process.pid, signal.SIGINT)

    said = ended(process, expect=130)

    assert "Stopped by SIGINT. " in said
    assert "run first is not finished, and nothing of it is published. The same command goes on from there." in said
    assert held.cluster.client().jobs()[0].status is JobStatus.CANCELED
    until(lambda: not workers(), "no worker outlives its job")
    held.go_on(kept)


def test_a_job_that_is_cancelled_on_the_cluster_is_told_to_its_submitter(held: HeldJob) -> None:
    process = held.start("--streaming")
    held.cluster.client().cancel(held.cluster.client().jobs()[0].id)

    assert "The job was cancelled on the cluster. What was decoded until then is kept" in ended(process, expect=1)


def test_a_job_goes_on_when_its_job_server_is_killed(held: HeldJob) -> None:
    held.job_server = ""  # one of its own
    process = held.start("--streaming")
    [server] = [child for child in psutil.Process(process.pid).children() if "-jar" in child.cmdline()]
    server.kill()
    held.open()

    ended(process)

    held.check()


def test_a_submitter_that_is_killed_leaves_a_job_that_report_follows(held: HeldJob) -> None:
    process = held.start("--streaming")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    held.open()

    said = ended(start("report", held.output))

    assert "Run first: 7 documents" in said
    held.check()


def test_a_document_that_always_kills_its_child_costs_itself_only(cluster: DevelopmentCluster, job_server: str, tmp_path: Path) -> None:
    library, output = tmp_path / "library", tmp_path / "out"
    library.mkdir()
    (library / "good.txt").write_text("A good document.")
    (library / "bad.txt").write_text("This one kills its process.")

    said = ended(start(*flink_arguments(library, output, cluster.address), "--streaming", f"--job_endpoint={job_server}"))

    run = FinishedRun(output, "first")
    assert run.statuses() == {"good.txt": "ok", "bad.txt": "crashed"}
    assert [row["text"] for row in run.rows("text_documents")] == ["A good document."]
    assert "1 document not decoded" in said


def test_workers_without_tesseract(cluster: DevelopmentCluster, job_server: str, tmp_path: Path) -> None:
    # The worker's PATH holds what its start needs, and no tesseract.
    tools = tmp_path / "bin"
    tools.mkdir()
    without = [
        "--environment_type=PROCESS",
        f"--environment_options=process_command={WORKER}",
        f"--environment_options=process_variables=PATH={tools}",
    ]
    server = f"--job_endpoint={job_server}"
    arguments = [*flink_arguments(SAMPLES / "delivery-note.png", tmp_path / "out", cluster.address), server]

    # Where OCR is all that is asked for, nothing starts.
    said = ended(start(*arguments, *without, "--strategy", "ocr_only", decoder="transforms.decode:decode_file"), expect=2)
    assert "On the worker " in said
    assert "--strategy ocr_only needs tesseract, which this installation lacks" in said

    # Else its pictures wait for a run whose workers have it.
    ended(start(*arguments, *without, "--streaming", decoder="transforms.decode:decode_file"))
    assert FinishedRun(tmp_path / "out", "first").statuses() == {"delivery-note.png": "missing_tool"}

    again = flink_arguments(SAMPLES / "delivery-note.png", tmp_path / "out", cluster.address, run_id="again")
    said = ended(start(*again, server, "--streaming", decoder="transforms.decode:decode_file"))
    assert FinishedRun(tmp_path / "out", "again").statuses() == {"delivery-note.png": "ok"}
