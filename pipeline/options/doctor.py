"""The options of `doctor`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.options.parser import parse_all, small_parser


@dataclass(frozen=True)
class DoctorSettings:
    """How `doctor` answers."""

    as_json: bool


def doctor_parser() -> argparse.ArgumentParser:
    """The parser of `doctor`."""
    parser = small_parser(
        "doctor",
        "[--json]",
        "Shows what this installation can decode: formats, tools, models, versions; and what to install for the rest.",
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="as JSON, for programs")
    return parser


def parse_doctor(argv: Sequence[str]) -> DoctorSettings:
    """Reads the arguments of `doctor`. Raises: UsageError."""
    return DoctorSettings(parse_all(doctor_parser(), argv).as_json)
