"""The whole Beam graph of a backfill, on one screen."""

from dataclasses import asdict
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineRunner

from pipeline.options.backfill import BackfillSettings
from pipeline.options.runners import DEFAULT_RUNNER, FLINK_RUNNER
from transforms.decode_documents import DecodeDocuments, DecodeTask
from transforms.isolation.shared import DECODE_FILE
from transforms.progress_files import progress_folder
from transforms.references.read import ReadReferences
from transforms.skip_staged import MISSING, STAGED, SkipStaged
from transforms.storage import filesystem
from transforms.write_datasets import PublishRun, RunFacts, WriteDatasets

FACTS_OF_THEIR_OWN = ("decode", "run_id", "started_at", "children_given", "no_wait", "access")
"""Settings that the manifest tells elsewhere, or that say how the job was submitted and not what it does."""


def new_pipeline(runner: PipelineRunner | str, options: PipelineOptions) -> beam.Pipeline:
    """A pipeline with nothing in it, and with no folder of its own.

    Beam 2.77.0 makes a temporary folder for each pipeline, for the jars of transforms in other languages; who is killed leaves it there.
    """
    pipeline = beam.Pipeline(runner=runner, options=options)
    Path(pipeline.local_tempdir).rmdir()
    return pipeline


def build(pipeline: beam.Pipeline, settings: BackfillSettings, decoder: str = DECODE_FILE) -> beam.PCollection:
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
    progress = progress_folder(output, settings.run_id) if settings.runner == FLINK_RUNNER else ""
    task = DecodeTask(
        output=output,
        settings=settings.decode,
        limits=settings.limits,
        started_at=settings.started_at,
        children=settings.children,
        accelerated=settings.accelerated,
        range_pages=settings.range_pages,
        resume=not settings.force,
        decoder=decoder,
        progress=progress,
        access=settings.access,
        fingerprint=settings.decode.fingerprint,
        look_first=settings.runner != DEFAULT_RUNNER and not settings.force,
        retry_failed=settings.retry_failed,
    )

    references = pipeline | ReadReferences(
        settings.inputs, settings.references, settings.collection, settings.limit, exclude=output, library=settings.library
    )
    matched = references | "CountReferences" >> beam.combiners.Count.Globally()
    found = references | SkipStaged(output, settings.decode.fingerprint, settings.force, settings.retry_failed, progress)
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
        options={name: value for name, value in asdict(settings).items() if name not in FACTS_OF_THEIR_OWN},
    )
