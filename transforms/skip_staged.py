"""SkipStaged: tells references that are decoded already from those that are not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from transforms import counters
from transforms.model import DocumentReference
from transforms.progress_files import report_to
from transforms.storage.commit import StagedDocument
from transforms.storage.staging import PREFIX_LENGTH, find_staged, staging_key

STAGED: Literal["staged"] = "staged"
MISSING: Literal["missing"] = "missing"

Sorted: TypeAlias = TaggedOutput[Literal["staged"], StagedDocument] | TaggedOutput[Literal["missing"], DocumentReference]
"""An output of the one kind or the other; Beam takes their types, and so their coders, from here."""


@dataclass(eq=False)  # not frozen: applying a transform sets attributes on it (Beam 2.77.0)
class SkipStaged(beam.PTransform):  # type: ignore[misc]
    """PCollection[DocumentReference] -> PCollection[StagedDocument] under `staged`, PCollection[DocumentReference] under `missing`.

    One shuffle, of references: grouped by staging folder, each folder is listed once instead of one look-up a reference
    (on an object store a look-up takes 10 to 30 ms, and a listing gives 1,000 names in as long).
    """

    output: str
    fingerprint: str
    force: bool = False
    retry_failed: bool = False
    progress: str = ""
    """Folder where workers tell how far they are; empty: they run in the submitter's process."""

    def expand(self, references: beam.PCollection) -> Any:  # a DoOutputsTuple, which Beam 2.77.0 does not take as a hint
        """Wires the grouping and the look-up; see the class."""
        return (
            references
            | "KeyByFolder"
            >> beam.Map(lambda reference: (staging_key(reference)[:PREFIX_LENGTH], reference)).with_output_types(
                tuple[str, DocumentReference]
            )
            | "GroupByFolder" >> beam.GroupByKey()
            | "FindStaged" >> beam.ParDo(FindStaged(self)).with_outputs(STAGED, MISSING)
        )


class FindStaged(beam.DoFn):  # type: ignore[misc]
    """(staging folder, its references) -> the commit of each reference that has one, else the reference."""

    def __init__(self, settings: SkipStaged) -> None:
        self._output, self._fingerprint, self._progress = settings.output, settings.fingerprint, settings.progress
        self._options = {"force": settings.force, "retry_failed": settings.retry_failed}

    def setup(self) -> None:
        self._report = report_to(self._progress)

    def process(self, folder: tuple[str, Iterable[DocumentReference]]) -> Iterator[Sorted]:
        for item in find_staged(self._output, self._fingerprint, folder[1], **self._options):
            counters.count(counters.FOUND, item.size)
            if isinstance(item, StagedDocument):
                counters.count(counters.STAGED, item.size)
                yield TaggedOutput(STAGED, item)
            else:
                yield TaggedOutput(MISSING, item)

    def finish_bundle(self) -> None:
        if self._report:
            self._report.flush()  # on Flink's batch engine the worker is ended when its stage is
