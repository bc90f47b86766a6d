"""argparse as the commands use it: sentences for mistakes, and a help that can be read."""

import argparse
import os
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

from pipeline.options.values import truth
from pipeline.sentences import enumerate_words, nearest
from transforms.errors import UsageError
from transforms.settings import DECODER


class CommandParser(argparse.ArgumentParser):
    """argparse that answers a mistake with our sentence instead of a usage block."""

    def __init__(self, command: str, usage: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"{DECODER} {command}",
            usage=f"{DECODER} {command} {usage}",
            description=description,
            epilog=epilog,
            formatter_class=_Formatter,
            allow_abbrev=False,  # an abbreviation would change its meaning with the next release, and may be Beam's flag
            add_help=False,
        )

    def error(self, message: str) -> NoReturn:
        match = re.fullmatch(r"argument (\S+?)(?:/\S+)?: expected (?:one|at least one) argument", message)
        if match:
            raise UsageError(f"{match[1]} needs a value: {self.prog} --help shows what it takes.")
        match = re.fullmatch(r"argument (\S+?)(?:/\S+)?: ignored explicit argument (.*)", message)
        if match:
            raise UsageError(f"{match[1]} takes no value, and was given {match[2]}.")
        match = re.fullmatch(r"the following arguments are required: (.*)", message)
        if match:
            names = match[1].split(", ")
            verb = "is" if len(names) == 1 else "are"
            raise UsageError(f"{enumerate_words(names, 'and')} {verb} missing: {self.prog} --help shows how to give them.")
        raise UsageError(f"{message[:1].upper()}{message[1:]}.")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Flags in a column of 34, lines of at most 110: a page that can be read; the metavar of a short flag stays on its line."""

    def __init__(self, prog: str) -> None:
        width = int(os.environ["COLUMNS"]) if os.environ.get("COLUMNS", "").isdigit() else _terminal_width()
        super().__init__(prog, max_help_position=34, width=max(60, min(width, 112) - 2))

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs == "+":
            return f"{action.metavar}..."
        return f"[{action.metavar}]" if action.nargs == "?" else super()._format_args(action, default_metavar)


def _terminal_width() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 100


def add_help(container: argparse._ActionsContainer) -> None:
    """`--help`: the last of the options where there are many, the first where there are few."""
    container.add_argument("-h", "--help", action="help", help="show this page")


def small_parser(command: str, usage: str, description: str) -> CommandParser:
    """The parser of a command with few options."""
    parser = CommandParser(command, usage, description)
    add_help(parser)
    return parser


def add_switch(group: argparse._ArgumentGroup, flag: str, default: bool, text: str) -> None:
    """`--flag`, `--flag=true|false` (the seed spec gives its switches values) and `--no-flag`."""
    destination = flag.lstrip("-").replace("-", "_")
    group.add_argument(flag, dest=destination, nargs="?", const=True, default=default, type=truth(flag), metavar="true|false", help=text)
    group.add_argument(f"--no-{flag.lstrip('-')}", dest=destination, action="store_false", help=argparse.SUPPRESS)


def parse_all(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Reads the arguments of a command that takes none of Beam's. Raises: UsageError."""
    found, rest = parser.parse_known_args(list(argv))
    if rest:
        raise UsageError(unknown_argument(rest[0], parser_flags(parser), parser.prog))
    return found


def parser_flags(parser: argparse.ArgumentParser) -> list[str]:
    """The long flags that a parser knows."""
    return [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]


def unknown_argument(argument: str, flags: Iterable[str], command: str) -> str:
    """The sentence for an argument that nobody knows, with the flag that was most likely meant."""
    if not argument.startswith("-"):
        return f"{argument!r} belongs to no option: {command} --help shows what can be given."
    flag = argument.partition("=")[0]
    meant = nearest(flag, flags)
    return f"{flag} is not an option of {command}" + (f": did you mean {meant}?" if meant else f": {command} --help shows them all.")
