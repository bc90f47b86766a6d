"""The dataset `dead_letters`: every document that could not be decoded, why, and its reference: a list of what to try again."""

import json
from collections.abc import Mapping
from typing import Any

from transforms.model import DecodedDocument, DocumentReference
from transforms.sinks.values import or_null

NAME = "dead_letters"


def rows(document: DecodedDocument) -> list[dict[str, Any]]:
    """The document's dead letter, or none. Source: design, section 4.

    `reference` is as it was given: for an attachment it is that of its mail, as only the mail can be decoded again.
    """
    if not document.status.is_dead_letter:
        return []
    return [
        {
            "document_id": or_null(document.document_id),
            "source_uri": document.source_uri,
            "status": document.status.value,
            "stage": document.stage.value if document.stage else None,
            "error_class": or_null(document.error_class),
            "message": document.reason,
            "traceback": or_null(document.traceback),
            "reference": as_given(document.reference) if document.reference else None,
        }
    ]


def as_given(reference: DocumentReference) -> dict[str, Any]:
    """A reference in the form in which a references file may hold it."""
    try:
        metadata = json.loads(reference.metadata)
    except ValueError:  # as given: it may be what made the reference unusable
        metadata = reference.metadata
    return {**reference._asdict(), "metadata": metadata}


def line(row: Mapping[str, Any]) -> bytes:
    """One JSON object with sorted keys and its line feed, readable as it is: UTF-8, not escaped."""
    text = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate becomes \udc80: no UTF-8, but as an escape it is JSON.
    return text.encode("utf-8", "backslashreplace") + b"\n"
