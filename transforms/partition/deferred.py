"""Puts off the import of libraries that unstructured's PDF partitioner imports for every strategy, and that only `--strategy hi_res` uses.

unstructured 0.27.35 imports them by way of unstructured-inference 1.6: onnxruntime (1.32), which starts native threads, after which the
zygote could not be forked safely, and takes 60 MB; and matplotlib, for pictures of layouts, which takes 24 MB and 0.3 s.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_LIBRARIES = {
    "onnxruntime": ("onnxruntime", "onnxruntime.capi", "onnxruntime.quantization"),
    "matplotlib": ("matplotlib", "matplotlib.pyplot"),
}
"""With the modules of each that unstructured-inference imports from."""

_AT_IMPORT = "set_default_logger_severity"
"""The one function of them that is called while unstructured-inference is imported; without effect on what is not there."""


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
