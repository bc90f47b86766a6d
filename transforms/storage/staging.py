"""Which documents are decoded already: where a reference's commit lies, and what lies there.

A commit's name follows from the reference and the fingerprint alone, so that a retried bundle overwrites its own bytes, a killed run
goes on where it stopped, and other settings never mix.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from transforms.model import DocumentReference
from transforms.sinks.values import encodable
from transforms.storage import filesystem
from transforms.storage.commit import CommitDamaged, Outcome, StagedDocument, read_outcome
from transforms.storage.read_ahead import read_ahead

_RANGES = "staging/{}/ranges"
PREFIX_LENGTH = 2
"""Hex digits: 256 folders. At ten million documents each holds 40,000 names, which one listing gives in well under a second."""


def staging_key(reference: DocumentReference) -> str:
    """32 hex digits over all of a reference that changes what it decodes to; where the bytes are listed says whether they changed."""
    facts = (
        reference.document_id,
        reference.uri,
        reference.version,
        reference.kind,
        reference.title,
        reference.collection,
        reference.metadata,
        reference.locator,
        reference.problem,
    )
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def staging_folder(fingerprint: str, key: str) -> str:
    """Of a commit, relative to OUTPUT."""
    return f"staging/{fingerprint}/{key[:PREFIX_LENGTH]}"


def staging_path(fingerprint: str, key: str) -> str:
    """Of a commit, relative to OUTPUT."""
    return f"{staging_folder(fingerprint, key)}/{key}.zip"


def ranges_folder(fingerprint: str, key: str) -> str:
    """Relative to OUTPUT: where lies what was read of the ranges of pages of a large document, until its commit is there."""
    return f"{_RANGES.format(fingerprint)}/{key[:PREFIX_LENGTH]}/{key}"


def forget_ranges(output: str, fingerprint: str, key: str) -> None:
    """Deletes what was read of the ranges of a document, and folders that are empty without it."""
    folder = filesystem.join(output, ranges_folder(fingerprint, key))
    filesystem.delete_folder(folder)
    if filesystem.is_local(folder):
        place = Path(filesystem.local_path(folder))
        with suppress(OSError):  # others are in there
            place.parent.rmdir()
            place.parent.parent.rmdir()


def sweep_ranges(output: str, fingerprint: str) -> None:
    """Deletes what is left of documents whose commit is there: a job that was killed in between has left it."""
    files = filesystem.list_folder(filesystem.join(output, _RANGES.format(fingerprint)), recursive=True)
    for key in {file.name.split("/")[1] for file in files if file.name.count("/") == 2}:
        if filesystem.exists(filesystem.join(output, staging_path(fingerprint, key))):
            forget_ranges(output, fingerprint, key)


def find_staged(
    output: str, fingerprint: str, references: Iterable[DocumentReference], *, force: bool = False, retry_failed: bool = False
) -> Iterator[StagedDocument | DocumentReference]:
    """Tells the references that are decoded already from those that are not, with one listing a folder.

    A dead letter whose cause may have passed counts as not decoded, with `retry_failed` every dead letter does, also that of an attachment:
    only its mail can be decoded again; and a document with pages that were not read. So does a commit that cannot be read, or is another
    document's. References that are the same in all respects come out as one, with `copies` set.

    Args:
      output: URI of OUTPUT.
      references: any; best of one folder at a time (`staging_key(reference)[:PREFIX_LENGTH]`), as only those are held in memory.
    Yields:
      The commit of a reference that has one, else the reference.
    """
    by_key: dict[str, DocumentReference] = {}
    for reference in references:
        key = staging_key(reference)
        known = by_key.get(key)
        by_key[key] = known._replace(copies=known.copies + reference.copies) if known else reference
    listed = set() if force else _listed(output, fingerprint, by_key)

    def look(item: tuple[str, DocumentReference]) -> StagedDocument | DocumentReference:
        key, reference = item
        return (key in listed and find_commit(output, fingerprint, reference, retry_failed=retry_failed)) or reference

    yield from read_ahead(output, look, by_key.items())


def find_commit(output: str, fingerprint: str, reference: DocumentReference, *, retry_failed: bool = False) -> StagedDocument | None:
    """The commit of a reference, by one look at its place; None where it counts as not decoded (see `find_staged`)."""
    key = staging_key(reference)
    outcome = _read(output, staging_path(fingerprint, key))
    if outcome is None or outcome.may_pass or (retry_failed and (outcome.dead_letters or outcome.missing_pages)):
        return None
    if outcome.source_uri != encodable(reference.uri):  # copied or renamed: it would take the place of this document in the datasets
        return None
    return _staged(fingerprint, key, reference, outcome)


def _listed(output: str, fingerprint: str, keys: Iterable[str]) -> set[str]:
    """Those of the keys that have a file."""
    folders = {staging_folder(fingerprint, key) for key in keys}
    names = {name for folder in folders for name, _size in filesystem.list_folder(filesystem.join(output, folder))}
    return {key for key in keys if f"{key}.zip" in names}


def _read(output: str, path: str) -> Outcome | None:
    try:
        with filesystem.open_read(filesystem.join(output, path)) as stream:
            return read_outcome(stream, blobs_in=output, path=path)
    except (CommitDamaged, FileNotFoundError):  # decoded again: it overwrites the damaged one
        return None


def _staged(fingerprint: str, key: str, reference: DocumentReference, outcome: Outcome) -> StagedDocument:
    return StagedDocument(
        path=staging_path(fingerprint, key),
        key=key,
        document_id=outcome.document_id,
        source_uri=reference.uri,
        status=outcome.status,
        copies=reference.copies,
        size=reference.size,
        fresh=False,
    )
