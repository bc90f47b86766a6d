"""What the graph says about one decoded document: where each of its pages, sections and images came from, and how.

Everything is in `urn:graph:source`. The quads of a document are complete in themselves (the agent is described in each), so that
they can be loaded alone; a document that was not decoded has none.
"""

import json
from collections import defaultdict
from collections.abc import Iterator

from transforms.model import DecodedDocument, ImageEntity, Status, TextEntity
from transforms.provenance import vocabulary
from transforms.provenance.identifiers import activity_id, document_iri
from transforms.provenance.iris import repair_iri
from transforms.provenance.nquads import parse_term
from transforms.provenance.terms import Quad, Term, integer_term, iri_term, literal_term, vocabulary_term
from transforms.version import VERSION

__all__ = ["Quad", "describe", "read_metadata"]

_Statements = Iterator[tuple[str, Term]]
"""Predicate IRIs and objects about one subject."""

_GRAPH = vocabulary_term(vocabulary.SOURCE_GRAPH)
_TITLE, _LABEL = vocabulary_term(vocabulary.DC_TITLE), vocabulary_term(vocabulary.RDFS_LABEL)
_STATED_FIRST = (_TITLE, _LABEL, vocabulary_term(vocabulary.DC_DATE), vocabulary_term(vocabulary.DC_CREATOR))
"""Predicates of which the reference's own metadata, where it has them, take the place of what the document says."""


def describe(document: DecodedDocument, *, started_at: str, fingerprint: str) -> Iterator[Quad]:
    """The provenance of a document and of all that was made of it.

    The order is that of the document: the document itself, its metadata, the agent, then depth first each entity after the activity
    that made it. No quad comes twice. Equal arguments give equal quads.

    The document-level activity is there even when it gave nothing (an empty document was read, too), and it also generates the
    attachments of a mail: an attachment points to its mail's activity, which the mail's own quads describe.

    Args:
      document: of status ok or empty; any other gives nothing.
      started_at: xsd:dateTime of the run that decoded it.
      fingerprint: of the settings.
    Source: spec, section 7.
    """
    if document.status not in (Status.OK, Status.EMPTY):
        return
    subject = _document_term(document.document_id)
    stated, _ = read_metadata(document.metadata, document.document_id)
    known = _quads(subject, _document(document, started_at=started_at, fingerprint=fingerprint))
    said = dict.fromkeys((*_without_stated(known, stated), *stated))
    yield from said
    for quad in _derivations(document, started_at=started_at, fingerprint=fingerprint):
        if not stated or quad not in said:  # metadata may have said anything
            yield quad


def _without_stated(known: list[Quad], stated: list[Quad]) -> list[Quad]:
    """What a document says of itself, less what its reference says better: a library knows its authors and dates, a file has what its
    template had. A title that is stated becomes the label, too."""
    about = {(quad.subject, quad.predicate): quad.object for quad in reversed(stated)}
    left = []
    for quad in known:
        if quad.predicate == _LABEL and quad[:2] not in about and (quad.subject, _TITLE) in about:
            left.append(quad._replace(object=about[quad.subject, _TITLE]))
        elif quad.predicate not in _STATED_FIRST or quad[:2] not in about:
            left.append(quad)
    return left


def read_metadata(metadata: str, document_id: str) -> tuple[list[Quad], list[str]]:
    """The quads of a reference's own metadata.

    Args:
      metadata: JSON array of [subject, predicate, object], terms in N-Triples syntax; an empty subject means the document.
      document_id: the document.
    Returns:
      The quads without duplicates, and a sentence for each triple that is none: to be told to the user, not to stop anything.
    """
    try:
        triples = json.loads(metadata or "[]")
    except (ValueError, RecursionError) as error:
        return [], [f"The metadata is not JSON: {error}."]
    if not isinstance(triples, list):
        return [], ["The metadata is not a JSON array of [subject, predicate, object]."]
    quads: dict[Quad, None] = {}
    problems: list[str] = []
    for number, triple in enumerate(triples, start=1):
        try:
            quads[_metadata_quad(triple, document_id)] = None
        except ValueError as error:
            problems.append(f"Metadata triple {number} is left out: {error}.")
    return list(quads), problems


def _metadata_quad(triple: object, document_id: str) -> Quad:
    if not isinstance(triple, list) or len(triple) != 3 or not all(isinstance(term, str) for term in triple):
        raise ValueError("not an array of three strings")
    subject = parse_term(triple[0], scope=document_id) if triple[0] else _document_term(document_id)
    predicate = parse_term(triple[1], scope=document_id)
    if subject.startswith('"') or not predicate.startswith("<"):
        raise ValueError("a subject is an IRI or a blank node, and a predicate an IRI")
    return Quad(subject, predicate, parse_term(triple[2], scope=document_id), _GRAPH)


def _document(document: DecodedDocument, *, started_at: str, fingerprint: str) -> _Statements:
    yield vocabulary.RDF_TYPE, vocabulary_term(vocabulary.PROV_ENTITY)
    yield vocabulary.RDF_TYPE, vocabulary_term(vocabulary.TG_DOCUMENT)
    if document.parent_document_id:
        yield vocabulary.PROV_WAS_DERIVED_FROM, _document_term(document.parent_document_id)
        yield vocabulary.PROV_WAS_GENERATED_BY, _own_term(activity_id(document.parent_document_id, fingerprint, started_at))
    if document.title:
        yield vocabulary.DC_TITLE, literal_term(document.title)
        yield vocabulary.RDFS_LABEL, literal_term(document.title)
    if source := repair_iri(document.source_uri):  # without a scheme it is no IRI, and the graph has no other way to say it
        yield vocabulary.DC_SOURCE, iri_term(source)
    if document.date:
        yield vocabulary.DC_DATE, literal_term(document.date)
    if document.creator:
        yield vocabulary.DC_CREATOR, literal_term(document.creator)
    if document.mime_type:
        yield vocabulary.TG_MIME_TYPE, literal_term(document.mime_type)
    if document.page_count is not None:
        yield vocabulary.TG_PAGE_COUNT, integer_term(document.page_count)


def _agent() -> _Statements:
    yield vocabulary.RDF_TYPE, vocabulary_term(vocabulary.PROV_AGENT)
    yield vocabulary.RDFS_LABEL, literal_term(vocabulary.AGENT_LABEL)


def _activity(parent: Term, started: Term, version: Term) -> _Statements:
    yield vocabulary.RDF_TYPE, vocabulary_term(vocabulary.PROV_ACTIVITY)
    yield vocabulary.RDFS_LABEL, literal_term(vocabulary.ACTIVITY_LABEL)
    yield vocabulary.PROV_USED, parent
    yield vocabulary.PROV_WAS_ASSOCIATED_WITH, vocabulary_term(vocabulary.AGENT_IRI)
    yield vocabulary.PROV_STARTED_AT_TIME, started
    yield vocabulary.TG_COMPONENT_VERSION, version


def _derivations(document: DecodedDocument, *, started_at: str, fingerprint: str) -> Iterator[Quad]:
    """The agent, the activities, and what they made."""
    yield from _quads(vocabulary_term(vocabulary.AGENT_IRI), _agent())
    version = literal_term(document.decoder_version or VERSION)
    started = literal_term(started_at, datatype=vocabulary.XSD_DATE_TIME)
    activities: dict[str, Term] = {}

    def term(entity_id: str) -> Term:
        return _document_term(entity_id) if entity_id == document.document_id else _own_term(entity_id)

    def activity(parent_id: str) -> list[Quad]:
        if parent_id in activities:
            return []
        activities[parent_id] = _own_term(activity_id(parent_id, fingerprint, started_at))
        return _quads(activities[parent_id], _activity(term(parent_id), started, version))

    def entity(made: TextEntity | ImageEntity, document_type: str, facts: _Statements) -> list[Quad]:
        before = activity(made.parent_id)
        own = _own_term(made.id)
        derived = _derived(document_type, term(made.parent_id), activities[made.parent_id], made.title)
        return [*before, *_quads(own, derived), *_quads(own, facts)]

    images: defaultdict[str, list[ImageEntity]] = defaultdict(list)
    for image in document.images:
        images[image.parent_id].append(image)
    yield from activity(document.document_id)
    for text in document.texts:
        yield from entity(text, text.document_type, _text_facts(text, document))
        for image in images.get(text.id, ()):
            yield from entity(image, "image", _image_facts(image, document))


def _derived(document_type: str, parent: Term, activity: Term, title: str) -> _Statements:
    yield vocabulary.RDF_TYPE, vocabulary_term(vocabulary.PROV_ENTITY)
    yield vocabulary.RDF_TYPE, vocabulary_term(vocabulary.ENTITY_TYPES[document_type])
    yield vocabulary.PROV_WAS_DERIVED_FROM, parent
    yield vocabulary.PROV_WAS_GENERATED_BY, activity
    yield vocabulary.RDFS_LABEL, literal_term(title)


def _text_facts(text: TextEntity, document: DecodedDocument) -> _Statements:
    if document.page_based and text.page_number is not None:
        yield vocabulary.TG_PAGE_NUMBER, integer_term(text.page_number)
    yield vocabulary.TG_CHAR_OFFSET, integer_term(text.char_offset)
    yield vocabulary.TG_CHAR_LENGTH, integer_term(text.char_length)
    if document.mime_type:
        yield vocabulary.TG_MIME_TYPE, literal_term(document.mime_type)
    yield vocabulary.TG_ELEMENT_TYPES, literal_term(",".join(text.element_types))
    yield vocabulary.TG_TABLE_COUNT, integer_term(text.table_count)
    yield vocabulary.TG_IMAGE_COUNT, integer_term(text.image_count)


def _image_facts(image: ImageEntity, document: DecodedDocument) -> _Statements:
    if document.page_based and image.page_number is not None:
        yield vocabulary.TG_PAGE_NUMBER, integer_term(image.page_number)
    yield vocabulary.TG_MIME_TYPE, literal_term(image.picture.mime_type)
    yield vocabulary.TG_IMAGE_WIDTH, integer_term(image.picture.width)
    yield vocabulary.TG_IMAGE_HEIGHT, integer_term(image.picture.height)
    if image.element_id:
        yield vocabulary.TG_ELEMENT_ID, literal_term(image.element_id)
    if image.coordinates is not None:
        yield vocabulary.TG_COORDINATES, literal_term(",".join(f"{value:.6f}" for value in image.coordinates))


def _quads(subject: Term, statements: _Statements) -> list[Quad]:
    return [Quad(subject, vocabulary_term(predicate), value, _GRAPH) for predicate, value in statements]


def _document_term(document_id: str) -> Term:
    return iri_term(document_iri(document_id))


def _own_term(entity_id: str) -> Term:
    """The term of an id that this decoder made: an IRI by construction, so it is not checked again 20,000 times a document."""
    return Term(f"<{entity_id}>")
