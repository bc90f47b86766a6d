"""Reads all references of a job inside the pipeline: a library of millions of files is not listed by the machine that submits the job."""

from collections.abc import Sequence
from dataclasses import dataclass

import apache_beam as beam

from transforms.model import DocumentReference
from transforms.references.librarian import list_library_in_job
from transforms.references.sources import absolute_library, absolute_pattern, list_input, list_references
from transforms.trustgraph.library import Library

# Dataclasses that are transforms cannot be frozen: Beam 2.77.0 sets `pipeline` and `_resource_hints` on a transform when it is applied.


@dataclass(eq=False)
class ReadReferences(beam.PTransform):  # type: ignore[misc]
    """PBegin -> PCollection[DocumentReference].

    One element a source is listed, so what comes out lies where its source was read: reshuffle it before any heavy work. Files that more
    than one pattern matches come once, which takes a shuffle of the references, as a limit does.

    Attributes:
      patterns: of documents, as for `list_files`.
      reference_files: of files that list documents, as for `read_references`; folders and globs too.
      collection: of all documents for which nothing else is said.
      limit: the first N references by URI only.
      exclude: the folder that is no input: the job's own output.
      library: of TrustGraph, whose documents are meant.
    """

    patterns: Sequence[str] = ()
    reference_files: Sequence[str] = ()
    collection: str = ""
    limit: int | None = None
    exclude: str = ""
    library: Library | None = None

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        """Wires the kinds of sources together."""
        exclude = absolute_pattern(self.exclude)
        listed = (
            begin
            | "CreatePatterns" >> beam.Create([absolute_pattern(pattern) for pattern in self.patterns], reshuffle=False)
            | "ListFiles" >> beam.FlatMap(list_input, collection=self.collection, exclude=exclude).with_output_types(DocumentReference)
        )
        if len(self.patterns) > 1:
            listed = listed | KeepOneOfEachUri()
        read = (
            begin
            | "CreateReferenceFiles" >> beam.Create([absolute_pattern(file) for file in self.reference_files], reshuffle=False)
            | "ReadReferenceFiles" >> beam.FlatMap(list_references, collection=self.collection).with_output_types(DocumentReference)
        )
        sources = [listed, read]
        if self.library is not None:
            sources.append(
                begin
                | "CreateLibrary" >> beam.Create([absolute_library(self.library)], reshuffle=False)
                | "ListLibrary" >> beam.FlatMap(list_library_in_job, collection=self.collection).with_output_types(DocumentReference)
            )
        references = sources | "JoinSources" >> beam.Flatten()
        return references if self.limit is None else references | TakeFirst(self.limit)


@dataclass(eq=False)
class KeepOneOfEachUri(beam.PTransform):  # type: ignore[misc]
    """PCollection[DocumentReference] -> the same, each URI once. Not `Distinct`: a file that is written to meanwhile has two versions."""

    def expand(self, references: beam.PCollection) -> beam.PCollection:
        """Keeps the smallest reference of a URI, before the shuffle as well."""
        pairs = tuple[str, DocumentReference]
        return (
            references
            | "KeyByUri" >> beam.Map(lambda reference: (reference.uri, reference)).with_output_types(pairs)
            | "KeepSmallest" >> beam.CombinePerKey(min).with_output_types(pairs)
            | "DropUri" >> beam.Map(lambda pair: pair[1]).with_output_types(DocumentReference)
        )


@dataclass(eq=False)
class TakeFirst(beam.PTransform):  # type: ignore[misc]
    """PCollection[DocumentReference] -> its first N by URI (then by the other fields), the same on each run and runner."""

    count: int

    def expand(self, references: beam.PCollection) -> beam.PCollection:
        """Each worker keeps N; one joins them."""
        return (
            references
            | "KeepSmallest" >> beam.combiners.Top.Smallest(self.count)
            | "ListThem" >> beam.FlatMap(list).with_output_types(DocumentReference)
        )
