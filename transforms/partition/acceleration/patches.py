"""Replaces functions of a library wherever its modules hold them, and puts all of it back: what an acceleration is installed with.

`from text_type import is_possible_title` copies a name into the importing module, so a replacement in `text_type` alone reaches nobody
who imported it before. And whoever imports it after gets the replacement, so that undoing has to look around as well.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

_ABSENT = object()


@dataclass
class Patches:
    """The replacements of one acceleration."""

    package: str
    """Only modules of this package are touched by `function`."""
    _functions: list[tuple[str, Any, Any]] = field(default_factory=list)
    _attributes: list[tuple[Any, str, Any]] = field(default_factory=list)

    def function(self, module: ModuleType, name: str, replacement: Any) -> None:
        """Replaces `module.name` there and in every module of the package that has it under that name."""
        original = getattr(module, name)
        self._functions.append((name, original, replacement))
        self._exchange(name, original, replacement)

    def attribute(self, owner: Any, name: str, replacement: Any) -> None:
        """Replaces an attribute of one class or module, or adds one."""
        self._attributes.append((owner, name, owner.__dict__.get(name, _ABSENT)))
        setattr(owner, name, replacement)

    def undo(self) -> None:
        """Puts every original back, in the reverse order; idempotent."""
        while self._attributes:
            owner, name, original = self._attributes.pop()
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        while self._functions:
            name, original, replacement = self._functions.pop()
            self._exchange(name, replacement, original)

    def _exchange(self, name: str, old: Any, new: Any) -> None:
        for module in self._modules():
            if module.__dict__.get(name) is old:
                setattr(module, name, new)

    def _modules(self) -> Iterator[ModuleType]:
        prefix = f"{self.package}."
        for name, module in list(sys.modules.items()):
            if module is not None and (name == self.package or name.startswith(prefix)):
                yield module
