"""`ElementMetadata` without detours: unstructured 0.27.35 makes 50 calls of `__setattr__` for each, most of them to set nothing, and two or
three of them for each element (8 % of the time of a 400-page PDF)."""

import inspect
import os
import pathlib
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import Any


def lean_constructor(original: Callable[..., None]) -> Callable[..., None]:
    """A constructor with the same result: the same attributes, in the same order.

    Args:
      original: `ElementMetadata.__init__`; it gets calls with positional or unknown arguments.
    """
    owner = _Recorder()
    original(owner, **dict.fromkeys(list(inspect.signature(original).parameters)[1:], "x"))
    order = {name: place for place, name in enumerate(owner.__dict__)}
    split = lru_cache(maxsize=64)(os.path.split)

    @lru_cache(maxsize=256)
    def assigned(given: tuple[str, ...]) -> tuple[str, ...] | None:
        if not order.keys() >= set(given):
            return None
        return tuple(sorted({*given, "filename", "file_directory"}, key=order.__getitem__))

    def construct(self: Any, *positional: Any, **given: Any) -> None:
        names = None if positional else assigned(tuple(given))
        if names is None:
            original(self, *positional, **given)
            return
        if not given:
            return
        attributes = self.__dict__
        filename = given.get("filename")
        directory, base = split(str(filename) if isinstance(filename, pathlib.Path) else filename or "")
        for name in names:
            if name == "filename":
                value = base or None
            elif name == "file_directory":
                value = given.get(name) or directory or None
            else:
                value = given[name]
            if value is not None:
                attributes[name] = value

    update_wrapper(construct, original)
    return construct


class _Recorder:
    """Takes any attribute."""
