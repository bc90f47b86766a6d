"""DecodeDocuments: fetches, decodes and commits each referenced document, many at a time from one Beam thread.

The parent's part is only to fetch bytes, wait, and publish what the child left: decoding itself is `transforms.decode`, in a child.
"""

import atexit
import json
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import MIN_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

from transforms import counters
from transforms.decode import BLOBS, COMMIT, DOCUMENT, PLACE, dead, undecoded
from transforms.isolation.pool import Child, ChildFailure, ChildPool
from transforms.model import DecodeError, DocumentReference, Stage, Status
from transforms.references.fetch import fetch
from transforms.settings import DecodeSettings, Limits
from transforms.storage import filesystem
from transforms.storage.blobs import put_blob
from transforms.storage.commit import Outcome, StagedDocument, write_commit
from transforms.storage.staging import staging_key, staging_path

DECODER = "transforms.decode:decode_file"


@dataclass(frozen=True)
class DecodeTask:
    """All that the decode of a document needs besides its reference."""

    output: str
    """URI of OUTPUT."""
    settings: DecodeSettings
    limits: Limits
    started_at: str
    children: int
    decoder: str = DECODER
    """module:function that a child runs; another one only in tests."""


@dataclass(eq=False)  # not frozen: applying a transform sets attributes on it (Beam 2.77.0)
class DecodeDocuments(beam.PTransform):  # type: ignore[misc]
    """PCollection[DocumentReference] -> PCollection[StagedDocument]; no shuffle: the caller reshuffles the references before."""

    task: DecodeTask

    def expand(self, references: beam.PCollection) -> beam.PCollection:
        return references | "DecodeAhead" >> beam.ParDo(DecodeAhead(self.task)).with_output_types(StagedDocument)


class DecodeAhead(beam.DoFn):  # type: ignore[misc]
    """Keeps all children busy from one thread: takes up to twice as many references as there are children before it gives one back.

    So a long document holds back nobody, and one worker process with N children needs one zygote and one parent, not N.
    """

    def __init__(self, task: DecodeTask) -> None:
        self._task = task

    def setup(self) -> None:
        self._threads = ThreadPoolExecutor(self._task.children, thread_name_prefix="decode")

    def start_bundle(self) -> None:
        self._flying: deque[Future[StagedDocument]] = deque()

    def process(self, reference: DocumentReference) -> Iterator[StagedDocument]:
        pool = shared_pool(self._task)  # not in setup: a run with nothing to decode does not start it
        self._flying.append(self._threads.submit(decode_reference, reference, self._task, pool))
        while len(self._flying) >= 2 * self._task.children:
            wait(self._flying, return_when=FIRST_COMPLETED)
            yield from self._finished()
        yield from self._finished()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        while self._flying:
            wait(self._flying, return_when=FIRST_COMPLETED)
            for staged in self._finished():
                yield WindowedValue(staged, MIN_TIMESTAMP, [GlobalWindow()])

    def teardown(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    def _finished(self) -> Iterator[StagedDocument]:
        done = [future for future in self._flying if future.done()]
        for future in done:
            self._flying.remove(future)
            staged = future.result()
            counters.count(staged.status, staged.size)
            yield staged


def decode_reference(reference: DocumentReference, task: DecodeTask, pool: ChildPool) -> StagedDocument:
    """Fetches and decodes one document in a child, and commits what came of it: always, whatever came of it.

    Returns:
      Where the commit lies, and the document's status.
    Raises:
      OSError: OUTPUT cannot be written. That is no document's fault: it ends the bundle.
    """
    key = staging_key(reference)
    path = staging_path(task.settings.fingerprint, key)
    with pool.lease() as child:
        try:
            outcome, blobs = _decode(reference, task, child)
        except DecodeError as error:
            outcome, blobs = _commit_failure(reference, task, child.folder, error), []
        # Blobs first: a commit promises that its pictures are there.
        for blob in blobs:
            put_blob(task.output, blob, child.folder / BLOBS / Path(blob).name)
        filesystem.write_atomically(filesystem.join(task.output, path), child.folder / COMMIT)
    return StagedDocument(
        path=path,
        key=key,
        document_id=outcome.document_id,
        source_uri=reference.uri,
        status=outcome.status,
        copies=reference.copies,
        size=reference.size,
        fresh=True,
    )


def _decode(reference: DocumentReference, task: DecodeTask, child: Child) -> tuple[Outcome, list[str]]:
    if reference.problem:
        raise DecodeError(Status.FETCH_FAILED, reference.problem, Stage.REFERENCE)
    fetch(reference, child.folder / DOCUMENT, limit_bytes=task.limits.document_size << 20)
    request: dict[str, Any] = {
        "reference": reference._asdict(),
        "settings": task.settings.to_json(),
        "started_at": task.started_at,
        "failures": {},
    }
    while True:
        try:
            answer = child.call(request)
        except ChildFailure as failure:
            # An attachment that ends its child costs itself only: the mail is decoded again without it.
            place = _place(child.folder)
            if not place or place in request["failures"]:
                raise
            request["failures"][place] = (failure.status.value, failure.message)
        else:
            return Outcome(**answer["outcome"]), answer["blobs"]


def _place(folder: Path) -> str:
    try:
        return (folder / PLACE).read_text(encoding="utf-8")
    except FileNotFoundError:  # it ended before it began
        return ""


def _commit_failure(reference: DocumentReference, task: DecodeTask, folder: Path, error: DecodeError) -> Outcome:
    found = undecoded(reference, document_id=reference.document_id, started_at=task.started_at)
    letter = dead(found, error.status, error.message, error.stage, error.__cause__)
    if isinstance(error, ChildFailure):
        letter = replace(
            letter,
            seconds=round(error.seconds, 3),
            peak_memory_mb=error.peak_memory_mb,
            error_class=error.error_class,
            traceback=error.detail,
        )
    return write_commit(folder / COMMIT, [letter], fingerprint=task.settings.fingerprint)


_pools: dict[str, ChildPool] = {}
_pools_lock = threading.Lock()


def shared_pool(task: DecodeTask) -> ChildPool:
    """The one pool of this worker process for these limits: a zygote takes seconds to warm, and serves every bundle."""
    name = json.dumps([task.children, repr(task.limits), task.decoder])
    with _pools_lock:
        if name not in _pools:
            _pools[name] = ChildPool(task.children, task.limits, decoder=task.decoder)
        return _pools[name]


@atexit.register
def close_pools() -> None:
    """Ends all children of this process."""
    with _pools_lock:
        for pool in _pools.values():
            pool.close()
        _pools.clear()
