"""The records that the job is about, from a document's reference to its decoded form.

Nothing here imports Beam or unstructured: every other module, in the job or in a decoding child, may import this one.
Offsets and lengths count Unicode code points everywhere.
"""

import enum
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Status(enum.StrEnum):
    """What became of one document. Source: design, section 4."""

    OK = "ok"
    EMPTY = "empty"
    DUPLICATE = "duplicate"
    NEEDS_OCR = "needs_ocr"
    ENCRYPTED = "encrypted"
    CORRUPT = "corrupt"
    UNSUPPORTED = "unsupported"
    MISSING_TOOL = "missing_tool"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    FETCH_FAILED = "fetch_failed"
    FAILED = "failed"

    @property
    def is_dead_letter(self) -> bool:
        return self not in (Status.OK, Status.EMPTY, Status.DUPLICATE)

    @property
    def may_pass(self) -> bool:
        """Whether the next run tries the document again by itself: the cause lies outside of the document."""
        return self in (Status.FETCH_FAILED, Status.MISSING_TOOL)


class Stage(enum.StrEnum):
    """Where in the job a document failed; the `stage` of its dead letter."""

    REFERENCE = "reference"
    FETCH = "fetch"
    DETECT = "detect"
    PARTITION = "partition"
    DESCRIBE = "describe"


class DecodeError(Exception):
    """A document cannot be decoded, for a reason that is known: raised where the cause is found, kept as a dead letter.

    `message` is one sentence for the operator. `__cause__` carries the library's exception where there is one.
    """

    mime_type: str = ""
    """Of the document, as far as it was found out before."""

    def __init__(self, status: Status, message: str, stage: Stage = Stage.PARTITION) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.stage = stage


class DocumentReference(NamedTuple):
    """Which document, and where its bytes are. Small: this is what the job shuffles.

    A NamedTuple because Beam codes it as a schema row as it is, whatever its module imports.
    """

    uri: str
    """RFC 3986 URI of the bytes (`file:///…`, percent-encoded; `s3://…`); for inline data the reference file's + `#line=7` or `#row=7`."""
    document_id: str = ""
    """IRI; empty: derived from the bytes when they are read."""
    kind: str = ""
    """MIME type registered at upload, as given; empty: unknown."""
    title: str = ""
    collection: str = ""
    metadata: str = "[]"
    """JSON array of [subject, predicate, object], terms in N-Triples syntax; an empty subject means the document."""
    locator: str = ""
    """Inline data only: where in the reference file it is (format owned by `transforms.references`)."""
    size: int = -1
    """Bytes; -1: unknown."""
    version: str = ""
    """Token that changes when the bytes change: etag, or size and mtime, or the digest of inline data."""
    copies: int = 1
    """How often the same reference was given; it is decoded once."""
    problem: str = ""
    """Not empty: the reference itself is unusable (a malformed line); the sentence that says so."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The bytes of one image as they lie in the document, not re-encoded."""

    data: bytes
    """Empty where the bytes are in OUTPUT already."""
    mime_type: str
    width: int
    height: int
    published: tuple[str, int] | None = None
    """SHA-256, as hex digits, and size of bytes that are in OUTPUT already: those of a range of pages that was decoded before."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes, as hex digits: made anew each time that it is asked for."""
        return self.published[0] if self.published else hashlib.sha256(self.data).hexdigest()

    @property
    def size(self) -> int:
        """In bytes."""
        return self.published[1] if self.published else len(self.data)


Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 as fractions of the page, origin top left."""


@dataclass(frozen=True, slots=True)
class Element:
    """One typed element of a document, in reading order. Source: spec, section 2."""

    category: str
    text: str = ""
    element_id: str = ""
    html: str = ""
    """A table's HTML (`text_as_html`); empty otherwise."""
    page_number: int | None = None
    category_depth: int | None = None
    parent_id: str = ""
    coordinates: Box | None = None
    languages: tuple[str, ...] = ()
    picture: Picture | None = None
    """Only for the category Image, and only where its bytes were found."""
    in_reading_order: bool = True
    """False for a picture of which only the page is known: it belongs to the page, never to a section of it."""

    def linked(self, element_id: str, parent_id: str) -> "Element":
        """With its identifier and that of its parent."""
        return self._with(element_id, parent_id, self.languages)

    def in_languages(self, languages: tuple[str, ...]) -> "Element":
        """With its languages."""
        return self._with(self.element_id, self.parent_id, languages)

    def _with(self, element_id: str, parent_id: str, languages: tuple[str, ...]) -> "Element":
        """As `dataclasses.replace`, which takes three times as long: a PDF of 400 pages has 20,000 elements."""
        return Element(
            self.category,
            self.text,
            element_id,
            self.html,
            self.page_number,
            self.category_depth,
            parent_id,
            self.coordinates,
            languages,
            self.picture,
            self.in_reading_order,
        )


@dataclass(frozen=True, slots=True)
class Attachment:
    """A document inside a document (of a mail)."""

    name: str
    mime_type: str
    data: bytes


@dataclass(frozen=True)
class PartitionedDocument:
    """What `partition_document` gives: all that is known of a document before it is grouped."""

    elements: Sequence[Element]
    mime_type: str
    page_based: bool
    page_count: int | None = None
    """Pages, slides or sheets of the file, blank ones included; None where the format has none."""
    page_sizes: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """Page number -> width, height in points."""
    page_names: Mapping[int, str] = field(default_factory=dict)
    """Page number -> its own name (a sheet's); becomes the page's heading."""
    title: str = ""
    creator: str = ""
    date: str = ""
    """When the document says it was made: ISO 8601, as exact as known (2024, 2024-05-01, 2024-05-01T10:00:00Z)."""
    warnings: Sequence[str] = ()
    missing_pages: Sequence[int] = ()
    attachments: Sequence[Attachment] = ()


@dataclass(frozen=True)
class Group:
    """Elements that belong together: a page or a section. Groups of a document form a list in document order."""

    document_type: str
    """"page" or "section"."""
    elements: Sequence[Element]
    """All of it, pictures included; for a page that is divided in sections only its pictures without a place in the reading order."""
    number: int
    """A page's page number; a section's 1-based order in its document, or in its page where pages are divided."""
    parent: int | None = None
    """Index of the parent group in the list; None: the document."""
    page_number: int | None = None
    heading: str = ""
    level: int | None = None
    heading_path: tuple[str, ...] = ()
    divided: bool = False
    """A page whose text lies in its sections (`--section-within-pages`)."""


@dataclass(frozen=True, slots=True)
class Span:
    """An element's place in a text: `text[offset:offset + length]` is its piece, exactly."""

    element: Element
    offset: int
    length: int


@dataclass(frozen=True)
class AssembledText:
    """The text of one page or section, with a span for each element that has a place in it."""

    text: str
    spans: Sequence[Span]


@dataclass(frozen=True)
class TextEntity:
    """A page or section with its identity: one row of `text_documents` when it has text, and one prov:Entity in any case."""

    id: str
    document_type: str
    parent_id: str
    number: int
    title: str
    text: str
    spans: Sequence[Span]
    char_offset: int
    """In the document text."""
    char_length: int
    """Of the text; for a divided page the length from its first section's start to its last section's end."""
    element_types: tuple[str, ...]
    table_count: int
    image_count: int
    page_number: int | None = None
    heading: str | None = None
    level: int | None = None
    heading_path: tuple[str, ...] = ()
    page_size: tuple[float, float] | None = None
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageEntity:
    """One place where an image stands: one row of `images`, one prov:Entity. Equal bytes share one blob."""

    id: str
    parent_id: str
    title: str
    number: int
    """1-based among the images of its document."""
    page_number: int | None
    element_id: str
    picture: Picture
    sha256: str
    coordinates: Box | None

    @property
    def blob_path(self) -> str:
        """Of the blob, relative to OUTPUT."""
        return blob_path(self.sha256, self.picture.mime_type)


def blob_path(sha256: str, mime_type: str) -> str:
    """Of the blob of an image, relative to OUTPUT. Source: design, section 4."""
    return f"blobs/sha256/{sha256[:2]}/{sha256}.{BLOB_EXTENSIONS.get(mime_type, 'bin')}"


BLOB_EXTENSIONS: Mapping[str, str] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/bmp": "bmp",
    "image/tiff": "tiff",
    "image/webp": "webp",
    "image/heic": "heic",
    "image/svg+xml": "svg",
    "image/jp2": "jp2",
    "image/x-emf": "emf",
    "image/x-wmf": "wmf",
}


@dataclass(frozen=True)
class DecodedDocument:
    """All that the decode of one document gave, or why it gave nothing. What the sinks write."""

    document_id: str
    """IRI; empty only when the bytes could not be read and the reference gave none."""
    source_uri: str
    status: Status
    reason: str = ""
    stage: Stage | None = None
    error_class: str = ""
    traceback: str = ""
    title: str = ""
    collection: str = ""
    mime_type: str = ""
    page_based: bool | None = None
    source_sha256: str = ""
    size_bytes: int | None = None
    page_count: int | None = None
    creator: str = ""
    date: str = ""
    metadata: str = "[]"
    """As in `DocumentReference`."""
    texts: Sequence[TextEntity] = ()
    """Pages and sections in document order, also those without text."""
    images: Sequence[ImageEntity] = ()
    element_count: int = 0
    warnings: Sequence[str] = ()
    missing_pages: Sequence[int] = ()
    parent_document_id: str = ""
    """The mail, for an attachment."""
    duplicate_of: str = ""
    seconds: float | None = None
    peak_memory_mb: float | None = None
    started_at: str = ""
    """xsd:dateTime of the run that decoded it, UTC."""
    decoder_version: str = ""
    unstructured_version: str = ""
    reference: DocumentReference | None = None

    @property
    def emitted_texts(self) -> Sequence[TextEntity]:
        """The pages and sections that become TextDocuments."""
        return [entity for entity in self.texts if entity.text]
