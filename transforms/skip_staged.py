"""SkipStaged: tells references that are decoded already from those that are not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from transforms import counters
from transforms.model import DocumentReference
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

    def expand(self, references: beam.PCollection) -> Any:  # a DoOutputsTuple, which Beam 2.77.0 does not take as a hint
        """Wires the grouping and the look-up; see the class."""
        return (
            references
            | "KeyByFolder"
            >> beam.Map(lambda reference: (staging_key(reference)[:PREFIX_LENGTH], reference)).with_output_types(
                tuple[str, DocumentReference]
            )
            | "GroupByFolder" >> beam.GroupByKey()
            | "FindStaged" >> beam.FlatMap(self._find).with_outputs(STAGED, MISSING)
        )

    def _find(self, folder: tuple[str, Iterable[DocumentReference]]) -> Iterator[Sorted]:
        found = find_staged(self.output, self.fingerprint, folder[1], force=self.force, retry_failed=self.retry_failed)
        for item in found:
            counters.count(counters.FOUND, item.size)
            if isinstance(item, StagedDocument):
                counters.count(counters.STAGED, item.size)
                yield TaggedOutput(STAGED, item)
            else:
                yield TaggedOutput(MISSING, item)
