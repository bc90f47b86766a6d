"""Puts the kernel in the place of pdfminer's and unstructured's functions, where it is proven to give the same, and nowhere else."""

import contextlib
import importlib
import importlib.util
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from transforms.partition.deferred import deferred_imports
from transforms.partition.environment import ACCELERATION, is_accelerated
from transforms.partition.nlp import install_nlp

SWITCH = "UNIVERSAL_DECODER_EXACT_PDF"
"""Environment variable: "1" leaves pdfminer as it is. `ACCELERATION` switches off this and all others."""

PROVEN = {"pdfminer.six": "20260107", "unstructured": "0.27.35"}
"""The versions whose elements were compared. For others the kernel steps aside: to prove it anew takes `make compare-pdf` and this line."""

MODULES = ("tokens", "objects", "characters", "content", "layout", "texts")
"""The compiled ones."""

_PACKAGE = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class KernelState:
    """Whether PDFs are read by the kernel."""

    on: bool
    why: str
    """One clause: for people, in `doctor`, the manifest and the log."""

    def __str__(self) -> str:
        return f"{'on' if self.on else 'off'}: {self.why}"


def is_switched_off() -> bool:
    """Whether the environment says so, of the kernel or of all accelerations."""
    return os.environ.get(SWITCH) == "1" or not is_accelerated()


def availability() -> KernelState:
    """Whether this installation has a kernel that fits; imports none of it, nor unstructured. The self-test may still say no."""
    if is_switched_off():
        return KernelState(False, f"switched off ({SWITCH}=1)" if is_accelerated() else f"switched off ({ACCELERATION}=off)")
    for distribution, proven in PROVEN.items():
        try:
            version = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            return KernelState(False, f"{distribution} is not installed")
        if version != proven:
            return KernelState(False, f"it was proven against {distribution} {proven}, and {version} is installed")
    missing = [name for name in MODULES if importlib.util.find_spec(f"{_PACKAGE}.{name}") is None]
    if missing:
        return KernelState(
            False, "it is not compiled: install a C compiler (Debian: apt-get install gcc python3-dev) and the decoder again"
        )
    return KernelState(True, "proven against " + ", ".join(f"{name} {version}" for name, version in PROVEN.items()))


def state() -> KernelState:
    """Whether PDFs are read by the kernel in this process."""
    return _installed.state if _installed else KernelState(False, "not installed in this process")


def install() -> KernelState:
    """Installs the kernel in this process, after a self-test. Idempotent.

    Where it steps aside it logs one warning, unless it was switched off, and leaves everything as it was but the order of ties (`ties`).
    """
    global _installed
    if _installed is None:
        _installed = _Installation()
        _installed.state = _installed.attempt()
        _installed.order_ties()
        if slow_because():
            logging.getLogger(__name__).warning(slow_because())
    return _installed.state


def slow_because() -> str:
    """The sentence for an operator whose PDFs take longer than they could; empty where they do not, or where that was asked for."""
    if _installed is None or _installed.state.on or is_switched_off():
        return ""
    return f"PDFs are read by pdfminer alone, which takes several times as long: {_installed.state.why}."


def uninstall() -> None:
    """Puts everything back, for comparisons."""
    global _installed
    if _installed is not None:
        _installed.undo()
    _installed = None


class _Installation:
    """What was replaced, and how it came out."""

    def __init__(self) -> None:
        self.state = KernelState(False, "being installed")
        self._undo: list[Callable[[], None]] = []

    def attempt(self) -> KernelState:
        available = availability()
        if not available.on:
            return available
        try:
            install_nlp()
            with deferred_imports():
                importlib.import_module("unstructured.partition.pdf")
            self_test = importlib.import_module(f"{_PACKAGE}.self_test")
            expected = self_test.read_samples()
            self._replace_all()
            found = self_test.read_samples()
        except Exception as error:  # of a kernel that does not fit this machine: anything; pdfminer's own way is there
            self.undo()
            return KernelState(False, f"its self-test failed ({type(error).__name__}: {error})")
        different = [name for name in expected if found.get(name) != expected[name]]
        if different:
            self.undo()
            return KernelState(False, f"its self-test gave other elements of {', '.join(different)}")
        return available

    def order_ties(self) -> None:
        with contextlib.suppress(ImportError):  # without pdfminer there are none
            self._undo.append(importlib.import_module(f"{_PACKAGE}.ties").order_ties())

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace_all(self) -> None:
        from pdfminer.cmapdb import CMapParser
        from pdfminer.pdfparser import PDFParser
        from unstructured.partition import pdf

        from transforms.partition.pdf_kernel.objects import next_object, next_token

        for parser in (PDFParser, CMapParser):
            self._replace(parser, "nexttoken", next_token)
            self._replace(parser, "nextobject", next_object)
        self._replace(pdf, "_process_pdfminer_pages", _with_repair(pdf._process_pdfminer_pages))

    def _replace(self, owner: Any, name: str, replacement: Any) -> None:
        own = vars(owner).get(name)
        setattr(owner, name, replacement)
        if own is None:
            self._undo.append(lambda: delattr(owner, name))
        else:
            self._undo.append(lambda: setattr(owner, name, own))


def _with_repair(original: Callable[..., list[list[Any]]]) -> Callable[..., list[list[Any]]]:
    """The kernel's `process_pages`; a file that pdfminer finds a syntax error in goes to the original, which has it repaired."""
    from pdfminer.psexceptions import PSSyntaxError

    from transforms.partition.pdf_kernel.pages import process_pages

    def process(*positional: Any, **named: Any) -> list[list[Any]]:
        try:
            return process_pages(*positional, **named)
        except PSSyntaxError:
            return original(*positional, **named)

    return process


_installed: _Installation | None = None
