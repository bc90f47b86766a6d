"""Runs a backfill on a Flink cluster: probe, submission, progress, end. What is true of the job, the cluster's REST API says.

The job server only carries the job there: if it is lost later, the job goes on, and is followed all the same.
"""

import contextlib
import json
import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apache_beam as beam

from pipeline.flink.checks import check_cluster
from pipeline.flink.job_server import JobServer, started_job_server
from pipeline.flink.probe import PROBE_WITHIN, build_probe, judge, probe_folder, read_markers, versions_here
from pipeline.flink.rest import Cluster, FlinkError, JobStatus, python_error
from pipeline.flink.submission import Submission, complete, write_flink_settings
from pipeline.graph import build, new_pipeline
from pipeline.interruption import INTERRUPTIONS
from pipeline.options.backfill import BackfillSettings
from pipeline.report.finished_run import SUBMITTED, unfinished_on_cluster
from transforms import counters
from transforms.errors import JobFailed, UsageError
from transforms.isolation.shared import DECODE_FILE
from transforms.progress_files import progress_folder, read_counts
from transforms.settings import DECODER
from transforms.sinks.manifest import discard_manifest, read_manifest
from transforms.storage import filesystem
from transforms.storage.staging import sweep_ranges

if TYPE_CHECKING:
    from pipeline.run import Progress

LOOK_EVERY = 1.0
"""Seconds between two questions about a job."""
AWAY_FOR = 120.0
"""Seconds that a JobManager may not answer before its job is given up: it may be started again meanwhile."""
APPEAR_WITHIN = 300.0
"""Seconds from the submission until the cluster has the job: its jar of 163 MB has to get there."""
CANCEL_WITHIN = 60.0
"""Seconds for the tasks of a cancelled job to leave (Flink's own limit for each is 180)."""
GOES_ON = "What was decoded until then is kept: the same command goes on from there."


@dataclass(frozen=True)
class Submitted:
    """A job that a cluster has."""

    run_id: str
    flink_master: str
    job_id: str
    job_name: str

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.flink_master)


def run_on_flink(settings: BackfillSettings, arguments: Sequence[str], progress: "Progress", decoder: str = DECODE_FILE) -> dict[str, Any]:
    """Runs a backfill on a cluster to its end.

    Returns:
      The manifest of the run.
    Raises:
      UsageError: the cluster or its workers could not do it; nothing was started.
      JobFailed: the job did not come to its end.
      Interrupted, KeyboardInterrupt: and the job is cancelled on the cluster before.
    """
    with submitted(settings, arguments, progress.phase, decoder) as job:
        progress.phase(f"Decoding on {job.flink_master}")
        try:
            follow(job, settings.output, progress)
        except INTERRUPTIONS:
            progress.phase("Cancelling the job on the cluster; a second Ctrl-C does not wait for its end")
            cancel(job)
            raise
    return finish(job, settings.output)


def submit(settings: BackfillSettings, arguments: Sequence[str], say: Callable[[str], None], decoder: str = DECODE_FILE) -> Submitted:
    """Hands a backfill to a cluster, and returns as soon as it runs there. Raises: as `run_on_flink`."""
    with submitted(settings, arguments, say, decoder) as job:
        return job


@contextlib.contextmanager
def submitted(
    settings: BackfillSettings, arguments: Sequence[str], say: Callable[[str], None], decoder: str = DECODE_FILE
) -> Iterator[Submitted]:
    """A backfill that runs on a cluster; the job server stays for as long as the block does."""
    logging.getLogger("apache_beam").setLevel(logging.ERROR)
    submission = complete(settings, arguments)
    settings = submission.settings
    name = f"{DECODER}-{settings.run_id}"
    options = submission.options(name)
    check_cluster(submission, options)
    if submission.retries == 0 and not submission.streaming:
        say("A lost worker or TaskManager will end this job, as the cluster has no restart-strategy; the same command then goes on")
    say("Starting the job server")
    with started_job_server(options) as server, _flink_settings(submission) as submission:
        say(f"Asking the workers of {submission.cluster.address}")
        probe(submission, server)
        discard_manifest(settings.output, settings.run_id)
        forget(settings.output, settings.run_id)
        say(f"Submitting {name}")
        yield launch(submission, server, name, lambda pipeline: build(pipeline, settings, decoder))


@contextlib.contextmanager
def _flink_settings(submission: Submission) -> Iterator[Submission]:
    """The submission, with settings of Flink that no option of Beam sets, in a folder for the time of the block."""
    given = any(argument.startswith("--flink_conf_dir") for argument in submission.arguments)
    if submission.retries is None or not submission.streaming or given:
        yield submission
        return
    with tempfile.TemporaryDirectory(prefix="universal-decoder-flink-") as folder:
        write_flink_settings(Path(folder), submission.retries)
        yield replace(submission, arguments=(*submission.arguments, f"--flink_conf_dir={folder}"))


def probe(submission: Submission, server: JobServer) -> None:
    """Has the workers say whether they could do the job. Raises: UsageError."""
    settings = submission.settings
    folder = probe_folder(settings.output)
    try:
        job = launch(
            submission,
            server,
            f"{DECODER}-probe-{settings.run_id}",
            lambda pipeline: build_probe(pipeline, folder, settings, submission.parallelism),
            ("--streaming",),  # there all steps share one start of the workers, on the batch engine each stage has its own
            record=False,
        )
        try:
            status = _await_end(job, PROBE_WITHIN)
        except BaseException:
            cancel(job)
            raise
        if status is not JobStatus.FINISHED:
            raise UsageError(f"The workers of {job.flink_master} cannot run the job: {_why(job)}.")
        judge(read_markers(folder), versions_here(), settings.output)
    except JobFailed as error:
        raise UsageError(error.sentence) from error
    finally:
        filesystem.delete_folder(folder)


def launch(
    submission: Submission,
    server: JobServer,
    name: str,
    add_steps: Callable[[beam.Pipeline], object],
    more: Sequence[str] = (),
    *,
    record: bool = True,
) -> Submitted:
    """Hands a pipeline to the job server, and waits until the cluster has the job.

    Raises:
      JobFailed: it never got there.
    """
    from apache_beam.options.pipeline_options import PortableOptions

    options = submission.options(name, *more)
    options.view_as(PortableOptions).job_endpoint = server.endpoint or None
    pipeline = new_pipeline("FlinkRunner", options)
    add_steps(pipeline)
    known: Set[str] = set()
    try:
        known = {job.id for job in submission.cluster.jobs()}  # of an earlier try under this name too
        result = pipeline.run()
        found = _await_job(submission.cluster, name, known, result, server)
    except JobFailed:
        raise
    except INTERRUPTIONS:
        _cancel_new(submission, name, known)
        raise
    except Exception as error:  # gRPC's, Beam's: what they say stands in the job server's log in a better way
        told = server.last_words() or " ".join(str(error).split())[:300]
        raise JobFailed(f"The job server could not submit the job: {told.rstrip('.')}.") from error
    job = Submitted(submission.settings.run_id, submission.cluster.address, found, name)
    if record:
        filesystem.write_atomically(_record(submission.settings.output, job.run_id), json.dumps(asdict(job)).encode())
    return job


def _cancel_new(submission: Submission, name: str, known: Set[str]) -> None:
    """Cancels a job that nobody waits for any more, if it has got to the cluster meanwhile."""
    with contextlib.suppress(FlinkError):
        for job in submission.cluster.jobs():
            if job.name == name and job.id not in known and not job.status.is_final:
                cancel(Submitted(submission.settings.run_id, submission.cluster.address, job.id, name))


def _await_job(cluster: Cluster, name: str, known: Set[str], result: Any, server: JobServer) -> str:
    deadline = time.monotonic() + APPEAR_WITHIN
    while time.monotonic() < deadline:
        with contextlib.suppress(FlinkError):
            for job in cluster.jobs():
                if job.name == name and job.id not in known and job.status is not JobStatus.INITIALIZING:
                    return job.id
        state = result.state
        if state in ("FAILED", "CANCELLED"):
            raise JobFailed(f"The job server could not submit the job: {(server.last_words() or state).rstrip('.')}.")
        time.sleep(LOOK_EVERY / 4)
    raise JobFailed(f"The cluster at {cluster.address} had no job {name} {APPEAR_WITHIN:g} s after its submission.")


def follow(job: Submitted, output: str, progress: "Progress") -> None:
    """Shows how a job goes, until it is finished.

    Raises:
      JobFailed: it ended in another way.
    """
    shown = _Shown(progress, progress_folder(filesystem.to_uri(output), job.run_id))
    status = before = JobStatus.CREATED
    for status in _statuses(job, say=progress.phase):
        if status is JobStatus.RESTARTING and before is not status:
            progress.phase(f"Flink starts the job again: {_why(job)}")
            shown.start_again()
        elif status is JobStatus.RUNNING and before is JobStatus.RESTARTING:
            progress.phase(f"Decoding on {job.flink_master}")
        before = status
        shown.update()
    if status is JobStatus.CANCELED:
        raise JobFailed(f"The job was cancelled on the cluster. {GOES_ON}")
    if status is not JobStatus.FINISHED:
        raise JobFailed(f"The job failed: {_why(job)}. {GOES_ON}")


def _statuses(job: Submitted, seconds: float | None = None, say: Callable[[str], object] = lambda _: None) -> Iterator[JobStatus]:
    """A status every second until the last one; with a limit, until that is over.

    Args:
      say: is told when the cluster stops answering, and when it answers again.
    """
    started = answered = time.monotonic()
    away = False
    while seconds is None or time.monotonic() < started + seconds:
        try:
            status = job.cluster.status(job.job_id)
        except FlinkError as error:
            if time.monotonic() > answered + AWAY_FOR:
                raise JobFailed(f"The JobManager at {job.flink_master} does not answer any more ({error}). {GOES_ON}") from error
            if not away:
                away = True
                say(f"The JobManager at {job.flink_master} does not answer ({error}); it is waited for {AWAY_FOR:g} s")
        else:
            if away:
                away = False
                say(f"Decoding on {job.flink_master}")
            answered = time.monotonic()
            yield status
            if status.is_final:
                return
        time.sleep(LOOK_EVERY)


def _await_end(job: Submitted, seconds: float) -> JobStatus:
    status = JobStatus.CREATED
    for status in _statuses(job, seconds):
        if status is JobStatus.RESTARTING:  # a probe that fails is not tried again
            cancel(job)
            return status
    if not status.is_final:
        raise JobFailed(
            f"The workers of {job.flink_master} did not answer within {seconds:g} s: is the worker's program (or the worker pool) there on "
            "each of its machines? The TaskManager's log tells what it waits for."
        )
    return status


def _why(job: Submitted) -> str:
    try:
        return python_error(job.cluster.failure(job.job_id)) or "Flink does not say why"
    except FlinkError as error:
        return f"the cluster does not say why ({error})"


def cancel(job: Submitted) -> None:
    """Ends a job on the cluster, and waits until its tasks are gone."""
    with contextlib.suppress(FlinkError, JobFailed):
        job.cluster.cancel(job.job_id)
        for _status in _statuses(job, CANCEL_WITHIN):
            pass


class _Shown:
    """Passes on to the progress what is new in the workers' files."""

    def __init__(self, progress: "Progress", folder: str) -> None:
        self._progress, self._folder = progress, folder
        self._known: dict[str, tuple[int, int]] = {}
        self._earlier: frozenset[str] = frozenset()

    def start_again(self) -> None:
        """From now on other workers count. Whether they find all documents again or go on with those found, is still to be seen."""
        with contextlib.suppress(OSError):
            self._earlier = frozenset(file.name for file in filesystem.list_folder(self._folder))

    def update(self) -> None:
        with contextlib.suppress(OSError):
            if self._earlier and counters.FOUND in read_counts(self._folder, without=self._earlier):
                for name in self._earlier:
                    filesystem.delete(filesystem.join(self._folder, name))
                self._earlier = frozenset()
                self._known.clear()
                self._progress.start_again()
            for name, (documents, size) in read_counts(self._folder).items():
                known = self._known.get(name, (0, 0))
                if documents <= known[0]:
                    continue
                self._known[name] = (documents, size)
                self._progress.count(name, documents - known[0], size - known[1])


# --- jobs that nobody waited for ---------------------------------------------------------------------------------------------------------


def _record(output: str, run_id: str) -> str:
    return filesystem.join(output, SUBMITTED, f"{run_id}.json")


def follow_submitted(output: str, run_id: str | None, progress: "Progress") -> str:
    """Follows a run that a cluster was given and that nobody waited for.

    Args:
      run_id: None: the newest.
    Returns:
      The id of the run, which is finished.
    Raises:
      JobFailed: it ended in another way.
    """
    job = Submitted(**json.loads(filesystem.read_bytes(_record(output, unfinished_on_cluster(output, run_id)))))
    progress.phase(f"Decoding on {job.flink_master}")
    try:
        follow(job, output, progress)
    except JobFailed:
        forget(output, job.run_id)
        raise
    finish(job, output)
    return job.run_id


def finish(job: Submitted, output: str) -> dict[str, Any]:
    """The manifest of a run whose job is finished; what was kept to follow it goes."""
    manifest = read_manifest(output, job.run_id)
    forget(output, job.run_id)
    with contextlib.suppress(OSError):  # the run is published, and the next one sweeps as well
        sweep_ranges(output, manifest["fingerprint"])
    return manifest


def forget(output: str, run_id: str) -> None:
    """Removes what is kept to follow a run."""
    filesystem.delete(_record(output, run_id))
    filesystem.delete_folder(progress_folder(filesystem.to_uri(output), run_id))
