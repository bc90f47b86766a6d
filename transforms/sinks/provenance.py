"""The dataset `provenance`: where each piece came from, as N-Quads of the named graph `urn:graph:source`."""

from transforms.model import DecodedDocument, Status
from transforms.provenance.nquads import serialise
from transforms.provenance.triples import describe

NAME = "provenance"


def lines(document: DecodedDocument, *, fingerprint: str) -> bytes:
    """The document's quads, one a line, UTF-8; nothing for dead letters and duplicates: they have no entities."""
    if document.status not in (Status.OK, Status.EMPTY):
        return b""
    quads = describe(document, started_at=document.started_at, fingerprint=fingerprint)
    return "".join(serialise(quads)).encode("utf-8", "replace")
