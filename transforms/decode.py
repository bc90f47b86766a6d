"""Decodes one document, from the bytes in a file to a commit: all that runs in a child process.

The whole chain is here, as one pure composition, because nothing between its steps may leave the child: the elements of a 600-page
PDF cost more to hand over than to group. The parent fetches the bytes before and publishes the commit after (`transforms.decoding`).

A large PDF takes three kinds of requests: the first is answered with a plan of ranges of pages, each range is read into a file, and all
files together are joined into the commit. The parent's part of that is `transforms.decode_ranges`.
"""

import hashlib
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from transforms.isolation.processes import high_water_bytes, reset_high_water, resident_bytes
from transforms.model import DecodedDocument, DecodeError, DocumentReference, ImageEntity, PartitionedDocument, Stage, Status
from transforms.partition import pdf_kernel
from transforms.partition.formats import PDF
from transforms.partition.nlp import slow_because
from transforms.partition.partitioner import partition_document, partition_from_ranges, partition_range, plan_document
from transforms.partition.pdf.document import RangeFailure
from transforms.partition.pdf.ranges import RangePlan, write_range
from transforms.provenance.identifiers import attachment_id, document_id_from_digest
from transforms.sections.entities import describe_entities
from transforms.sections.grouping import group_elements
from transforms.settings import DECODER, DecodeSettings, Limits, unstructured_version
from transforms.storage.commit import write_commit
from transforms.storage.filesystem import name_of
from transforms.version import VERSION

TRACEBACK_LINES = 20
"""The last ones say where it failed; the first are the job's own."""

DOCUMENT = "document"
COMMIT = "commit.zip"
BLOBS = "blobs"
PLACE = "place"
COPY = "copy"
RANGES = "ranges"
"""Names in the work folder that the parent and the child share: the bytes, the commit, the pictures, and the attachment being decoded;
of a document in ranges of pages, the copy that they are read from, and the folder of what was read of them."""


Failures = Mapping[str, tuple[Status, str]]
"""Attachments that ended their child in an earlier try, by place ("2", or "2.1" for one inside of it): they keep that outcome."""


@dataclass(frozen=True)
class Decoding:
    """One request: what to decode with, and what is known from earlier tries."""

    settings: DecodeSettings
    started_at: str
    limits: Limits = field(default_factory=Limits)
    failures: Failures = field(default_factory=dict)
    partition: Callable[..., PartitionedDocument] = partition_document
    enter: Callable[[str], None] = lambda _place: None
    """Called with the place of each attachment before it is decoded, and with "" for the document itself."""


def decode_file(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Decodes `folder/document` and leaves the commit and the pictures beside it: what a child does for one request.

    Args:
      request: `reference`, `digest` and `size` (of the bytes), `settings`, `limits`, `started_at` and `failures`, as JSON;
        `range_pages`, if a large PDF may be divided; and of one that was, `pages` (first and last of the range to read) and the `file` for
        it, or `join`.
      folder: the lease's own work folder.
    Returns:
      For a PDF that is to be divided: `plan`. For a range: its `blobs`. Else:
      `outcome` (of the commit); `blobs`, a list of paths relative to OUTPUT, each of which lies under `folder/blobs/` by its last segment;
      `notice`, a sentence for the operator about this installation, or nothing; and `pdf_kernel`, of a PDF whether it was read by the
      kernel, and why not.
    """
    reset_high_water()
    resident_before = resident_bytes(os.getpid())  # most of it is shared with the zygote, and charged to no document

    def enter(place: str) -> None:
        (folder / PLACE).write_text(place, encoding="utf-8")

    decoding = Decoding(
        settings=DecodeSettings.from_json(request["settings"]),
        started_at=request["started_at"],
        limits=Limits(**request["limits"]),
        failures={place: (Status(status), message) for place, (status, message) in request["failures"].items()},
        enter=enter,
    )
    reference = DocumentReference(**request["reference"])
    if "pages" in request:
        return _read_range(request, folder, decoding)
    found = fetched(reference, request["digest"], request["size"], decoding.started_at)
    if "join" in request:
        documents = [_joined(request["join"], folder, found, decoding)]
    else:
        plan = _plan(request, folder, reference, decoding)
        if plan is not None:
            return plan
        documents = list(_decode(folder / DOCUMENT, found, source_name(reference), decoding, place=""))
    return _left(folder, documents, resident_before, decoding)


def _left(folder: Path, documents: list[DecodedDocument], resident_before: int, decoding: Decoding) -> dict[str, Any]:
    """Writes the commit and the pictures, and the answer about them."""
    added = max(high_water_bytes() - resident_before, 0)
    peak = max(documents[0].peak_memory_mb or 0.0, round(added / (1 << 20), 1))
    documents[0] = replace(documents[0], peak_memory_mb=peak)
    documents = [without_place(document, folder.parent) for document in documents]
    outcome = write_commit(folder / COMMIT, documents, fingerprint=decoding.settings.fingerprint)
    reader = str(pdf_kernel.state()) if documents[0].mime_type == PDF.mime_type else ""
    blobs = write_pictures(documents, folder / BLOBS)
    return {"outcome": outcome._asdict(), "blobs": blobs, "notice": slow_because() or pdf_kernel.slow_because(), "pdf_kernel": reader}


def _plan(request: Mapping[str, Any], folder: Path, reference: DocumentReference, decoding: Decoding) -> dict[str, Any] | None:
    if not request.get("range_pages"):
        return None
    plan = plan_document(
        folder / DOCUMENT,
        folder / COPY,
        declared_mime_type=reference.kind,
        name=source_name(reference),
        settings=decoding.settings,
        limits=decoding.limits,
        range_pages=request["range_pages"],
    )
    return None if plan is None else {"plan": plan.to_json()}


def _read_range(request: Mapping[str, Any], folder: Path, decoding: Decoding) -> dict[str, Any]:
    first, last = request["pages"]
    document, copy = folder / DOCUMENT, folder / COPY
    readable = copy if copy.exists() else document
    read = partition_range(document, readable, first, last, settings=decoding.settings, limits=decoding.limits)
    (folder / RANGES).mkdir(exist_ok=True)
    blobs = write_range(folder / RANGES / request["file"], read, place=str(folder.parent))
    write_blobs(blobs, folder / BLOBS)
    return {"blobs": list(blobs)}


def _joined(join: Mapping[str, Any], folder: Path, found: DecodedDocument, decoding: Decoding) -> DecodedDocument:
    files = [folder / RANGES / name for name in join["files"]]
    failures = [RangeFailure(first, last, Status(status), message) for first, last, status, message in join["failures"]]

    def partition(*_: Any, **__: Any) -> PartitionedDocument:
        return partition_from_ranges(RangePlan.from_json(join["plan"]), files, failures, decoding.settings)

    (document,) = _decode(folder / DOCUMENT, found, "", replace(decoding, partition=partition), place="")
    seconds = round(join["seconds"] + (document.seconds or 0.0), 3)
    return replace(document, seconds=seconds, peak_memory_mb=join["peak_memory_mb"])


def source_name(reference: DocumentReference) -> str:
    """The last segment of the path of a document, for its extension; inline data have none."""
    return "" if reference.locator else name_of(reference.uri)


def decode_document(path: Path, reference: DocumentReference, decoding: Decoding) -> list[DecodedDocument]:
    """Decodes a document, and the attachments in it as documents of their own.

    Args:
      path: of the bytes; its name means nothing.
    Returns:
      The document first, its attachments after it, each with its own status: nothing that a document does is raised.
    """
    found = fetched(reference, *digest_file(path), decoding.started_at)
    return list(_decode(path, found, source_name(reference), decoding, place=""))


def fetched(reference: DocumentReference, digest: str, size: int, started_at: str) -> DecodedDocument:
    """What is known of a document once its bytes are there: its id, too, which follows from them where none was given."""
    found = undecoded(reference, document_id=document_id_of(reference, digest), started_at=started_at)
    return replace(found, source_sha256=digest, size_bytes=size)


def document_id_of(reference: DocumentReference, digest: str) -> str:
    """The id that a document was given, or else TrustGraph's own for its bytes, by their SHA-256."""
    return reference.document_id or document_id_from_digest(digest)


def undecoded(reference: DocumentReference, *, document_id: str, started_at: str) -> DecodedDocument:
    """What is known of a document before it is decoded. Its status is `failed` until something else is known."""
    return DecodedDocument(
        document_id=document_id,
        source_uri=reference.uri,
        status=Status.FAILED,
        title=reference.title,
        collection=reference.collection,
        mime_type=reference.kind,
        metadata=reference.metadata,
        started_at=started_at,
        decoder_version=VERSION,
        unstructured_version=unstructured_version(),
        reference=reference,
    )


def digest_file(path: Path) -> tuple[str, int]:
    """The SHA-256 of a file as hex digits, and its size in bytes."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return digest.hexdigest(), stream.tell()


def _decode(path: Path, found: DecodedDocument, name: str, decoding: Decoding, place: str) -> Iterator[DecodedDocument]:
    started = time.perf_counter()
    decoding.enter(place)
    attachments: Sequence[Any] = ()
    try:
        partitioned = decoding.partition(
            path, declared_mime_type=found.mime_type, name=name, settings=decoding.settings, limits=decoding.limits
        )
        attachments = partitioned.attachments
        decoded = describe(partitioned, found, decoding.settings)
    except DecodeError as error:
        found = replace(found, mime_type=error.mime_type or found.mime_type)
        decoded = dead(found, error.status, error.message, error.stage, error.__cause__)
    except MemoryError as error:
        decoded = dead(found, Status.OUT_OF_MEMORY, "The document asked for more memory than there is.", Stage.PARTITION, error)
    except RecursionError as error:
        decoded = dead(found, Status.TOO_LARGE, "It is nested too deeply to be read.", Stage.PARTITION, error)
    except Exception as error:  # a library may raise anything at all over a document: it is the document's outcome
        decoded = dead(found, Status.FAILED, f"{type(error).__name__}: {str(error).strip() or 'no message'}", Stage.PARTITION, error)
    yield replace(decoded, seconds=round(time.perf_counter() - started, 3))
    for index, attachment in enumerate(attachments, start=1):
        own = attached(found, index, attachment.name, attachment.mime_type, attachment.data)
        own_place = f"{place}.{index}".lstrip(".")
        if own_place in decoding.failures:
            status, message = decoding.failures[own_place]
            yield dead(own, status, message, Stage.PARTITION, None)
        elif own_place.count(".") >= decoding.limits.nesting:
            depth = own_place.count(".") + 1
            message = f"The attachment is nested {depth} deep, over the limit of {decoding.limits.nesting}. --max-nesting sets it."
            yield dead(own, Status.TOO_LARGE, message, Stage.DETECT, None)
        else:
            file = path.with_name(f"{path.name}.{index}")
            file.write_bytes(attachment.data)
            yield from _decode(file, own, attachment.name, decoding, own_place)
            file.unlink()


def without_place(document: DecodedDocument, place: Path) -> DecodedDocument:
    """The document without the name of the folder that it was decoded in, which messages of libraries hold: it differs in each run."""

    def shorten(text: str) -> str:
        return text.replace(f"{place}/", "")

    return replace(
        document,
        reason=shorten(document.reason),
        traceback=shorten(document.traceback),
        warnings=[shorten(warning) for warning in document.warnings],
    )


def describe(partitioned: PartitionedDocument, found: DecodedDocument, settings: DecodeSettings) -> DecodedDocument:
    """Groups a partitioned document and gives its entities their identity; `empty` where there is neither text nor image."""
    texts, images = describe_entities(
        group_elements(partitioned, settings),
        partitioned,
        document_id=found.document_id,
        sha256=found.source_sha256,
        fingerprint=settings.fingerprint,
    )
    has_content = bool(images) or any(entity.text for entity in texts)
    return replace(
        found,
        status=Status.OK if has_content else Status.EMPTY,
        reason=""
        if has_content
        else f"There is no text {'and no picture in it' if settings.images else 'in it, and pictures were not asked for'}.",
        title=found.title or partitioned.title,
        mime_type=partitioned.mime_type,
        page_based=partitioned.page_based,
        page_count=partitioned.page_count,
        creator=partitioned.creator,
        date=partitioned.date,
        texts=texts,
        images=images,
        element_count=len(partitioned.elements),
        warnings=partitioned.warnings,
        missing_pages=partitioned.missing_pages,
    )


def dead(found: DecodedDocument, status: Status, message: str, stage: Stage, cause: BaseException | None) -> DecodedDocument:
    """The dead letter of a document: why it gave nothing, with the end of the cause's traceback."""
    lines = traceback.format_exception(cause) if cause else []
    return replace(
        found,
        status=status,
        reason=message,
        stage=stage,
        error_class=type(cause).__name__ if cause else "",
        traceback="".join(lines[-TRACEBACK_LINES:]),
    )


def attached(parent: DecodedDocument, index: int, name: str, mime_type: str, data: bytes) -> DecodedDocument:
    """What is known of the `index`th attachment of a document (from 1): its URI is the parent's with a fragment that names its place."""
    digest = hashlib.sha256(data).hexdigest()
    separator = "&" if "#" in parent.source_uri else "#"
    return DecodedDocument(
        document_id=attachment_id(parent.document_id, index, digest),
        source_uri=f"{parent.source_uri}{separator}attachment={index}&name={quote(name, safe='')}",
        status=Status.FAILED,
        title=name,
        collection=parent.collection,
        mime_type=mime_type,
        source_sha256=digest,
        size_bytes=len(data),
        parent_document_id=parent.document_id,
        started_at=parent.started_at,
        decoder_version=parent.decoder_version,
        unstructured_version=parent.unstructured_version,
        reference=parent.reference,
    )


def write_pictures(documents: Sequence[DecodedDocument], folder: Path) -> list[str]:
    """Writes each different picture once, as `folder/<digest>.<extension>`, but for those that are in OUTPUT already.

    Returns:
      The blobs' paths relative to OUTPUT, in order of first appearance.
    """
    images: dict[str, ImageEntity] = {image.blob_path: image for document in documents for image in document.images}
    blobs = {path: image.picture.data for path, image in images.items() if not image.picture.published}
    write_blobs(blobs, folder)
    return list(blobs)


def write_blobs(blobs: Mapping[str, bytes], folder: Path) -> None:
    """Writes the bytes of each blob, given by its path relative to OUTPUT, as `folder/<digest>.<extension>`."""
    folder.mkdir(exist_ok=True)
    for path, data in blobs.items():
        (folder / Path(path).name).write_bytes(data)


def preload() -> None:
    """What the zygote does once, before any child is forked: imports, the language model, and one decode from end to end.

    The first table that Arrow makes of rows imports pandas (0.3 s), and the first document of each format its partitioner.
    """
    from transforms.partition.nlp import install_nlp, warm_up

    install_nlp()
    pdf_kernel.install()
    warm_up()
    with tempfile.TemporaryDirectory(prefix=f"{DECODER}-warm-") as folder:
        document = Path(folder, DOCUMENT)
        document.write_text("A first line.", encoding="ascii")
        decoded = decode_document(document, DocumentReference("file:///a.txt"), Decoding(DecodeSettings(), "1970-01-01T00:00:00Z"))
        write_commit(Path(folder, COMMIT), decoded, fingerprint=DecodeSettings().fingerprint)
