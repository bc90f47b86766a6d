"""Reads files that list documents: JSON lines, CSV or Parquet, of any length, line by line.

A line that cannot be used is a reference with a `problem` that names file and line; it ends as a dead letter, and the others are read on.
The job's own `dead_letters` are such files too: each line there has its whole reference, so a later run takes up what failed.

The bytes of inline documents (`data`) never travel with a reference: it says where in this file they are (`locator`) and what they were
(`version`, a digest), and `read_inline` finds them again where they are needed.

| field | |
|---|---|
| `uri` | where the document's bytes are: a URI, or a path, relative to the file that lists it |
| `data` | or the bytes themselves in base64 (in Parquet a binary column has them as they are) |
| `document_id` | an absolute IRI |
| `kind`, `title`, `collection` | texts |
| `metadata` | see `transforms.references.metadata` |
| `size`, `version` or `etag` | of the bytes, where known: a version saves asking for that of each document |

Other fields and columns are passed over. A CSV file has a header, and `,`, `;`, tab or `|` between its columns.
"""

import base64
import binascii
import csv
import hashlib
import io
import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from transforms.model import DecodeError, DocumentReference, Stage, Status
from transforms.references.listing import MissingInput, find_version, list_files
from transforms.references.metadata import canonical_metadata, is_iri
from transforms.storage.filesystem import FILE_SYSTEMS, is_local, local_path, missing_file_system, open_read, reason_of, to_uri
from transforms.trustgraph.library import parse_document_uri

FIELDS = ("document_id", "uri", "data", "kind", "title", "collection", "metadata", "size", "version", "etag")
LINE_BYTES = 256 << 20
"""Longest line or record. One is in memory as a whole, and some three times while it is parsed; larger documents belong in files."""
TOO_LONG = f"is longer than {LINE_BYTES >> 20} MiB; put such a document into a file and give its uri"
PARQUET_BATCH_BYTES = 32 << 20
PARQUET_BATCH_ROWS = 4096
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_PLACE = re.compile(r"#(?:line|row)=\d+")
_LOCATOR = re.compile(r"json:\d+:\d+|csv:\d+:\d+:\d+:\d+|parquet:\d+:\d+")
_DELIMITERS = (",", ";", "\t", "|")
_BOM = b"\xef\xbb\xbf"


class _MalformedError(ValueError):
    """One line cannot be used; the message follows "FILE, line N: "."""


def expand_reference_files(pattern: str) -> list[str]:
    """The URIs of the references files that a path, folder or glob names.

    Raises:
      MissingInput: there is none, or one cannot be read.
    """
    files = list(list_files(pattern))
    for file in files:
        if file.problem:
            raise MissingInput(file.problem)
    return [file.uri for file in files]


def read_references(uri: str) -> Iterator[DocumentReference]:
    """Reads one references file, in its order, with one line at a time in memory; of Parquet, a batch of rows and the page that it lies in.

    (Such a page may be large where it holds documents: pyarrow 25 ends one after 1,024 rows at the earliest, if not told otherwise.)

    Args:
      uri: URI or path; its extension (.jsonl, .ndjson, .json, .csv, .parquet) tells the format.
    Yields:
      One reference a line or row. Those without a version get that of the file that they name, as far as it can be had.
    Raises:
      MissingInput: at the first step: the file is not there or not readable, or is no references file at all.
    """
    uri = to_uri(uri)
    read = _READERS.get(posixpath.splitext(uri)[1].lower())
    if read is None:
        raise MissingInput(f"{uri} is no references file: its name ends in none of {', '.join(_READERS)}.")
    try:
        stream = open_read(uri)
    except (OSError, ValueError) as error:
        raise MissingInput(f"The references file {uri} cannot be read: {reason_of(error)}.") from error
    with stream:
        try:
            yield from read(stream, uri)
        except OSError as error:
            yield DocumentReference(uri=uri, problem=f"The references file {uri} cannot be read to its end: {reason_of(error)}.")


def read_inline(reference: DocumentReference) -> bytes:
    """The bytes of an inline document, from the line or row where its reference was read.

    Raises:
      DecodeError: FETCH_FAILED, the file has changed since.
      OSError: the file cannot be read (now).
    """
    uri = reference.uri.rpartition("#")[0]
    kind, *numbers = reference.locator.split(":")
    try:
        with open_read(uri) as stream:
            data = _INLINE[kind](stream, *map(int, numbers))
    except (ValueError, LookupError, TypeError, csv.Error) as error:
        raise _changed(reference) from error
    if digest_version(data) != reference.version:
        raise _changed(reference)
    return data


def digest_version(data: bytes) -> str:
    """The version token of inline data."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _changed(reference: DocumentReference) -> DecodeError:
    sentence = f"The references file has changed since it was listed: {reference.uri} does not hold the same data any more."
    return DecodeError(Status.FETCH_FAILED, sentence, Stage.FETCH)


# --- one line -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a reference stands."""

    file: str
    number: int
    unit: str = "line"

    @property
    def uri(self) -> str:
        return f"{self.file}#{self.unit}={self.number}"

    def problem(self, message: object) -> DocumentReference:
        return DocumentReference(uri=self.uri, problem=f"{self.file}, {self.unit} {self.number}: {message}.")


def _reference(fields: Mapping[str, Any], place: _Place, locator: str) -> DocumentReference:
    """One reference from the fields of a line.

    Args:
      fields: absent, None and empty values mean the same.
      place: where it stands.
      locator: where its data would be.
    """
    named, data = _text(fields, "uri"), fields.get("data")
    inline = data not in (None, "", b"")
    if inline and named:
        raise _MalformedError("has both uri and data, so it is not clear which is meant")
    if not inline and not named:
        present = ", ".join(str(name) for name in list(fields)[:20])
        raise _MalformedError(f"has neither uri nor data (it has: {present[:200] or 'nothing'})")
    reference = DocumentReference(
        uri=place.uri,
        document_id=_document_id(fields),
        kind=_text(fields, "kind"),
        title=_text(fields, "title"),
        collection=_text(fields, "collection"),
        metadata=_metadata(fields.get("metadata")),
    )
    if not inline:
        version = _text(fields, "version") or _text(fields, "etag")
        return find_version(reference._replace(uri=_resolve(named, place.file), size=_size(fields.get("size")), version=version))
    content = _bytes(data)
    return reference._replace(locator=locator, size=len(content), version=digest_version(content))


def _document_id(fields: Mapping[str, Any]) -> str:
    document_id = _text(fields, "document_id")
    if document_id and not is_iri(document_id):
        raise _MalformedError(f"its document_id {_shown(document_id)} is no absolute IRI (such as https://example.org/doc/7 or urn:doc:7)")
    return document_id


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, bytes):  # a Parquet column without the UTF8 annotation
        value = value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        raise _MalformedError(f"its {name} is {_shown(value)}, not a text")
    _check_unicode(name, value)
    return value


def _check_unicode(name: str, text: str) -> None:
    # Surrogates come from bytes that were no UTF-8 (CSV) or from a lone \ud83d in JSON; no coder or file behind this could write them.
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _MalformedError(f"its {name} is not UTF-8: {_shown(text)}") from error


def _metadata(value: Any) -> str:
    if isinstance(value, str):
        _check_unicode("metadata", value)
    try:
        metadata = canonical_metadata(value)
    except ValueError as error:
        raise _MalformedError(f"its metadata cannot be read: {error}") from error
    _check_unicode("metadata", metadata)
    return metadata


def _size(value: Any) -> int:
    if value in (None, ""):
        return -1
    try:
        size = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _MalformedError(f"its size {_shown(value)} is no number of bytes") from error
    if size < 0 or size >= 1 << 63:
        raise _MalformedError(f"its size {_shown(value)} is no number of bytes")
    return size


def _bytes(data: Any) -> bytes:
    if isinstance(data, bytes):
        return data
    if not isinstance(data, str):
        raise _MalformedError(f"its data is {_shown(data)}, not base64")
    try:
        # MIME breaks base64 into lines; other foreign characters are an error, which b64decode alone would pass over.
        return base64.b64decode("".join(data.split()).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise _MalformedError(f"its data is no base64: {str(error).lower()}") from error


def _resolve(named: str, file: str) -> str:
    """The URI of what a references file names: of a path as it is (not percent-encoded), relative to the file's folder."""
    if "\0" in named:
        raise _MalformedError("its uri holds a NUL character")
    if named[:5].lower() == "data:":
        raise _MalformedError("its uri is a data: URI; put the base64 alone into data")
    if named[:6].lower() == "file:/" and named[6:7] != "/":
        named = "file://" + named[5:]  # RFC 8089 allows both
    if parse_document_uri(named):
        return named
    scheme = _SCHEME.match(named)
    if scheme and scheme[1].lower() not in FILE_SYSTEMS and (missing := missing_file_system(named)):  # http://: no worker has it
        raise _MalformedError(f"its uri {_shown(named)} cannot be used: {missing}")
    try:
        if named.startswith("/") or scheme:
            return to_uri(named)
    except ValueError as error:  # file://other-host/
        raise _MalformedError(f"its uri cannot be used: {str(error).rstrip('.')}") from error
    folder = file.rpartition("/")[0]
    if is_local(file):
        return to_uri(posixpath.join(local_path(folder or "/"), named))
    store_scheme, _, rest = folder.partition("://")
    store, _, base = rest.partition("/")
    path = posixpath.normpath(posixpath.join(base, named))
    if path == ".." or path.startswith("../"):
        raise _MalformedError(f"its uri {_shown(named)} leads out of {store_scheme}://{store}")
    return f"{store_scheme}://{store}/{path}"


def _shown(value: object) -> str:
    return json.dumps(value, default=str)[:200]


# --- dead letters ---------------------------------------------------------------------------------


def _from_dead_letter(letter: Mapping[str, Any]) -> DocumentReference:
    """The reference inside of a dead letter, as it would be listed now: what failed may have been put right since."""
    inner = letter["reference"]
    if not isinstance(inner, Mapping):
        raise _MalformedError("is a dead letter without its reference")
    reference = DocumentReference(
        uri=_text(inner, "uri"),
        document_id=_document_id(inner),
        kind=_text(inner, "kind"),
        title=_text(inner, "title"),
        collection=_text(inner, "collection"),
        metadata=_metadata(inner.get("metadata")),
        locator=_text(inner, "locator"),
        size=-1 if inner.get("size") == -1 else _size(inner.get("size")),
        version=_text(inner, "version"),
        problem=_text(inner, "problem"),
    )
    if not reference.uri:
        raise _MalformedError("is a dead letter whose reference has no uri")
    if reference.locator:
        if not _LOCATOR.fullmatch(reference.locator) or not _PLACE.search(reference.uri):
            raise _MalformedError(f"is a dead letter with an unknown locator {_shown(reference.locator)}")
        return reference
    if reference.problem and _PLACE.search(reference.uri):
        return reference  # a malformed line stays one until its own file is put right
    if parse_document_uri(reference.uri):  # of a TrustGraph library, which is not asked here
        return reference._replace(problem="")
    fresh = find_version(reference._replace(size=-1, version="", problem=""))
    # What could not be listed (a broken link, a pipe) is a document only once there is a file.
    return reference if reference.problem and not fresh.version else fresh


# --- JSON lines -----------------------------------------------------------------------------------


class _Line(NamedTuple):
    number: int
    offset: int
    length: int
    content: bytes | None
    """None: longer than LINE_BYTES."""


def _lines(stream: BinaryIO) -> Iterator[_Line]:
    number = offset = 0
    while content := stream.readline(LINE_BYTES + 1):
        number += 1
        length = len(content)
        if length <= LINE_BYTES:
            yield _Line(number, offset, length, content)
        else:
            while content and not content.endswith(b"\n"):
                content = stream.readline(1 << 20)
                length += len(content)
            yield _Line(number, offset, length, None)
        offset += length


def _read_json_lines(stream: BinaryIO, uri: str) -> Iterator[DocumentReference]:
    last_letter = None
    seen = False
    for line in _lines(stream):
        place = _Place(uri, line.number)
        content = line.content
        if content is not None:
            content = content.removeprefix(_BOM).strip() if line.number == 1 else content.strip()
            if not content:
                continue
            if not seen and (content.startswith(b"[") or content == b"{"):
                raise MissingInput(
                    f"{uri} has no JSON object a line; jq -c turns it into one that has: jq -c '.[]?' (for an array), or jq -c ."
                )
        seen = True
        try:
            fields = _json_object(content)
            if isinstance(fields.get("reference"), Mapping) and not fields.get("uri") and not fields.get("data"):
                reference = _from_dead_letter(fields)
                # A mail and each of its attachments have a dead letter of their own, one after the other, with the mail's reference.
                if reference == last_letter:
                    continue
                last_letter = reference
            else:
                reference = _reference(fields, place, f"json:{line.offset}:{line.length}")
        except _MalformedError as error:
            reference = place.problem(error)
        yield reference


def _json_object(content: bytes | None) -> Mapping[str, Any]:
    if content is None:
        raise _MalformedError(TOO_LONG)
    try:
        value = json.loads(content.decode())
    except UnicodeDecodeError as error:
        raise _MalformedError(f"is not UTF-8 (byte 0x{content[error.start]:02x} at column {error.start + 1})") from error
    except (ValueError, RecursionError) as error:
        detail = f"{error.msg.removesuffix(' at')} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise _MalformedError(f"is no JSON: {detail.partition(';')[0]}") from error
    if not isinstance(value, Mapping):
        raise _MalformedError(f"is no JSON object: {_shown(value)}")
    return value


def _json_data(stream: BinaryIO, offset: int, length: int) -> bytes:
    stream.seek(offset)
    return _bytes(_json_object(stream.read(length).removeprefix(_BOM))["data"])


# --- CSV ------------------------------------------------------------------------------------------


class _CsvLines:
    """Feeds a csv reader, and knows where in the file it is: the reader takes no line beyond its record."""

    def __init__(self, stream: BinaryIO) -> None:
        self._lines = _lines(stream)
        self.number = 0
        self.end = 0
        self.too_long = False

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number = line.number
            self.end = line.offset + line.length
            self.too_long |= line.content is None
            content = line.content or b"\n"
            yield (content.removeprefix(_BOM) if line.number == 1 else content).decode("utf-8", "surrogateescape")


def _csv_reader(lines: Iterator[str], delimiter: str) -> Any:
    csv.field_size_limit(LINE_BYTES)  # the default of 128 KiB refuses inline documents; it is one limit for the whole process
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _read_csv(stream: BinaryIO, uri: str) -> Iterator[DocumentReference]:
    lines = _CsvLines(stream)
    feed = iter(lines)
    columns, delimiter = _csv_header(next(feed, ""), uri)
    records = _csv_reader(feed, delimiter)
    data_column = columns.index("data") if "data" in columns else -1
    while True:
        offset, first = lines.end, lines.number + 1
        lines.too_long = False
        place = _Place(uri, first)
        try:
            row = next(records)
            if row or lines.too_long:
                fields = _csv_fields(columns, row, lines.too_long)
                yield _reference(fields, place, f"csv:{offset}:{lines.end - offset}:{data_column}:{ord(delimiter)}")
        except StopIteration:
            return
        except csv.Error as error:
            upto = f", up to line {lines.number}" if lines.number > first else ""
            yield place.problem(f"is no CSV record{upto}: {error}")
        except _MalformedError as error:
            yield place.problem(error)


def _csv_fields(columns: list[str], row: list[str], too_long: bool) -> dict[str, str]:
    if too_long:
        raise _MalformedError(TOO_LONG)
    if len(row) > len(columns):
        raise _MalformedError(f"has {len(row)} columns, and the header has {len(columns)}")
    return {name: value for name, value in zip(columns, row, strict=False) if name in FIELDS}


def _csv_header(header: str, uri: str) -> tuple[list[str], str]:
    for delimiter in _DELIMITERS:
        try:
            names: list[str] = next(_csv_reader(iter([header]), delimiter), [])
        except csv.Error:
            continue
        columns = [name.strip().lower() for name in names]
        if "uri" in columns or "data" in columns:
            twice = sorted({name for name in columns if columns.count(name) > 1} & set(FIELDS))
            if twice:
                raise MissingInput(f"{uri} has two columns {twice[0]}.")
            return columns, delimiter
    raise MissingInput(
        f"{uri} has no column uri and no column data: the first line of a CSV of references names its columns ({', '.join(FIELDS)})."
    )


def _csv_data(stream: BinaryIO, offset: int, length: int, column: int, delimiter: int) -> bytes:
    stream.seek(offset)
    text = stream.read(length).decode("utf-8", "surrogateescape")
    row: list[str] = next(_csv_reader(iter(io.StringIO(text, newline="")), chr(delimiter)), [])
    return _bytes(row[column])


# --- Parquet --------------------------------------------------------------------------------------


def _read_parquet(stream: BinaryIO, uri: str) -> Iterator[DocumentReference]:
    import pyarrow as pa

    try:
        file = _parquet_file(stream)
    except pa.ArrowException as error:
        raise MissingInput(f"{uri} is no Parquet file: {reason_of(error)}.") from error
    schema = file.schema_arrow
    columns = [name for name in FIELDS if name in schema.names]
    if "uri" not in columns and "data" not in columns:
        raise MissingInput(f"{uri} has no column uri and no column data (it has: {', '.join(schema.names)[:200]}).")
    maps = [name for name in columns if pa.types.is_map(schema.field(name).type)]
    start = 0
    for group in range(file.num_row_groups):
        rows, row = file.metadata.row_group(group).num_rows, 0
        try:
            for fields in _parquet_rows(file, group, columns):
                fields.update({name: dict(fields[name] or ()) for name in maps})
                yield _parquet_reference(fields, _Place(uri, start + row + 1, "row"), f"parquet:{group}:{row}")
                row += 1
        except (pa.ArrowException, OSError) as error:
            message = f"cannot be read, nor the {rows - row - 1} behind it in row group {group}: {reason_of(error)}"
            yield _Place(uri, start + row + 1, "row").problem(message)
        start += rows


def _parquet_reference(fields: Mapping[str, Any], place: _Place, locator: str) -> DocumentReference:
    try:
        return _reference(fields, place, locator)
    except _MalformedError as error:
        return place.problem(error)


def _parquet_file(stream: BinaryIO) -> Any:
    from pyarrow import parquet

    # Without the buffer a column of a row group is read as a whole: the inline documents of all its rows.
    return parquet.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)


def _parquet_batches(file: Any, group: int, columns: list[str]) -> Iterator[Any]:
    about = file.metadata.row_group(group)
    row_bytes = about.total_byte_size // max(about.num_rows, 1) + 1
    rows = min(PARQUET_BATCH_ROWS, max(1, PARQUET_BATCH_BYTES // row_bytes))
    return iter(file.iter_batches(batch_size=rows, row_groups=[group], columns=columns, use_threads=False))


def _parquet_rows(file: Any, group: int, columns: list[str]) -> Iterator[dict[str, Any]]:
    for batch in _parquet_batches(file, group, columns):
        for index in range(batch.num_rows):
            yield {name: _cell(batch.column(position)[index]) for position, name in enumerate(batch.schema.names)}


def _cell(scalar: Any) -> Any:
    """The value; of a text that is no UTF-8 one that `_check_unicode` finds."""
    try:
        return scalar.as_py()
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "surrogateescape")


def _parquet_data(stream: BinaryIO, group: int, row: int) -> bytes:
    import pyarrow as pa

    start = 0
    try:
        for batch in _parquet_batches(_parquet_file(stream), group, ["data"]):
            if row < start + batch.num_rows:
                return _bytes(batch.column(0)[row - start].as_py())
            start += batch.num_rows
    except pa.ArrowException as error:
        raise LookupError(f"row group {group} cannot be read") from error
    raise LookupError(f"row group {group} has no row {row}")


_READERS: Mapping[str, Callable[[BinaryIO, str], Iterator[DocumentReference]]] = {
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".json": _read_json_lines,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
_INLINE: Mapping[str, Callable[..., bytes]] = {"json": _json_data, "csv": _csv_data, "parquet": _parquet_data}
