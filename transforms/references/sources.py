"""The sources of a job, `--input` patterns and references files: looked at before any work, and listed within it.

Apart from the Beam transform, so that the preflight of a local job need not import Beam.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from transforms.model import DocumentReference
from transforms.references.librarian import check_library
from transforms.references.listing import MissingInput, list_files, match_remote, path_of
from transforms.references.manifest_files import expand_reference_files, read_references
from transforms.storage.filesystem import to_uri
from transforms.trustgraph.library import Library


def check_sources(patterns: Sequence[str], reference_files: Sequence[str], *, exclude: str = "", library: Library | None = None) -> None:
    """Whether each source names at least one document that can be read, as far as a look at its beginning tells.

    Args:
      patterns: of documents, as for `list_files`.
      reference_files: paths, folders or globs of references files. One without a line is right: a run without dead letters writes it.
      exclude: the folder that is no input, as for `list_files`.
      library: of TrustGraph, to which the same applies.
    Raises:
      MissingInput: with the sentence; for the first source that has nothing.
      UsageError: there is no token for the library, or it cannot be read here.
    """
    if not patterns and not reference_files and library is None:
        raise MissingInput("There is nothing to decode: give --input, --references or --librarian.")
    if library is not None:
        check_library(library)
    for pattern in patterns:
        _check_pattern(pattern, exclude)
    for source in reference_files:
        for file in expand_reference_files(source):
            next(read_references(file), None)


def _check_pattern(pattern: str, exclude: str) -> None:
    if path_of(pattern) is None:
        if next(match_remote(pattern, limit=1), None) is None:  # all names of a bucket may be minutes
            raise MissingInput(f"{pattern} matches no file.")
        return
    problem = ""
    for reference in list_files(pattern, exclude=exclude):
        if not reference.problem:
            return
        problem = problem or reference.problem
    raise MissingInput(problem)


def absolute_pattern(pattern: str) -> str:
    """The pattern as it is meant on this machine: a worker has another working directory."""
    return (path_of(pattern) or pattern) if pattern else pattern


def absolute_library(library: Library | None) -> Library | None:
    """The library with its file of ids as it is meant on this machine."""
    return library and replace(library, document_ids=absolute_pattern(library.document_ids))


def list_input(pattern: str, *, collection: str = "", exclude: str = "") -> Iterator[DocumentReference]:
    """All references of one `--input` pattern.

    A source that was there when the job started and is not any more is a reference with a problem: it must not end the job.
    """
    try:
        for reference in list_files(pattern, exclude=exclude):
            yield reference._replace(collection=collection)
    except MissingInput as error:
        yield DocumentReference(uri=to_uri(pattern), collection=collection, problem=error.sentence)


def list_references(pattern: str, *, collection: str = "") -> Iterator[DocumentReference]:
    """All references of the files that one `--references` pattern names, with `collection` where they have none."""
    try:
        for file in expand_reference_files(pattern):
            for reference in read_references(file):
                yield reference if reference.collection else reference._replace(collection=collection)
    except MissingInput as error:
        yield DocumentReference(uri=to_uri(pattern), collection=collection, problem=error.sentence)
