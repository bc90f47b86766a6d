"""How a running job shows that it runs: a bar in a terminal, a line every few seconds elsewhere, both on standard error.

The runner's threads report here; nothing of the job depends on it.
"""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from pipeline.report import words
from transforms import counters
from transforms.model import Status

INTERVAL = 5.0
"""Seconds between two lines where there is no terminal: a job of an hour leaves 720 lines in its log."""
LOOKING = "Looking for documents"
"""What a job does of which nothing else is known."""
STARTING = "starting the decoders"
ESTIMATE_AFTER = 2.0
"""Seconds before a rate or a time left is shown: earlier ones measure the start of the children."""


@dataclass(frozen=True)
class Tally:
    """Where the job is."""

    found: int = 0
    found_bytes: int = 0
    staged: int = 0
    """Documents that an earlier run decoded; they are done, and say nothing about the speed of this run."""
    staged_bytes: int = 0
    decoded: int = 0
    decoded_bytes: int = 0
    failed: int = 0
    pages: int = 0
    """Of documents that are read in ranges of pages, with those that are read."""
    pages_read: int = 0
    seconds: float = 0.0
    """Since this run's first document could be decoded."""

    @property
    def done(self) -> int:
        return self.staged + self.decoded

    @property
    def rate(self) -> float | None:
        """Documents a second, of those decoded now."""
        return self.decoded / self.seconds if self.decoded and self.seconds >= ESTIMATE_AFTER else None

    @property
    def seconds_left(self) -> float | None:
        """From the share that is done, half by documents and half by bytes: alone, documents mislead when the large ones come last, and
        bytes when pictures and scans are mixed with text. None when there is nothing to tell from yet."""
        documents, volume = self.found - self.staged, self.found_bytes - self.staged_bytes
        if self.rate is None or documents <= 0:
            return None
        share = min(self.decoded / documents, 1.0)
        if volume > 0:
            share = (share + min(self.decoded_bytes / volume, 1.0)) / 2
        return self.seconds * (1 - share) / share

    @property
    def is_starting(self) -> bool:
        """Whether the first document is still to come: the decoders take some seconds to warm up."""
        return not self.decoded and not self.pages and self.found > self.staged

    @property
    def pages_line(self) -> str:
        """How far the large documents are that are being read; empty: there are none."""
        return f"{words.number(self.pages_read)}/{words.number(self.pages)} pages" if self.pages_read < self.pages else ""

    def bar_line(self) -> str:
        """What stands beside the bar: what matters most, as a terminal of 80 columns cuts off the end."""
        parts = [f"{words.number(self.done)}/{words.number(self.found)}", f"{words.number(self.failed)} failed"]
        if self.seconds_left is not None and self.done < self.found:
            parts.append(f"{words.span_of_time(self.seconds_left)} left")
        if self.rate is not None:
            parts.append(f"{self.rate:.1f}/s" if self.rate >= 1 else f"{60 * self.rate:.1f}/min")
        if self.found_bytes:
            parts.append(f"{words.size(self.staged_bytes + self.decoded_bytes)} of {words.size(self.found_bytes)}")
        if self.is_starting:
            parts.insert(0, STARTING)
        if self.pages_line:
            parts.insert(1, self.pages_line)
        return "  ".join(parts)

    def line(self) -> str:
        """All of it in one line, for logs."""
        parts = [f"{words.number(self.done)} of {words.counted(self.found, 'document')} ({words.percent(self.done, self.found)})"]
        if self.found_bytes:
            parts.append(f"{words.size(self.staged_bytes + self.decoded_bytes)} of {words.size(self.found_bytes)}")
        if self.rate is not None:
            parts.append(f"{self.rate:.1f} a second" if self.rate >= 1 else f"{60 * self.rate:.1f} a minute")
        if self.seconds_left is not None and self.done < self.found:
            parts.append(f"{'about ' if self.seconds_left >= 1 else ''}{words.span_of_time(self.seconds_left)} left")
        if self.staged:
            parts.append(f"{words.number(self.staged)} decoded before")
        parts.append(f"{words.number(self.failed)} failed")
        if self.is_starting:
            parts.append(STARTING)
        if self.pages_line:
            parts.append(f"{self.pages_line} of large PDFs")
        return ", ".join(parts)


class Progress:
    """Counts what happens to the documents of a job and shows it. Thread-safe; a context manager.

    Args:
      console: where to; its `is_terminal` decides between the bar and lines. Default: standard error.
      clock: seconds, growing.
      interval: seconds between two lines.
      ticking: whether a thread of its own writes the lines; without it the caller calls `tick`.
    """

    def __init__(
        self,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        interval: float = INTERVAL,
        ticking: bool = True,
    ) -> None:
        self.console = console or Console(file=sys.stderr, soft_wrap=True, highlight=False)
        self._clock, self._interval, self._ticking = clock, interval, ticking
        self._lock = threading.Lock()
        self._started = self._last_line = clock()
        self._decoding_since: float | None = None
        self._counts = {field.name: 0 for field in fields(Tally) if field.name != "seconds"}
        self._phase = ""
        self._printed = (0, -1)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._bar: Bar | None = None

    # what the job reports

    def count(self, name: str, documents: int, size: int) -> None:
        """An event of `transforms.counters`."""
        if name == counters.FOUND:
            self.found(documents, size)
        elif name == counters.STAGED:
            self.staged(documents, size)
        elif name in (counters.PAGES, counters.PAGES_READ):
            self._add(**{name: documents})
        else:
            self.done(name, size, documents)

    def found(self, documents: int, size: int) -> None:
        """`documents` more are to be decoded, of `size` bytes together (what is unknown counts as 0)."""
        self._add(found=documents, found_bytes=max(size, 0))

    def staged(self, documents: int, size: int) -> None:
        """`documents` of those found were decoded by an earlier run."""
        self._add(staged=documents, staged_bytes=max(size, 0))

    def done(self, status: str, size: int, documents: int = 1) -> None:
        """`documents` of those found are decoded now, or failed."""
        self._add(decoded=documents, decoded_bytes=max(size, 0), failed=documents if Status(status).is_dead_letter else 0)

    def start_again(self) -> None:
        """The job starts anew: all documents are found again, what was decoded as decoded before. The time goes on."""
        with self._lock:
            self._counts = dict.fromkeys(self._counts, 0)
            self._decoding_since = None

    def phase(self, text: str) -> None:
        """What the job does now, in a few words: `Writing the datasets`."""
        with self._lock:
            self._phase = words.printable(text)
        if self._bar is None:
            self._print(self._phase)
        else:
            self._show()

    def _add(self, **counts: int) -> None:
        with self._lock:
            if self._decoding_since is None and "decoded" not in counts:
                self._decoding_since = self._clock()
            for name, value in counts.items():
                self._counts[name] += value
        self._show()

    # what is shown

    def tally(self) -> Tally:
        """The counts at this moment."""
        with self._lock:
            since = self._started if self._decoding_since is None else self._decoding_since
            return Tally(**self._counts, seconds=self._clock() - since)

    def tick(self) -> None:
        """Writes a line if the last one is `interval` seconds old. Only where there is no terminal."""
        now = self._clock()
        with self._lock:
            if now - self._last_line < self._interval:
                return
            self._last_line = now
        self._print_tally()

    def _print_tally(self) -> None:
        """Unless nothing is left to come, and that was said before: the rate and the time would go on to change."""
        tally = self.tally()
        with self._lock:
            printed, self._printed = self._printed, (tally.found, tally.done)
            phase = self._phase or LOOKING
        if not tally.found:  # a share of nothing would say nothing
            self._print(phase)
        elif printed != (tally.found, tally.done) or tally.done < tally.found:
            self._print(tally.line())

    def _print(self, text: str) -> None:
        self.console.print(Text(f"{words.clock_time(self._clock() - self._started)}  {text}"), soft_wrap=True)

    def _show(self) -> None:
        if self._bar is None:
            return
        tally = self.tally()
        self._bar.update(self._bar.task_ids[0], total=tally.found or None, completed=tally.done, line=tally.bar_line(), phase=self._phase)

    def __enter__(self) -> Self:
        self._started = self._last_line = self._clock()
        if self.console.is_terminal:
            self._bar = Bar(
                SpinnerColumn(),
                TextColumn("{task.fields[phase]}", markup=False),
                BarColumn(24),
                TextColumn("{task.fields[line]}", markup=False),
                console=self.console,
                refresh_per_second=4,
                transient=True,
            )
            self._bar.add_task("", total=None, line=LOOKING.lower(), phase=self._phase)
            self._bar.start()
        elif self._ticking:
            self._thread = threading.Thread(target=self._tick_until_stopped, name="progress", daemon=True)
            self._thread.start()
        return self

    def _tick_until_stopped(self) -> None:
        while not self._stopped.wait(min(self._interval, 1.0)):
            self.tick()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends what is shown, with a last line where there is no terminal. Called again it does nothing."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        if self._bar is not None:
            self._bar.stop()
        elif self.tally().found:
            self._print_tally()
