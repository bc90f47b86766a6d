"""The job's counters, in one namespace. They are hints for whoever watches a run: a retried bundle counts twice on some runners.

What is true of a run stands in its manifest.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

NAMESPACE = "universal-decoder"

Observer = Callable[[str, int, int], None]
"""Told of each event as it happens, in the process where it happens: its name, how many documents, how many bytes (0: unknown)."""

FOUND = "found"
STAGED = "staged"
PAGES = "pages"
PAGES_READ = "pages_read"
"""Of documents that are read in ranges of pages, in place of documents."""
_observers: list[Observer] = []


def observe(observer: Observer) -> Callable[[], None]:
    """Adds an observer to this process, for the progress of a local run.

    Returns:
      What takes it away again.
    """
    _observers.append(observer)
    return lambda: _observers.remove(observer)


def count(name: str, size: int = 0, documents: int = 1) -> None:
    """Counts documents under `found`, `staged` or a status."""
    _counter(name).inc(documents)
    tell(name, size, documents)


def tell(name: str, size: int = 0, documents: int = 1) -> None:
    """Tells the observers only: from threads that Beam does not know, whose counts it would not take."""
    for observer in _observers:
        observer(name, documents, max(size, 0))


@cache
def _counter(name: str) -> Any:
    from apache_beam.metrics import Metrics  # a report counts nothing, and needs no Beam

    return Metrics.counter(NAMESPACE, name)
