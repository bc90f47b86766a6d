"""What a backfill would do, by format: the answer to `--dry-run`. Lists the sources and looks into the staging folder, changes nothing."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import unquote, urlsplit

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipeline.options.backfill import BackfillSettings
from pipeline.report.words import counted, number, printable, shortened, shortened_middle, size
from pipeline.sentences import enumerate_words
from transforms.model import DocumentReference
from transforms.partition.formats import FORMATS, TOOLS, Format, by_extension, by_mime_type
from transforms.references.librarian import list_library
from transforms.references.sources import list_input, list_references
from transforms.settings import Strategy
from transforms.storage import filesystem
from transforms.storage.commit import StagedDocument
from transforms.storage.staging import find_staged, staging_key

BATCH = 100_000
"""References in memory at a time, about 100 MB; each batch lists the staging folders once."""
TO_BE_DETECTED = "to be detected"
"""Neither the MIME type nor the name tells the format: the bytes will."""
UNUSABLE = "unusable reference"
PROBLEMS_SHOWN = 5


@dataclass
class FormatPlan:
    """The documents of one format, each copy of a reference counted."""

    documents: int = 0
    size: int = 0
    """Bytes, of those whose size is known."""
    staged: int = 0
    to_decode: int = 0


@dataclass
class Plan:
    """What would be done."""

    formats: dict[str, FormatPlan] = field(default_factory=dict)
    """By the format's name; `TO_BE_DETECTED` and `UNUSABLE` as well."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """URI and sentence of the first unusable references."""

    @property
    def total(self) -> FormatPlan:
        plans = self.formats.values()
        return FormatPlan(
            sum(plan.documents for plan in plans),
            sum(plan.size for plan in plans),
            sum(plan.staged for plan in plans),
            sum(plan.to_decode for plan in plans),
        )


def make_plan(settings: BackfillSettings) -> Plan:
    """Lists the sources as the job would, and looks up what is staged for these settings."""
    plan = Plan()
    for batch in _batches(_references(settings)):
        by_key = {staging_key(reference): reference for reference in batch}
        found = find_staged(
            filesystem.to_uri(settings.output),
            settings.decode.fingerprint,
            batch,
            force=settings.force,
            retry_failed=settings.retry_failed,
        )
        for item in found:
            reference = by_key[item.key] if isinstance(item, StagedDocument) else item
            name = UNUSABLE if reference.problem else expected_format(reference)
            one = plan.formats.setdefault(name, FormatPlan())
            one.documents += item.copies
            one.size += max(reference.size, 0) * item.copies
            if isinstance(item, StagedDocument):
                one.staged += item.copies
            elif not reference.problem:
                one.to_decode += item.copies
            if reference.problem and len(plan.problems) < PROBLEMS_SHOWN:
                plan.problems.append((reference.uri, reference.problem))
    return plan


def _references(settings: BackfillSettings) -> Iterator[DocumentReference]:
    """All references, each URI of the inputs once, and the first `--limit` by URI: as `ReadReferences` gives them to the job."""
    references = _all_references(settings)
    return references if settings.limit is None else iter(heapq.nsmallest(settings.limit, references))


def _all_references(settings: BackfillSettings) -> Iterator[DocumentReference]:
    seen: set[str] = set()
    for pattern in settings.inputs:
        for reference in list_input(pattern, collection=settings.collection, exclude=settings.output):
            if reference.uri not in seen:
                yield reference
            if len(settings.inputs) > 1:  # one pattern lists no URI twice
                seen.add(reference.uri)
    for file in settings.references:
        yield from list_references(file, collection=settings.collection)
    if settings.library is not None:
        yield from list_library(settings.library, collection=settings.collection)


def _batches(references: Iterable[DocumentReference]) -> Iterator[list[DocumentReference]]:
    remaining = iter(references)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def expected_format(reference: DocumentReference) -> str:
    """The name of the format that a reference's MIME type or file name promises; the bytes may tell otherwise."""
    name = unquote(urlsplit(reference.uri).path.rpartition("/")[2]) if not reference.locator else ""
    known = by_mime_type(reference.kind) or by_extension(name)
    return known.name if known else TO_BE_DETECTED


def show(plan: Plan, settings: BackfillSettings, console: Console) -> None:
    """Prints the table, what is missing for it, and what would be next."""
    console.print(_table(plan))
    total = plan.total
    notes = _missing_tools(plan, settings)
    notes += [f"{shortened_middle(printable(uri), 100)}: {shortened(printable(problem), 300)}" for uri, problem in plan.problems]
    unusable = plan.formats.get(UNUSABLE, FormatPlan()).documents
    if unusable > len(plan.problems):
        notes.append(f"and {number(unusable - len(plan.problems))} more")
    if notes:
        console.print()
        for note in notes:
            console.print(Text(f"- {note}"), soft_wrap=True)
    console.print()
    ending = f"{counted(total.to_decode, 'document')} would be decoded" + (f", {number(total.staged)} are already" if total.staged else "")
    if unusable:
        ending += f"; {counted(unusable, 'reference')} cannot be used, and would be dead letters"
    console.print(Text(f"{ending}. This was a dry run: nothing was written.", style="bold"), soft_wrap=True)


def _table(plan: Plan) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Format")
    for heading in ("Documents", "Bytes", "Already staged", "To decode"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Tools missing here")
    order = [known.name for known in FORMATS] + [TO_BE_DETECTED, UNUSABLE]
    by_name = {known.name: known for known in FORMATS}
    for name in sorted(plan.formats, key=order.index):
        missing = by_name[name].missing_tools if name in by_name else ()
        table.add_row(name, *_figures(plan.formats[name]), Text(", ".join(tool.name for tool in missing), style="red"))
    if len(plan.formats) != 1:
        table.add_row(Text("All", style="bold"), *_figures(plan.total), "")
    return table


def _figures(plan: FormatPlan) -> tuple[str, str, str, str]:
    return number(plan.documents), size(plan.size), number(plan.staged), number(plan.to_decode)


def _missing_tools(plan: Plan, settings: BackfillSettings) -> list[str]:
    """A sentence for each tool that is missing, with the documents that need it."""
    notes = []
    for tool in TOOLS:
        if tool.is_available():
            continue
        sure = _documents(plan, [known for known in FORMATS if tool in known.tools])
        if sure:
            notes.append(f"{tool.name} is missing: without it {sure} would not be decoded. {tool.sentence}")
        maybe = _documents(plan, [known for known in FORMATS if tool in known.ocr_tools])
        if maybe and settings.decode.strategy is not Strategy.FAST:
            notes.append(f"{tool.name} is missing: of {maybe} what is a picture of text would not be decoded. {tool.sentence}")
    return notes


def _documents(plan: Plan, formats: Sequence[Format]) -> str:
    """`3 PDF and 1 PNG documents`, of those to decode; empty: none."""
    counts = {known.name: plan.formats[known.name].to_decode for known in formats if known.name in plan.formats}
    parts = [f"{number(count)} {name}" for name, count in counts.items() if count]
    return f"{enumerate_words(parts, 'and')} document{'' if sum(counts.values()) == 1 else 's'}" if parts else ""
