"""A finished run made by hand, of documents of every shape that TrustGraph must be told of; its source files and pictures are there."""

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from decoded_documents import FINGERPRINT, TWO_PAGES, Output

from transforms.model import DecodedDocument, DocumentReference, Element, PartitionedDocument, Picture, Status
from transforms.provenance.identifiers import attachment_id, document_id_from_digest
from transforms.sections.entities import describe_entities
from transforms.sections.grouping import group_elements
from transforms.settings import DecodeSettings, SectionStrategy
from transforms.sinks.manifest import build_manifest, write_manifest
from transforms.sinks.write import shard_of, write_shard

RUN = "first"
STARTED_AT = "2026-01-31T10:00:00Z"
STARTED_AT_SECONDS = 1769853600
PDF, DOCX, MAIL, TEXT = (
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "message/rfc822",
    "text/plain",
)
METADATA = [
    ["", "<http://purl.org/dc/elements/1.1/subject>", '"law \\"and\\" order\\n𝔘"'],
    ["", "<http://purl.org/dc/elements/1.1/title>", '"Überblick"@de'],
    ["", "<http://purl.org/dc/elements/1.1/creator>", "_:author"],
    ["_:author", "<http://www.w3.org/2000/01/rdf-schema#label>", '"A. Grinder"'],
    ["", "<http://purl.org/dc/terms/issued>", '"2024-05-01"^^<http://www.w3.org/2001/XMLSchema#date>'],
]


class HandmadeRun(NamedTuple):
    output: Path
    manifest: dict

    @property
    def folder(self) -> Path:
        return self.output / "runs" / RUN

    def rows(self, dataset: str) -> list[dict]:
        return [
            row for part in self.manifest["datasets"][dataset]["parts"] for row in pq.read_table(self.folder / part["path"]).to_pylist()
        ]

    def quads(self) -> list[bytes]:
        import gzip

        parts = self.manifest["datasets"]["provenance"]["parts"]
        return [line for part in parts for line in gzip.decompress((self.folder / part["path"]).read_bytes()).splitlines(keepends=True)]


def picture(name: str) -> Element:
    blob = Picture(b"\x89PNG " + name.encode(), "image/png", 30, 20)
    return Element("Image", element_id=f"picture of {name}", page_number=2, picture=blob, coordinates=(0.0, 0.0, 0.5, 0.5))


def paragraphs(count: int) -> tuple[Element, ...]:
    return tuple(Element("NarrativeText", f"Paragraph {n}. " + "Lenses bend light. " * 20, element_id=f"p{n}") for n in range(count))


HEADINGS = (
    Element("Title", "Optics", element_id="h1", category_depth=0),
    Element("NarrativeText", "Light bends.", element_id="t1"),
    Element("Title", "Lenses", element_id="h2", category_depth=1),
    Element("NarrativeText", "Glass & <water>.", element_id="t2"),
)


def decode(path: Path, data: bytes, elements, mime_type: str, *, document_id: str | None = None, **facts) -> DecodedDocument:
    """A decoded document of the elements, by the job's own grouping and description; `data` becomes its file."""
    digest = hashlib.sha256(data).hexdigest()
    document_id = document_id or document_id_from_digest(digest)
    settings = DecodeSettings(section_strategy=SectionStrategy.HEADING)
    page_based = mime_type == PDF
    partitioned = PartitionedDocument(elements, mime_type, page_based, page_count=2 if page_based else None)
    texts, images = describe_entities(
        group_elements(partitioned, settings), partitioned, document_id=document_id, sha256=digest, fingerprint=FINGERPRINT
    )
    if not facts.get("parent_document_id"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    known = DecodedDocument(
        document_id=document_id,
        source_uri=path.as_uri(),
        status=Status.OK if texts else Status.EMPTY,
        reason="" if texts else "There is nothing in it.",
        title=path.stem,
        collection="default",
        mime_type=mime_type,
        page_based=page_based,
        source_sha256=digest,
        size_bytes=len(data),
        page_count=2 if page_based else None,
        texts=texts,
        images=images,
        element_count=len(elements),
        seconds=0.5,
        started_at=STARTED_AT,
        decoder_version="0.1.0",
        unstructured_version="0.0",
        reference=DocumentReference(uri=path.as_uri()),
    )
    return replace(known, **facts)


def group(library: Path, number: int, tag: str) -> list[DecodedDocument]:
    """The `number`th document of a library, with its attachments; six shapes, one after the other."""
    data = f"the bytes of document {number} of {tag}".encode()
    match number % 6:
        case 0:
            return [
                decode(
                    library / f"{number} report.pdf", data, (*TWO_PAGES[:3], picture(f"{tag}{number}")), PDF, metadata=json.dumps(METADATA)
                )
            ]
        case 1:  # the second page holds a picture, and no text
            return [decode(library / f"{number}-scan.pdf", data, (*TWO_PAGES[:2], picture(f"{tag}{number}")), PDF)]
        case 2:
            return [decode(library / f"{number}-optics.docx", data, HEADINGS, DOCX, title="")]
        case 3:
            return [decode(library / f"{number}-empty.txt", data, (), TEXT)]
        case 4:
            mail = decode(library / f"{number}-mail.eml", data, (Element("NarrativeText", "See attached.", element_id="m1"),), MAIL)
            attached = b"attached to " + data
            inner = attachment_id(mail.document_id, 1, hashlib.sha256(attached).hexdigest())
            uri = mail.source_uri + "#attachment=1&name=notes%20of%20the%20day.txt"
            facts = {
                "document_id": inner,
                "source_uri": uri,
                "parent_document_id": mail.document_id,
                "title": "",
                "reference": mail.reference,
            }
            return [mail, decode(library / "notes.txt", attached, paragraphs(1), TEXT, **facts)]
        case _:  # the librarian's Python API gives ids that are no IRIs
            bare = document_id_from_digest(hashlib.sha256(data).hexdigest()).rpartition("/")[2]
            return [decode(library / f"{number}-notes.txt", data, paragraphs(30), TEXT, document_id=bare)]


def make_run(folder: Path, documents: int = 12, *, shards: int = 2, tag: str = "one") -> HandmadeRun:
    """A finished run of so many references.

    Args:
      tag: makes the documents, and so all ids, others than those of another tag.
    """
    return publish(folder / "decoded", [group(folder / "library", number, tag) for number in range(documents)], shards)


def publish(output: Path, groups: list[list[DecodedDocument]], shards: int = 2) -> HandmadeRun:
    """A finished run of decoded documents, each with its attachments."""
    target = Output(output)
    staged = [target.stage(*documents) for documents in groups]
    results = [
        write_shard(str(output), RUN, shard, shards, [one for one in staged if shard_of(one, shards) == shard]) for shard in range(shards)
    ]
    manifest = build_manifest(
        run_id=RUN,
        started_at=STARTED_AT,
        finished_at="2026-01-31T10:00:09Z",
        matched=len(groups),
        shards=shards,
        results=results,
        fingerprint=FINGERPRINT,
        settings=json.loads(json.dumps(asdict(DecodeSettings()))),
        options={},
    )
    write_manifest(str(output), manifest)
    return HandmadeRun(output, manifest)
