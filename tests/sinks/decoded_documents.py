"""Decoded documents made by hand, and an OUTPUT that holds their commits: what the tests of the sinks and of the storage are about."""

import hashlib
from dataclasses import replace
from pathlib import Path

from transforms.model import DecodedDocument, DocumentReference, Element, PartitionedDocument, Picture, Stage, Status
from transforms.sections.entities import describe_entities
from transforms.sections.grouping import group_elements
from transforms.settings import DecodeSettings
from transforms.storage.commit import StagedDocument, write_commit

SETTINGS = DecodeSettings()
FINGERPRINT = "0123456789abcdef"


def decode(name, elements=(), *, document_id=None, data=None, page_based=True, **facts):
    """A decoded document of the elements, by the job's own grouping and description."""
    digest = hashlib.sha256((data or name).encode()).hexdigest()
    document_id = document_id or f"https://example.org/{name}"
    partitioned = PartitionedDocument(elements, "application/pdf", page_based, page_count=2, page_sizes={1: (595.0, 842.0)})
    texts, images = describe_entities(
        group_elements(partitioned, SETTINGS), partitioned, document_id=document_id, sha256=digest, fingerprint=FINGERPRINT
    )
    uri = f"file:///library/{name}"
    found = DecodedDocument(
        document_id=document_id,
        source_uri=uri,
        status=Status.OK if texts else Status.EMPTY,
        reason="" if texts else "There is nothing in it.",
        title=name,
        collection="default",
        mime_type="application/pdf",
        page_based=page_based,
        source_sha256=digest,
        size_bytes=100,
        page_count=2,
        texts=texts,
        images=images,
        element_count=len(elements),
        seconds=0.5,
        peak_memory_mb=200.0,
        started_at="2024-05-01T10:00:00Z",
        decoder_version="0.1.0",
        unstructured_version="0.0",
        reference=DocumentReference(uri=uri, metadata='[["", "<http://purl.org/dc/elements/1.1/subject>", "\\"law\\""]]'),
    )
    return replace(found, **facts)


def fail(name, status=Status.ENCRYPTED, **facts):
    """A document that is a dead letter."""
    defaults = {"reason": "It needs a password.", "stage": Stage.PARTITION, "error_class": "PdfError", "mime_type": ""}
    return decode(name, status=status, **{**defaults, **facts})


TWO_PAGES = (
    Element("Title", "Überblick", element_id="e1", page_number=1, category_depth=0, languages=("deu",)),
    Element("NarrativeText", "Revenue grew.", element_id="e2", page_number=1, parent_id="e1", coordinates=(0.1, 0.2, 0.9, 0.3)),
    Element("Table", "A B", element_id="e3", html="<table><tr><td>A</td></tr></table>", page_number=2),
    Element(
        "Image", element_id="e4", page_number=2, picture=Picture(b"\x89PNG one", "image/png", 30, 20), coordinates=(0.0, 0.0, 0.5, 0.5)
    ),
    Element("ListItem", "𝔘nicode.", element_id="e5", page_number=2),
)


class Output:
    """An OUTPUT whose commits are staged by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stage(self, *documents, copies=1, fresh=True):
        main = documents[0]
        key = hashlib.sha256(main.source_uri.encode()).hexdigest()[:32]
        path = f"staging/{FINGERPRINT}/{key[:2]}/{key}.zip"
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        outcome = write_commit(file, documents, fingerprint=FINGERPRINT)
        for document in documents:
            for image in document.images:
                blob = self.path / image.blob_path
                blob.parent.mkdir(parents=True, exist_ok=True)
                blob.write_bytes(image.picture.data)
        return StagedDocument(path, key, outcome.document_id, main.source_uri, outcome.status, copies=copies, size=100, fresh=fresh)
