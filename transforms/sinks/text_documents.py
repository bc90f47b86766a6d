"""The dataset `text_documents`: one row a page or section with text, what the chunker reads."""

from typing import Any

import pyarrow as pa

from transforms.model import DecodedDocument, Span, TextEntity
from transforms.sinks.values import or_null

NAME = "text_documents"

ELEMENT = pa.struct(
    [
        ("element_id", pa.string()),
        ("category", pa.string()),
        ("char_offset", pa.int64()),
        ("char_length", pa.int64()),
        ("page_number", pa.int32()),
        ("category_depth", pa.int16()),
        ("parent_id", pa.string()),
        ("coordinates", pa.list_(pa.float64())),
    ]
)
"""An element's place in the text of its row: `text[char_offset:char_offset + char_length]` is its piece, in code points."""

_COLUMNS: list[Any] = [
    pa.field("id", pa.string(), nullable=False),
    pa.field("document_id", pa.string(), nullable=False),
    pa.field("collection", pa.string(), nullable=False),
    pa.field("document_type", pa.string(), nullable=False),
    pa.field("parent_id", pa.string(), nullable=False),
    pa.field("number", pa.int32(), nullable=False),
    pa.field("title", pa.string(), nullable=False),
    pa.field("heading", pa.string()),
    pa.field("level", pa.int16()),
    pa.field("heading_path", pa.list_(pa.string()), nullable=False),
    pa.field("text", pa.large_string(), nullable=False),
    pa.field("char_offset", pa.int64(), nullable=False),
    pa.field("char_length", pa.int64(), nullable=False),
    pa.field("page_number", pa.int32()),
    pa.field("element_types", pa.list_(pa.string()), nullable=False),
    pa.field("table_count", pa.int32(), nullable=False),
    pa.field("image_count", pa.int32(), nullable=False),
    pa.field("mime_type", pa.string(), nullable=False),
    pa.field("languages", pa.list_(pa.string()), nullable=False),
    pa.field("elements", pa.list_(ELEMENT), nullable=False),
    pa.field("page_width", pa.float64()),
    pa.field("page_height", pa.float64()),
    pa.field("source_uri", pa.string(), nullable=False),
    pa.field("source_sha256", pa.string(), nullable=False),
]

SCHEMA = pa.schema(_COLUMNS)

DICTIONARY = (
    "document_id",
    "collection",
    "document_type",
    "parent_id",
    "title",
    "heading",
    "heading_path.list.element",
    "element_types.list.element",
    "mime_type",
    "languages.list.element",
    "elements.list.element.category",
    "elements.list.element.parent_id",
    "elements.list.element.page_number",
    "elements.list.element.category_depth",
    "source_uri",
    "source_sha256",
)
"""The columns whose values repeat within a row group."""

NO_STATISTICS = ("text", "elements.list.element.element_id", "elements.list.element.coordinates.list.element")
"""The columns whose bounds in a row group tell a reader nothing."""


def rows(document: DecodedDocument) -> list[dict[str, Any]]:
    """One row for each page or section with text, in document order. Source: design, section 4."""
    return [_row(document, entity) for entity in document.texts if entity.text]


def _row(document: DecodedDocument, entity: TextEntity) -> dict[str, Any]:
    width, height = entity.page_size or (None, None)
    return {
        "id": entity.id,
        "document_id": document.document_id,
        "collection": document.collection,
        "document_type": entity.document_type,
        "parent_id": entity.parent_id,
        "number": entity.number,
        "title": entity.title,
        "heading": or_null(entity.heading or ""),
        "level": entity.level,
        "heading_path": entity.heading_path,
        "text": entity.text,
        "char_offset": entity.char_offset,
        "char_length": entity.char_length,
        "page_number": entity.page_number,
        "element_types": entity.element_types,
        "table_count": entity.table_count,
        "image_count": entity.image_count,
        "mime_type": document.mime_type,
        "languages": entity.languages,
        "elements": [_element(span) for span in entity.spans],
        "page_width": width,
        "page_height": height,
        "source_uri": document.source_uri,
        "source_sha256": document.source_sha256,
    }


def _element(span: Span) -> dict[str, Any]:
    element = span.element
    return {
        "element_id": element.element_id,
        "category": element.category,
        "char_offset": span.offset,
        "char_length": span.length,
        "page_number": element.page_number,
        "category_depth": element.category_depth,
        "parent_id": or_null(element.parent_id),
        "coordinates": element.coordinates,
    }
