"""The dataset `images`: one row for each place where an image stands; its bytes lie apart, as a blob named by their content."""

from typing import Any

import pyarrow as pa

from transforms.model import DecodedDocument
from transforms.sinks.values import or_null

NAME = "images"
DOCUMENT_TYPE = "image"

_COLUMNS: list[Any] = [
    pa.field("id", pa.string(), nullable=False),
    pa.field("document_id", pa.string(), nullable=False),
    pa.field("parent_id", pa.string(), nullable=False),
    pa.field("collection", pa.string(), nullable=False),
    pa.field("document_type", pa.string(), nullable=False),
    pa.field("title", pa.string(), nullable=False),
    pa.field("number", pa.int32(), nullable=False),
    pa.field("page_number", pa.int32()),
    pa.field("element_id", pa.string()),
    pa.field("mime_type", pa.string(), nullable=False),
    pa.field("sha256", pa.string(), nullable=False),
    pa.field("size_bytes", pa.int64(), nullable=False),
    pa.field("width", pa.int32(), nullable=False),
    pa.field("height", pa.int32(), nullable=False),
    pa.field("coordinates", pa.list_(pa.float64())),
    pa.field("blob_uri", pa.string(), nullable=False),
    pa.field("source_uri", pa.string(), nullable=False),
    pa.field("source_sha256", pa.string(), nullable=False),
]

SCHEMA = pa.schema(_COLUMNS)

DICTIONARY = (
    "document_id",
    "parent_id",
    "collection",
    "document_type",
    "title",
    "mime_type",
    "sha256",
    "blob_uri",
    "source_uri",
    "source_sha256",
)
"""The columns whose values repeat within a row group: a logo on each page repeats its sha256 and blob."""


def rows(document: DecodedDocument) -> list[dict[str, Any]]:
    """One row an image, in document order. Source: design, section 4."""
    return [
        {
            "id": image.id,
            "document_id": document.document_id,
            "parent_id": image.parent_id,
            "collection": document.collection,
            "document_type": DOCUMENT_TYPE,
            "title": image.title,
            "number": image.number,
            "page_number": image.page_number,
            "element_id": or_null(image.element_id),
            "mime_type": image.picture.mime_type,
            "sha256": image.sha256,
            "size_bytes": image.picture.size,
            "width": image.picture.width,
            "height": image.picture.height,
            "coordinates": image.coordinates,
            "blob_uri": image.blob_path,
            "source_uri": document.source_uri,
            "source_sha256": document.source_sha256,
        }
        for image in document.images
    ]
