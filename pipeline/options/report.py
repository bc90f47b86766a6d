"""The options of `report`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.options.parser import parse_all, small_parser
from pipeline.options.values import place, run_id


@dataclass(frozen=True)
class ReportSettings:
    """Which run `report` was asked for; `run_id` None: the newest."""

    output: str
    run_id: str | None


def report_parser() -> argparse.ArgumentParser:
    """The parser of `report`."""
    parser = small_parser(
        "report",
        "DIR [--run NAME]",
        "Prints the summary of a run again: counts, formats, dead letters with their reasons, and where things are.",
    )
    parser.add_argument("output", metavar="DIR", type=place("DIR"), help="the --output of the backfill")
    parser.add_argument(
        "--run", dest="run_id", metavar="NAME", type=run_id("--run"), default=None, help="the run to show (default: the newest)"
    )
    return parser


def parse_report(argv: Sequence[str]) -> ReportSettings:
    """Reads the arguments of `report`. Raises: UsageError."""
    found = parse_all(report_parser(), argv)
    return ReportSettings(found.output, found.run_id)
