"""Finds what would stop a job before it starts: each finding is one sentence that says what is wrong, where, and what to do.

The checks go from cheap to dear, and nothing here changes anything but the output folder, which is made.
"""

import argparse
import importlib
import importlib.util
import logging
import re
import shutil
import socket
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from pipeline import doctor
from pipeline.flink.submission import master
from pipeline.options.backfill import BackfillSettings, backfill_parser
from pipeline.options.parser import parser_flags, unknown_argument
from pipeline.options.runners import DEFAULT_RUNNER, FLINK_RUNNER, is_plain_local
from pipeline.report.words import size
from pipeline.sentences import enumerate_words, nearest
from transforms.errors import UsageError
from transforms.partition.formats import TESSERACT
from transforms.references import sources
from transforms.settings import Strategy
from transforms.sinks.manifest import MANIFEST
from transforms.sinks.write import run_folder
from transforms.storage import filesystem, s3
from transforms.storage.filesystem import reason_of

LOCAL_RUNNERS = (DEFAULT_RUNNER, "FnApiRunner", "BundleBasedDirectRunner", "SwitchingDirectRunner", "TestDirectRunner", "PrismRunner")
"""Those that decode on this machine, so that its tools and models are what counts (Beam 2.77.0, `StandardOptions.LOCAL_RUNNERS`)."""
MINIMUM_FREE = 256 << 20
"""Bytes that the disks of the output and of the temporary files must have: less would not hold a part of each dataset."""
REACH_WITHIN = 5.0
"""Seconds for a cluster to take a connection."""
RUNNER_EXTRAS = {"DataflowRunner": "gcp", "InteractiveRunner": "interactive"}
"""Runner -> the extra of apache-beam that brings what it needs."""
RUNNER_CLIENTS = {"DataflowRunner": "apache_beam.runners.dataflow.internal.apiclient"}
"""Runner -> the module that it imports only when a job is submitted (Beam 2.77.0)."""
JOB_SERVER_FLAGS = (
    "--allow_non_restored_state",
    "--attached_mode",
    "--auto_balance_write_files_sharding_enabled",
    "--auto_watermark_interval",
    "--checkpoint_timeout_millis",
    "--checkpointing_interval",
    "--checkpointing_mode",
    "--disable_metrics",
    "--enable_stable_input_drain",
    "--execution_mode_for_batch",
    "--execution_retry_delay",
    "--externalized_checkpoints_enabled",
    "--fail_on_checkpointing_errors",
    "--faster_copy",
    "--file_input_split_max_size_m_b",
    "--files_to_stage",
    "--finish_bundle_before_checkpointing",
    "--flink_conf_dir",
    "--force_unaligned_checkpoint_enabled",
    "--job_check_interval_in_secs",
    "--latency_tracking_interval",
    "--max_bundle_size",
    "--max_bundle_time_mills",
    "--min_pause_between_checkpoints",
    "--num_concurrent_checkpoints",
    "--number_of_execution_retries",
    "--object_reuse",
    "--operator_chaining",
    "--re_iterable_group_by_key_result",
    "--retain_externalized_checkpoints_on_cancellation",
    "--savepoint_path",
    "--shutdown_sources_after_idle_ms",
    "--state_backend",
    "--state_backend_storage_path",
    "--unaligned_checkpoint_enabled",
)
"""Options that only the Flink job server knows (Java, `FlinkPipelineOptions` of Beam 2.77): Beam's Python learns of them after it has
submitted, too late for a sentence."""


def check(settings: BackfillSettings, beam_arguments: Sequence[str]) -> None:
    """All checks of a backfill.

    Raises:
      UsageError: the sentence about the first thing that is wrong.
    """
    if not (settings.dry_run and _needs_no_beam(settings, beam_arguments)):
        options = check_beam_arguments(beam_arguments)
        filesystem.configure(options)
        # What is submitted to Flink is completed first, from what the cluster is: `pipeline.flink.checks` asks then.
        check_runner(settings.runner, options, validate=not settings.dry_run and settings.runner != FLINK_RUNNER)
    check_sources(settings)
    if settings.runner in LOCAL_RUNNERS:
        check_decode_tools(settings)
    check_output(settings.output, settings.run_id, write=not settings.dry_run)


def _needs_no_beam(settings: BackfillSettings, beam_arguments: Sequence[str]) -> bool:
    """Whether a plan can be made, and its options checked, without Beam, whose import takes longer (1 s) than all the rest."""
    places = (*settings.inputs, *settings.references, settings.output)
    return settings.library is None and is_plain_local(beam_arguments) and all(map(filesystem.is_local, places))


# --- Beam's options ----------------------------------------------------------------------------------------------------------------------


def check_beam_arguments(arguments: Sequence[str], command: argparse.ArgumentParser | None = None) -> Any:
    """Checks the arguments that are not the decoder's own.

    Args:
      command: the parser of the command that was given; default: that of `backfill`.
    Returns:
      Beam's `PipelineOptions` of them.
    Raises:
      UsageError: Beam does not know one either, refuses its value, or it is one that this job must not run with.
    """
    command = command or backfill_parser()
    logging.disable(logging.WARNING)  # Beam 2.77 warns at its import of each cloud's file system that is not installed
    from apache_beam.options.pipeline_options import PipelineOptions, _BeamArgumentParser

    logging.disable(logging.NOTSET)

    class Asking(_BeamArgumentParser):  # type: ignore[misc]
        def error(self, message: str) -> NoReturn:
            raise UsageError(f"{_tidy(message)} (an option of Beam).")

    parser = Asking(allow_abbrev=False, add_help=False)
    for group in PipelineOptions.__subclasses__():
        group._add_argparse_args(parser)
    for flag in set(JOB_SERVER_FLAGS) - set(parser_flags(parser)):
        parser.add_argument(flag, nargs="?", const="true")
    _refuse_unknown(arguments, parser, command)
    found, rest = parser.parse_known_args(list(arguments))
    if rest:
        raise UsageError(unknown_argument(rest[0], (), command.prog))
    _refuse_harmful(found)
    return PipelineOptions(list(arguments), save_main_session=False)


def _tidy(message: str) -> str:
    """argparse's `argument --x/--y: invalid int value: 'z'` as the beginning of a sentence."""
    text = re.sub(r"^argument (\S+?)(?:/\S+)?: ", r"\1: ", " ".join(message.split()))
    return text.rstrip(".")


def _refuse_unknown(arguments: Sequence[str], parser: argparse.ArgumentParser, command: argparse.ArgumentParser) -> None:
    own, beams = parser_flags(command), parser_flags(parser)
    spelled = {flag.replace("_", "-"): flag for flag in own}
    for argument in arguments:
        flag = argument.partition("=")[0]
        if not flag.startswith("-") or re.fullmatch(r"-[0-9.]+", flag):
            continue
        # Beam has a --dry_run of its own, with which the whole job would run: a flag of ours with the wrong dashes is never Beam's.
        if flag not in beams or flag.replace("_", "-") in spelled.keys() - {"--runner"}:
            raise UsageError(unknown_argument(argument, [*own, *beams], command.prog))


def _refuse_harmful(found: argparse.Namespace) -> None:
    if found.direct_running_mode == "multi_threading":
        raise UsageError(
            "--direct_running_mode=multi_threading loses records in silence (Beam 2.77: its workers flush their streams from a timer "
            "thread without a lock): leave it out, as --children decodes in parallel, or use multi_processing."
        )
    experiments = [name.strip() for value in found.experiments or () for name in value.split(",")]
    if any(name.startswith("data_buffer_time_limit_ms") for name in experiments):
        raise UsageError(
            "--experiments data_buffer_time_limit_ms loses records in silence (Beam 2.77 flushes output streams from a timer thread "
            "without a lock): leave it out."
        )
    if found.checkpointing_interval is not None:
        raise UsageError(
            "--checkpointing_interval keeps the sources of a batch job from ever ending on Flink: leave it out; a backfill that was "
            "stopped goes on where it was without checkpoints."
        )


# --- the runner --------------------------------------------------------------------------------------------------------------------------


def check_runner(name: str, options: Any, validate: bool = True) -> None:
    """Checks that the runner is installed, has what it starts, and that the cluster that it names takes connections.

    Args:
      name: as given to `--runner`.
      options: Beam's `PipelineOptions`.
      validate: asks Beam whether the options are complete for the runner, which for Dataflow makes its default bucket (Beam 2.77).
    Raises:
      UsageError: it cannot start.
    """
    from apache_beam.options.pipeline_options import StandardOptions
    from apache_beam.runners.runner import create_runner

    known = list(StandardOptions.KNOWN_RUNNER_NAMES)
    if "." not in name and name not in known:
        meant = nearest(name, known) or nearest(f"{name}Runner", known)
        raise UsageError(
            f"--runner {name!r} is not known to Beam: " + (f"did you mean {meant}?" if meant else f"use {enumerate_words(known)}.")
        )
    try:
        create_runner(name)
        if name in RUNNER_CLIENTS:
            importlib.import_module(RUNNER_CLIENTS[name])
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        extra = RUNNER_EXTRAS.get(name)
        remedy = f"pip install 'apache-beam[{extra}]=={doctor.version_of('apache-beam')}'." if extra else f"{_tidy(str(error))}."
        raise UsageError(f"--runner {name} is not installed here: {remedy}") from error
    _check_cluster(name, options)
    if validate:
        check_complete(name, options)


def check_complete(name: str, options: Any) -> None:
    """Asks Beam whether the options are complete for a runner, and fit each other. Raises: UsageError."""
    from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
    from apache_beam.runners.runner import create_runner

    errors = PipelineOptionsValidator(options, create_runner(name)).validate()
    if errors:
        raise UsageError(f"--runner {name}: {' '.join(_tidy(error) + '.' for error in errors)}")


def _check_cluster(name: str, options: Any) -> None:
    from apache_beam.options.pipeline_options import FlinkRunnerOptions, JobServerOptions, PortableOptions, PrismRunnerOptions

    endpoint = options.view_as(PortableOptions).job_endpoint
    flink = options.view_as(FlinkRunnerOptions)
    if endpoint and endpoint != "embed":
        _reach("--job_endpoint", endpoint, 8099)
    elif name == "PortableRunner" and not endpoint:
        raise UsageError("--runner PortableRunner needs --job_endpoint HOST:PORT, the address of a job server.")
    if name == "FlinkRunner":
        jar = flink.flink_job_server_jar
        if jar and "://" not in jar and not Path(jar).is_file():
            raise UsageError(
                f"--flink_job_server_jar {jar} is not a file: give the path of Beam's job server for Flink {flink.flink_version}."
            )
        if flink.flink_master not in ("[local]", "[auto]", "[collection]", ""):
            _reach("--flink_master", flink.flink_master, 8081)
    java = options.view_as(JobServerOptions).job_server_java_launcher or "java"
    starts_java = name in ("FlinkRunner", "SparkRunner") and not endpoint and not (name == "FlinkRunner" and flink.flink_submit_uber_jar)
    if starts_java and shutil.which(java) is None:
        raise UsageError(
            f"--runner {name} starts a job server in Java, and there is no {java} here: install Java 17, or give --job_endpoint."
        )
    if name == FLINK_RUNNER:
        master(options)
    prism = options.view_as(PrismRunnerOptions).prism_location
    if name == "PrismRunner" and prism and "://" not in prism and not Path(prism).exists():
        raise UsageError(
            f"--prism_location {prism} is not a file: build it with go install github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0."
        )


def _reach(flag: str, address: str, default_port: int) -> None:
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port or default_port
    except ValueError:
        host, port = None, 0
    if not host:
        raise UsageError(f"{flag} {address!r} is not an address: give HOST:PORT.")
    try:
        socket.create_connection((host, port), REACH_WITHIN).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{flag} {address} cannot be reached ({reason}): start it, or give the address that it listens on.") from error


# --- input and output --------------------------------------------------------------------------------------------------------------------


def check_sources(settings: BackfillSettings) -> None:
    """Checks that each pattern names something outside of the output, and that each reference file and library can be read.

    Raises:
      UsageError: one does not.
    """
    for flag, places in (("--input", settings.inputs), ("--references", settings.references)):
        for place in places:
            _check_file_system(flag, place)
    sources.check_sources(settings.inputs, settings.references, exclude=settings.output, library=settings.library)


def _check_file_system(flag: str, place: str) -> None:
    try:
        if missing := filesystem.missing_file_system(place):
            raise UsageError(f"{flag} {place}: {missing}.")
    except ValueError as error:  # no URI at all
        raise UsageError(f"{flag}: {error}") from error
    try:
        if s3.is_s3(place):
            s3.check(place)
    except (OSError, ValueError) as error:
        raise UsageError(f"{flag} {place} cannot be used: {_tidy(str(error))}.") from error


def check_output(output: str, run_id: str, write: bool = True) -> None:
    """Checks that the output can be written, has room, and that the run is not finished already.

    Args:
      write: tries to write, which makes the folder; without it the output is only looked at.
    Raises:
      UsageError: it is not so.
    """
    _check_file_system("--output", output)
    path = filesystem.local_path(output) if filesystem.is_local(output) else None
    if path is not None:
        _check_local_output(output, Path(path), write)
    elif write:
        _check_remote_output(output)
    try:
        is_finished = filesystem.exists(filesystem.join(run_folder(output, run_id), MANIFEST))
    except (OSError, ValueError) as error:  # BeamIOError is an OSError
        raise UsageError(f"--output {output} cannot be read: {reason_of(error)}.") from error
    if is_finished:
        raise UsageError(f"--run-id {run_id} names a run that is finished already, in {output}: choose another name, or leave it out.")


def _check_local_output(output: str, path: Path, write: bool) -> None:
    try:
        existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    except OSError as error:
        raise UsageError(f"--output {output} cannot be used ({error.strerror}): choose another folder.") from error
    if not existing.is_dir():
        what = "is a file" if existing == path else f"lies below {existing}, which is a file"
        raise UsageError(f"--output {output} {what}: give a folder.")
    if not write:
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"\0" * 4096)  # a full disk takes the name of a file, not its content
            probe.flush()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"--output {output} cannot be written ({reason}): choose another folder, or make this one writable.") from error
    _check_room("--output", output, path)
    try:
        temporary = Path(tempfile.gettempdir())
    except OSError as error:
        raise UsageError("No folder for temporary files can be written: set TMPDIR to one that can.") from error
    _check_room("TMPDIR", str(temporary), temporary)


def _check_room(flag: str, shown: str, path: Path) -> None:
    free = shutil.disk_usage(path).free
    if free < MINIMUM_FREE:
        raise UsageError(
            f"{flag} {shown}: its disk has {size(free)} left, and at least {size(MINIMUM_FREE)} are needed: make room, or choose another."
        )


def _check_remote_output(output: str) -> None:
    probe = filesystem.join(output, f".probe-{uuid.uuid4().hex}")
    try:
        filesystem.write_atomically(probe, b"universal-decoder looks whether it may write here")
        filesystem.delete(probe)
    except Exception as error:  # every file system has exceptions of its own
        raise UsageError(
            f"--output {output} cannot be written ({_tidy(str(error)) or type(error).__name__}): check its name and your rights."
        ) from error


# --- tools and models --------------------------------------------------------------------------------------------------------------------


def check_decode_tools(settings: BackfillSettings) -> None:
    """Checks what the settings ask for against what is installed here. A format that lacks a tool is no reason to stop: its documents
    become dead letters that the next run tries again.

    Raises:
      UsageError: a strategy lacks its models or its tool, a language is not installed, or nothing at all could be decoded.
    """
    for package in ("unstructured", "magic"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"The package {package} is missing: pip install universal-decoder brings it.")
    decode = settings.decode
    if decode.strategy is Strategy.HI_RES:
        missing = doctor.missing_for_hi_res()
        if missing:
            raise UsageError(
                "--strategy hi_res needs the layout models, which this installation lacks "
                f"({enumerate_words(missing, 'and')}): {doctor.hi_res_remedy(missing)}, or use --strategy auto."
            )
    if decode.strategy is Strategy.FAST:
        return
    installed = doctor.ocr_languages()
    if not TESSERACT.is_available():
        if decode.strategy is Strategy.OCR_ONLY:
            raise UsageError(
                "--strategy ocr_only needs tesseract, which this installation lacks: apt-get install tesseract-ocr, or use --strategy fast."
            )
        return
    for language in decode.languages:
        if language not in installed:
            raise UsageError(_missing_language(language, installed))


def _missing_language(language: str, installed: Sequence[str]) -> str:
    readable = [name for name in installed if name != "osd"]  # finds the orientation of a page, reads no text
    meant = nearest(language, readable)
    package = f"tesseract-ocr-{language.lower().replace('_', '-').replace('/', '-')}"
    choice = f"use {meant}" if meant else f"use one of {', '.join(readable)}" if readable else "use --strategy fast"
    return f"--languages {language} is not installed for tesseract: apt-get install {package}, or {choice}."
