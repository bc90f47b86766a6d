"""What is known of a document beforehand, in the shapes that people and TrustGraph write it in, as triples in one canonical form.

The canonical form (`DocumentReference.metadata`) is a JSON array of [subject, predicate, object] with terms in N-Triples syntax; an empty
subject is the document, whose id may not be known before its bytes are read.

| shape | example |
|---|---|
| names of Dublin Core elements | `{"creator": "A. Author", "subject": ["tides", "moon"]}` |
| IRIs as names | `{"http://purl.org/dc/terms/license": "https://example.org/l"}` |
| triples | `[["", "dc:creator", "A. Author"], ["https://example.org/d", "<https://example.org/p>", "\\"chat\\"@fr"]]` |
| TrustGraph's triples | `[{"s": {"v": "urn:d", "e": true}, "p": {"v": "urn:p", "e": true}, "o": {"v": "text", "e": false}}]` |
| TrustGraph's gateway | `[{"s": {"t": "i", "i": "urn:d"}, "p": …, "o": {"t": "l", "v": "text", "ln": "en"}}]` |

A value of plain text is a literal, unless it is an http, https or urn IRI as a whole: that is what such a value means in practice
(`dc:source`), and TrustGraph's terms or N-Triples syntax say otherwise where it is not.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from transforms.provenance.iris import repair_iri
from transforms.provenance.terms import literal_term

DC = "http://purl.org/dc/elements/1.1/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES: Mapping[str, str] = {
    "dc": DC,
    "dcterms": "http://purl.org/dc/terms/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "prov": "http://www.w3.org/ns/prov#",
    "schema": "https://schema.org/",
    "tg": "https://trustgraph.ai/ns/",
}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_\-]*")
_PREFIXED = re.compile(r"([a-z]+):([A-Za-z][A-Za-z0-9_\-]*)")
_LINK = re.compile(r"(?:https?://|urn:)", re.IGNORECASE)
_ECHAR = r'\\[tbnrf"\'\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}'
_LITERAL = re.compile(rf'"(?:[^"\\\n\r]|{_ECHAR})*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<([^>]*)>)?')
_BLANK = re.compile(r"_:[A-Za-z0-9_][A-Za-z0-9_.\-]*(?<!\.)")

Triple = list[str]


def is_iri(text: str) -> bool:
    """Whether the text is an absolute IRI that can stand in N-Quads as it is."""
    return repair_iri(text) == text and not text.endswith(":")


def canonical_metadata(metadata: Any) -> str:
    """Brings metadata of any accepted shape into the canonical form.

    Args:
      metadata: a decoded JSON value, or a text that holds JSON; None or "" for nothing.
    Returns:
      The JSON text; triples in the order given, values of None left out.
    Raises:
      ValueError: the shape is unknown; the message says what, to follow "metadata: ".
    """
    if isinstance(metadata, str):
        try:
            metadata = json.loads(metadata) if metadata.strip() else None
        except (ValueError, RecursionError) as error:
            where = f"{error.msg.removesuffix(' at')} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
            raise ValueError(f"is a text that is no JSON ({where})") from error
    if metadata is None or metadata in ("", {}, []):
        return "[]"
    return json.dumps(list(_triples(metadata)), ensure_ascii=False, separators=(",", ":"))


def _triples(metadata: Any) -> Iterator[Triple]:
    if isinstance(metadata, Mapping):
        for name, values in metadata.items():
            predicate = _key(name)
            for value in values if isinstance(values, list | tuple) else [values]:
                if value is not None:
                    yield ["", predicate, _known_value(value, name)]
        return
    if not isinstance(metadata, list | tuple):
        raise ValueError(  # noqa: TRY004 - one kind of error for the caller
            f'is {_shape(metadata)}, not an object such as {{"creator": "A. Author"}} or an array of triples'
        )
    for number, triple in enumerate(metadata, start=1):
        try:
            yield _triple(triple)
        except ValueError as error:
            raise ValueError(f"triple {number}: {error}") from error


def _key(name: Any) -> str:
    try:
        return _predicate(name)
    except ValueError:
        raise ValueError(
            f"its key {_shown(name)} is none of: a name (such as creator), a name with one of the prefixes {', '.join(PREFIXES)}, "
            "an absolute IRI"
        ) from None


def _known_value(value: Any, name: str) -> str:
    try:
        return _value(value, "it")
    except ValueError:
        raise ValueError(
            f"the value {_shown(value)} of its key {_shown(name)} is none of: a text, a number, true or false, an array of these, "
            'a term such as {"t": "l", "v": "text"}'
        ) from None


def _triple(triple: Any) -> Triple:
    if isinstance(triple, Mapping):
        parts = [triple.get(name) for name in "spo"]
        if parts[1] is None or parts[2] is None:
            raise ValueError('has no "p" or no "o"')
    elif isinstance(triple, list | tuple) and len(triple) == 3:
        parts = list(triple)
    else:
        raise ValueError(f"is {_shape(triple)}, not [subject, predicate, object]")
    subject, predicate, thing = parts
    return [_subject(subject), _predicate(predicate), _object(thing)]


def _subject(subject: Any) -> str:
    if subject is None or subject == "":
        return ""
    if isinstance(subject, str) and _BLANK.fullmatch(subject):
        return subject
    term = _term(subject) if isinstance(subject, Mapping) else _resource(subject)
    if term.startswith('"'):
        raise ValueError("its subject is a literal")
    return term


def _predicate(predicate: Any) -> str:
    if isinstance(predicate, Mapping):
        term = _term(predicate)
        if not term.startswith("<"):
            raise ValueError("its predicate is no IRI")
        return term
    if isinstance(predicate, str) and _NAME.fullmatch(predicate):
        return f"<{DC}{predicate}>"
    return _resource(predicate)


def _object(value: Any) -> str:
    """An object of a triple: here, unlike in a plain value, N-Triples syntax is read."""
    if isinstance(value, str):
        if _BLANK.fullmatch(value):
            return value
        literal = _LITERAL.fullmatch(value)
        if literal:
            if literal[1] is not None and not is_iri(literal[1]):
                raise ValueError(f"its datatype <{literal[1]}> is no absolute IRI")
            return value
        if value.startswith("<") and value.endswith(">") and is_iri(value[1:-1]):
            return value
    return _value(value, "its object")


def _resource(resource: Any) -> str:
    if isinstance(resource, str):
        bare = resource[1:-1] if resource.startswith("<") and resource.endswith(">") else resource
        prefixed = _PREFIXED.fullmatch(bare)
        if bare == resource and prefixed and prefixed[1] in PREFIXES:
            return f"<{PREFIXES[prefixed[1]]}{prefixed[2]}>"
        if is_iri(bare):
            return f"<{bare}>"
    raise ValueError(f"{_shown(resource)} is no absolute IRI")


def _value(value: Any, what: str) -> str:
    match value:
        case bool():
            return f'"{str(value).lower()}"^^<{XSD}boolean>'
        case int():
            return f'"{value}"^^<{XSD}integer>'
        case float():
            return f'"{value!r}"^^<{XSD}double>'
        case date():  # of a Parquet column
            return _literal(value.isoformat())
        case str():
            return f"<{value}>" if _LINK.match(value) and is_iri(value) else _literal(value)
        case Mapping():
            return _term(value)
        case _:
            raise ValueError(f"{what} is {_shape(value)}, not a text, a number or a term")


def _term(term: Mapping[str, Any]) -> str:
    """A term of TrustGraph: {"v", "e"} (librarian), {"t", "i" | "v", "dt", "ln"} (gateway), {"type", "iri" | "value", …} (messages)."""
    kind = term.get("t") or term.get("type")
    if kind is None and "v" in term:
        kind = "i" if term.get("e") else "l"
    if kind == "i":
        return _resource(_first(term, "i", "iri", "v"))
    if kind == "b":
        blank = _first(term, "d", "id")
        label = blank if isinstance(blank, str) and blank.startswith("_:") else f"_:{blank}"
        if _BLANK.fullmatch(label):
            return label
    if kind == "l":
        text = _first(term, "v", "value")
        if isinstance(text, str | int | float):
            return _literal(str(text), datatype=_first(term, "dt", "datatype"), language=_first(term, "ln", "language"))
    raise ValueError(f"{_shown(term)} is no term that is known here")


def _first(term: Mapping[str, Any], *names: str) -> Any:
    return next((term[name] for name in names if term.get(name) not in (None, "")), term.get(names[0], ""))


def _literal(text: str, datatype: Any = "", language: Any = "") -> str:
    if not isinstance(datatype, str) or not isinstance(language, str) or (datatype and not is_iri(datatype)):
        raise ValueError(f"the datatype or language of {text[:80]!r} is none")
    return literal_term(text, datatype=datatype, language=language)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:200]


def _shape(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Mapping():
            return "an object"
        case Sequence():
            return f"an array of {len(value)}"
        case _:
            return f"a {type(value).__name__}"
