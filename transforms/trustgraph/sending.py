"""Sends what is in a run to a TrustGraph: each document once, each quad counted back, and nothing a second time.

All ids are made from content and settings, so "already exists" means that an earlier load has brought the same document, or one that was
stopped before it could say so: it is compared, and counts as brought. The library is sent parents first, so that a load that is stopped
leaves no child without its parent. The import socket acknowledges nothing, and a broker without a consumer drops messages without a word:
so every quad is asked for.
"""

import hashlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

from transforms.backoff import Backoff
from transforms.provenance.identifiers import NAMESPACE, document_iri
from transforms.provenance.vocabulary import SOURCE_GRAPH
from transforms.storage.filesystem import SCRATCH, join, publishing, read_bytes, write_atomically
from transforms.trustgraph.export import too_large_for
from transforms.trustgraph.gateway import (
    PART_BYTES,
    DocumentExistsError,
    DocumentUnknownError,
    Gateway,
    GatewayError,
    IncompleteError,
    OperationFailedError,
    TriplesImport,
)
from transforms.trustgraph.library import parse_document_uri
from transforms.trustgraph.library_tree import LibraryDocument, Unavailable, library_documents, library_id, open_source
from transforms.trustgraph.run_documents import Row, RunDocument, json_line, read_shard
from transforms.trustgraph.wire import Json, as_stored, import_messages

UNIT_DOCUMENTS = 200
"""Documents of the library, children included, after which quads are counted back and a marker is written: a load that was stopped looks
at no more than that again, some 10 s of work."""
AHEAD = 8
"""Documents that are read ahead for each connection."""
PATIENCE = 60.0
"""Seconds without one more quad in the graph after which those that are missing are given up."""
RESEND_AFTER = 10.0
"""Seconds without one more quad after which what is missing is sent once more."""
QUERY_LIMIT = 10_000
"""Quads about one subject that are asked for. Our own have 15 at most, and a document as many as its metadata."""
TRIES_OF_OPERATIONS = 3
"""Of what TrustGraph itself says has failed: mostly it fails again."""

Result = TypeVar("Result")


class Outcome(Enum):
    """What became of one document of the library."""

    SENT = "sent"
    EXISTED = "existed"
    """It was there, and is the same."""
    FAILED = "failed"


class Failure(NamedTuple):
    """A line of the dead letters."""

    document_id: str
    id: str
    """Of what was to be sent; the document's for its quads."""
    stage: str
    """`source`, `library`, `triples` or `processing`."""
    message: str


class Loaded(NamedTuple):
    """Counts of a shard, or of a run."""

    documents: int = 0
    """Of the run."""
    sent: int = 0
    """Documents of the library, children included."""
    existed: int = 0
    quads: int = 0
    """That were counted back."""
    processing: int = 0
    """Texts that were handed to the chunker; those that had been are not counted."""
    failed: int = 0
    units: int = 0
    units_before: int = 0
    """Of these: brought by an earlier load."""
    documents_before: int = 0
    """Documents of the run in those."""

    def plus(self, other: "Loaded") -> "Loaded":
        """The sum of both."""
        return Loaded(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True)
class LoadTask:
    """What is brought and where to; small, and without the token."""

    output: str
    """Path or URI of OUTPUT, where the pictures lie."""
    markers: str
    """Folder in the run for what this target has got of it."""
    gateway: str
    workspace: str
    flow: str
    collection: str
    """Empty: each document's own."""
    start_processing: str = ""
    """Flow; empty: none."""
    sources: bool = True
    again: bool = False
    connections: int = 4
    rate: float = 100.0
    largest: int = 10 << 20
    """Bytes of a message."""
    token_file: str = ""
    every_quad: bool = False
    """Whether each quad is asked for, see `SentQuads`."""


class Rate:
    """Lets so many through in a second, evenly."""

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._interval, self._clock, self._sleep = 1 / per_second, clock, sleep
        self._free = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Waits for the next turn."""
        with self._lock:
            now = self._clock()
            turn = max(self._free, now)
            self._free = turn + self._interval
        if turn > now:
            self._sleep(turn - now)


class Sender:
    """Everything that goes to the gateway, through one client, at a bounded rate; for all threads of a worker."""

    def __init__(self, task: LoadTask, gateway: Gateway, backoff: Backoff | None = None) -> None:
        self._task = task
        self._gateway = gateway
        self._rate = Rate(task.rate)
        self._backoff = backoff or Backoff(attempts=8, longest=8.0)

    def add(self, one: LibraryDocument) -> tuple[Outcome, str]:
        """Adds a document to the library, or finds that it is there.

        Returns:
          What became of it, and for a failure the sentence.
        Raises:
          GatewayError: nothing can be sent: the gateway is gone, or refuses the token.
        """
        try:
            if one.source is not None and parse_document_uri(one.source["source_uri"]) and self._is_there(one.id):
                return Outcome.EXISTED, ""
            encoded = too_large_for(one.size, self._task.largest, one.id)
            if encoded and one.source is not None and not too_large_for(PART_BYTES, self._task.largest, one.id):
                return self._upload(one)
            if encoded:
                return Outcome.FAILED, encoded
            content = one.content(self._task.output)
            if encoded := too_large_for(len(content), self._task.largest, one.id):
                return Outcome.FAILED, encoded
            try:
                self._tried(lambda: self._gateway.add_document(one.metadata(), content))
            except DocumentExistsError:
                return self._compare(one, hashlib.sha256(content).hexdigest(), len(content))
        except Unavailable as reason:
            return Outcome.FAILED, str(reason)
        except (OperationFailedError, IncompleteError) as error:
            return Outcome.FAILED, f"{one.id} could not be added, or compared with what is there: {error}."
        return Outcome.SENT, ""

    def _upload(self, one: LibraryDocument) -> tuple[Outcome, str]:
        """A document that is too large for one message: in parts, as only a document without a parent can be (see `Gateway`)."""
        row = cast(Row, one.source)
        if self._is_there(one.id):
            return self._compare(one, row["source_sha256"], one.size)
        metadata = one.metadata()
        metadata.pop("document-type")

        def upload() -> None:
            with open_source(row) as source:
                self._gateway.upload(metadata, cast(BinaryIO, source), one.size)

        try:
            self._tried(upload)
        except DocumentExistsError:
            return self._compare(one, row["source_sha256"], one.size)
        return Outcome.SENT, ""

    def _is_there(self, identifier: str) -> bool:
        try:
            self._tried(lambda: self._gateway.document_metadata(identifier))
        except DocumentUnknownError:
            return False
        return True

    def _compare(self, one: LibraryDocument, sha256: str, size: int) -> tuple[Outcome, str]:
        """Whether what is there under an id is what was to be added."""
        found = self._tried(lambda: self._gateway.document_metadata(one.id))
        if one.source is None:
            # Of a document itself title and all else are the library's own.
            wanted = one.metadata()
            for name in ("kind", "title", "parent-id", "document-type"):
                if (found.get(name) or "") != wanted.get(name, ""):
                    return Outcome.FAILED, (
                        f"{one.id} is in the library already, and is another document: its {name} is {found.get(name)!r}, not "
                        f"{wanted.get(name, '')!r}."
                    )

        def digest() -> tuple[str, int]:
            content, length = hashlib.sha256(), 0
            for part in self._gateway.stream_document(one.id):
                content.update(part.content)
                length += len(part.content)
            return content.hexdigest(), length

        if self._tried(digest) == (sha256, size):
            return Outcome.EXISTED, ""
        return Outcome.FAILED, f"{one.id} is in the library already, and holds other bytes."

    def start_processing(self, text_id: str, collection: str) -> tuple[bool, str]:
        """Hands a text to the chunker, once: a second processing would make a second set of chunks, as theirs are random ids.

        Returns:
          Whether that was now, and for a failure the sentence.
        """
        flow = self._task.start_processing
        name = processing_id(text_id, flow, collection)
        try:
            self._tried(lambda: self._gateway.add_processing(name, text_id, flow=flow, collection=collection))
        except DocumentExistsError:
            return False, ""
        except OperationFailedError as error:
            return False, f"{text_id} could not be handed to flow {flow}: {error}."
        return True, ""

    def about(self, subject: str, collection: str) -> list[Json]:
        """The quads of urn:graph:source about a subject."""
        return self._tried(
            lambda: self._gateway.query_triples(
                s={"t": "i", "i": subject}, graph=SOURCE_GRAPH, collection=collection, limit=QUERY_LIMIT, flow=self._task.flow
            )
        )

    def send_triples(self, messages: Callable[[], Iterable[Json]]) -> None:
        """Sends messages over one import socket, and all of them again if it breaks. Whether they were taken is for the caller to find out.

        Args:
          messages: gives them, from the first, as often as it is asked.
        """

        def send() -> None:
            with self._gateway.import_triples(self._task.flow) as socket:
                for message in messages():
                    self._send(socket, message)

        self._tried(send)

    def _send(self, socket: TriplesImport, message: Json) -> None:
        self._rate.wait()
        socket.send(message["metadata"], message["triples"])

    def still_holds(self, document: RunDocument, collection: str) -> bool:
        """Whether a document that a marker tells of is there: a TrustGraph may have been wiped since."""
        there = not self._task.sources or self._is_there(library_id(document))
        return there and bool(self.about(document_iri(document.id), collection))

    def _tried(self, request: Callable[[], Result]) -> Result:
        """A request at its turn, again where it may pass. All that load sends may be sent twice."""
        for attempt in count(1):
            self._rate.wait()
            try:
                return request()
            except GatewayError as error:
                most = TRIES_OF_OPERATIONS if isinstance(error, OperationFailedError) else self._backoff.attempts
                if not error.may_pass or attempt >= most:
                    raise
            self._backoff.wait(attempt)
        raise AssertionError("count ends never")


def processing_id(text_id: str, flow: str, collection: str) -> str:
    """Of the processing of a text by a flow into a collection: the same at each load."""
    return "urn:processing:" + str(uuid.uuid5(NAMESPACE, json.dumps(["processing", text_id, flow, collection])))


class SentQuads:
    """The quads of a unit: what was sent, in a file, and a number for each quad that has to be seen in the graph yet."""

    def __init__(
        self,
        sender: Sender,
        pool: ThreadPoolExecutor,
        *,
        every: bool = False,
        patience: float = PATIENCE,
        resend_after: float = RESEND_AFTER,
    ) -> None:
        """
        Args:
          every: ask for each quad. Else for those about the last subject of each message: a store takes a message from its first triple to
            its last, and again from the first where it failed (trustgraph-flow 2.9.12, 2.11.1), so where the last is, all are. That is
            one query a document instead of one for each page, image and activity, of which each takes as long as adding a document.
        """
        self._sender, self._pool, self._every = sender, pool, every
        self._patience, self._resend_after = patience, resend_after
        self._messages = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - closed by `close`
        self._unseen: dict[_Subject, set[int]] = {}
        self._stands_for: dict[_Subject, int] = {}
        self.count = 0

    def add(self, messages: Iterable[Json]) -> None:
        """Takes the messages of a document; they are sent by `send`."""
        for message in messages:
            self._messages.write(json_line(message))

    def send(self, without: Set[str] = frozenset()) -> None:
        """Sends all of it.

        Args:
          without: documents that are left out.
        """
        for message in self._read(without):
            self.count += len(message["triples"])
            self._expect(message)
        self._sender.send_triples(lambda: self._read(without))

    def _expect(self, message: Json) -> None:
        last = _subject(message, message["triples"][-1])
        self._stands_for[last] = self._stands_for.get(last, 0) + len(message["triples"])
        for triple in message["triples"]:
            subject = _subject(message, triple)
            if self._every or subject == last:
                self._unseen.setdefault(subject, set()).add(hash(as_stored(triple)))

    def count_back(self) -> int:
        """Asks until all are there, or nothing more comes.

        Returns:
          How many quads are missing.
        """
        heard, resent, pause = time.monotonic(), False, 0.05
        while self._unseen:
            before = self._left()
            # Messages are taken in their order: while the last is not there, it is of no use to ask for the others.
            last = next(reversed(self._unseen))
            self._ask([last])
            if last not in self._unseen:
                self._ask(list(self._unseen))
            if self._left() < before:
                heard, pause = time.monotonic(), 0.05
                continue
            quiet = time.monotonic() - heard
            if quiet > self._patience:
                self._ask(list(self._unseen))
                break
            if quiet > self._resend_after and not resent:
                self._ask(list(self._unseen))
                self._send_again(set(self._unseen))
                resent = True
            time.sleep(pause)
            pause = min(pause * 2, 2.0)
        return self._left() if self._every else sum(self._stands_for[subject] for subject in self._unseen)

    def close(self) -> None:
        """Lets go of the file."""
        self._messages.close()

    def _left(self) -> int:
        return sum(map(len, self._unseen.values()))

    def _ask(self, subjects: Sequence["_Subject"]) -> None:
        for key, found in zip(subjects, self._pool.map(lambda key: self._sender.about(key[1], key[0]), subjects), strict=True):
            left = self._unseen[key] - {hash(as_stored(triple)) for triple in found}
            if left:
                self._unseen[key] = left
            else:
                del self._unseen[key]

    def _send_again(self, unseen: Set["_Subject"]) -> None:
        def wanted() -> Iterator[Json]:
            return (message for message in self._read() if any(_subject(message, triple) in unseen for triple in message["triples"]))

        self._sender.send_triples(wanted)

    def _read(self, without: Set[str] = frozenset()) -> Iterator[Json]:
        self._messages.seek(0)
        for line in self._messages:
            message = json.loads(line)
            if message["metadata"]["root"] not in without:
                yield message


_Subject = tuple[str, str]
"""A collection, and a subject in it as it is stored."""


def _subject(message: Json, triple: Json) -> _Subject:
    return message["metadata"]["collection"], as_stored(triple)[0]


@dataclass
class _Unit:
    """What is under way between two markers."""

    quads: SentQuads
    first: str = ""
    documents: int = 0
    size: int = 0
    futures: "dict[str, Future[tuple[Outcome, str]]]" = field(default_factory=dict)
    """What becomes of each document of the library, by id."""
    places: list[tuple[str, str, bool]] = field(default_factory=list)
    """Document of the run and id of each, and whether it is that document."""
    texts: list[tuple[str, str, str]] = field(default_factory=list)
    """Document, id and collection of those for the chunker."""
    failures: list[Failure] = field(default_factory=list)


class Loader:
    """Loads shards; one a worker."""

    def __init__(self, task: LoadTask, gateway: Gateway, sender: Sender | None = None) -> None:
        self._task = task
        self._sender = sender or Sender(task, gateway)
        self._pool = ThreadPoolExecutor(task.connections, thread_name_prefix="load")
        self._broken: GatewayError | None = None
        self._room = threading.BoundedSemaphore(task.connections * AHEAD)

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def load(self, name: str, parts: Mapping[str, str]) -> Loaded:
        """Brings one shard, unit by unit.

        Args:
          name: of the shard: its markers' folder.
          parts: as `run_documents.shards_of` gives them.
        Raises:
          GatewayError: nothing can be sent (any more). The units that were ended have their markers.
        """
        done, failures = Loaded(), []
        documents = read_shard(parts)
        document = next(documents, None)
        number = 0
        missing: dict[str, str] = {}
        self._broken = None
        while document is not None:
            place = join(self._task.markers, name, f"unit-{number:06d}.json")
            marker = None if self._task.again else self._believed(place, document)
            if marker is not None and self._task.start_processing in ("", *marker["processing"]):
                done = done.plus(Loaded(units=1, units_before=1, documents=marker["documents"], documents_before=marker["documents"]))
                for _ in range(marker["documents"]):
                    document = next(documents, None)
            else:
                unit = _Unit(SentQuads(self._sender, self._pool, every=self._task.every_quad), document.id)
                try:
                    while document is not None and unit.size < UNIT_DOCUMENTS:
                        self._begin(document, unit, missing, only_processing=marker is not None)
                        document = next(documents, None)
                    result = self._end(unit, only_processing=marker is not None)
                finally:
                    unit.quads.close()
                failures += unit.failures
                missing.update((failure.id, failure.stage) for failure in unit.failures if failure.stage in ("source", "library"))
                done = done.plus(result)
                if not unit.failures:
                    started = {*(marker["processing"] if marker else ()), self._task.start_processing} - {""}
                    content = {"first": unit.first, "documents": unit.documents, "processing": sorted(started), **_counts(result)}
                    write_atomically(place, json_line(content), scratch=join(self._task.output, SCRATCH))
            number += 1
        with publishing(join(self._task.markers, "dead_letters", f"{name}.jsonl"), scratch=join(self._task.output, SCRATCH)) as letters:
            for failure in failures:
                letters.write(json_line(failure._asdict()))
        return done

    def _believed(self, place: str, document: RunDocument) -> dict[str, Any] | None:
        """The marker of a unit, where there is one for it and TrustGraph still has its first document."""
        with suppress(FileNotFoundError, ValueError):
            marker: dict[str, Any] = json.loads(read_bytes(place))
            if marker["first"] == document.id and self._sender.still_holds(document, self._collection(document)):
                return marker
        return None

    def _collection(self, document: RunDocument) -> str:
        return self._task.collection or str(document.row["collection"])

    def _begin(self, document: RunDocument, unit: _Unit, missing: Mapping[str, str], *, only_processing: bool) -> None:
        """Has all of a document sent; waits only while too much is under way.

        Args:
          missing: of the units before, what is not in the library.
        """
        unit.documents += 1
        for number, one in enumerate(library_documents(document)):
            unit.size += 1
            if one.chunkable:
                unit.texts.append((document.id, one.id, self._collection(document)))
            if only_processing or (one.source is not None and not self._task.sources):
                continue
            unit.places.append((document.id, one.id, number == 0))
            if one.parent_id in missing:
                unit.futures[one.id] = Future()
                unit.futures[one.id].set_result((Outcome.FAILED, _no_parent(one)))
            else:
                unit.futures[one.id] = self._submit(one, unit.futures.get(one.parent_id))
        if not only_processing:
            unit.quads.add(import_messages(document.quads, document.id, self._collection(document)))

    def _submit(self, one: LibraryDocument, parent: "Future[tuple[Outcome, str]] | None") -> "Future[tuple[Outcome, str]]":
        """Has a document added as soon as its parent is."""
        if self._broken:
            raise self._broken
        self._room.acquire()
        result: Future[tuple[Outcome, str]] = Future()

        def outcome() -> tuple[Outcome, str]:
            if self._broken:
                raise self._broken
            if parent is not None and parent.result()[0] is Outcome.FAILED:
                return Outcome.FAILED, _no_parent(one)
            return self._sender.add(one)

        def add() -> None:
            try:
                result.set_result(outcome())
            except BaseException as error:  # told where the unit ends
                if isinstance(error, GatewayError):
                    self._broken = error
                result.set_exception(error)
            finally:
                self._room.release()

        if parent is None:
            self._pool.submit(add)
        else:
            parent.add_done_callback(lambda _parent: self._pool.submit(add))
        return result

    def _end(self, unit: _Unit, *, only_processing: bool) -> Loaded:
        """Waits for all of a unit, counts its quads back, and starts its processing."""
        counts = dict.fromkeys(Outcome, 0)
        absent, documents = set(), set()
        for document_id, identifier, whole in unit.places:
            outcome, sentence = unit.futures[identifier].result()
            counts[outcome] += 1
            if outcome is Outcome.FAILED:
                absent.add(identifier)
                documents |= {document_id} if whole else set()
                unit.failures.append(Failure(document_id, identifier, "source" if whole else "library", sentence))
        lost = 0
        if not only_processing:
            unit.quads.send(without=documents)
            lost = unit.quads.count_back()
        for document_id in sorted(documents):
            unit.failures.append(Failure(document_id, document_id, "triples", "Its document is not in the library."))
        if lost:
            message = (
                f"{lost} of {unit.quads.count} quads of the {unit.documents} documents from this one on were sent twice and are not in the "
                "graph: see whether the flow's store takes them."
            )
            unit.failures.append(Failure(unit.first, unit.first, "triples", message))
        started = 0
        if self._task.start_processing:
            texts = [text for text in unit.texts if text[1] not in absent]
            results = self._pool.map(lambda text: self._sender.start_processing(text[1], text[2]), texts)
            for (document_id, identifier, _), (now, sentence) in zip(texts, results, strict=True):
                started += now
                if sentence:
                    unit.failures.append(Failure(document_id, identifier, "processing", sentence))
        return Loaded(
            documents=unit.documents,
            sent=counts[Outcome.SENT],
            existed=counts[Outcome.EXISTED],
            quads=unit.quads.count - lost,
            processing=started,
            failed=len(unit.failures),
            units=1,
        )


def _no_parent(one: LibraryDocument) -> str:
    return f"What it is derived from, {one.parent_id}, is not in the library."


def _counts(result: Loaded) -> dict[str, int]:
    return {name: value for name, value in result._asdict().items() if name in ("sent", "existed", "quads")}
