"""Which documents are decoded already: where a reference's commit lies, and what lies there.

A commit's name follows from the reference and the fingerprint alone, so that a retried bundle overwrites its own bytes, a killed run
goes on where it stopped, and other settings never mix.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator

from transforms.model import DocumentReference, Status
from transforms.storage import filesystem
from transforms.storage.commit import CommitDamaged, StagedDocument, read_outcome

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


def find_staged(
    output: str, fingerprint: str, references: Iterable[DocumentReference], *, force: bool = False, retry_failed: bool = False
) -> Iterator[StagedDocument | DocumentReference]:
    """Tells the references that are decoded already from those that are not, with one listing a folder.

    A dead letter whose cause may have passed counts as not decoded, with `retry_failed` every dead letter does, and so does a commit
    that cannot be read. References that are the same in all respects come out as one, with `copies` set.

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
    listings: dict[str, set[str]] = {}
    for key, reference in by_key.items():
        folder = staging_folder(fingerprint, key)
        if folder not in listings:
            listings[folder] = set() if force else {name for name, _size in filesystem.list_folder(filesystem.join(output, folder))}
        staged = _read_staged(output, fingerprint, key, reference) if f"{key}.zip" in listings[folder] else None
        if staged is None or (Status(staged.status).may_pass or (retry_failed and Status(staged.status).is_dead_letter)):
            yield reference
        else:
            yield staged


def _read_staged(output: str, fingerprint: str, key: str, reference: DocumentReference) -> StagedDocument | None:
    path = staging_path(fingerprint, key)
    try:
        with filesystem.open_read(filesystem.join(output, path)) as stream:
            outcome = read_outcome(stream, blobs_in=output, path=path)
    except (CommitDamaged, FileNotFoundError):  # decoded again: it overwrites the damaged one
        return None
    return StagedDocument(
        path=path,
        key=key,
        document_id=outcome.document_id,
        source_uri=reference.uri,
        status=outcome.status,
        copies=reference.copies,
        size=reference.size,
        fresh=False,
    )
