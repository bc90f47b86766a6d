"""What TrustGraph's gateway takes: its JSON for terms, triples and documents, made from the rows and lines of a run.

The forms are those of the gateway's own translators (trustgraph-base 2.9 to 2.11); a test passes all of ours through them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transforms.provenance.nquads import unescape

Json = dict[str, Any]

_QUAD = re.compile(r"(<[^<>]*>|_:\S+) (<[^<>]*>) (.*) (<[^<>]*>) \.\n?", re.DOTALL)
_LITERAL = re.compile(r'"(.*)"(?:\^\^<([^<>]*)>|@([A-Za-z0-9-]+))?', re.DOTALL)

TRIPLES_A_MESSAGE = 300
"""A message is one record of the broker and, in a knowledge core, one frame: some 80 KB at 270 bytes a triple."""


def triple_from_line(line: bytes) -> Json:
    """A line of the dataset `provenance` as the gateway's triple: `{"s": …, "p": …, "o": …, "g": "urn:graph:source"}`.

    Args:
      line: as `nquads.serialise` writes it; no other N-Quads are read.
    Raises:
      ValueError: it is none of those.
    """
    quad = _QUAD.fullmatch(line.decode("utf-8"))
    if quad is None:
        raise ValueError(f"not a line of the decoder's N-Quads: {line[:120]!r}")
    subject, predicate, value, graph = quad.groups()
    return {"s": _term(subject), "p": _term(predicate), "o": _term(value), "g": unescape(graph[1:-1], only_code_points=True)}


def _term(form: str) -> Json:
    if form.startswith("<"):
        return {"t": "i", "i": unescape(form[1:-1], only_code_points=True)}
    if form.startswith("_:"):
        return {"t": "b", "d": form[2:]}
    literal = _LITERAL.fullmatch(form)
    if literal is None:
        raise ValueError(f"not a term of the decoder's N-Quads: {form[:120]!r}")
    text, datatype, language = literal.groups()
    term = {"t": "l", "v": unescape(text)}
    if datatype:
        term["dt"] = datatype
    if language:
        term["ln"] = language
    return term


def import_messages(
    lines: Iterable[bytes], document_id: str, collection: str, *, triples_a_message: int = TRIPLES_A_MESSAGE
) -> Iterator[Json]:
    """The messages of the socket `import/triples` that hold the quads of one document.

    Args:
      lines: of the dataset `provenance`.
      document_id: of the document. It is the `root`, too: by it TrustGraph's knowledge store files triples.
      collection: partition of the graph within the workspace.
    """
    batch: list[Json] = []
    for line in lines:
        batch.append(triple_from_line(line))
        if len(batch) == triples_a_message:
            yield _import_message(batch, document_id, collection)
            batch = []
    if batch:
        yield _import_message(batch, document_id, collection)


def _import_message(triples: list[Json], document_id: str, collection: str) -> Json:
    return {"metadata": {"id": document_id, "root": document_id, "collection": collection}, "triples": triples}


def as_stored(triple: Mapping[str, Any]) -> tuple[str, ...]:
    """What a triple store gives back of a triple, to compare what was sent with what is there.

    Its Cassandra tables keep a blank node as an IRI whose text is the label (trustgraph-flow 2.11.1, `get_term_otype`).
    """
    return (*_stored_term(triple["s"])[1:2], *_stored_term(triple["p"])[1:2], *_stored_term(triple["o"]), triple.get("g") or "")


def _stored_term(term: Mapping[str, Any]) -> tuple[str, str, str, str]:
    if term["t"] == "l":
        return "l", term.get("v", ""), term.get("dt") or "", term.get("ln") or ""
    return "i", term.get("i") or term.get("d") or "", "", ""
