"""The whole Beam graph of a backfill, on one screen."""

from dataclasses import asdict

import apache_beam as beam

from pipeline.options import BackfillSettings
from transforms.decode_documents import DECODER, DecodeDocuments, DecodeTask
from transforms.references.read import ReadReferences
from transforms.skip_staged import MISSING, STAGED, SkipStaged
from transforms.storage import filesystem
from transforms.write_datasets import PublishRun, RunFacts, WriteDatasets


def build(pipeline: beam.Pipeline, settings: BackfillSettings, decoder: str = DECODER) -> beam.PCollection:
    """Adds the job to a pipeline; nothing runs yet.

    What crosses a shuffle is small and of known size: references (grouped by staging folder, then spread over the workers) and paths of
    commits. Bytes and elements never do: 0.8 GB of documents in a Reshuffle take 3.6 GB of the FnApiRunner's memory, and Flink's batch
    engine cannot sort a record larger than its buffer.

    Args:
      decoder: module:function that a child runs for a document; another one only in tests.
    Returns:
      PCollection[str]: the id of the run, once it is published.
    """
    output = filesystem.to_uri(settings.output)
    task = DecodeTask(output, settings.decode, settings.limits, settings.started_at, settings.children, decoder, settings.exact_nlp)

    references = pipeline | ReadReferences(settings.inputs, settings.references, settings.collection, settings.limit, exclude=output)
    matched = references | "CountReferences" >> beam.combiners.Count.Globally()
    found = references | SkipStaged(output, settings.decode.fingerprint, settings.force, settings.retry_failed)
    decoded = found[MISSING] | "SpreadOverWorkers" >> beam.Reshuffle() | DecodeDocuments(task)
    results = (found[STAGED], decoded) | beam.Flatten() | WriteDatasets(output, settings.run_id, settings.shards)
    return results | PublishRun(facts(output, settings), matched)


def facts(output: str, settings: BackfillSettings) -> RunFacts:
    """What the manifest tells of the settings of a run."""
    return RunFacts(
        output=output,
        run_id=settings.run_id,
        started_at=settings.started_at,
        shards=settings.shards,
        fingerprint=settings.decode.fingerprint,
        settings=settings.decode.to_json(),
        options={name: value for name, value in asdict(settings).items() if name not in ("decode", "run_id", "started_at")},
    )
