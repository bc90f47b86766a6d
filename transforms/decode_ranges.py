"""A large PDF in ranges of pages, which several children decode at the same time and one joins: the owner's part.

The ranges of a document are dealt out within one worker, to the children that decode documents as well: whoever is free takes the next
document or the next range. What was read of a range is staged beside the commits, so that a killed run goes on in the middle of a document.
"""

import shutil
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from transforms import counters
from transforms.decode import BLOBS, COPY, DOCUMENT, RANGES
from transforms.isolation.handover import LeftBehindError, create, open_left
from transforms.isolation.pool import Child, ChildPool
from transforms.model import DecodeError, Stage, Status
from transforms.partition.pdf.ranges import RangeDamaged, RangePlan, blobs_of_range
from transforms.settings import Limits
from transforms.storage import filesystem
from transforms.storage.blobs import put_blob

_Range = tuple[int, int]


class DividedDocument:
    """One document whose ranges of pages are being decoded."""

    def __init__(
        self,
        request: Mapping[str, Any],
        answer: Mapping[str, Any],
        pool: ChildPool,
        spool: Path,
        limits: Limits,
        output: str,
        folder: str,
    ) -> None:
        """Takes over what a child has planned.

        Args:
          request: that the child has answered with a plan.
          answer: its answer.
          spool: an empty folder of this owner, for the document and what is read of it.
          folder: relative to OUTPUT: where what is read of the ranges is staged.
        Raises:
          DecodeError: `crashed`, where the answer is none.
        """
        try:
            self.plan = RangePlan.from_json(answer["plan"])
        except (KeyError, TypeError, ValueError) as error:
            raise DecodeError(Status.CRASHED, "The decoding process gave a plan that cannot be read.", Stage.PARTITION) from error
        self._request = {name: value for name, value in request.items() if name != "range_pages"}
        self._pool, self._spool, self._limits = pool, spool, limits
        self._output, self._folder = output, filesystem.join(output, folder)
        self._todo: deque[_Range] = deque(self.plan.ranges)
        self.blobs: set[str] = set()
        """Pictures of the ranges that are published: paths relative to OUTPUT."""
        self._failures: dict[_Range, tuple[Status, str]] = {}
        self._changed = threading.Condition()
        self._workers = 0
        self._error: BaseException | None = None
        self._seconds = self._peak_memory_mb = 0.0

    def take(self, child: Child) -> None:
        """Takes over the document, and the copy of it that ranges are read from, from the child that has made the plan."""
        try:
            for name in self._names:
                with open_left(child.folder, name) as source, create(self._spool / name) as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        except LeftBehindError as error:
            raise DecodeError(Status.CRASHED, str(error), Stage.PARTITION) from error
        self._measure(child)

    def decode(self, helpers: Executor | None, threads: int, *, resume: bool) -> None:
        """Decodes all ranges, those that an earlier run has left aside.

        This thread decodes, too, and so never waits for one that waits itself; it returns when no range is being decoded any more.

        Args:
          helpers: threads that decode ranges when they have nothing else to do.
          threads: how many of them may be of use.
          resume: whether what is staged may be used.
        Raises:
          JobFailed: OUTPUT cannot be written. IsolationError, PoolClosedError: no child can be had.
        """
        counters.tell(counters.PAGES, documents=self.plan.facts.page_count)
        if resume:
            self._resume()
        counters.tell(counters.PAGES_READ, documents=self.plan.facts.page_count - sum(map(_count, self._todo)))
        try:
            for _ in range(min(threads, len(self._todo)) - 1):
                if helpers is not None:
                    helpers.submit(self._work)
        except RuntimeError:  # the bundle ends: they take nothing more
            pass
        self._work()
        with self._changed:
            self._changed.wait_for(lambda: not self._workers)
        if self._error is not None:
            raise self._error

    def join(self, child: Child) -> dict[str, Any]:
        """The request to make the commit of the document, with all that it needs laid into the folder of the child."""
        folder = child.folder / RANGES
        folder.mkdir()
        read = [pages for pages in self.plan.ranges if pages not in self._failures]
        for pages in read:
            shutil.copyfile(self._spool / _name(pages), folder / _name(pages))
        failures = [(*pages, status.value, message) for pages, (status, message) in sorted(self._failures.items())]
        join = {
            "plan": self.plan.to_json(),
            "seconds": self._seconds,
            "peak_memory_mb": self._peak_memory_mb,
            "files": [_name(pages) for pages in read],
            "failures": failures,
        }
        return {**self._request, "join": join}

    @property
    def _names(self) -> tuple[str, ...]:
        return (DOCUMENT, COPY) if self.plan.copied else (DOCUMENT,)

    def _resume(self) -> None:
        """Takes what is staged of ranges of the plan; not what is damaged, or lacks a picture."""
        with filesystem.output_told(self._output):
            staged = {file.name for file in filesystem.list_folder(self._folder)}
            for pages in [pages for pages in self._todo if _name(pages) in staged]:
                path = self._spool / _name(pages)
                path.write_bytes(filesystem.read_bytes(filesystem.join(self._folder, path.name)))
                try:
                    blobs = blobs_of_range(path)
                except RangeDamaged:
                    continue
                if filesystem.is_local(self._output) and any(
                    filesystem.size_of(filesystem.join(self._output, blob)) != size for blob, size in blobs.items()
                ):
                    continue
                self._todo.remove(pages)
                self.blobs.update(blobs)

    def _work(self) -> None:
        """Decodes ranges until none is left, all in one lease: so the document is copied once."""
        with self._changed:
            if not self._todo:
                return
            self._workers += 1
        try:
            with self._pool.lease() as child:
                is_there = False
                while (pages := self._next()) is not None:
                    if not is_there:
                        self._lay_out(child)
                    is_there = self._decode_range(child, pages)
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
                self._todo.clear()
            if not isinstance(error, Exception):
                raise
        finally:
            with self._changed:
                self._workers -= 1
                self._changed.notify_all()

    def _next(self) -> _Range | None:
        with self._changed:
            return self._todo.popleft() if self._todo else None

    def _lay_out(self, child: Child) -> None:
        for name in self._names:
            with (self._spool / name).open("rb") as source, create(child.folder / name) as target:
                shutil.copyfileobj(source, target, 1 << 20)

    def _decode_range(self, child: Child, pages: _Range) -> bool:
        """Decodes one range; what goes wrong costs its pages.

        Returns:
          Whether the child may go on with the document that it has: not after it was lost.
        """
        try:
            answer = child.call({**self._request, "pages": pages, "file": _name(pages)}, timeout=self._timeout(pages))
            self._publish(child, pages, answer)
        except DecodeError as error:
            self._failures[pages] = error.status, error.message.replace(f"{child.own_folder}/", "")
            return False
        finally:
            self._measure(child)
            counters.tell(counters.PAGES_READ, documents=_count(pages))
        return True

    def _publish(self, child: Child, pages: _Range, answer: Mapping[str, Any]) -> None:
        """Blobs first: what is staged of a range promises that its pictures are there."""
        scratch = filesystem.join(self._output, filesystem.SCRATCH)
        path = self._spool / _name(pages)
        try:
            blobs = [str(blob) for blob in answer["blobs"]]
            with open_left(child.folder, RANGES, path.name) as source, create(path) as target:
                shutil.copyfileobj(source, target, 1 << 20)
            with filesystem.output_told(self._output):
                for blob in blobs:
                    with open_left(child.folder, BLOBS, blob.rpartition("/")[2]) as source:
                        put_blob(self._output, blob, source)
                filesystem.write_atomically(filesystem.join(self._folder, path.name), path, scratch=scratch)
            with self._changed:
                self.blobs.update(blobs)
        except (LeftBehindError, KeyError, TypeError) as error:
            raise DecodeError(Status.CRASHED, "The decoding process has not left what it has read.", Stage.PARTITION) from error

    def _timeout(self, pages: _Range) -> float:
        """A range has the time of a document of its share of the bytes: so the ranges together have more than the document would have."""
        share = _count(pages) / self.plan.facts.page_count
        return self._limits.timeout_for(round(self._request["size"] * share))

    def _measure(self, child: Child) -> None:
        with self._changed:
            self._seconds += child.seconds
            self._peak_memory_mb = max(self._peak_memory_mb, child.peak_memory_mb)


def _count(pages: _Range) -> int:
    return pages[1] - pages[0] + 1


def _name(pages: _Range) -> str:
    return f"{pages[0]:06d}-{pages[1]:06d}.zip"
