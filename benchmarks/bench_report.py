"""The tables and the chart of `make bench`, made from its results: into the README, between its two markers, and benchmarks/bench.svg."""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
CHART = ROOT / "benchmarks" / "bench.svg"
BEGIN, END = "<!-- make bench -->", "<!-- /make bench -->"

DECODER = "decoder 2"
NAMES = {
    DECODER: "universal-decoder, 2 children",
    "partition": "plain `partition()`, one process",
    "pool": "plain `partition()`, `multiprocessing` pool of 2",
    "ingest": "unstructured-ingest 1.12.0, 2 processes",
    "trustgraph": "trustgraph-unstructured 2.9.5, in memory",
    "docling": "docling-slim 2.143.0, simple backends",
}
GROUPS = {"all": "whole set", "text": "all formats but PDF", "pdf": "PDFs with text", "docling": "formats of docling's simple backends"}
MANY_PAGES = 10
BUSY = 4
"""Load average from which it is told: a peer and its sampling make up to 3."""
DARK, MIDDLE, LIGHT = "#3b6ea5", "#7aa0c9", "#b9cde4"
SMALL_SHARE = 0.02
"""Parts of a format's profile below that are added up."""

Record = dict[str, Any]


def write_report(results: Path) -> None:
    """Replaces what the README shows of the bench."""
    records = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not after:
        raise SystemExit(f"{README} has no place for the report, between {BEGIN} and {END}.")
    README.write_text(f"{before}{BEGIN}\n{report(records)}\n{END}{after}", encoding="utf-8")
    CHART.write_text(chart(records), encoding="utf-8")


def report(records: Sequence[Record]) -> str:
    """All of it, as Markdown."""
    parts = [described_set(records), whole_runs(records), by_document(records), parallel(records), memory(records), profile(records)]
    return "\n\n".join(part for part in parts if part)


def described_set(records: Sequence[Record]) -> str:
    """What was measured, and on what."""
    facts = [record for record in records if record["kind"] == "set"][-1]
    groups = {group: f"{count:,} files, {size / 1e6:.1f} MB" for group, (count, size) in facts["groups"].items()}
    left = ", ".join(f"{count} {name}" for name, count in sorted(facts["left out"].items()))
    loads = [record["load"] for record in records if "load" in record]
    busy = f" **Other programs ran at the same time** (load average up to {max(loads):.0f})." if loads and max(loads) > BUSY else ""
    return (
        f"Whole set: {groups.get('all', '')} (formats but PDF: {groups.get('text', '')}; PDFs with text: {groups.get('pdf', '')})."
        + (f" Left out, as they need OCR, LibreOffice or a layout model, or are there twice: {left}." if left else "")
        + f" {facts['cores']} cores ({facts['processor']}), Python {facts['python']}; strategy `fast`.{busy}"
    )


def ratios(records: Sequence[Record]) -> dict[tuple[str, str, str], list[float]]:
    """Of each peer's runs to the decoder's in the same round: by group, contestant and measure."""
    runs = {(record["group"], record["round"], record["contestant"]): record for record in records if record["kind"] == "run"}
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for (group, turn, contestant), run in runs.items():
        ours = runs.get((group, turn, DECODER))
        if ours is None or contestant == DECODER:
            continue
        for measure in ("seconds", "cpu_seconds", "peak_pss_mb"):
            found[group, contestant, measure].append(run[measure] / ours[measure])
    return found


def whole_runs(records: Sequence[Record]) -> str:
    """Each program from its start to its end, by group."""
    found = ratios(records)
    runs = [record for record in records if record["kind"] == "run"]
    size = {group: facts for record in records if record["kind"] == "set" for group, facts in record["groups"].items()}
    lines = []
    for group, title in GROUPS.items():
        names = [name for name in NAMES if any(run["group"] == group and run["contestant"] == name for run in runs)]
        if len(names) < 2:
            continue
        lines += [
            f"| {title} | wall | CPU | documents/s | MB/s | peak PSS | no output |",
            "|---|---|---|---|---|---|---|",
        ]
        count, amount = size[group]
        for name in names:
            mine = [run for run in runs if run["group"] == group and run["contestant"] == name]
            seconds, cpu, pss = (statistics.median(run[key] for run in mine) for key in ("seconds", "cpu_seconds", "peak_pss_mb"))
            times = {key: f" ({spread(found[group, name, key])})" if name != DECODER else "" for key in ("seconds", "cpu_seconds")}
            lines.append(
                f"| {NAMES[name]} | {seconds:.1f} s{times['seconds']} | {cpu:.1f} s{times['cpu_seconds']} | {count / seconds:.1f} "
                f"| {amount / 1e6 / seconds:.2f} | {pss:,.0f} MB | {count - min(run['with output'] for run in mine)} |"
            )
        lines.append("")
    if not lines:
        return ""
    rounds = len({record["round"] for record in runs})
    return (
        f"Whole programs, start-up included; medians of {rounds} round{'s' if rounds > 1 else ''}, in brackets the ratio to the "
        "decoder's run of the same round (and its range).\n\n" + "\n".join(lines).strip()
    )


def spread(values: Sequence[float]) -> str:
    """A median, and from where to where the values lie."""
    if len(values) < 2:
        return f"×{values[0]:.1f}" if values else "–"
    return f"×{statistics.median(values):.1f}, {min(values):.1f}–{max(values):.1f}"


def documents_of(records: Sequence[Record]) -> list[Record]:
    """The readings of each document: CPU seconds of both sides, and the memory that the decoder took."""
    found: dict[str, Record] = {}
    for one in (record for record in records if record["kind"] == "reading"):
        document = found.setdefault(one["name"], {**one, "plain": [], "decoder": [], "memory_mb": 0.0})
        document[one["side"]].append(one["cpu_seconds"])
        if one["side"] == "decoder":
            document["memory_mb"] = max(document["memory_mb"], one["memory_mb"])
    return list(found.values())


def kinds(documents: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """The rows that stand for more than one format; what one large document decides stands without it as well."""
    text = sorted((one for one in documents if one["group"] == "text"), key=lambda one: -max(one["plain"]))
    return [
        ("all", list(documents)),
        ("formats but PDF", text),
        ("PDFs with text", [one for one in documents if one["group"] == "pdf"]),
        (f"PDFs of {MANY_PAGES} pages and more", [one for one in documents if one["pages"] >= MANY_PAGES]),
        ("formats but PDF, without the slowest document", text[1:]),
    ]


def by_document(records: Sequence[Record]) -> str:
    """CPU time a document in a warm child: throughput per core against plain `partition()`."""
    documents = [one for one in documents_of(records) if one["plain"] and one["decoder"]]
    if not documents:
        return ""
    rows = kinds(documents)
    formats = sorted({one["name"].rpartition(".")[2].lower() for one in documents})
    rows += [(f".{name}", [one for one in documents if one["name"].lower().endswith(f".{name}")]) for name in formats]
    lines = [
        "CPU time of warm processes, without any start-up: plain `partition()` against all that the job does with a document (sections, "
        "offsets, pictures, provenance and the commit included).",
        "",
        "| | documents | plain | decoder | ratio | median of the documents' ratios | MB a CPU second |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, some in rows:
        if not some:
            continue
        plain, decoder = (sum(statistics.median(one[side]) for one in some) for side in ("plain", "decoder"))
        each = [statistics.median(one["plain"]) / statistics.median(one["decoder"]) for one in some]
        lines.append(
            f"| {name} | {len(some)} | {plain:.2f} s | {decoder:.2f} s | ×{plain / decoder:.1f} | ×{statistics.median(each):.1f} "
            f"| {sum(one['size'] for one in some) / 1e6 / decoder:.1f} |"
        )
    return "\n".join(lines)


def parallel(records: Sequence[Record]) -> str:
    """What the parent takes, and what two children are to one on a single large PDF."""
    runs = [record for record in records if record["kind"] == "run"]
    lines = []
    whole = [run for run in runs if run["group"] == "all" and run["contestant"] == DECODER]
    one = [run for run in runs if run["group"] == "one" and run["contestant"] == DECODER]
    if whole and one:
        parent, children = median(whole, "first_cpu_seconds"), median(whole, "cpu_seconds") - median(whole, "first_cpu_seconds")
        start = median(one, "first_cpu_seconds")
        wall, cpu = median(one, "seconds"), median(one, "cpu_seconds")
        share = (parent - start) / (children - (cpu - start))
        lines.append(
            f"- The parent process takes {parent:.1f} s of CPU on the whole set, {start:.1f} s of it for its start; its children and their "
            f"zygote take {children:.1f} s. Without the start of both the parent's share is {share:.1%} of the children's."
        )
        lines.append(f"- A text of one line, from the command to the summary: {wall:.1f} s, {cpu:.1f} s of CPU.")
    begun = seconds_by_children(runs, "one")
    for group, title in (("pages", "pages of text"), ("scans", "scanned pages, read by OCR")):
        taken = seconds_by_children(runs, group)
        if len(taken) == len(begun) == 2:
            alone, both = (taken[count] - begun[count] for count in (1, 2))
            lines.append(
                f"- A PDF of 400 {title}: {taken[1]:.1f} s with one child, {taken[2]:.1f} s with two (×{taken[1] / taken[2]:.2f}); "
                f"the start-up taken off, {alone:.1f} s and {both:.1f} s (×{alone / both:.2f})."
            )
    return "\n".join(lines)


def seconds_by_children(runs: Sequence[Record], group: str) -> dict[int, float]:
    """What the job took for a group, by the number of its children."""
    found = {children: [run for run in runs if (run["group"], run["contestant"]) == (group, f"decoder {children}")] for children in (1, 2)}
    return {children: median(some, "seconds") for children, some in found.items() if some}


def median(runs: Iterable[Record], key: str) -> float:
    """Of one measure over several runs."""
    return float(statistics.median(run[key] for run in runs))


def memory(records: Sequence[Record]) -> str:
    """Of whole runs, and what a document adds to its child by format and size."""
    runs = [record for record in records if record["kind"] == "run" and record["contestant"] == DECODER]
    lines = []
    for group, title in (("all", "the whole set"), ("largest", "the PDF with the most pages alone"), ("one", "a text of one line")):
        some = [run for run in runs if run["group"] == group]
        if some:
            pss, rss, largest = (max(run[key] for run in some) for key in ("peak_pss_mb", "peak_rss_mb", "largest_pss_mb"))
            lines.append(f"| {title} | {pss:,.0f} MB | {rss:,.0f} MB | {largest:,.0f} MB |")
    text = ""
    if lines:
        head = ["| peak, 2 children | PSS | sum of RSS | PSS of the largest process |", "|---|---|---|---|"]
        text = "\n".join([*head, *lines])
    documents = documents_of(records)
    if documents:
        rows = ["| a document adds to a warm child | documents | median | most | of a file of |", "|---|---|---|---|---|"]
        for name in sorted({one["name"].rpartition(".")[2].lower() for one in documents}):
            some = sorted((one for one in documents if one["name"].lower().endswith(f".{name}")), key=lambda one: one["memory_mb"])
            most = some[-1]
            size = f"{most['size'] / 1e3:,.0f} kB" + (f", {most['pages']} pages" if most["pages"] else "")
            middle = statistics.median(one["memory_mb"] for one in some)
            rows.append(f"| .{name} | {len(some)} | {middle:.0f} MB | {most['memory_mb']:.0f} MB | {size} |")
        text += "\n\n" * bool(text) + "\n".join(rows)
    return text


def profile(records: Sequence[Record]) -> str:
    """Shares of the decode's time by format and part."""
    found = [record for record in records if record["kind"] == "profile"]
    if not found:
        return ""
    lines = ["| format | where its decode's time goes (Python's profiler; `transforms/…` is this project) |", "|---|---|"]
    for record in sorted(found, key=lambda record: -sum(record["parts"].values())):
        whole = sum(record["parts"].values())
        shares = sorted(((seconds / whole, part) for part, seconds in record["parts"].items()), reverse=True)
        named = [f"{part} {share:.0%}" for share, part in shares if share >= SMALL_SHARE]
        lines.append(f"| {record['format']} | {', '.join(named[:8])} |")
    return "\n".join(lines)


def chart(records: Sequence[Record]) -> str:
    """Bars: how many times the decoder's time each peer takes for the whole set, and plain `partition()` for documents of each kind."""
    found = ratios(records)
    bars: list[tuple[str, float, str]] = []
    for name in NAMES:
        for key, colour in (("seconds", DARK), ("cpu_seconds", LIGHT)):
            if ("all", name, key) in found:
                kind = "wall" if key == "seconds" else "CPU"
                bars.append((f"{NAMES[name].replace('`', '')}, {kind}", statistics.median(found["all", name, key]), colour))
    documents = [one for one in documents_of(records) if one["plain"] and one["decoder"]]
    for name, some in kinds(documents)[:4]:
        if some:
            plain, decoder = (sum(statistics.median(one[side]) for one in some) for side in ("plain", "decoder"))
            bars.append((f"plain partition(), {name}: CPU without start-up", plain / decoder, MIDDLE))
    width, left, row = 920, 480, 24
    unit = (width - left - 70) / max([value for _, value, _ in bars], default=1.0)
    height = 44 + row * (len(bars) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        '<text x="10" y="22" font-size="15">Times as much as universal-decoder (2 children)</text>',
    ]
    for number, (text, value, colour) in enumerate([("universal-decoder", 1.0, DARK), *bars]):
        y = 36 + row * number
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escape(text)}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{value * unit:.1f}" height="{row - 6}" fill="{colour}"/>')
        parts.append(f'<text x="{left + value * unit + 6:.1f}" y="{y + 14}">×{value:.1f}</text>')
    return "\n".join([*parts, "</svg>", ""])
