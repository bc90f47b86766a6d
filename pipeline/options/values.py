"""Single words of the command line, checked: a `type` of argparse for each kind, whose sentence names the flag and the word.

All raise UsageError. What only one flag has is checked beside that flag.
"""

import math
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TypeVar

from pipeline.sentences import enumerate_words, nearest
from transforms.errors import UsageError
from transforms.trustgraph.gateway import gateway_url

Choice = TypeVar("Choice", bound=Enum)


def choice(flag: str, choices: type[Choice]) -> Callable[[str], Choice]:
    """The member of an enum that has the word as its value."""

    def parse(text: str) -> Choice:
        try:
            return choices(text)
        except ValueError:
            values = [str(known.value) for known in choices]
            meant = nearest(text, values)
            raise UsageError(
                f"{flag} {text!r} is not known: use {enumerate_words(values)}" + (f" (did you mean {meant}?)." if meant else ".")
            ) from None

    return parse


def whole_number(flag: str, unit: str, maximum: int | None = None) -> Callable[[str], int]:
    """A number of `unit`, from 1 to `maximum`."""

    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,15}", text) and 1 <= int(text) <= (maximum or int(text)):
            return int(text)
        raise UsageError(f"{flag} {text!r} is not a number of {unit}: give a whole number from 1{f' to {maximum}' if maximum else ' up'}.")

    return parse


def number_above_zero(flag: str, meaning: str, unit: str, example: int) -> Callable[[str], float]:
    """A number of `unit`, which is `meaning` ("a time"), and not infinite."""

    def parse(text: str) -> float:
        value = _number(text)
        if math.isfinite(value) and value > 0:
            return value
        raise UsageError(f"{flag} {text!r} is not {meaning}: give a number of {unit} above 0, such as {example}.")

    return parse


def fraction(flag: str) -> Callable[[str], float]:
    """A number from 0 to 1."""

    def parse(text: str) -> float:
        value = _number(text)
        if 0 <= value <= 1:
            return value
        raise UsageError(f"{flag} {text!r} is not a fraction: give a number from 0 to 1, such as 0.05 for 5 % of all documents.")

    return parse


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def truth(flag: str) -> Callable[[str], bool]:
    """The value of a switch."""

    def parse(text: str) -> bool:
        value = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}.get(text.lower())
        if value is None:
            raise UsageError(f"{flag} {text!r} is neither true nor false: give {flag} alone, {flag}=true or {flag}=false.")
        return value

    return parse


def word(flag: str, example: str = "") -> Callable[[str], str]:
    """A name: printable, and not only of spaces."""

    def parse(text: str) -> str:
        if not text.strip() or not text.isprintable():
            raise UsageError(f"{flag} {text!r} is not a name: give printable characters{example and f', such as {example}'}.")
        return text

    return parse


def run_id(flag: str) -> Callable[[str], str]:
    """The name of a run, which names its folder as well."""

    def parse(text: str) -> str:
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", text):
            return text
        raise UsageError(
            f"{flag} {text!r} cannot name a folder everywhere: "
            "use letters, digits, '.', '_' and '-', at most 128, first a letter or a digit."
        )

    return parse


def place(flag: str) -> Callable[[str], str]:
    """A path or URI. The shell leaves `--output=~/x` alone, which would make a folder named `~`: so expand it here."""

    def parse(text: str) -> str:
        if not text.strip():
            raise UsageError(f"{flag} is empty: give a path or a URI.")
        if "\0" in text:
            raise UsageError(f"{flag} {text!r} holds a NUL, which no path can.")
        return str(Path(text).expanduser()) if text == "~" or text.startswith("~/") else text

    return parse


def gateway(flag: str) -> Callable[[str], str]:
    """The URL of TrustGraph's gateway, as `gateway_url` makes it. Names and passwords in it are not repeated."""

    def parse(text: str) -> str:
        try:
            return gateway_url(text)
        except ValueError as error:
            shown = text if "@" not in text else "with its URL"  # what stands before the @ may be a secret
            raise UsageError(f"{flag} {shown} {error}.") from None

    return parse
