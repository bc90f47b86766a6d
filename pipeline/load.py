"""Brings a finished run into TrustGraph, and tells what is there afterwards."""

import hashlib
import json
import logging
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineState
from rich.console import Console
from rich.text import Text

from pipeline.graph import new_pipeline
from pipeline.interruption import Interrupted, ending_on_signals
from pipeline.options.load import LoadSettings
from pipeline.options.runners import DEFAULT_RUNNER
from pipeline.report.finished_run import FinishedRun, open_run_at
from pipeline.report.words import counted, printable, span_of_time
from pipeline.run import cause, choose_runner
from pipeline.sentences import enumerate_words
from transforms.backoff import Backoff
from transforms.errors import ExitCode, JobFailed, UsageError
from transforms.load_run import REPORT, TOKEN_OPTION, LoadRun
from transforms.storage import filesystem
from transforms.trustgraph.gateway import CHECK_ATTEMPTS, Gateway, GatewayError, Token, read_token
from transforms.trustgraph.run_documents import json_line, shards_of
from transforms.trustgraph.sending import Loaded, LoadTask

LOADS = "loads"
"""Folder in the run: one below it for each target."""
TARGET = "target.json"
LETTERS_SHOWN = 5


def main(settings: LoadSettings, options: PipelineOptions, console: Console) -> int:
    """Loads and tells; the exit code says whether too much of it failed. Raises: CommandError."""
    run = open_run_at(settings.run)
    check_gateway(settings, read_token(settings.token_file or "", TOKEN_OPTION))
    task = load_task(settings, run)
    started = time.monotonic()

    def farewell(_interrupted: Interrupted) -> None:
        console.print("Stopped. What was brought until then is there: the same command goes on from there.")

    with ending_on_signals(lambda: None, farewell):
        loaded = run_load(task, run, settings.runner, options)
    for line in told(loaded, task, time.monotonic() - started):
        console.print(Text(printable(line)), soft_wrap=True)
    wanted = loaded.sent + loaded.existed + loaded.failed
    if settings.max_failures is not None and loaded.failed > settings.max_failures * wanted:
        return ExitCode.TOO_MANY_FAILURES
    return ExitCode.DONE


def check_gateway(settings: LoadSettings, token: Token) -> None:
    """Asks for what the load will need before anything is sent.

    Raises:
      UsageError: the gateway cannot be reached, refuses the token, or has not the workspace or the flow.
    """
    gateway = Gateway(settings.gateway, token, settings.workspace, backoff=Backoff(attempts=CHECK_ATTEMPTS))
    try:
        flows = gateway.call("flow", {"operation": "list-flows"}, reads=True).get("flow-ids") or []
        for flow in (settings.flow, settings.start_processing):
            if flow and flow not in flows:
                raise UsageError(_no_flow(flow, flows, settings.workspace))
        gateway.query_triples(s={"t": "i", "i": "urn:graph:source"}, limit=1, flow=settings.flow)
    except GatewayError as error:
        raise UsageError(f"Nothing was sent: {error} (workspace {settings.workspace}).") from error


def _no_flow(flow: str, flows: Sequence[str], workspace: str) -> str:
    known = f"it has {enumerate_words(sorted(flows), 'and')}" if flows else "it has none: start one with tg-start-flow"
    return f"Workspace {workspace} has no flow {flow}: {known}."


def load_task(settings: LoadSettings, run: FinishedRun) -> LoadTask:
    """The task, and in the run the folder of its target: what an address has got of a run is one thing, of another address another."""
    output = filesystem.to_uri(run.output)
    folder = filesystem.to_uri(run.folder)
    target = {
        "gateway": settings.gateway,
        "workspace": settings.workspace,
        "flow": settings.flow,
        "collection": settings.collection or "",
        "sources": settings.sources,
        # A run of the same name that was made anew has other parts.
        "run": hashlib.sha256(json.dumps(run.manifest["datasets"], sort_keys=True).encode()).hexdigest(),
    }
    name = hashlib.sha256(json.dumps(target, sort_keys=True).encode()).hexdigest()[:16]
    markers = filesystem.join(folder, LOADS, name)
    with filesystem.output_told(run.output):
        filesystem.write_atomically(
            filesystem.join(markers, TARGET), json_line(target), scratch=filesystem.join(output, filesystem.SCRATCH)
        )
    return LoadTask(
        output=output,
        markers=markers,
        gateway=settings.gateway,
        workspace=settings.workspace,
        flow=settings.flow,
        collection=settings.collection or "",
        start_processing=settings.start_processing or "",
        sources=settings.sources,
        again=settings.again,
        connections=settings.connections,
        rate=settings.rate,
        largest=settings.max_message_size,
        token_file=settings.token_file or "",
        every_quad=settings.every_quad,
    )


def run_load(task: LoadTask, run: FinishedRun, runner: str, options: PipelineOptions) -> Loaded:
    """Runs the job to its end.

    Raises:
      JobFailed: the job itself failed; what was brought until then is there.
    """
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL if runner == DEFAULT_RUNNER else logging.ERROR)
    report = filesystem.join(task.markers, REPORT)
    filesystem.delete(report)
    shards = shards_of(run.manifest, filesystem.to_uri(run.folder))
    try:
        pipeline = new_pipeline(choose_runner(runner, options), options)
        pipeline | LoadRun(task, shards)
        state = pipeline.run().wait_until_finish()
    except Exception as error:  # a runner may raise anything
        raise JobFailed(f"The load failed: {cause(error)}. What was brought until then is there: the same command goes on.") from error
    if state != PipelineState.DONE:
        raise JobFailed(f"The load ended as {state}. What was brought until then is there: the same command goes on.")
    return Loaded(**json.loads(filesystem.read_bytes(report)))


def told(loaded: Loaded, task: LoadTask, seconds: float) -> list[str]:
    """What is there now, as lines."""
    before = f" ({counted(loaded.documents_before, 'document')} brought before)" if loaded.documents_before else ""
    lines = [
        f"{counted(loaded.documents, 'document')} of the run{before}: {counted(loaded.sent, 'document')} added to the library, "
        f"{loaded.existed:,} there already and equal, {counted(loaded.quads, 'quad')} in urn:graph:source and found there, in "
        f"{span_of_time(seconds)}."
    ]
    if task.start_processing:
        lines.append(f"{counted(loaded.processing, 'text')} handed to flow {task.start_processing}.")
    if loaded.failed:
        lines.append(f"{counted(loaded.failed, 'dead letter')} in {filesystem.join(task.markers, 'dead_letters')}:")
        lines += [f"  {letter['stage']}: {letter['message']}" for letter in islice(_letters(task), LETTERS_SHOWN)]
    return lines


def _letters(task: LoadTask) -> Any:
    folder = filesystem.join(task.markers, "dead_letters")
    for file in filesystem.list_folder(folder):
        for line in filesystem.read_bytes(filesystem.join(folder, file.name)).splitlines():
            yield json.loads(line)
