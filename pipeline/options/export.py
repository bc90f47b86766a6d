"""The options of `export`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.options.parser import parse_all, small_parser
from pipeline.options.trustgraph import add_message_size, add_run, add_sources
from pipeline.options.values import choice, place
from transforms.trustgraph.export_format import ExportFormat


@dataclass(frozen=True)
class ExportSettings:
    """What `export` was asked to write."""

    run: str
    """OUTPUT, or the folder of a run in it."""
    to: str
    format: ExportFormat
    sources: bool
    max_message_size: int
    """Bytes."""


def export_parser() -> argparse.ArgumentParser:
    """The parser of `export`."""
    parser = small_parser(
        "export",
        "RUN --format trig|kg-core|jsonl --to DIR [options]",
        "Writes a finished run as files for TrustGraph's own commands, with a script that runs them:\n"
        "trig (tg-load-knowledge -F trig, TrustGraph 2.10.18 and later) holds the provenance; kg-core (tg-put-kg-core and\n"
        "tg-load-kg-core, up to 2.9.x, broken in 2.10.0 to 2.11.1) the provenance, the texts, the images and the documents, one\n"
        "file a document; jsonl the messages of the gateway's socket import/triples.",
    )
    add_run(parser)
    parser.add_argument("--format", metavar="NAME", required=True, type=choice("--format", ExportFormat), help="trig, kg-core or jsonl")
    parser.add_argument("--to", metavar="DIR", required=True, type=place("--to"), help="the folder or URI to write")
    add_sources(parser, "kg-core: leave out the documents themselves, which TrustGraph has already")
    add_message_size(parser)
    return parser


def parse_export(argv: Sequence[str]) -> ExportSettings:
    """Reads the arguments of `export`. Raises: UsageError."""
    found = parse_all(export_parser(), argv)
    return ExportSettings(found.run, found.to, found.format, found.sources, found.max_message_size << 20)
