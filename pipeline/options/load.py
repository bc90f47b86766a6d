"""The options of `load`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.options.parser import CommandParser, add_help
from pipeline.options.runners import add_runner, arguments_for_beam
from pipeline.options.trustgraph import add_message_size, add_run, add_sources, add_workspace, workspace
from pipeline.options.values import fraction, gateway, number_above_zero, place, whole_number, word
from transforms.trustgraph.gateway import DEFAULT_FLOW, TOKEN_VARIABLE

DEFAULT_CONNECTIONS = 4
DEFAULT_RATE = 100.0
"""A librarian on one machine took 60 documents a second over 4 connections, and no more over 8."""


@dataclass(frozen=True)
class LoadSettings:
    """What `load` was asked to bring, and where to, except for the options of Beam. The token is in none of it."""

    run: str
    """OUTPUT, or the folder of a run in it."""
    gateway: str
    workspace: str
    flow: str
    """Whose store takes the triples."""
    collection: str | None
    """None: each document's own."""
    start_processing: str | None
    """The flow whose chunker is handed each text."""
    sources: bool
    again: bool
    connections: int
    rate: float
    """Requests a second, of each worker."""
    max_message_size: int
    """Bytes."""
    max_failures: float | None
    token_file: str | None
    every_quad: bool
    runner: str


def load_parser() -> argparse.ArgumentParser:
    """The parser of `load`."""
    parser = CommandParser(
        "load",
        "RUN --gateway URL [options] [any option of Beam and its runner]",
        "Brings a finished run into TrustGraph. To the library: each page and section as text, and each image, below its document\n"
        "(which is added where the library does not have it). To the graph: the provenance, in urn:graph:source, counted back by\n"
        "queries. What is there already is compared and left; a load that was stopped goes on with the same command.",
        f"The token comes from the environment variable {TOKEN_VARIABLE} or from --token-file, and from nowhere else.\n"
        "Exit code: 0 the job ran (dead letters are in its report), 1 the job failed, 2 something is wrong with the command\n"
        "or the gateway and nothing was sent, 3 more failed than --max-failures allows.",
    )
    add_run(parser)
    group = parser.add_argument_group("where to")
    group.add_argument(
        "--gateway",
        metavar="URL",
        required=True,
        type=gateway("--gateway"),
        help="of TrustGraph's API gateway, such as http://localhost:8088",
    )
    add_workspace(group)
    group.add_argument("--token-file", metavar="FILE", default=None, type=place("--token-file"), help="a file that holds the token")
    group.add_argument(
        "--flow",
        metavar="NAME",
        default=DEFAULT_FLOW,
        type=word("--flow"),
        help="the flow whose store takes the triples (default: %(default)s)",
    )
    group.add_argument(
        "--collection", metavar="NAME", default=None, type=word("--collection"), help="of the graph (default: each document's own)"
    )
    group = parser.add_argument_group("what is sent")
    add_sources(group, "do not add documents that the library lacks; their pages are added all the same")
    group.add_argument(
        "--start-processing",
        metavar="FLOW",
        default=None,
        type=word("--start-processing"),
        help="hand each text to the chunker of this flow, once (default: texts are only stored)",
    )
    group.add_argument("--again", action="store_true", help="look at everything again, also at what an earlier load has brought")
    group.add_argument(
        "--every-quad",
        action="store_true",
        help="ask the graph for each quad that was sent (default: for those about the last subject of each message)",
    )
    add_message_size(group)
    group.add_argument(
        "--max-failures",
        metavar="FRACTION",
        type=fraction("--max-failures"),
        default=None,
        help="exit with 3 when more than this part of all that was to be sent failed (default: never)",
    )
    group = add_runner(parser)
    group.add_argument(
        "--connections",
        metavar="N",
        type=whole_number("--connections", "connections", 64),
        default=DEFAULT_CONNECTIONS,
        help="of each worker to the gateway (default: %(default)s)",
    )
    group.add_argument(
        "--rate",
        metavar="N",
        type=number_above_zero("--rate", "a rate", "requests a second", 50),
        default=DEFAULT_RATE,
        help=f"requests a second that each worker sends at most (default: {DEFAULT_RATE:g})",
    )
    add_help(group)
    return parser


def parse_load(argv: Sequence[str]) -> tuple[LoadSettings, list[str]]:
    """Reads the arguments of `load`.

    Returns:
      The settings, and the arguments for Beam, which `preflight.check_beam_arguments` has to check.
    Raises:
      UsageError: a sentence about the first wrong argument.
    """
    found, rest = load_parser().parse_known_args(list(argv))
    settings = LoadSettings(
        run=found.run,
        gateway=found.gateway,
        workspace=workspace(found),
        flow=found.flow,
        collection=found.collection,
        start_processing=found.start_processing,
        sources=found.sources,
        again=found.again,
        connections=found.connections,
        rate=found.rate,
        max_message_size=found.max_message_size << 20,
        max_failures=found.max_failures,
        token_file=found.token_file,
        every_quad=found.every_quad,
        runner=found.runner,
    )
    return settings, arguments_for_beam(found, rest)
