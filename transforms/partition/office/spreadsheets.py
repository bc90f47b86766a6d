"""Workbooks: XLSX, XLS and ODS. A sheet is a page, and one table.

unstructured reads sheets through pandas, which changes what stands in them (0.27.35): 1234567.891 becomes 1.234568e+06, a column of
whole numbers with a gap becomes 12.0, a date gets a time. So sheets are read here, and rendered as unstructured would have it.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transforms.model import Element, PartitionedDocument
from transforms.partition import formats
from transforms.partition.elements import detect_languages, render_table
from transforms.partition.office import conversion
from transforms.partition.office.opendocument import OFFICE, STYLE, TABLE, TEXT, page_pictures, paragraph_text
from transforms.partition.office.package import left_out, readable_package
from transforms.partition.pictures.archives import xlsx_pictures
from transforms.partition.properties import Properties, odf_properties, office_properties, ole_properties, parse_xml, read_member
from transforms.partition.source import Source, reading

Rows = list[list[str]]

REPEATED_LIMIT = 10_000
"""OpenDocument writes equal cells and rows once, with a count; a count over this is formatting to the end of the sheet, not content."""


@dataclass(frozen=True)
class Sheet:
    """One worksheet, as text."""

    name: str
    rows: Rows
    hidden: bool = False


def partition_xlsx(source: Source) -> PartitionedDocument:
    """An XLSX, XLSM, XLTX or XLTM. Formulas give the values that were stored with them, or themselves where none is stored."""
    with conversion.work_folder() as folder, reading(source):
        path = readable_package(source.path, source.format, folder)
        sheets, warnings = read_xlsx(path)
        pictures = xlsx_pictures(path) if source.settings.images else []
        return _document(source, sheets, pictures, office_properties(path), [*warnings, *left_out(path, formats.XLSX)])


def partition_xls(source: Source) -> PartitionedDocument:
    """A legacy XLS."""
    with reading(source):
        return _document(source, read_xls(source.path), [], ole_properties(source.path), [])


def partition_ods(source: Source) -> PartitionedDocument:
    """An OpenDocument spreadsheet."""
    with reading(source):
        tables = _ods_tables(source.path)
        pictures = list(page_pictures(source.path, tables)) if source.settings.images else []
        return _document(source, read_ods(tables), pictures, odf_properties(source.path), [])


def _document(
    source: Source, sheets: Sequence[Sheet], pictures: list[Element], properties: Properties, warnings: Sequence[str]
) -> PartitionedDocument:
    tables = []
    for number, sheet in enumerate(sheets, start=1):
        text, html = render_table(dense(sheet.rows))
        if text:
            tables.append(Element("Table", text=text, html=html, page_number=number))
    elements = sorted([*detect_languages(tables), *pictures], key=lambda element: element.page_number or 1)
    hidden = [sheet.name for sheet in sheets if sheet.hidden]
    return source.partitioned(
        elements,
        properties,
        [*([f"Hidden sheets are included: {', '.join(hidden)}."] if hidden else []), *warnings],
        page_count=len(sheets),
        page_names={number: sheet.name for number, sheet in enumerate(sheets, start=1)},
    )


def dense(rows: Rows) -> Rows:
    """Rows of equal width, with each run of empty rows or columns cut to one, and none at the edges.

    One cell in row 1,000,000 does not make a table of a million rows, and a gap still tells two blocks of cells apart.
    """
    kept_rows = _without_runs([any(cell.strip() for cell in row) for row in rows])
    width = max(map(len, rows), default=0)
    filled = [False] * width
    for row in rows:
        for index, cell in enumerate(row):
            filled[index] = filled[index] or bool(cell.strip())
    columns = _without_runs(filled)
    return [[rows[number][index] if index < len(rows[number]) else "" for index in columns] for number in kept_rows]


def _without_runs(filled: Sequence[bool]) -> list[int]:
    """The positions that are filled, and the first position of each gap between them."""
    kept: list[int] = []
    gap: int | None = None
    for position, is_filled in enumerate(filled):
        if is_filled:
            if gap is not None and kept:
                kept.append(gap)
            kept.append(position)
            gap = None
        elif gap is None:
            gap = position
    return kept


def cell_text(value: object) -> str:
    """A cell's value as it is written in a text: numbers with the 15 digits that a spreadsheet has, dates in ISO 8601."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.replace(microsecond=0).isoformat(sep=" ")
    return str(value)


def read_xlsx(path: Path) -> tuple[list[Sheet], list[str]]:
    """All worksheets in order (chart sheets have no cells and are none), and warnings."""
    import openpyxl

    # Read-only mode streams the cells and does not load pictures, charts or styles of empty cells.
    with path.open("rb") as stream:  # by its stream: openpyxl refuses a path without one of its extensions
        workbook = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        sheets = [Sheet(sheet.title, _xlsx_rows(sheet), sheet.sheet_state != "visible") for sheet in workbook.worksheets]
    return _with_formulas(path, sheets)


def _xlsx_rows(sheet: Any) -> Rows:
    sheet.reset_dimensions()  # the stored size of a sheet may be wrong
    rows: Rows = []
    for values in sheet.iter_rows(values_only=True):
        row = [cell_text(value) for value in values]
        if any(row):
            rows.append(row)
        elif not rows or rows[-1]:
            rows.append([])  # one row for a whole run of empty ones
    return rows


def _with_formulas(path: Path, sheets: list[Sheet]) -> tuple[list[Sheet], list[str]]:
    """Shows a formula itself where the writer stored no value with it (as openpyxl and most report generators do)."""
    import openpyxl

    if not _has_bare_formulas(path):
        return sheets, []
    count = 0
    mended = []
    with path.open("rb") as stream, path.open("rb") as valued_stream:
        workbook = openpyxl.load_workbook(stream, read_only=True, data_only=False, keep_links=False)
        values = openpyxl.load_workbook(valued_stream, read_only=True, data_only=True, keep_links=False)
        for known, sheet, valued in zip(sheets, workbook.worksheets, values.worksheets, strict=True):
            sheet.reset_dimensions()
            valued.reset_dimensions()
            rows: Rows = []
            for written, shown in zip(sheet.iter_rows(values_only=True), valued.iter_rows(values_only=True), strict=False):
                row = []
                for index, value in enumerate(written):
                    stored = shown[index] if index < len(shown) else None
                    bare = stored is None and value is not None
                    count += bare
                    row.append(cell_text(getattr(value, "text", value) if bare else stored))
                rows.append(row)
            mended.append(Sheet(known.name, rows, known.hidden))
    return mended, [f"{count} formulas have no stored value and stand as formulas."] if count else []


def _has_bare_formulas(path: Path) -> bool:
    import zipfile

    bare = re.compile(rb"(?:</f>|<f\b[^<>]*/>)\s*+(?:<v\s*+/>|<v>\s*+</v>)?\s*+</c>")
    with zipfile.ZipFile(path) as archive:
        return any(bare.search(archive.read(name)) for name in archive.namelist() if re.match(r"xl/worksheets/[^/]+\.xml$", name))


def read_xls(path: Path) -> list[Sheet]:
    """All worksheets of a legacy workbook, in order."""
    import xlrd

    with xlrd.open_workbook(filename=str(path), on_demand=True, ragged_rows=True, logfile=_Silence()) as book:
        sheets = []
        for index in range(book.nsheets):
            sheet = book.sheet_by_index(index)
            rows = [[_xls_cell(cell, book.datemode) for cell in sheet.row(row)] for row in range(sheet.nrows)]
            sheets.append(Sheet(sheet.name, rows, sheet.visibility != 0))
            book.unload_sheet(index)
    return sheets


class _Silence:
    """xlrd writes its remarks on damaged files to a stream."""

    def write(self, _: str) -> None:
        """Drops it."""


def _xls_cell(cell: Any, datemode: int) -> str:
    import xlrd

    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return cell_text(bool(cell.value))
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    if cell.ctype == xlrd.XL_CELL_DATE:
        try:
            moment = xlrd.xldate_as_datetime(cell.value, datemode)
        except (ValueError, OverflowError, xlrd.XLDateError):
            return cell_text(cell.value)
        return cell_text(moment.time() if cell.value < 1 else moment)
    return cell_text(cell.value)


def _ods_tables(path: Path) -> list[Any]:
    root = parse_xml(read_member(path, "content.xml"))
    body = None if root is None else root.find(f"{OFFICE}body/{OFFICE}spreadsheet")
    return [] if body is None else list(body.findall(f"{TABLE}table"))


def read_ods(tables: Sequence[Any]) -> list[Sheet]:
    """The sheets of an OpenDocument spreadsheet; cells as they are shown.

    Args:
      tables: the XML elements of the sheets, in order.
    """
    styles = tables[0].getroottree().iter(f"{STYLE}style") if tables else ()
    hidden = {
        style.get(f"{STYLE}name")
        for style in styles
        if any(node.get(f"{TABLE}display") == "false" for node in style.iter(f"{STYLE}table-properties"))
    }
    return [Sheet(table.get(f"{TABLE}name", ""), list(_ods_rows(table)), table.get(f"{TABLE}style-name") in hidden) for table in tables]


def _ods_rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter(f"{TABLE}table-row"):
        cells: list[str] = []
        for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            text = "\n".join(paragraph_text(node) for node in cell.iterchildren(f"{TEXT}p"))
            cells += [text] * _repeated(cell, "columns", text)
        yield from [cells] * _repeated(row, "rows", "row") if any(cells) else [[]]


def _repeated(node: Any, what: str, text: str) -> int:
    count = int(node.get(f"{TABLE}number-{what}-repeated", "1"))
    return count if text and count <= REPEATED_LIMIT else min(count, 1 if text else 1024)
