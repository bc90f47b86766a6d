from dataclasses import replace

import apache_beam as beam
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from decoded_documents import TWO_PAGES, decode, fail

from transforms.decode_documents import DecodeDocuments, DecodeTask, decode_once
from transforms.isolation import shared
from transforms.isolation.pool import ChildPool
from transforms.model import DocumentReference, Status
from transforms.settings import DecodeSettings, Limits
from transforms.storage.commit import StagedDocument, write_commit
from transforms.storage.staging import staging_key, staging_path


def test_a_run_with_nothing_to_decode_starts_no_decoder(tmp_path):
    shared.close_pools()
    task = DecodeTask(tmp_path.as_uri(), DecodeSettings(), Limits(), "2026-01-31T10:00:00Z", children=1)
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        references = pipeline | beam.Create([DocumentReference("file:///library/a")])
        nothing = references | beam.Filter(lambda reference: not reference.uri)
        nothing | DecodeDocuments(task)
    assert shared._pools == {}


class DecodesError(Exception):
    pass


class NoPool(ChildPool):
    """In which nothing can be decoded."""

    def __init__(self):
        pass

    def lease(self):
        raise DecodesError


def staged(tmp_path, document) -> tuple[DocumentReference, DecodeTask]:
    settings = DecodeSettings()
    reference = DocumentReference("file:///library/a", size=7, version="7-1", copies=2)
    path = tmp_path / staging_path(settings.fingerprint, staging_key(reference))
    path.parent.mkdir(parents=True)
    write_commit(path, [document], fingerprint=settings.fingerprint)
    return reference, DecodeTask(tmp_path.as_uri(), settings, Limits(), "2026-01-31T10:00:00Z", children=1, look_first=True)


def test_a_bundle_that_is_given_again_does_not_decode_what_it_has_decoded(tmp_path):
    reference, task = staged(tmp_path, decode("a", TWO_PAGES[:3]))

    assert decode_once(reference, task, NoPool()) == StagedDocument(
        path=staging_path(task.settings.fingerprint, staging_key(reference)),
        key=staging_key(reference),
        document_id="https://example.org/a",
        source_uri="file:///library/a",
        status="ok",
        copies=2,
        size=7,
        fresh=False,
    )
    with pytest.raises(DecodesError):  # as where bundles are given once, and with --force
        decode_once(reference, replace(task, look_first=False), NoPool())


def test_a_bundle_that_is_given_again_tries_again_what_the_run_would(tmp_path):
    reference, task = staged(tmp_path, replace(fail("a"), status=Status.ENCRYPTED))

    assert decode_once(reference, task, NoPool()).status == "encrypted"
    with pytest.raises(DecodesError):
        decode_once(reference, replace(task, retry_failed=True), NoPool())
