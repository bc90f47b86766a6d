"""The options of `trace`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.options.parser import parse_all, small_parser
from pipeline.options.values import place, run_id


@dataclass(frozen=True)
class TraceSettings:
    """What `trace` was asked to find."""

    id: str
    output: str
    run_id: str | None
    full: bool
    """The whole text instead of its beginning."""


def trace_parser() -> argparse.ArgumentParser:
    """The parser of `trace`."""
    parser = small_parser(
        "trace",
        "ID --output DIR [--run NAME] [--full]",
        "Follows a page, section or image (urn:page:..., urn:section:..., urn:image:...) or a document's id back to its source: labels,\n"
        "offsets, headings, the text itself, the file and its digest. Reads a finished run.",
    )
    parser.add_argument("id", metavar="ID", help="what to trace: an id, or the URI or path of a document")
    parser.add_argument("--output", metavar="DIR", required=True, type=place("--output"), help="the --output of the backfill")
    parser.add_argument(
        "--run",
        dest="run_id",
        metavar="NAME",
        type=run_id("--run"),
        default=None,
        help="the run to look in (default: all, the newest first)",
    )
    parser.add_argument("--full", action="store_true", help="show the whole text (default: its first 600 characters)")
    return parser


def parse_trace(argv: Sequence[str]) -> TraceSettings:
    """Reads the arguments of `trace`. Raises: UsageError."""
    found = parse_all(trace_parser(), argv)
    return TraceSettings(found.id.strip().strip("<>"), found.output, found.run_id, found.full)
