"""Runs the graph on a runner, and answers with the manifest of what came of it."""

import contextlib
import logging
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineRunner, PipelineState

from pipeline.graph import build, new_pipeline
from pipeline.options.backfill import BackfillSettings
from pipeline.options.runners import DEFAULT_RUNNER, FLINK_RUNNER
from transforms import counters
from transforms.errors import JobFailed
from transforms.isolation.pool import remove_folders_of_dead_owners
from transforms.isolation.shared import DECODE_FILE, close_pools
from transforms.sinks.manifest import discard_manifest, read_manifest
from transforms.storage import filesystem
from transforms.storage.staging import sweep_ranges


class Progress(Protocol):
    """What is told of a run while it goes; `pipeline.progress` shows it."""

    def count(self, name: str, documents: int, size: int) -> None: ...

    def phase(self, text: str) -> None: ...

    def start_again(self) -> None: ...


def run(settings: BackfillSettings, beam_arguments: Sequence[str], progress: Progress, decoder: str = DECODE_FILE) -> dict[str, Any]:
    """Runs a backfill to its end.

    Args:
      beam_arguments: of Beam and its runner, `--runner` among them; checked by the preflight.
      progress: told of each document as it is done, where the runner works in this process.
      decoder: module:function that a child runs for a document; another one only in tests.
    Returns:
      The manifest of the run.
    Raises:
      JobFailed: the job itself failed; what was decoded until then is staged, and the same command goes on from there.
    """
    if settings.runner == FLINK_RUNNER:
        from pipeline.flink.run import run_on_flink

        return run_on_flink(settings, beam_arguments, progress, decoder)
    options = PipelineOptions(list(beam_arguments), save_main_session=False)
    # Its warnings are about this code, and nothing that an operator could change. Of what fails in this process it logs its own stack,
    # as an error: the exception comes here as well, and is told in a sentence.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL if settings.runner == DEFAULT_RUNNER else logging.ERROR)
    forget = counters.observe(progress.count)
    try:
        remove_folders_of_dead_owners(Path(tempfile.gettempdir()))  # a pool does so as well, but a run that has all staged starts none
        with filesystem.output_told(settings.output):
            filesystem.sweep(filesystem.join(settings.output, filesystem.SCRATCH))
            discard_manifest(settings.output, settings.run_id)  # of an earlier run of that name: its parts are overwritten one by one
        pipeline = new_pipeline(choose_runner(settings.runner, options), options)
        build(pipeline, settings, decoder)
        result = pipeline.run()
        state = result.wait_until_finish()
    except Exception as error:  # a runner may raise anything; its last line tells the cause, the rest is its own stack
        raise JobFailed(
            f"The job failed: {cause(error)}. What was decoded until then is kept: the same command goes on from there."
        ) from error
    finally:
        forget()
        close_pools()
    if state != PipelineState.DONE:
        raise JobFailed(f"The job ended as {state}. What was decoded until then is kept: the same command goes on from there.")
    with contextlib.suppress(OSError):  # the run is published, and the next one sweeps as well
        sweep_ranges(settings.output, settings.decode.fingerprint)
    return read_manifest(settings.output, settings.run_id)


def submit(settings: BackfillSettings, beam_arguments: Sequence[str], decoder: str = DECODE_FILE) -> None:
    """Hands a backfill to a runner whose job goes on by itself, and does not wait for it.

    Args:
      beam_arguments, decoder: as for `run`.
    Raises:
      JobFailed: the runner did not take it.
    """
    options = PipelineOptions(list(beam_arguments), save_main_session=False)
    pipeline = new_pipeline(settings.runner, options)
    build(pipeline, settings, decoder)
    try:
        pipeline.run()
    except Exception as error:
        raise JobFailed(f"The job was not taken: {cause(error)}.") from error


def choose_runner(name: str, options: PipelineOptions) -> PipelineRunner | str:
    """The runner to use for a name.

    `DirectRunner` means the FnApiRunner, in memory: Beam 2.77's own DirectRunner first looks for Prism, a Go program that it downloads.
    With several processes it has to be Beam's, as the FnApiRunner alone would lose the pipeline options (seen with 2.77.0).
    """
    if name == DEFAULT_RUNNER and options.view_as(DirectOptions).direct_running_mode in (None, "in_memory"):
        return FnApiRunner()
    return name


def cause(error: BaseException) -> str:
    """The sentence that a failed job comes down to: the last line of what the runner raised, without the name of the step."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    return re.sub(r"\s*\[while running '[^']*'\]$", "", last).rstrip(".")
