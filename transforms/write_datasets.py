"""WriteDatasets and PublishRun: the staged commits of a run become its datasets, and these a finished run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import apache_beam as beam

from transforms.errors import JobFailed
from transforms.sinks.manifest import build_manifest, write_manifest
from transforms.sinks.write import ShardResult, shard_of, write_shard
from transforms.storage import filesystem
from transforms.storage.commit import CommitDamaged, StagedDocument


@dataclass(eq=False)  # not frozen: applying a transform sets attributes on it (Beam 2.77.0)
class WriteDatasets(beam.PTransform):  # type: ignore[misc]
    """PCollection[StagedDocument] -> PCollection[ShardResult]; one shuffle, of paths.

    All documents with one id meet in one shard, so that duplicates are found there. Every shard is seeded: a part that is not there
    means that something went wrong, never that there was nothing to write.
    """

    output: str
    run_id: str
    shards: int

    def expand(self, staged: beam.PCollection) -> beam.PCollection:
        """Wires seeds and documents into one group a shard."""
        seeds = staged.pipeline | "SeedShards" >> beam.Create([(str(shard), None) for shard in range(self.shards)], reshuffle=False)
        documents = staged | "KeyByShard" >> beam.Map(self._keyed).with_output_types(tuple[str, StagedDocument])
        return (
            {"seeds": seeds, "documents": documents}
            | "GroupByShard" >> beam.CoGroupByKey()
            | "WriteShard" >> beam.Map(self._write).with_output_types(ShardResult)
        )

    def _keyed(self, document: StagedDocument) -> tuple[str, StagedDocument]:
        return str(shard_of(document, self.shards)), document

    def _write(self, group: tuple[str, Mapping[str, Iterable[StagedDocument]]]) -> ShardResult:
        shard, values = group
        try:
            with filesystem.output_told(self.output):
                return write_shard(self.output, self.run_id, int(shard), self.shards, list(values["documents"]))
        except CommitDamaged as damaged:
            # The document has to be decoded again, and this far down the graph only the next run can: without the commit it does.
            filesystem.delete(filesystem.join(self.output, damaged.path))
            raise JobFailed(f"{damaged} It was removed, and the same command decodes its document again.") from damaged


@dataclass(frozen=True)
class RunFacts:
    """What the manifest says of a run besides its counts."""

    output: str
    """Path or URI of OUTPUT."""
    run_id: str
    started_at: str
    shards: int
    fingerprint: str
    settings: Mapping[str, Any]
    """Those that change the result, as JSON."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """All others, as JSON."""


@dataclass(eq=False)
class PublishRun(beam.PTransform):  # type: ignore[misc]
    """PCollection[ShardResult] -> PCollection[str], the run's id, once its manifest is written.

    `matched` is the PCollection[int] with the one count of all references: a runner can lose records and report success, so the count is
    compared with what the datasets account for before anything is called finished.
    """

    facts: RunFacts
    matched: beam.PCollection

    def expand(self, results: beam.PCollection) -> beam.PCollection:
        """Wires all results and the count into one call."""
        run_id = results.pipeline | "NameRun" >> beam.Create([self.facts.run_id], reshuffle=False)
        inputs = {"results": beam.pvalue.AsList(results), "matched": beam.pvalue.AsSingleton(self.matched)}
        return run_id | "WriteManifest" >> beam.Map(self._publish, **inputs).with_output_types(str)

    def _publish(self, run_id: str, results: Sequence[ShardResult], matched: int) -> str:
        manifest = build_manifest(
            run_id=run_id,
            started_at=self.facts.started_at,
            finished_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            matched=matched,
            shards=self.facts.shards,
            results=results,
            fingerprint=self.facts.fingerprint,
            settings=self.facts.settings,
            options=self.facts.options,
        )
        with filesystem.output_told(self.facts.output):
            write_manifest(self.facts.output, manifest)
        return run_id
