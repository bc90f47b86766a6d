"""`universal-decoder`: one command, whose mistakes end in a sentence and an exit code, never in a traceback."""

import atexit
import contextlib
import importlib
import logging
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from pipeline.interruption import CLUSTER_PATIENCE, PATIENCE, Interrupted, ending_at_once, ending_on_signals
from pipeline.options.backfill import BackfillSettings, parse_backfill
from pipeline.options.doctor import parse_doctor
from pipeline.options.export import parse_export
from pipeline.options.load import load_parser, parse_load
from pipeline.options.overview import overview
from pipeline.options.report import parse_report
from pipeline.options.runners import FLINK_RUNNER
from pipeline.options.trace import parse_trace
from pipeline.sentences import enumerate_words, nearest
from transforms.errors import CommandError, ExitCode, UsageError
from transforms.isolation.shared import DECODE_FILE, close_pools
from transforms.settings import DECODER
from transforms.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console

BEFORE_ANY_WORK = "Interrupted before any work."

# What takes time to import (Beam 1.5 s, pyarrow 0.2 s, rich 0.1 s) is imported by the command that needs it: `--help` needs none of it.


def main(argv: Sequence[str] | None = None, decoder: str = DECODE_FILE) -> int:
    """Runs the command line.

    Args:
      argv: the arguments after the program's name; default: the process's.
      decoder: module:function that a child runs for a document; another one only in tests.
    Returns:
      The exit code, see `transforms.errors.ExitCode`.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments, decoder)
    except CommandError as error:
        _say(error.sentence)
        return error.exit_code
    except KeyboardInterrupt:
        _say(BEFORE_ANY_WORK)
        return ExitCode.INTERRUPTED
    except Interrupted as interrupted:
        return interrupted.exit_code
    except BrokenPipeError:  # `universal-decoder report out | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except SystemExit as error:  # argparse after --help
        return error.code if isinstance(error.code, int) else ExitCode.DONE
    except Exception as error:  # a defect of this program: still a sentence, and the traceback for whoever repairs it
        _say(f"This is a defect of the program ({_one_line(error)}); the traceback to report is in {_write_traceback()}.")
        return ExitCode.FAILED


def run_and_exit() -> NoReturn:
    """The program: runs `main` and ends the process with its exit code, without the C++ destructors of the libraries it has loaded.

    On a busy machine two of some 300 runs were aborted by one of them (`terminate called without an active exception`, pyarrow
    25.0.1) after all was done and said. Python's own exit handlers run as ever.
    """
    code = main()
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):  # one that was closed before the start is None
        with contextlib.suppress(OSError):  # nobody reads it any more
            stream.flush()
    os._exit(code)


def _dispatch(arguments: list[str], decoder: str) -> int:
    if not arguments:
        print(overview(), end="")
        return ExitCode.USAGE
    command, rest = arguments[0], arguments[1:]
    if command in ("-h", "--help", "help"):
        print(overview(), end="")
        return ExitCode.DONE
    if command in ("-V", "--version"):
        print(f"{DECODER} {VERSION}")
        return ExitCode.DONE
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "backfill": partial(backfill, decoder=decoder),
        "trace": trace,
        "report": report,
        "load": load,
        "export": export,
        "doctor": doctor,
    }
    if command in commands:
        return commands[command](rest)
    if command.startswith("-"):
        raise UsageError(f"{command} needs a command before it: {DECODER} {enumerate_words(list(commands))}.")
    meant = nearest(command, commands)
    raise UsageError(f"{command!r} is not a command: " + (f"did you mean {meant}?" if meant else f"use {enumerate_words(list(commands))}."))


def backfill(argv: Sequence[str], decoder: str = DECODE_FILE) -> int:
    """Decodes a library; the exit code tells whether too much of it failed. Raises: CommandError."""
    settings, beam_arguments = parse_backfill(argv)
    _log_to_stderr()
    try:
        with ending_at_once(f"{DECODER}: {BEFORE_ANY_WORK}"):
            from pipeline.head_start import start_decoders

            start_decoders(settings, beam_arguments, decoder)
            from pipeline import preflight

            preflight.check(settings, beam_arguments)
            if settings.dry_run:
                from pipeline.report import plan

                plan.show(plan.make_plan(settings), settings, _console())
                return ExitCode.DONE
            importlib.import_module("pipeline.run")  # the last of what takes time
        return _submit(settings, beam_arguments, decoder) if settings.no_wait else _run(settings, beam_arguments, decoder)
    finally:
        close_pools()


def _run(settings: BackfillSettings, beam_arguments: Sequence[str], decoder: str) -> int:
    from pipeline.progress import Progress
    from pipeline.report import summary
    from pipeline.report.finished_run import FinishedRun
    from pipeline.run import run

    started = time.monotonic()
    progress = Progress()

    def farewell(interrupted: Interrupted) -> None:
        progress.stop()
        _say(summary.interrupted(interrupted.name, progress.tally(), settings))

    patience = CLUSTER_PATIENCE if settings.runner == FLINK_RUNNER else PATIENCE
    with ending_on_signals(close_pools, farewell, patience), progress:
        manifest = run(settings, beam_arguments, progress, decoder)
    summary.show(FinishedRun(settings.output, settings.run_id, manifest), _console(), time.monotonic() - started)
    verdict = summary.too_many_failures(manifest, settings.max_failures)
    if verdict:
        _say(verdict)
        return ExitCode.TOO_MANY_FAILURES
    return ExitCode.DONE


def _submit(settings: BackfillSettings, beam_arguments: Sequence[str], decoder: str) -> int:
    if settings.runner != FLINK_RUNNER:
        from pipeline import run

        run.submit(settings, beam_arguments, decoder)
        print(f"Run {settings.run_id} goes on at {settings.runner}. Its summary, once it is finished: {DECODER} report {settings.output}")
        return ExitCode.DONE
    from pipeline.flink.run import submit

    job = submit(settings, beam_arguments, _say, decoder)
    print(f"Run {job.run_id} goes on at {job.flink_master} as job {job.job_id}. To follow it to its end:")
    print(f"  {DECODER} report {settings.output} --run {job.run_id}")
    return ExitCode.DONE


def trace(argv: Sequence[str]) -> int:
    """Follows an entity back to its document. Raises: UsageError."""
    settings = parse_trace(argv)
    from pipeline import trace as tracing

    tracing.main(settings, _console())
    return ExitCode.DONE


def report(argv: Sequence[str]) -> int:
    """Prints the summary of a run; one that a cluster still works at is followed to its end first. Raises: CommandError."""
    settings = parse_report(argv)
    from pipeline.report import summary
    from pipeline.report.finished_run import open_run, unfinished_on_cluster

    if unfinished_on_cluster(settings.output, settings.run_id):
        from pipeline import preflight

        preflight.check_beam_arguments(())  # has Beam imported without its warnings
        from pipeline.flink.run import follow_submitted
        from pipeline.progress import Progress

        try:
            with Progress() as progress:
                run_id = follow_submitted(settings.output, settings.run_id, progress)
        except KeyboardInterrupt:
            _say("Not followed any longer; the job is left to the cluster. The same command follows it again.")
            return ExitCode.INTERRUPTED
        summary.show(open_run(settings.output, run_id), _console())
        return ExitCode.DONE
    summary.show(open_run(settings.output, settings.run_id), _console())
    return ExitCode.DONE


def load(argv: Sequence[str]) -> int:
    """Brings a run into TrustGraph. Raises: CommandError."""
    settings, beam_arguments = parse_load(argv)
    _log_to_stderr()
    from pipeline import preflight

    # First, as it has Beam imported without its warnings.
    beam_options = preflight.check_beam_arguments(beam_arguments, load_parser())
    from pipeline import load as loading

    return loading.main(settings, beam_options, _console())


def export(argv: Sequence[str]) -> int:
    """Writes a run as files for TrustGraph's own commands. Raises: CommandError."""
    settings = parse_export(argv)
    from pipeline import export as exporting

    exporting.main(settings, _console())
    return ExitCode.DONE


def doctor(argv: Sequence[str]) -> int:
    """Shows what this installation can decode; 1 when it can decode nothing. Raises: UsageError."""
    settings = parse_doctor(argv)
    from pipeline import doctor as examination

    installation = examination.examine()
    if settings.as_json:
        print(examination.as_json(installation))
    else:
        examination.show(installation, _console())
    return ExitCode.DONE if installation.ready else ExitCode.FAILED


def _console() -> "Console":
    from rich.console import Console

    class Output(Console):  # type: ignore[misc]
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich 15 would exit with 1

    return Output(highlight=False, markup=False, emoji=False)


def _say(sentence: str) -> None:
    from pipeline.report.words import printable

    print(f"{DECODER}: {printable(sentence)}", file=sys.stderr)


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _write_traceback() -> str:
    with tempfile.NamedTemporaryFile("w", prefix=f"{DECODER}-", suffix=".log", delete=False, encoding="utf-8", errors="replace") as log:
        traceback.print_exc(file=log)
    return log.name


def _log_to_stderr() -> None:
    """Warnings of libraries go to standard error as one line each; what is less is left out: Beam logs hundreds of lines a job."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
