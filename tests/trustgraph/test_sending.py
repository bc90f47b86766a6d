"""What a real TrustGraph cannot be made to do at will: lose a message, store one late, never take one."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from transforms.backoff import Backoff
from transforms.provenance.vocabulary import SOURCE_GRAPH
from transforms.trustgraph.gateway import Gateway, OperationFailedError, Token, UnreachableError
from transforms.trustgraph.sending import LoadTask, Rate, Sender, SentQuads, processing_id


class Store:
    """A graph that takes messages as `lose` says: by the number of times that a document's message came."""

    def __init__(self, lose=lambda document, time: False):
        self.quads, self.sent, self.asked = [], [], []
        self._lose = lose

    def send_triples(self, messages):
        for message in messages():
            document = message["metadata"]["id"]
            self.sent.append(document)
            if not self._lose(document, self.sent.count(document)):
                self.quads += [triple for triple in message["triples"] if triple not in self.quads]

    def about(self, subject, collection):
        self.asked.append(subject)
        return [triple for triple in self.quads if triple["s"]["i"] == subject]


def message(document, subjects=3):
    triples = [
        {"s": {"t": "i", "i": f"{document}#{n}"}, "p": {"t": "i", "i": "urn:p"}, "o": {"t": "l", "v": str(o)}, "g": SOURCE_GRAPH}
        for n in range(subjects)
        for o in range(2)
    ]
    return {"metadata": {"id": document, "root": document, "collection": "law"}, "triples": triples}


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def count_back(store, pool, documents, *, every=False, without=frozenset()):
    quads = SentQuads(store, pool, every=every, patience=0.4, resend_after=0.1)
    for document in documents:
        quads.add([message(document)])
    quads.send(without)
    try:
        return quads.count, quads.count_back()
    finally:
        quads.close()


def test_a_message_that_was_lost_once_is_sent_again(pool):
    store = Store(lambda document, time: document == "b" and time == 1)
    assert count_back(store, pool, "abc") == (18, 0)
    assert store.sent == ["a", "b", "c", "b"]


def test_a_message_that_is_never_taken_is_counted_as_missing(pool):
    assert count_back(Store(lambda document, time: document == "b"), pool, "abc") == (18, 6)
    assert count_back(Store(lambda document, time: True), pool, "abc", every=True) == (18, 18)


def test_one_subject_of_each_message_is_asked_for_or_each_quad(pool):
    store = Store()
    assert count_back(store, pool, "abc") == (18, 0)
    assert sorted(store.asked) == ["a#2", "b#2", "c#2"]
    store = Store()
    assert count_back(store, pool, "abc", every=True) == (18, 0)
    assert sorted(store.asked) == [f"{document}#{n}" for document in "abc" for n in range(3)]


def test_the_quads_of_a_document_that_is_not_in_the_library_are_not_sent(pool):
    store = Store()
    assert count_back(store, pool, "abc", without={"b"}) == (12, 0)
    assert store.sent == ["a", "c"]


def test_what_is_stored_late_is_waited_for(pool):
    store = Store(lambda document, time: True)
    late = threading.Timer(0.15, lambda: store.quads.extend(message("a")["triples"]))
    late.start()
    assert count_back(store, pool, "a") == (6, 0)
    late.join()


def test_the_rate_is_kept_by_all_threads_together():
    rate = Rate(100)
    with ThreadPoolExecutor(8) as pool:
        started = time.monotonic()
        list(pool.map(lambda _: rate.wait(), range(31)))
        assert time.monotonic() - started >= 0.3  # the first goes at once, each further one 10 ms later


def failing(errors):
    left = list(errors)
    pauses = []
    task = LoadTask("", "", "http://localhost:1", "w", "default", "", rate=1e6)
    sender = Sender(task, Gateway("http://localhost:1", Token("tg_x")), Backoff(attempts=5, sleep=pauses.append))

    def request():
        if left:
            raise left.pop(0)
        return "done"

    return lambda: sender._tried(request), pauses


def test_what_may_pass_is_tried_again_a_gateway_longer_than_an_operation():
    request, pauses = failing([UnreachableError("away")] * 4)
    assert request() == "done"
    assert len(pauses) == 4
    request, pauses = failing([UnreachableError("away")] * 5)
    with pytest.raises(UnreachableError):
        request()
    request, pauses = failing([OperationFailedError("unexpected-error", "No")] * 3)
    with pytest.raises(OperationFailedError):
        request()
    assert len(pauses) == 2
    request, pauses = failing([OperationFailedError("request-error", "No")])
    with pytest.raises(OperationFailedError):
        request()
    assert pauses == []


def test_a_processing_is_known_by_its_text_flow_and_collection():
    names = {processing_id(*parts) for parts in [("a", "f", "c"), ("b", "f", "c"), ("a", "g", "c"), ("a", "f", "d")]}
    assert len(names) == 4
    assert processing_id("a", "f", "c") in names
    assert all(name.startswith("urn:processing:") for name in names)
