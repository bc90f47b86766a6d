"""Puts off the import of onnxruntime until something runs a model with it, which only `--strategy hi_res` does.

unstructured's PDF partitioner imports it at its own import (0.27.35, by way of unstructured-inference 1.6), for every strategy. That import
starts native threads (onnxruntime 1.32), after which the zygote could not be forked safely, and takes 60 MB.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_MODULES = ("onnxruntime", "onnxruntime.capi", "onnxruntime.quantization")
"""Those that unstructured-inference imports from."""

_AT_IMPORT = "set_default_logger_severity"
"""The one function of it that is called while unstructured-inference is imported; without effect on what is not there."""


class _Placeholder(ModuleType):
    """Stands in `sys.modules` while others are imported; afterwards it forwards to the real module of its name."""

    __path__: list[str] = []  # noqa: RUF012 the import system looks for it on a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            return _Promise(self.__name__, name)
        return getattr(importlib.import_module(self.__name__), name)


class _Promise:
    """A name that was imported from a placeholder: what it stands for is found when it is used."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._name == _AT_IMPORT and isinstance(sys.modules.get(self._module), _Placeholder):
            return None
        return self._kept()(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._kept(), name)

    def _kept(self) -> Any:
        module = importlib.import_module(self._module)
        # Of a package, `from package import name` may also mean a module in it.
        return getattr(module, self._name, None) or importlib.import_module(f"{self._module}.{self._name}")


@contextmanager
def deferred_onnxruntime() -> Iterator[None]:
    """What is imported inside gets onnxruntime when it first uses it. No effect where it is imported already or not installed."""
    if any(name in sys.modules for name in _MODULES) or importlib.util.find_spec(_MODULES[0]) is None:
        yield
        return
    placeholders = {name: _Placeholder(name) for name in _MODULES}
    sys.modules.update(placeholders)
    try:
        yield
    finally:
        for name, placeholder in placeholders.items():
            if sys.modules.get(name) is placeholder:
                del sys.modules[name]
