"""The dataset `documents`: one row a reference (and one an attachment), whatever became of it. Nothing is lost in silence."""

from typing import Any

import pyarrow as pa

from transforms.model import DecodedDocument, Status
from transforms.sinks.values import or_null

NAME = "documents"
SEPARATOR_LENGTH = 2
"""Code points of the blank line between the texts of a document. Source: spec, section 4."""

_COLUMNS: list[Any] = [
    pa.field("document_id", pa.string()),
    pa.field("source_uri", pa.string(), nullable=False),
    pa.field("title", pa.string()),
    pa.field("collection", pa.string(), nullable=False),
    pa.field("mime_type", pa.string()),
    pa.field("page_based", pa.bool_()),
    pa.field("status", pa.string(), nullable=False),
    pa.field("reason", pa.string()),
    pa.field("source_sha256", pa.string()),
    pa.field("size_bytes", pa.int64()),
    pa.field("page_count", pa.int32()),
    pa.field("section_count", pa.int32()),
    pa.field("text_chars", pa.int64()),
    pa.field("element_count", pa.int32()),
    pa.field("table_count", pa.int32()),
    pa.field("image_count", pa.int32()),
    pa.field("warnings", pa.list_(pa.string()), nullable=False),
    pa.field("missing_pages", pa.list_(pa.int32()), nullable=False),
    pa.field("parent_document_id", pa.string()),
    pa.field("duplicate_of", pa.string()),
    pa.field("seconds", pa.float64()),
    pa.field("peak_memory_mb", pa.float64()),
    pa.field("started_at", pa.string()),
    pa.field("decoder_version", pa.string()),
    pa.field("unstructured_version", pa.string()),
]

SCHEMA = pa.schema(_COLUMNS)

DICTIONARY = (
    "title",
    "collection",
    "mime_type",
    "status",
    "reason",
    "warnings.list.element",
    "parent_document_id",
    "started_at",
    "decoder_version",
    "unstructured_version",
)
"""The columns whose values repeat within a row group."""

COUNTS = ("section_count", "text_chars", "element_count", "table_count", "image_count")
"""What the run holds of a document; null for dead letters and duplicates, of which it holds nothing."""


def rows(document: DecodedDocument) -> list[dict[str, Any]]:
    """The document's one row. Source: design, section 4."""
    emitted = document.emitted_texts
    counts: dict[str, int | None] = dict.fromkeys(COUNTS)
    if document.status in (Status.OK, Status.EMPTY):
        counts = {
            "section_count": sum(entity.document_type == "section" for entity in document.texts),
            "text_chars": sum(len(entity.text) for entity in emitted) + SEPARATOR_LENGTH * max(len(emitted) - 1, 0),
            "element_count": document.element_count,
            "table_count": sum(entity.table_count for entity in emitted),
            "image_count": len(document.images),
        }
    return [
        {
            "document_id": or_null(document.document_id),
            "source_uri": document.source_uri,
            "title": or_null(document.title),
            "collection": document.collection,
            "mime_type": or_null(document.mime_type),
            "page_based": document.page_based,
            "status": document.status.value,
            "reason": or_null(document.reason),
            "source_sha256": or_null(document.source_sha256),
            "size_bytes": document.size_bytes,
            "page_count": document.page_count,
            **counts,
            "warnings": list(document.warnings),
            "missing_pages": list(document.missing_pages),
            "parent_document_id": or_null(document.parent_document_id),
            "duplicate_of": or_null(document.duplicate_of),
            "seconds": document.seconds,
            "peak_memory_mb": document.peak_memory_mb,
            "started_at": or_null(document.started_at),
            "decoder_version": or_null(document.decoder_version),
            "unstructured_version": or_null(document.unstructured_version),
        }
    ]


def as_duplicate(row: dict[str, Any], duplicate_of: str, reason: str) -> dict[str, Any]:
    """The row of a document whose id an earlier one has: what is known of its file stays, what the run would hold of it does not."""
    return {
        **row,
        **dict.fromkeys(COUNTS),
        "status": Status.DUPLICATE.value,
        "reason": reason,
        "duplicate_of": duplicate_of,
        "warnings": [],
        "missing_pages": [],
    }
