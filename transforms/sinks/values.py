"""How the model's values become column values: an empty string is a null where the column may be null, a lone surrogate never gets in."""

import re
from typing import Any

# Not encodable as UTF-8; they come from broken fonts and from file names that are not UTF-8.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def or_null(text: str) -> str | None:
    """The text, or None when it is empty."""
    return text or None


def encodable(value: Any) -> Any:
    """The value with each lone surrogate in its strings, lists and dictionaries as U+FFFD: one code point for one, so that offsets hold."""
    if isinstance(value, str):
        return value if value.isascii() else _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list | tuple):
        return [encodable(item) for item in value]
    if isinstance(value, dict):
        return {key: encodable(item) for key, item in value.items()}
    return value
