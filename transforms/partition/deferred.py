"""Puts off the import of libraries that unstructured's partitioners import at once, and that hardly a document needs.

unstructured 0.27.35 imports onnxruntime (1.32) by way of unstructured-inference 1.6: it starts native threads, after which the zygote could
not be forked safely, and takes 60 MB. The others take time and memory of each zygote for nothing: matplotlib 0.3 s and 24 MB, for
pictures of layouts; scipy 0.15 s, for the layout model; numba 0.6 s and 60 MB, for loops that `acceleration.reading_order` does without;
spaCy's command line 0.1 s; and 0.3 s the second HTML parser of unstructured, which is never asked for.
"""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_LIBRARIES = {
    "onnxruntime": ("onnxruntime", "onnxruntime.capi", "onnxruntime.quantization"),
    "matplotlib": ("matplotlib", "matplotlib.pyplot"),
    "scipy": ("scipy", "scipy.sparse", "scipy.sparse.csgraph"),
    "numba": ("numba",),
    "spacy": ("spacy.cli", "spacy.cli.info"),
    "unstructured": ("unstructured.partition.html.transformations",),
}
"""With the modules of each that are put off."""


def _compiled_late(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`numba.njit`, of which numba is imported by the first call of a function."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.cache
        def compiled() -> Callable[..., Any]:
            late: Callable[..., Any] = importlib.import_module("numba").njit(**options)(function)
            return late

        return functools.wraps(function)(lambda *arguments, **named: compiled()(*arguments, **named))

    return decorate


_AT_IMPORT: Mapping[str, Callable[..., Any]] = {"set_default_logger_severity": lambda *_: None, "njit": _compiled_late}
"""What is called of them while others are imported, and what is done instead: a severity has no effect on what is not there."""


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
        if self._name in _AT_IMPORT and isinstance(sys.modules.get(self._module), _Placeholder):
            return _AT_IMPORT[self._name](*arguments, **named)
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
def deferred_imports() -> Iterator[None]:
    """What is imported inside gets these libraries when it first uses them. No effect on one that is imported already or not installed."""
    placeholders = {
        name: _Placeholder(name)
        for library, modules in _LIBRARIES.items()
        if not any(name in sys.modules for name in modules) and importlib.util.find_spec(library) is not None
        for name in modules
    }
    sys.modules.update(placeholders)
    try:
        yield
    finally:
        for name, placeholder in placeholders.items():
            if sys.modules.get(name) is placeholder:
                del sys.modules[name]
