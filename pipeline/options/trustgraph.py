"""What the commands have in common that know a TrustGraph: `backfill` of its library, `load` and `export` of a run for it."""

import argparse
import os

from pipeline.options.values import place, whole_number, word
from transforms.trustgraph.gateway import DEFAULT_WORKSPACE, WORKSPACE_VARIABLE

DEFAULT_MESSAGE_SIZE = 10
"""MiB: what TrustGraph's Kafka producer takes; RabbitMQ 4 takes 16 and 3 takes 128."""


def add_run(parser: argparse.ArgumentParser) -> None:
    """`RUN`: OUTPUT, or the folder of a run in it."""
    parser.add_argument("run", metavar="RUN", type=place("RUN"), help="the --output of a backfill (its newest run), or DIR/runs/NAME")


def add_workspace(group: argparse._ArgumentGroup, meaning: str = "") -> None:
    """`--workspace`, which is None where it is not given: see `workspace`."""
    default = f"(default: {WORKSPACE_VARIABLE}, else {DEFAULT_WORKSPACE})"
    text = f"{meaning} {default}" if meaning else default
    group.add_argument("--workspace", metavar="NAME", type=word("--workspace"), default=None, help=text)


def workspace(found: argparse.Namespace) -> str:
    """The workspace that is given, else that of the environment, as TrustGraph's own commands read it."""
    return found.workspace or os.environ.get(WORKSPACE_VARIABLE, "").strip() or DEFAULT_WORKSPACE


def add_sources(parser: argparse._ActionsContainer, text: str) -> None:
    """`--no-sources`, as `sources`; `text` says what is left out."""
    parser.add_argument("--no-sources", dest="sources", action="store_false", help=text)


def add_message_size(parser: argparse._ActionsContainer) -> None:
    """`--max-message-size`, in MiB."""
    parser.add_argument(
        "--max-message-size",
        metavar="MIB",
        type=whole_number("--max-message-size", "MiB", 255),
        default=DEFAULT_MESSAGE_SIZE,
        help="what TrustGraph's broker takes in one message: a page or image that is larger (as base64) is left out and told of "
        "(default: %(default)s)",
    )
