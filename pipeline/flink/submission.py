"""How a backfill is submitted to Flink: everything that an operator did not say is said here, from what the cluster is."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.flink.distribution import FLINK_VERSION, built_job_server
from pipeline.flink.rest import Cluster, FlinkError, TaskManager
from pipeline.options.backfill import BackfillSettings
from transforms.errors import UsageError
from transforms.settings import DECODER

WORKER = f"{DECODER}-worker"
RETRIES = 3
"""Times that Flink starts a job again after a worker or a TaskManager was lost. What is decoded by then is staged, so that costs little.
On the batch engine that is up to the cluster (`write_flink_settings`)."""
RETRY_DELAY = "5 s"
"""Between two tries: time for a TaskManager to come back."""
ONE_BUNDLE = {"--max_bundle_size": 10_000_000, "--max_bundle_time_mills": 24 * 3600 * 1000}
"""On the streaming engine: all that a slot is given is one bundle, as on the batch engine. At the end of a bundle all children wait for the
last document in it, and Flink's own ends are 1,000 documents and one second: a long document would hold back all that came later."""
MAGIC_MASTERS = ("", "[auto]", "[local]", "[collection]")
"""Beam's words for a Flink inside of the job server."""


@dataclass(frozen=True)
class Submission:
    """A backfill, ready for a cluster."""

    cluster: Cluster
    settings: BackfillSettings
    """With the children that fit the machines there."""
    arguments: tuple[str, ...]
    """Of Beam, complete."""
    parallelism: int
    workers_per_machine: int
    streaming: bool
    retries: int | None
    """Times that Flink starts the job again when something is lost; None: as the cluster has it."""

    def options(self, job_name: str, *more: str) -> Any:
        """Beam's `PipelineOptions`, under a name by which the job is found on the cluster."""
        from apache_beam.options.pipeline_options import PipelineOptions

        return PipelineOptions([*self.arguments, *more, f"--job_name={job_name}"], save_main_session=False)


def master(options: Any) -> Cluster:
    """The cluster that was asked for.

    Raises:
      UsageError: none was.
    """
    from apache_beam.options.pipeline_options import FlinkRunnerOptions

    address = str(options.view_as(FlinkRunnerOptions).flink_master).strip()
    if address in MAGIC_MASTERS:
        raise UsageError(
            "--runner FlinkRunner needs --flink_master HOST:PORT, the REST address of a cluster: make flink-up starts one on this machine."
        )
    return Cluster(address.rstrip("/"))


def complete(settings: BackfillSettings, arguments: Sequence[str]) -> Submission:
    """Fills in what was not said; what was said stays, whatever it is.

    Args:
      arguments: of Beam, as given, checked by the preflight.
    Raises:
      UsageError: the cluster does not answer, has no TaskManager, or the worker's program is not there.
    """
    from apache_beam.options.pipeline_options import FlinkRunnerOptions, PipelineOptions, PortableOptions, StandardOptions

    options = PipelineOptions(list(arguments))
    cluster = master(options)
    try:
        version, machines, cluster_settings = cluster.version(), cluster.task_managers(), cluster.settings()
    except FlinkError as error:
        raise UsageError(f"--flink_master {cluster.address} does not answer as Flink does ({error}): is it the REST address?") from error
    if not any(machine.slots for machine in machines):  # a TaskManager registers before its slots do
        raise UsageError(f"The cluster at {cluster.address} has no TaskManager: start one, or wait until it has registered.")
    flink, portable = options.view_as(FlinkRunnerOptions), options.view_as(PortableOptions)
    given = {argument.partition("=")[0] for argument in arguments}
    added: list[str] = []
    if cluster.address != flink.flink_master:  # the job server takes no slash at the end of an address that was copied from a browser
        added.append(f"--flink_master={cluster.address}")
    parallelism = flink.parallelism if flink.parallelism > 0 else sum(machine.slots for machine in machines)
    workers = min(max(machine.slots for machine in machines), parallelism)
    if flink.parallelism <= 0:
        added.append(f"--parallelism={parallelism}")
    if "--sdk_worker_parallelism" in given:
        workers = int(portable.sdk_worker_parallelism) or workers
    else:
        added.append(f"--sdk_worker_parallelism={workers}")
    if "--flink_version" not in given:
        added.append(f"--flink_version={short(version)}")
    if not flink.flink_job_server_jar and short(version) == short(FLINK_VERSION) and built_job_server().is_file():
        added.append(f"--flink_job_server_jar={built_job_server()}")
    added += _environment(portable)
    streaming = bool(options.view_as(StandardOptions).streaming)
    if streaming:
        added += [f"{name}={value}" for name, value in ONE_BUNDLE.items() if name not in given]
    return Submission(
        cluster=cluster,
        settings=settings if settings.children_given else replace(settings, children=children_for(machines, workers)),
        arguments=(*arguments, *added),
        parallelism=parallelism,
        workers_per_machine=workers,
        streaming=streaming,
        retries=_retries(arguments, streaming=streaming, strategy=_strategy(cluster_settings)),
    )


def short(version: str) -> str:
    """1.19 of 1.19.3: what a job server is made for."""
    match = re.match(r"\d+\.\d+", version)
    return match[0] if match else version


def children_for(machines: Sequence[TaskManager], workers: int) -> int:
    """Children of each worker: those of a machine together as many as its CPUs; of unequal machines the smallest counts."""
    return max(1, min(machine.cpus for machine in machines) // workers)


def _strategy(cluster_settings: Mapping[str, str]) -> str:
    """The cluster's restart strategy, by Flink's name for it; empty: none was set."""
    return cluster_settings.get("restart-strategy.type") or cluster_settings.get("restart-strategy") or ""


def _retries(arguments: Sequence[str], *, streaming: bool, strategy: str) -> int | None:
    given = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    given.add_argument("--number_of_execution_retries")
    wanted: str | None = given.parse_known_args(list(arguments))[0].number_of_execution_retries
    if wanted is not None and not wanted.isdecimal():
        raise UsageError(f"--number_of_execution_retries {wanted!r} is not a number of tries: give 0 or more.")
    if wanted is not None and not streaming:
        raise UsageError("--number_of_execution_retries goes with --streaming: the batch engine has the cluster's restart-strategy only.")
    if streaming:
        return int(wanted) if wanted is not None else None if strategy else RETRIES
    return None if strategy else 0


def write_flink_settings(folder: Path, retries: int) -> None:
    """Writes what Flink's client shall read for a job (--flink_conf_dir).

    For the streaming engine. The batch engine has nothing that a submission could set: Beam hands its --number_of_execution_retries to the
    other one only, and Flink's DataSet API puts no settings into the job (Beam 2.70.0, Flink 1.19.3); there the cluster's strategy holds.
    """
    strategy = (
        {"type": "none"}
        if retries == 0
        else {
            "type": "fixed-delay",
            "fixed-delay.attempts": retries,
            "fixed-delay.delay": RETRY_DELAY,
        }
    )
    (folder / "config.yaml").write_text("".join(f"restart-strategy.{name}: {value}\n" for name, value in strategy.items()))


def _environment(portable: Any) -> list[str]:
    """How a TaskManager gets its Python workers. Docker, Beam's own default, would need a daemon in each of them."""
    pool = portable.lookup_environment_option("external_service_address")
    if pool:  # Beam 2.77.0 knows this one, and then fails for want of the other ("expected string … got 'NoneType'")
        raise UsageError(f"--environment_options=external_service_address={pool} is read by no Beam so far: --environment_config={pool}.")
    if portable.environment_type:
        return []
    if portable.environment_config:
        return ["--environment_type=EXTERNAL"]
    given = [str(option).partition("=")[0] for option in portable.environment_options or ()]
    return ["--environment_type=PROCESS", *([] if "process_command" in given else [f"--environment_options=process_command={_worker()}"])]


def _worker() -> str:
    """The worker's program of this installation."""
    program = Path(sys.executable).parent / WORKER
    if not program.is_file():
        raise UsageError(
            f"{WORKER} is not beside {sys.executable}: install the package there (pip install), or name the workers with "
            "--environment_config."
        )
    return str(program)
