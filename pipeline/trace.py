"""Follows a page, section or image back to the file that it came from: the provenance as a person reads it.

The datasets tell all of an entity that has text or is an image. A page that is divided into sections, or that holds nothing but pictures,
has triples only: so what they lack is looked up in the provenance.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from pipeline.options.trace import TraceSettings
from pipeline.report.finished_run import FinishedRun, newest_first, open_run
from pipeline.report.words import counted, number, printable, shortened, size
from pipeline.sentences import enumerate_words
from transforms.errors import UsageError
from transforms.provenance import vocabulary as v
from transforms.sinks import documents, images, text_documents
from transforms.storage import filesystem

SHOWN_CHARACTERS = 600
"""Of the text, without `--full`: a screen still shows the chain below it."""
SHOWN_OF_ANCESTORS = 80
MAX_DEPTH = 100
"""Links of a chain. Headings nest six deep in HTML and nine in DOCX, and mails three; more would be a circle."""
LATER_STAGES = ("chunk", "subgraph", "statement", "edge", "fact")
"""Kinds of URN that TrustGraph's later stages make of our texts."""


@dataclass(frozen=True)
class Link:
    """One entity of a chain."""

    kind: str
    """`image`, `section`, `page`, `document` or `activity`."""
    id: str
    title: str
    facts: Sequence[tuple[str, str]]
    """Name and value, as they are shown; may hold text of the document, not escaped."""
    parent_id: str = ""
    """What it was derived from; empty at the end of the chain."""
    text: str | None = None


def trace(run: FinishedRun, entity_id: str) -> list[Link]:
    """The chain from an entity to its document (and from an attachment to its mail).

    Args:
      entity_id: IRI of a page, section or image, or a document's id, source URI or path.
    Returns:
      The entity first; nothing: the run does not know it.
    """
    link = _look_up(run, entity_id) or _look_up_file(run, entity_id)
    chain: list[Link] = []
    while link is not None:
        chain.append(link)
        if not link.parent_id or len(chain) == MAX_DEPTH:
            break
        missing = Link("document", link.parent_id, "", [("state", "derived from it, and not in this run")])
        link = _look_up(run, link.parent_id) or missing
    return chain


def trace_in(runs: Iterable[FinishedRun], entity_id: str) -> tuple[FinishedRun, list[Link]]:
    """The first run that knows an entity, and the chain there.

    Raises:
      UsageError: none does.
    """
    searched = []
    for run in runs:
        if chain := trace(run, entity_id):
            return run, chain
        searched.append(run.run_id)
    raise UsageError(_unknown(searched, entity_id))


def _unknown(searched: Sequence[str], entity_id: str) -> str:
    kind = re.match(r"(?:urn:|https?://[^/]+/)([a-z]+)[:/]", entity_id)
    if kind and kind[1] in LATER_STAGES:
        return (
            f"{entity_id} is a {kind[1]}, which a later stage makes: a backfill knows pages, sections, images and documents, so trace "
            "the page or section that it was derived from (prov:wasDerivedFrom)."
        )
    who = f"Run {searched[0]} does" if len(searched) == 1 else f"The runs {enumerate_words(searched, 'and')} do"
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", entity_id):
        return (
            f"{who} not know {entity_id!r}: give urn:page:..., urn:section:..., urn:image:..., or the id, the URI or the path of a "
            "document."
        )
    return f"{who} not know {entity_id}: ids change with the settings, the bytes and the decoder's version."


def _look_up(run: FinishedRun, entity_id: str) -> Link | None:
    kind = re.match(r"urn:(page|section|image):", entity_id)
    if kind is None:
        row = run.find_row("documents", [("document_id", entity_id), ("source_uri", entity_id)], documents.SCHEMA.names)
        return _document(row) if row else _from_quads(run, entity_id)
    if kind[1] == "image":
        row = run.find_row("images", [("id", entity_id)], images.SCHEMA.names)
        return _image(run, row) if row else None
    row = run.find_row("text_documents", [("id", entity_id)], text_documents.SCHEMA.names)
    return _text(row) if row else _from_quads(run, entity_id)


def _look_up_file(run: FinishedRun, path_or_uri: str) -> Link | None:
    """A document by its path, or by a `file:` URI that is not encoded as ours are."""
    try:
        uri = filesystem.to_uri(path_or_uri)
    except ValueError:
        return None
    return _look_up(run, uri) if uri != path_or_uri else None


# --- from rows ---------------------------------------------------------------------------------------------------------------------------


def _known(facts: Sequence[tuple[str, str | None]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in facts if value]


def _text(row: Mapping[str, Any]) -> Link:
    facts = [
        ("number", str(row["number"])),
        ("heading", row["heading"]),
        ("below", " > ".join(row["heading_path"][:-1]) if row["heading"] else " > ".join(row["heading_path"])),
        ("level", str(row["level"]) if row["level"] is not None else None),
        ("on page", str(row["page_number"]) if row["document_type"] != "page" and row["page_number"] is not None else None),
        ("place", f"characters {_range(row['char_offset'], row['char_length'])} of the document's text"),
        ("elements", f"{counted(len(row['elements']), 'element')}: {', '.join(row['element_types'])}"),
        ("holds", _holds(row["table_count"], row["image_count"])),
    ]
    return Link(row["document_type"], row["id"], row["title"], _known(facts), row["parent_id"], row["text"])


def _range(offset: int, length: int) -> str:
    """Half open, as a slice: what the triples give as offset and length."""
    return f"{number(offset)} to {number(offset + length)} (offset {offset}, length {length})"


def _holds(tables: int | None, images: int | None) -> str | None:
    return ", ".join(counted(count, noun) for count, noun in ((tables or 0, "table"), (images or 0, "image")) if count) or None


def _image(run: FinishedRun, row: Mapping[str, Any]) -> Link:
    box = row["coordinates"]
    facts = [
        ("number", f"{row['number']} of its document"),
        ("on page", str(row["page_number"]) if row["page_number"] is not None else None),
        ("place", f"x {box[0]:.3f} to {box[2]:.3f}, y {box[1]:.3f} to {box[3]:.3f} of the page, from its top left" if box else None),
        ("picture", f"{row['mime_type']}, {row['width']} x {row['height']} pixels, {size(row['size_bytes'])}"),
        ("sha256", row["sha256"]),
        ("element", row["element_id"]),
        ("blob", filesystem.join(run.output, row["blob_uri"])),
    ]
    return Link("image", row["id"], row["title"], _known(facts), row["parent_id"])


def _document(row: Mapping[str, Any]) -> Link:
    contents = [(row["page_count"], "page"), (row["section_count"], "section"), (row["element_count"], "element")]
    counts = [counted(count, noun) for count, noun in contents if count]
    more = _holds(row["table_count"], row["image_count"])
    facts = [
        ("source", row["source_uri"]),
        ("format", row["mime_type"]),
        ("bytes", number(row["size_bytes"]) if row["size_bytes"] is not None else None),
        ("sha256", row["source_sha256"]),
        ("collection", row["collection"]),
        ("status", row["status"] + (f": {row['reason']}" if row["reason"] else "")),
        ("same as", row["duplicate_of"]),
        ("holds", ", ".join([*counts, *([more] if more else [])])),
        ("text", f"{number(row['text_chars'])} characters" if row["text_chars"] else None),
        *(("warning", warning) for warning in row["warnings"]),
        ("not read", f"pages {', '.join(map(str, row['missing_pages']))}" if row["missing_pages"] else None),
        ("decoded", f"{row['started_at']} by version {row['decoder_version']}, unstructured {row['unstructured_version']}"),
    ]
    if not row["started_at"]:
        facts.pop()
    return Link("document", row["document_id"] or row["source_uri"], row["title"] or "", _known(facts), row["parent_document_id"] or "")


# --- from quads --------------------------------------------------------------------------------------------------------------------------

_STATEMENT = re.compile(r"(?:<[^>]*>|_:\S+) <([^>]*)> (.*) <[^>]*> \.\s*$", re.DOTALL)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)


def read_statements(lines: Sequence[bytes]) -> dict[str, list[str]]:
    """Predicate IRI -> its objects, as IRIs or as the text of literals, of N-Quads that have one subject."""
    found: dict[str, list[str]] = {}
    for line in lines:
        statement = _STATEMENT.match(line.decode("utf-8", "replace"))
        if statement:
            found.setdefault(statement[1], []).append(_value(statement[2]))
    return found


def _value(term: str) -> str:
    literal = _LITERAL.match(term)
    if literal is None:
        return term.strip("<>")
    short = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
    return _ESCAPE.sub(lambda m: short.get(m[3], m[3]) if m[3] else chr(int(m[1] or m[2], 16)), literal[1])


def _from_quads(run: FinishedRun, entity_id: str) -> Link | None:
    statements = read_statements(run.quads_about(entity_id))
    if not statements:
        return None

    def one(predicate: str) -> str:
        return statements.get(predicate, [""])[0]

    types = statements.get(v.RDF_TYPE, [])
    kinds = {v.TG_DOCUMENT: "document", v.TG_PAGE: "page", v.TG_SECTION: "section", v.TG_IMAGE: "image", v.PROV_ACTIVITY: "activity"}
    kind = next((kinds[name] for name in types if name in kinds), "entity")
    place = (
        f"characters {_range(int(one(v.TG_CHAR_OFFSET)), int(one(v.TG_CHAR_LENGTH)))} of the document's text"
        if one(v.TG_CHAR_LENGTH)
        else None
    )
    facts = [
        ("number", one(v.TG_PAGE_NUMBER)),
        ("place", place),
        ("elements", one(v.TG_ELEMENT_TYPES).replace(",", ", ")),
        ("holds", _holds(int(one(v.TG_TABLE_COUNT) or 0), int(one(v.TG_IMAGE_COUNT) or 0))),
        ("source", one(v.DC_SOURCE)),
        ("format", one(v.TG_MIME_TYPE)),
        ("started", one(v.PROV_STARTED_AT_TIME)),
        ("text", "none of its own: it is in its sections, or it holds pictures only" if kind in ("page", "section") else None),
    ]
    parent = one(v.PROV_WAS_DERIVED_FROM) or one(v.PROV_USED)
    return Link(kind, entity_id, one(v.RDFS_LABEL) or one(v.DC_TITLE), _known(facts), parent)


# --- for people --------------------------------------------------------------------------------------------------------------------------


def show(chain: Sequence[Link], console: Console, full: bool = False) -> None:
    """Prints a chain, the entity first. All text of documents is escaped.

    Args:
      full: the whole text of the entity instead of its first `SHOWN_CHARACTERS`; of its ancestors a line is shown in any case.
    """
    for index, link in enumerate(chain):
        if index:
            verb = "used" if chain[index - 1].kind == "activity" else "derived from"
            console.print(Text(f"  ↓ {verb}", style="dim"))
        head = Text(link.kind.capitalize().ljust(14), style="bold cyan").append(printable(link.id), style="bold")
        console.print(head, soft_wrap=True)
        facts = [("title", link.title), *link.facts] if link.title else link.facts
        for name, value in facts:
            console.print(Text("  ").append(f"{name:<12}", style="dim").append(printable(value)), soft_wrap=True)
        if link.text is not None:
            _show_text(link.text, console, SHOWN_OF_ANCESTORS if index else len(link.text) if full else SHOWN_CHARACTERS)


def _show_text(text: str, console: Console, length: int) -> None:
    shown = shortened(text, length)
    console.print(Text("  text", style="dim"))
    for line in printable(shown, keep_lines=True).split("\n"):
        console.print(Text("  │ ", style="dim").append(line), soft_wrap=True)
    if shown != text and length == SHOWN_CHARACTERS:
        console.print(Text(f"  {number(len(text))} characters; --full shows them all", style="dim"))


def main(settings: TraceSettings, console: Console) -> None:
    """Traces and shows. Raises: UsageError."""
    asked = open_run(settings.output, settings.run_id)
    run, chain = trace_in([asked] if settings.run_id else _all_runs(asked), settings.id)
    show(chain, console, settings.full)
    why = "" if run.run_id == asked.run_id else f" (the newest, {asked.run_id}, does not know it)"
    console.print(Text(f"Run {run.run_id} in {printable(run.output)}{why}", style="dim"), soft_wrap=True)


def _all_runs(first: FinishedRun) -> Iterator[FinishedRun]:
    yield first
    yield from (run for run in newest_first(first.output) if run.run_id != first.run_id)
