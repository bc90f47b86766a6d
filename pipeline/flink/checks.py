"""What would stop a job on a cluster, found before anything runs there, by asking its REST API: one sentence each."""

import re
import zipfile
from pathlib import Path
from typing import Any

from pipeline import preflight
from pipeline.flink.rest import FlinkError, TaskManager
from pipeline.flink.submission import Submission, short
from pipeline.options.runners import FLINK_RUNNER
from pipeline.report.words import counted, size
from pipeline.sentences import enumerate_words
from transforms.errors import UsageError

STAGED_BY_BEAM = ("requirements_file", "setup_file", "extra_packages", "requirements_cache")
"""Options of Beam (its `SetupOptions`) by which a runner installs packages on its workers; our worker installs nothing."""

BUFFER = 32 << 10
"""Bytes of one network buffer (Flink's taskmanager.memory.segment-size)."""
BATCH_RESULTS = 5
"""Results that a slot writes at a time, of 512 buffers each (taskmanager.network.sort-shuffle.min-buffers); four were seen."""
STREAMING_EXCHANGES = 10
"""Inputs of a slot from all slots. One slot was seen with 32 buffers in use."""


def check_cluster(submission: Submission, options: Any) -> None:
    """Checks the options against each other, and version, slots, network buffers and the job server against the cluster.

    Args:
      options: Beam's `PipelineOptions` of the submission.
    Raises:
      UsageError: the sentence about the first thing that is wrong.
    """
    from apache_beam.options.pipeline_options import FlinkRunnerOptions, SetupOptions

    preflight.check_complete(FLINK_RUNNER, options)
    flink, setup = options.view_as(FlinkRunnerOptions), options.view_as(SetupOptions)
    for name in STAGED_BY_BEAM:
        if getattr(setup, name, None):
            raise UsageError(f"--{name} is of no use on Flink: its workers install nothing, the decoder is installed where they run.")
    try:
        version = submission.cluster.version()
        machines = submission.cluster.task_managers()
    except FlinkError as error:
        raise UsageError(f"--flink_master {submission.cluster.address} does not answer ({error}).") from error
    if short(version) != flink.flink_version:
        raise UsageError(
            f"--flink_version {flink.flink_version} does not fit the cluster at {submission.cluster.address}, which is Flink {version}: "
            "leave it out."
        )
    known = FlinkRunnerOptions.PUBLISHED_FLINK_VERSIONS
    if flink.flink_version not in known:
        raise UsageError(f"The cluster is Flink {version}, for which Beam has no job server: it has {enumerate_words(known)}.")
    _check_jar(flink.flink_job_server_jar, flink.flink_version)
    _check_slots(submission, machines)
    _check_buffers(submission, machines)


def _check_jar(jar: str | None, version: str) -> None:
    """The job server holds Flink's client: one of another version fails only when it talks to the cluster, and with a Java stack."""
    if not jar or not Path(jar).is_file():
        return
    try:
        with zipfile.ZipFile(jar) as members:
            found = [re.search(r"/beam-runners-flink-(\d+\.\d+)/pom\.properties$", name) for name in members.namelist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"--flink_job_server_jar {jar} is not a jar ({error}).") from error
    made_for = {match[1] for match in found if match}
    if made_for and version not in made_for:
        raise UsageError(
            f"--flink_job_server_jar {jar} is made for Flink {enumerate_words(sorted(made_for))}, and the cluster is Flink {version}."
        )


def _check_slots(submission: Submission, machines: list[TaskManager]) -> None:
    slots, free = sum(machine.slots for machine in machines), sum(machine.free_slots for machine in machines)
    wanted, where = submission.parallelism, submission.cluster.address
    if wanted > slots:
        raise UsageError(
            f"--parallelism {wanted} is more than the {counted(slots, 'slot')} of the cluster: start TaskManagers, or give less."
        )
    if not free:
        raise UsageError(f"No slot of the cluster at {where} is free: wait for the jobs there, or cancel one.")
    if wanted > free:
        raise UsageError(
            f"The job needs {counted(wanted, 'slot')}, and {free} of {slots} are free: wait for the jobs at {where}, or give "
            f"--parallelism {free}."
        )


def _check_buffers(submission: Submission, machines: list[TaskManager]) -> None:
    # An input holds two buffers for each of the slots that it reads from, and eight more (Flink 1.19's defaults).
    inputs = STREAMING_EXCHANGES * (2 * submission.parallelism + 8)
    per_slot = inputs if submission.streaming else BATCH_RESULTS * 512 + inputs
    for machine in machines:
        buffers = machine.segments or machine.network_memory // BUFFER
        needed = per_slot * min(machine.slots, submission.parallelism)
        if buffers < needed:
            raise UsageError(
                f"The TaskManager {machine.id} has {buffers} network buffers, and this job needs about {needed} there: set "
                f"taskmanager.memory.network.min and .max to {size(needed * BUFFER)} or more, or use fewer slots."
            )
