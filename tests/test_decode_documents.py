import apache_beam as beam
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from transforms import decode_documents
from transforms.decode_documents import DecodeDocuments, DecodeTask
from transforms.model import DocumentReference
from transforms.settings import DecodeSettings, Limits


def test_a_run_with_nothing_to_decode_starts_no_decoder(tmp_path):
    decode_documents.close_pools()
    task = DecodeTask(tmp_path.as_uri(), DecodeSettings(), Limits(), "2026-01-31T10:00:00Z", children=1)
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        references = pipeline | beam.Create([DocumentReference("file:///a.txt")])
        nothing = references | beam.Filter(lambda reference: not reference.uri)
        nothing | DecodeDocuments(task)
    assert decode_documents._pools == {}
