"""DecodeDocuments: fetches, decodes and commits each referenced document, many at a time from one Beam thread.

The parent's part is only to fetch bytes, wait, and publish what the child left: decoding itself is `transforms.decode`, in a child.
"""

import contextlib
import logging
import shutil
import socket
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import MIN_TIMESTAMP
from apache_beam.utils.windowed_value import WindowedValue

from transforms import counters
from transforms.decode import BLOBS, COMMIT, DOCUMENT, PLACE, dead, digest_file, document_id_of, undecoded, without_place
from transforms.decode_ranges import DividedDocument
from transforms.errors import JobFailed
from transforms.isolation.handover import LeftBehindError, open_left
from transforms.isolation.pool import Child, ChildFailure, ChildPool
from transforms.isolation.shared import DECODE_FILE, shared_pool
from transforms.model import DecodeError, DocumentReference, Stage, Status
from transforms.progress_files import report_to
from transforms.references.fetch import fetch
from transforms.settings import DecodeSettings, Limits
from transforms.storage import filesystem
from transforms.storage.blobs import put_blob
from transforms.storage.commit import CommitDamaged, Outcome, StagedDocument, write_commit
from transforms.storage.proof import Origin, prove_commit
from transforms.storage.staging import find_commit, forget_ranges, ranges_folder, staging_key, staging_path
from transforms.trustgraph.library import GatewayAccess

MAX_RETRIES = 16
"""Of one mail, each without one attachment more: then it shares their fate. The child says which attachment it was, and may lie."""

UNREADABLE = "The decoding process gave an answer that cannot be read."

_OUTCOME_TYPES = get_type_hints(Outcome)


@dataclass(frozen=True)
class DecodeTask:
    """All that the decode of a document needs besides its reference."""

    output: str
    """URI of OUTPUT."""
    settings: DecodeSettings
    limits: Limits
    started_at: str
    children: int
    accelerated: bool = True
    """Whether faster code may take the place of other packages' code. No setting of the decode: it changes no result, so it must not change
    the fingerprint."""
    range_pages: int = 0
    """Pages of text in a range of a PDF that is decoded in ranges; 0: none is. No setting of the decode either."""
    resume: bool = True
    """Whether what an earlier run has read of such ranges may be used."""
    decoder: str = DECODE_FILE
    """module:function that a child runs; another one only in tests."""
    progress: str = ""
    """Folder where workers tell how far they are; empty: they run in the submitter's process."""
    access: GatewayAccess | None = None
    """The gateway that documents of a TrustGraph library may be asked for."""
    fingerprint: str = ""
    """As the submitter has it. A worker with another one has other versions, and its results would mix with the rest."""
    look_first: bool = False
    """Whether to look for a document's commit before it is decoded: for runners that give a bundle again whose worker was lost. One look
    costs 2 ms of CPU on an object store; on Flink's batch engine a bundle is all that a slot decodes."""
    retry_failed: bool = False
    """Of the run; says which commits `look_first` takes."""


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
        if self._task.fingerprint not in ("", self._task.settings.fingerprint):
            raise JobFailed(
                f"The worker on {socket.gethostname()} has other versions of the decoder or of unstructured than the machine that "
                "submitted the job: install the same on all."
            )
        self._report = report_to(self._task.progress)
        self._threads = ThreadPoolExecutor(self._task.children, thread_name_prefix="decode")

    def start_bundle(self) -> None:
        self._flying: deque[Future[StagedDocument]] = deque()

    def process(self, reference: DocumentReference) -> Iterator[StagedDocument]:
        task = self._task
        # Not in setup: a run with nothing to decode does not start it.
        pool = shared_pool(task.children, task.limits, task.decoder, accelerated=task.accelerated)
        self._flying.append(self._threads.submit(decode_once, reference, task, pool, self._threads))
        while len(self._flying) >= 2 * task.children:
            wait(self._flying, return_when=FIRST_COMPLETED)
            yield from self._finished()
        yield from self._finished()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        while self._flying:
            wait(self._flying, return_when=FIRST_COMPLETED)
            for staged in self._finished():
                yield WindowedValue(staged, MIN_TIMESTAMP, [GlobalWindow()])
        if self._report:
            self._report.flush()  # on Flink's batch engine the worker is ended when its stage is

    def teardown(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    def _finished(self) -> Iterator[StagedDocument]:
        done = [future for future in self._flying if future.done()]
        for future in done:
            self._flying.remove(future)
            try:
                staged = future.result()
            except BaseException:  # the bundle ends: what has not begun must not begin any more
                self._threads.shutdown(wait=False, cancel_futures=True)
                raise
            if staged.fresh:  # else an earlier try has counted it
                counters.count(staged.status, staged.size)
            yield staged


def decode_once(reference: DocumentReference, task: DecodeTask, pool: ChildPool, helpers: Executor | None = None) -> StagedDocument:
    """As `decode_reference`, unless an earlier try of the bundle has done it."""
    earlier = None
    if task.look_first:
        earlier = find_commit(task.output, task.settings.fingerprint, reference, retry_failed=task.retry_failed)
    return earlier or decode_reference(reference, task, pool, helpers)


def decode_reference(reference: DocumentReference, task: DecodeTask, pool: ChildPool, helpers: Executor | None = None) -> StagedDocument:
    """Fetches and decodes one document in a child, and commits what came of it: always, whatever came of it.

    Args:
      helpers: threads of this worker; those that are free decode ranges of a document that is divided.
    Returns:
      Where the commit lies, and the document's status.
    Raises:
      JobFailed: OUTPUT cannot be written. That is no document's fault: it ends the bundle, and on a local runner the job.
    """
    key = staging_key(reference)
    path = staging_path(task.settings.fingerprint, key)
    uri = filesystem.join(task.output, path)
    with contextlib.ExitStack() as spools:
        divided = None
        with pool.lease() as child:
            try:
                asked = _decode(reference, task, child)
                if "plan" in asked.answer:
                    spool = spools.enter_context(pool.spool())
                    ranges = ranges_folder(task.settings.fingerprint, key)
                    divided = DividedDocument(asked.request, asked.answer, pool, spool, task.limits, task.output, ranges)
                    divided.take(child)
                else:
                    outcome, kernel = _commit(child, asked, task, uri)
            except DecodeError as error:
                divided = None
                outcome, kernel = _commit_failure(reference, task, child, uri, error), ""
        if divided is not None:
            divided.decode(helpers, task.children, resume=task.resume)
            with pool.lease() as child:
                try:
                    answer = _answer(child, divided.join(child), task.limits.timeout_for(asked.request["size"]))
                    outcome, kernel = _commit(child, asked._replace(answer=answer), task, uri, published=divided.blobs)
                except DecodeError as error:
                    outcome, kernel = _commit_failure(reference, task, child, uri, error), ""
            with filesystem.output_told(task.output):
                forget_ranges(task.output, task.settings.fingerprint, key)
    return StagedDocument(
        path=path,
        key=key,
        document_id=outcome.document_id,
        source_uri=reference.uri,
        status=outcome.status,
        copies=reference.copies,
        size=reference.size,
        fresh=True,
        pdf_kernel=kernel,
    )


class _Asked(NamedTuple):
    """What a child was asked last, of which document, and what it has answered."""

    request: dict[str, Any]
    answer: Mapping[str, Any]
    origin: Origin


def _commit(child: Child, asked: _Asked, task: DecodeTask, uri: str, published: Collection[str] = ()) -> tuple[Outcome, str]:
    """Publishes what a child has left, once it is proven. Blobs first: a commit promises that its pictures are there.

    Args:
      published: blobs that are there already, of ranges of the document.

    Returns:
      The outcome, and what the PDF kernel did.
    Raises:
      DecodeError: `crashed` where it is not what a decode leaves.
    """
    _tell_once("".join(filter(str.isprintable, str(asked.answer.get("notice", ""))[:300])))
    outcome, blobs, kernel = _checked(asked.answer)
    scratch = filesystem.join(task.output, filesystem.SCRATCH)
    try:
        with (
            filesystem.output_told(task.output),
            open_left(child.folder, COMMIT) as source,
            filesystem.publishing(uri, scratch=scratch) as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
            prove_commit(target, outcome, blobs, published, origin=asked.origin, limit=task.limits.memory << 20)
            for blob in blobs:
                with open_left(child.folder, BLOBS, blob.rpartition("/")[2]) as picture:
                    put_blob(task.output, blob, picture)
    except CommitDamaged as error:
        raise DecodeError(Status.CRASHED, "The decoding process has left a commit that cannot be read.", Stage.PARTITION) from error
    except LeftBehindError as error:
        raise DecodeError(Status.CRASHED, str(error), Stage.PARTITION) from error
    return outcome, kernel


def _decode(reference: DocumentReference, task: DecodeTask, child: Child) -> _Asked:
    if reference.problem:
        raise DecodeError(Status.FETCH_FAILED, reference.problem, Stage.REFERENCE)
    fetch(reference, child.folder / DOCUMENT, limit_bytes=task.limits.document_size << 20, access=task.access)
    digest, size = digest_file(child.folder / DOCUMENT)
    origin = Origin(reference, document_id_of(reference, digest), digest)
    request: dict[str, Any] = {
        "reference": reference._asdict(),
        "digest": digest,
        "size": size,
        "settings": task.settings.to_json(),
        "limits": asdict(task.limits),
        "started_at": task.started_at,
        "failures": {},
        "range_pages": task.range_pages,
    }
    while True:
        try:
            return _Asked(request, _answer(child, request, task.limits.timeout_for(size)), origin)
        except ChildFailure as failure:
            # An attachment that ends its child costs itself only: the mail is decoded again without it.
            place = _place(child.folder)
            if not place or place in request["failures"] or len(request["failures"]) == MAX_RETRIES:
                raise
            request["failures"][place] = (failure.status.value, failure.message)


def _answer(child: Child, request: Mapping[str, Any], timeout: float) -> Mapping[str, Any]:
    """What a child answers; it comes from where the document was. Raises: DecodeError, also where it is nothing of the kind."""
    answer = child.call(request, timeout=timeout)
    if not isinstance(answer, Mapping):
        raise DecodeError(Status.CRASHED, UNREADABLE, Stage.PARTITION)
    return answer


def _checked(answer: Mapping[str, Any]) -> tuple[Outcome, list[str], str]:
    """What is in an answer, each of the type that it should have: it comes from where the document was."""
    try:
        facts = {name: kind(answer["outcome"][name]) for name, kind in _OUTCOME_TYPES.items()}
        Status(facts["status"])
        return Outcome(**facts), [str(blob) for blob in answer["blobs"]], str(answer["pdf_kernel"])[:300]
    except (KeyError, TypeError, ValueError) as error:
        raise DecodeError(Status.CRASHED, UNREADABLE, Stage.PARTITION) from error


@lru_cache(maxsize=8)
def _tell_once(notice: str) -> None:
    """What a child has to say of its installation goes to the operator once a worker process, not once a document."""
    if notice:
        logging.getLogger(__name__).warning(notice)


def _place(folder: Path) -> str:
    try:
        with open_left(folder, PLACE) as stream:
            return stream.read(1000).decode("ascii", "replace")
    except LeftBehindError:  # it ended before it began
        return ""


def _commit_failure(reference: DocumentReference, task: DecodeTask, child: Child, uri: str, error: DecodeError) -> Outcome:
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
    commit = child.own_folder / COMMIT
    outcome = write_commit(commit, [without_place(letter, child.own_folder)], fingerprint=task.settings.fingerprint)
    with filesystem.output_told(task.output):
        filesystem.write_atomically(uri, commit, scratch=filesystem.join(task.output, filesystem.SCRATCH))
    return outcome
