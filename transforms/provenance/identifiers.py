"""Ids that are the same whenever the same bytes are decoded with the same settings, so that a rerun overwrites and never duplicates.

All are version-5 UUIDs in one namespace, over a JSON array: what they name, and everything that makes it what it is. JSON keeps the
parts apart, whatever characters they have.
"""

import json
import uuid

from transforms.provenance.iris import percent_encode_segment, repair_iri

NAMESPACE = uuid.UUID("b7643f60-9457-52a4-ab1f-7066713d11a7")
"""Of this project: the version-5 UUID of its agent's IRI in the RFC 9562 namespace for URLs. Another one would rename everything."""

DOCUMENT_PREFIX = "https://trustgraph.ai/doc/"
ACTIVITY_PREFIX = "https://trustgraph.ai/activity/"


def page_id(document_id: str, sha256: str, fingerprint: str, page_number: int) -> str:
    """`urn:page:{uuid}` of a page, slide or sheet.

    Args:
      document_id: IRI of the document.
      sha256: hex digest of its bytes.
      fingerprint: of the settings.
      page_number: from 1.
    """
    return "urn:page:" + _uuid("page", document_id, sha256, fingerprint, page_number)


def section_id(document_id: str, sha256: str, fingerprint: str, number: int, *, page_number: int | None = None) -> str:
    """`urn:section:{uuid}` of the `number`th section of a document, or of its page where `page_number` is given."""
    return "urn:section:" + _uuid("section", document_id, sha256, fingerprint, page_number, number)


def image_id(document_id: str, sha256: str, fingerprint: str, number: int) -> str:
    """`urn:image:{uuid}` of the `number`th image of a document: of the place where it stands, not of its bytes."""
    return "urn:image:" + _uuid("image", document_id, sha256, fingerprint, number)


def activity_id(parent_id: str, fingerprint: str, started_at: str) -> str:
    """The activity that made, in one run, all that is derived from one parent entity."""
    return ACTIVITY_PREFIX + _uuid("activity", parent_id, fingerprint, started_at)


def document_id_from_digest(sha256: str) -> str:
    """The id that TrustGraph's `tg-add-library-document` gives to a document: every second hex digit of its SHA-256, as a UUID.

    Raises:
      ValueError: not 64 hex digits.
    """
    if len(sha256) != 64:
        raise ValueError(f"a SHA-256 has 64 hex digits, not {len(sha256)}: {sha256[:80]!r}")
    return DOCUMENT_PREFIX + str(uuid.UUID(sha256[::2]))


def attachment_id(mail_id: str, position: int, sha256: str) -> str:
    """The id of the `position`th attachment of a mail. Equal bytes in another mail, or in another place, are another document: it is
    derived from another source."""
    return DOCUMENT_PREFIX + _uuid("attachment", mail_id, position, sha256)


def document_iri(document_id: str) -> str:
    """The IRI under which the graph knows a document.

    A library made through TrustGraph's Python API has ids that are bare UUIDs, and anyone may have given `report 7`. Neither can stand
    in N-Quads: the first sort goes where TrustGraph's own ids live, the other is percent-encoded.

    Returns:
      `document_id` itself where it is an absolute IRI.
    """
    return repair_iri(document_id) or DOCUMENT_PREFIX + percent_encode_segment(document_id)


def blank_node_label(label: str, scope: str) -> str:
    """A label for a blank node that is local to `scope` (a document), and so unlike all others in a file of many documents."""
    return "b" + _uuid("blank node", scope, label).replace("-", "")


def _uuid(*parts: str | int | None) -> str:
    return str(uuid.uuid5(NAMESPACE, json.dumps(parts)))
