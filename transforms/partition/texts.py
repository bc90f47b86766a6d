"""Plain texts and data files: text, CSV, TSV, XML, JSON and NDJSON."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from transforms.model import Element, PartitionedDocument
from transforms.partition import formats
from transforms.partition.containers import corrupt
from transforms.partition.elements import detect_languages, from_unstructured, render_table
from transforms.partition.markup import guess_warnings
from transforms.partition.source import Source, reading
from transforms.partition.text_encoding import DecodedText, decode_text

DELIMITERS = (",", ";", "\t", "|")
"""Of a CSV, in order of preference."""

SNIFFED_ROWS = 100
"""Rows that tell a delimiter."""

CELL_LIMIT = 1 << 30
"""Characters of one cell; the csv module's own limit is 128 KiB, which documents in cells exceed."""


def partition_text(source: Source) -> PartitionedDocument:
    """A plain text, in paragraphs. It stays a text whatever its characters look like: unstructured makes tables of commas."""
    from unstructured.partition.text import partition_text as partition

    decoded = decode_text(source.read(), source.declared)
    with reading(source):
        return source.partitioned(from_unstructured(partition(text=decoded.text)), warnings=guess_warnings(decoded))


def partition_csv(source: Source) -> PartitionedDocument:
    """A CSV of any usual delimiter, as one table. Rows may differ in length.

    unstructured goes by pandas (0.27.35): UTF-8 only, an error where a row is longer than the first, and tabs are no delimiter.
    """
    decoded = decode_text(source.read(), source.declared)
    hint, _, rest = decoded.text.partition("\n")
    if re.fullmatch(r"(?i)sep=.\r?", hint):  # Excel's own way to say it, and no row
        return _table(source, replace(decoded, text=rest), hint[4])
    return _table(source, decoded, find_delimiter(decoded.text))


def partition_tsv(source: Source) -> PartitionedDocument:
    """A TSV, as one table."""
    return _table(source, decode_text(source.read(), source.declared), "\t")


def _table(source: Source, decoded: DecodedText, delimiter: str) -> PartitionedDocument:
    try:
        rows = read_rows(decoded.text, delimiter)
    except csv.Error as error:
        raise corrupt(f"The {source.format.name} file cannot be divided into cells: {error}.") from error
    width = max(map(len, rows), default=0)
    text, html = render_table([*row, *[""] * (width - len(row))] for row in rows)
    elements = detect_languages([Element("Table", text=text, html=html)]) if text else []
    return source.partitioned(elements, warnings=guess_warnings(decoded))


def read_rows(text: str, delimiter: str) -> list[list[str]]:
    """The rows of a delimited text without the blank ones. Quotes that never close are read as characters."""
    csv.field_size_limit(CELL_LIMIT)
    text = text.replace("\x00", "")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE))
    return [row for row in rows if any(cell.strip() for cell in row)]


def find_delimiter(text: str) -> str:
    """The delimiter by which most rows have the same number of cells, and more than one; a comma where there is none (one column).

    The csv module's Sniffer takes letters for delimiters of a single column.
    """
    csv.field_size_limit(CELL_LIMIT)
    lines = list(islice((line for line in io.StringIO(text.replace("\x00", ""), newline="") if line.strip()), SNIFFED_ROWS))
    best, best_share = ",", 0.0
    for delimiter in DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter) if row)
        except csv.Error:
            continue
        divided = {width: count for width, count in widths.items() if width > 1}
        share = max(divided.values(), default=0) / max(1, sum(widths.values()))
        if share > best_share:
            best, best_share = delimiter, share
    return best


def partition_xml(source: Source) -> PartitionedDocument:
    """An XML document: the text of each of its elements. Entities are not expanded, so none of the host's files is read."""
    from unstructured.partition.xml import partition_xml as partition

    decoded = decode_text(source.read(), source.declared)
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", decoded.text, count=1)  # it names an encoding that the characters no longer have
    if not text.strip():
        return source.partitioned([], warnings=guess_warnings(decoded))
    with reading(source):
        return source.partitioned(from_unstructured(partition(text=text)), warnings=guess_warnings(decoded))


def partition_json(source: Source) -> PartitionedDocument:
    """A JSON file: elements that unstructured wrote before are taken as they are, any other value as its text."""
    decoded = decode_text(source.read(), source.declared)
    if not decoded.text.strip():
        return source.partitioned([], warnings=guess_warnings(decoded))
    _check_json(source, [decoded.text])
    from unstructured.partition.json import partition_json as partition

    return source.partitioned(_rehydrated(source, partition, decoded.text), warnings=guess_warnings(decoded))


def partition_ndjson(source: Source) -> PartitionedDocument:
    """A file of one JSON value a line; see `partition_json`."""
    decoded = decode_text(source.read(), source.declared)
    _check_json(source, decoded.text.split("\n"))
    from unstructured.partition.ndjson import partition_ndjson as partition

    return source.partitioned(_rehydrated(source, partition, decoded.text), warnings=guess_warnings(decoded))


def _check_json(source: Source, values: Sequence[str]) -> None:
    for number, value in enumerate(values, start=1):
        try:
            if value.strip():
                json.loads(value)
        except (ValueError, RecursionError) as error:
            line = f"line {number}: " if source.format is formats.NDJSON else ""
            raise corrupt(f"It is not valid {source.format.name}: {line}{error}.") from error


def _rehydrated(source: Source, partition: object, text: str) -> list[Element]:
    try:
        return from_unstructured(partition(text=text), images=source.settings.images)  # type: ignore[operator]
    except ValueError as error:
        raise corrupt(f"Its elements cannot be read: {error}.") from error
