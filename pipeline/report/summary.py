"""The summary of a finished run in a terminal: what came of the documents, what did not and why, where it lies, and how to go on.

It is made from the manifest and the datasets alone, so that `report` shows later what the job showed at its end.
"""

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from pipeline.options.backfill import BackfillSettings
from pipeline.options.runners import DEFAULT_RUNNER
from pipeline.progress import Tally
from pipeline.report.commands import backfill_again, command, program
from pipeline.report.finished_run import FinishedRun
from pipeline.report.words import counted, number, percent, printable, shortened, shortened_middle, size, span_of_time
from transforms.model import Stage, Status
from transforms.partition.formats import by_mime_type
from transforms.storage import filesystem

SLOWEST = 5
SLOW_SECONDS = 1.0
"""A document that took less is not worth a line."""
LETTERS_SHOWN = 5
"""Dead letters of each status: the file has them all."""
STYLES = {Status.OK: "green", Status.EMPTY: "dim", Status.DUPLICATE: "dim"}
DEAD_STYLE = "red"
WARNINGS_SHOWN = 5
WIDEST = 250
"""Columns of the table of formats when every status occurs."""

WHAT_TO_DO: Mapping[Status, str] = {
    Status.NEEDS_OCR: "--strategy auto reads the text in their pictures",
    Status.ENCRYPTED: "they need their password: store them decrypted",
    Status.CORRUPT: "their bytes are damaged: store them again",
    Status.UNSUPPORTED: "{program} doctor lists the formats that can be decoded",
    Status.MISSING_TOOL: "{program} doctor says what to install; the next run tries them again",
    Status.TOO_LARGE: "each says which option sets the limit; --retry-failed tries again",
    Status.TIMEOUT: "--document-timeout sets the limit; --retry-failed tries again",
    Status.OUT_OF_MEMORY: "--document-memory sets the limit; --retry-failed tries again",
    Status.CRASHED: "--retry-failed tries again",
    Status.FETCH_FAILED: "the next run tries them again",
    Status.FAILED: "the traceback is in their dead letters; --retry-failed tries again",
}
"""For each way to fail, what helps; `{program}` is how to start the decoder."""
OF_REFERENCE = "correct what the sentence names: the line, the link, or the rights of the folder"
"""What helps where the reference itself cannot be used: to try again does not."""
PARTIAL = "not the whole library; while it is the newest, report, trace and the file `latest` mean it."


@dataclass
class Letters:
    """The dead letters of one kind."""

    first: list[Mapping[str, Any]] = field(default_factory=list)
    documents: int = 0
    attachments: int = 0

    def add(self, letter: Mapping[str, Any]) -> None:
        """Counts one, and keeps the first few."""
        if letter["reference"] and letter["reference"]["uri"] != letter["source_uri"]:  # that of its mail
            self.attachments += 1
        else:
            self.documents += 1
        if len(self.first) < LETTERS_SHOWN:
            self.first.append(letter)


@dataclass(frozen=True)
class Findings:
    """What the datasets tell beyond the manifest."""

    slowest: Sequence[Mapping[str, Any]]
    """Rows of `documents`, the slowest first."""
    letters: Mapping[tuple[Status, bool], Letters]
    """By status, and by whether it is the reference that cannot be used."""
    warnings: Sequence[tuple[str, str]]
    """Source URI and warning, the first few."""
    documents_with_warnings: int
    example_id: str
    """Of a text, to trace; empty: there is none."""


def too_many_failures(manifest: Mapping[str, Any], allowed: float | None) -> str:
    """The sentence for a run with more dead letters than `--max-failures` allows; empty when it has not, or when nothing is asked.

    Args:
      allowed: fraction of all references (attachments are none).
    """
    dead, matched = manifest["invariant"]["dead_letters"], manifest["invariant"]["matched"]
    if allowed is None or not matched or dead <= allowed * matched:
        return ""
    return (
        f"{number(dead)} of {counted(matched, 'document')} failed ({dead / matched:.2%}), more than --max-failures {allowed:g} allows; "
        "the run is finished and its results are written."
    )


def interrupted(signal_name: str, tally: Tally, settings: BackfillSettings) -> str:
    """The sentences for a job that was stopped: what is kept, and how to go on."""
    command = "the same command without --force" if settings.force else "the same command"
    if not tally.found:
        return f"Stopped by {signal_name} before any document was decoded; nothing was published. {command.capitalize()} begins again."
    before = f" ({number(tally.staged)} of them by earlier runs)" if tally.staged else ""
    found = counted(tally.found, "document")
    return (
        f"Stopped by {signal_name}. {number(tally.done)} of the {found} found until then are decoded{before}, and kept in "
        f"{filesystem.join(settings.output, 'staging')}; run {settings.run_id} is not finished, and nothing of it is published. "
        f"{command.capitalize()} goes on from there."
    )


def find(run: FinishedRun) -> Findings:
    """Reads what the summary shows of single documents; a batch of rows in memory at a time."""
    slowest: list[tuple[float, int, dict[str, Any]]] = []
    warnings: list[tuple[str, str]] = []
    with_warnings = 0
    for index, row in enumerate(run.rows("documents", ["source_uri", "status", "seconds", "size_bytes", "page_count", "warnings"])):
        if (row["seconds"] or 0) >= SLOW_SECONDS:
            heapq.heappush(slowest, (row["seconds"], -index, row))
            if len(slowest) > SLOWEST:
                heapq.heappop(slowest)
        if row["warnings"]:
            with_warnings += 1
            warnings += [(row["source_uri"], warning) for warning in row["warnings"][: WARNINGS_SHOWN - len(warnings)]]
    letters: dict[tuple[Status, bool], Letters] = {}
    for letter in run.dead_letters():
        letters.setdefault((Status(letter["status"]), letter["stage"] == Stage.REFERENCE), Letters()).add(letter)
    example = next(run.rows("text_documents", ["id"]), {"id": ""})["id"]
    return Findings([row for *_, row in sorted(slowest, reverse=True)], letters, warnings, with_warnings, example)


def show(run: FinishedRun, console: Console, seconds: float | None = None) -> None:
    """Prints the summary.

    Args:
      seconds: how long the job took, where that is known: a manifest only has the start that its provenance tells.
    """
    manifest = run.manifest
    findings = find(run)
    _show_head(run, console, seconds)
    console.print(_status_table(manifest["counts"]))
    attachments = manifest["counts"]["attachments"]
    if attachments["total"]:
        statuses = ", ".join(f"{number(count)} {name}" for name, count in attachments["by_status"].items())
        console.print(Text(f"and {counted(attachments['total'], 'attachment')} of mails: {statuses}"))
    if manifest["counts"]["by_format"]:
        console.print()
        table = _format_table(manifest["counts"]["by_format"])
        table.width = Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum
        console.print(table, crop=False)  # a narrow terminal wraps it, and loses no figure
    _show_kernel(manifest, console)
    _show_slowest(findings, console)
    _show_warnings(findings, console)
    _show_letters(findings, console)
    _show_places(run, console)
    _show_next(run, findings, console)


def _show_kernel(manifest: Mapping[str, Any], console: Console) -> None:
    """Says why PDFs took longer than they could; nothing where nobody wondered, or asked for it."""
    for why, count in manifest.get("pdf_kernel", {}).get("why", {}).items():
        if not why.startswith("switched off"):
            console.print()
            read = f"{counted(count, 'PDF')} read without the PDF kernel, which takes several times as long"
            console.print(Text(f"{read}: {printable(why)}.", style="yellow"))


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _show_head(run: FinishedRun, console: Console, seconds: float | None) -> None:
    counts, invariant = run.manifest["counts"], run.manifest["invariant"]
    took = f" in {span_of_time(seconds)}" if seconds is not None else ""
    head = f"Run {run.run_id}: {counted(invariant['matched'], 'document')}{took}, finished {run.manifest['finished_at']}"
    console.print(Text(head, style="bold"), soft_wrap=True)
    facts = [
        f"{number(counts['decoded'])} decoded now, {number(counts['staged_before'])} before",
        size(counts["size_bytes"]),
        f"{number(counts['text_chars'])} characters of text",
        f"{span_of_time(counts['decode_seconds'])} of decoding" if counts["decode_seconds"] else "",
    ]
    console.print(Text(", ".join(fact for fact in facts if fact)), soft_wrap=True)
    if partial := partial_run(run.manifest):
        console.print(Text(partial, style="bold yellow"), soft_wrap=True)
    console.print()


def partial_run(manifest: Mapping[str, Any]) -> str:
    """The sentence for a run that was asked for a part of a library; empty: it was not."""
    options, matched = manifest["options"], manifest["invariant"]["matched"]
    if options["limit"] is not None and matched >= options["limit"]:
        what = counted(matched, "reference")
        return f"This run holds the first {what} only (--limit {options['limit']}), {PARTIAL}"
    others = options["inputs"] or options.get("library")  # which a manifest of an earlier version does not know
    if not others and all(re.search(r"(^|/)dead_letters(/|$)", place) for place in options["references"]):
        return f"This run holds only documents that had failed (its --references are dead letters), {PARTIAL}"
    return ""


def _style(status: Status) -> str:
    return STYLES.get(status, DEAD_STYLE)


def _plain_table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="right" if index else "left", no_wrap=True)
    return table


def _status_table(counts: Mapping[str, Any]) -> Table:
    table = _plain_table("Status", "Documents", "")
    for name, count in counts["by_status"].items():
        table.add_row(Text(name, style=_style(Status(name))), number(count), percent(count, counts["matched"]))
    return table


def _format_table(by_format: Mapping[str, Mapping[str, Any]]) -> Table:
    statuses = [status for status in Status if any(status.value in facts["by_status"] for facts in by_format.values())]
    table = _plain_table("Format", "Documents", *(status.value for status in statuses), "Bytes", "Characters", "Seconds")
    for mime_type, facts in sorted(by_format.items(), key=lambda item: (-item[1]["documents"], item[0])):
        known = by_mime_type(mime_type)
        counts = [(status, facts["by_status"].get(status.value, 0)) for status in statuses]
        table.add_row(
            Text(known.name if known else shortened(printable(mime_type), 40)),
            number(facts["documents"]),
            *(Text(number(count), style=DEAD_STYLE if count and status.is_dead_letter else "") for status, count in counts),
            size(facts["size_bytes"]),
            number(facts["text_chars"]),
            f"{facts['decode_seconds']:,.1f}",
        )
    return table


def _show_slowest(findings: Findings, console: Console) -> None:
    if not findings.slowest:
        return
    _heading(console, "Slowest documents")
    for row in findings.slowest:
        facts = [f"{row['seconds']:>8,.1f} s", f"{size(row['size_bytes']):>8}" if row["size_bytes"] is not None else " " * 8]
        pages = f", {counted(row['page_count'], 'page')}" if row["page_count"] else ""
        console.print(Text(f"{'  '.join(facts)}  {_name(row['source_uri'])}{pages}"), soft_wrap=True)


def _name(uri: str) -> str:
    return shortened_middle(printable(uri), 100)


def _show_warnings(findings: Findings, console: Console) -> None:
    if not findings.documents_with_warnings:
        return
    _heading(console, f"Warnings: {counted(findings.documents_with_warnings, 'document')} of which something is known to be missing")
    for uri, warning in findings.warnings:
        console.print(Text(f"  {_name(uri)}: {shortened(printable(warning), 200)}"), soft_wrap=True)
    if findings.documents_with_warnings > len({uri for uri, _ in findings.warnings}):
        console.print(Text("  and more: the column `warnings` of the dataset `documents` has them all", style="dim"))


def _show_letters(findings: Findings, console: Console) -> None:
    if not findings.letters:
        return
    documents, attachments = (sum(getattr(kind, name) for kind in findings.letters.values()) for name in ("documents", "attachments"))
    _heading(console, f"Dead letters: {_documents(counted(documents, 'document'), attachments)} not decoded")
    for (status, of_reference), letters in sorted(findings.letters.items(), key=lambda item: (list(Status).index(item[0][0]), item[0][1])):
        head = Text("  ").append(f"{status.value} ({_documents(number(letters.documents), letters.attachments)})", style=DEAD_STYLE)
        remedy = OF_REFERENCE if of_reference else WHAT_TO_DO[status].format(program=program())
        console.print(head.append(f": {remedy}", style="dim"), soft_wrap=True)
        for letter in letters.first:
            console.print(Text(f"    {_name(letter['source_uri'])}: {shortened(printable(letter['message']), 300)}"), soft_wrap=True)
        more = letters.documents + letters.attachments - len(letters.first)
        if more > 0:
            console.print(Text(f"    and {number(more)} more", style="dim"))


def _documents(documents: str, attachments: int) -> str:
    """Attachments apart: the other figures count references."""
    return f"{documents} and {counted(attachments, 'attachment')}" if attachments else documents


def _show_places(run: FinishedRun, console: Console) -> None:
    _heading(console, "Where it is")
    for name, facts in run.manifest["datasets"].items():
        rows = f"{number(facts['rows'])} rows" if facts["rows"] != 1 else "1 row"
        place = Text(f"  {name:<16}{rows:>16}  {size(facts['bytes']):>8}  ")
        console.print(place.append(printable(filesystem.join(run.folder, name))), soft_wrap=True)
    blobs = Text(f"  {'image bytes':<44}").append(printable(filesystem.join(run.output, "blobs")))
    if run.manifest["datasets"]["images"]["rows"]:
        console.print(blobs, soft_wrap=True)
    console.print(Text(f"  {'manifest':<44}").append(printable(filesystem.join(run.folder, "manifest.json"))), soft_wrap=True)


def _show_next(run: FinishedRun, findings: Findings, console: Console) -> None:
    steps = []
    if findings.letters:
        has_options = run.manifest["options"]["runner"] != DEFAULT_RUNNER
        steps.append(
            (
                "The same command decodes only what is new, changed or was away. With all dead letters tried again"
                + (" (and the options of the runner):" if has_options else ":"),
                backfill_again(run.manifest, run.output, "--retry-failed"),
            )
        )
    if findings.example_id:
        steps.append(("Where a text comes from:", command("trace", findings.example_id, "--output", run.output)))
    steps.append(("This summary again:", command("report", run.output, "--run", run.run_id)))
    _heading(console, "How to go on")
    for text, typed in steps:
        console.print(Text(f"  {text}\n    {typed}"), soft_wrap=True)
