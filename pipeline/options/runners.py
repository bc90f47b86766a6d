"""Where a job runs, of the commands that are jobs of Beam; all arguments that are not their own go to Beam."""

import argparse
from collections.abc import Sequence

DEFAULT_RUNNER = "DirectRunner"
FLINK_RUNNER = "FlinkRunner"
RUN_ON_WITHOUT_US = (FLINK_RUNNER, "DataflowRunner")
"""Runners whose jobs go on when the command that submitted them has ended."""


def add_runner(parser: argparse.ArgumentParser, names: str = "") -> argparse._ArgumentGroup:
    """The group of `--runner`, for the options beside it; `names` says which runners there are."""
    group = parser.add_argument_group(
        "runner", "every other option goes to Beam, such as --flink_master; one that Beam does not know either is refused"
    )
    group.add_argument("--runner", metavar="NAME", default=DEFAULT_RUNNER, help=f"where the job runs{names} (default: %(default)s)")
    return group


def is_plain_local(beam_arguments: Sequence[str]) -> bool:
    """Whether these, of `arguments_for_beam`, are the default alone: a run in this process, of which Beam is told nothing else."""
    return list(beam_arguments) == [f"--runner={DEFAULT_RUNNER}"]


def arguments_for_beam(found: argparse.Namespace, rest: Sequence[str]) -> list[str]:
    """`--runner` with its value, and what is not the command's own, in its order. `preflight.check_beam_arguments` has Beam check it."""
    return [f"--runner={found.runner}", *(argument for argument in rest if argument != "--")]
