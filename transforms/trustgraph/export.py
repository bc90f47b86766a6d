"""A run as files for TrustGraph's own commands: TriG, knowledge cores, or the messages of the import socket.

Nothing of the run is held but what `run_documents` holds, and of a knowledge core the one document of the library that is written.
"""

import base64
import hashlib
import shlex
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, BinaryIO

from transforms.provenance import vocabulary
from transforms.storage.filesystem import join, publishing
from transforms.trustgraph.export_format import ExportFormat
from transforms.trustgraph.library_tree import LibraryDocument, Unavailable, library_documents, library_id
from transforms.trustgraph.run_documents import RunDocument, json_line, read_shard
from transforms.trustgraph.wire import import_messages

LOAD_SCRIPT = "load.sh"
LEFT_OUT = "left_out.jsonl"
QUADS_A_FILE = 200_000
"""Of TriG: `tg-load-knowledge` has rdflib parse a whole file in memory, three times, at some 1 KB a quad."""
KG_CORE_BROKEN = (
    "Knowledge cores with triples are broken in TrustGraph 2.10.0 to 2.11.1: tg-put-kg-core prints success there and the triples are lost. "
    "They work up to 2.9.x; for later versions use load, or --format trig."
)
TRIG_SINCE = "TriG loads with tg-load-knowledge of TrustGraph 2.10.18 or later."
_GRAPH = f" <{vocabulary.SOURCE_GRAPH}> .\n".encode()


@dataclass
class Exported:
    """What was written, and what was not."""

    files: int = 0
    documents: int = 0
    library_documents: int = 0
    quads: int = 0
    left_out: int = 0
    """Documents of the library: each has a line in `LEFT_OUT`."""
    commands: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Export:
    """What is written, and where."""

    output: str
    """Path or URI of OUTPUT, where the pictures lie."""
    to: str
    """Path or URI of the folder that is written."""
    format: ExportFormat
    sources: bool = True
    """Whether knowledge cores hold the bytes of the documents themselves."""
    largest: int = 10 << 20
    """Bytes of a message, as base64."""
    quads_a_file: int = QUADS_A_FILE


def export(job: Export, shards: Sequence[Mapping[str, str]]) -> Exported:
    """Writes a run.

    Args:
      shards: its parts, as `run_documents.shards_of` gives them.
    """
    done = Exported()
    with publishing(join(job.to, LOAD_SCRIPT)) if job.format != ExportFormat.JSONL else _nowhere() as script:
        script.write(_SCRIPT_HEAD[job.format])
        with publishing(join(job.to, LEFT_OUT)) if job.format == ExportFormat.KG_CORE else _nowhere() as left_out:
            for number, parts in enumerate(shards):
                name = f"part-{number:05d}-of-{len(shards):05d}"
                if job.format == ExportFormat.TRIG:
                    _write_trig(job, name, read_shard(parts), done, script)
                elif job.format == ExportFormat.JSONL:
                    _write_jsonl(job, name, read_shard(parts), done)
                else:
                    _write_cores(job, read_shard(parts), done, script, left_out)
    return done


# --- TriG --------------------------------------------------------------------------------------------------------------------------------


def _write_trig(job: Export, name: str, documents: Iterator[RunDocument], done: Exported, script: BinaryIO) -> None:
    """Files of one collection each, and of whole documents: both are told to the command and not in the file."""
    with _TrigFiles(job, name, done, script) as files:
        for document in documents:
            target = files.of(document.row["collection"], document.quads.count)
            done.documents += 1
            for line in document.quads:
                target.write(trig_statement(line))
                done.quads += 1


def trig_statement(line: bytes) -> bytes:
    """A line of the decoder's N-Quads without its graph: what stands between the braces of that graph in TriG.

    Raises:
      ValueError: it is of another graph than urn:graph:source.
    """
    if not line.endswith(_GRAPH):
        raise ValueError(f"not a quad of {vocabulary.SOURCE_GRAPH}: {line[:120]!r}")
    return line[: -len(_GRAPH)] + b" .\n"


class _TrigFiles:
    """The open file of each collection of a shard; a new one where the next document would make it too large to be parsed in memory."""

    def __init__(self, job: Export, name: str, done: Exported, script: BinaryIO) -> None:
        self._job, self._name, self._done, self._script = job, name, done, script
        self._open: dict[str, tuple[ExitStack, BinaryIO, int]] = {}
        self._number = 0

    def __enter__(self) -> "_TrigFiles":
        return self

    def of(self, collection: str, quads: int) -> BinaryIO:
        if collection in self._open and self._open[collection][2] + quads > self._job.quads_a_file:
            self._finish(collection)
        if collection not in self._open:
            if len(self._open) == 16:  # each is an open file
                self._finish(next(iter(self._open)))
            file = f"{self._name}-{self._number:04d}.trig"
            self._number += 1
            stack = ExitStack()
            target = stack.enter_context(publishing(join(self._job.to, file)))
            target.write(f"<{vocabulary.SOURCE_GRAPH}> {{\n".encode())
            self._open[collection] = stack, target, 0
            # The command wants an id for what it loads; it is not part of the graph.
            _command(self._script, ExportFormat.TRIG, f"urn:export:{file.removesuffix('.trig')}", collection, file)
        stack, target, count = self._open[collection]
        self._open[collection] = stack, target, count + quads
        return target

    def _finish(self, collection: str) -> None:
        stack, target, _ = self._open.pop(collection)
        with stack:
            target.write(b"}\n")
        self._done.files += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        for collection in list(self._open):
            if kind is None:
                self._finish(collection)
            else:
                self._open.pop(collection)[0].__exit__(kind, error, trace)  # not published


# --- messages of the import socket -------------------------------------------------------------------------------------------------------


def _write_jsonl(job: Export, name: str, documents: Iterator[RunDocument], done: Exported) -> None:
    with publishing(join(job.to, f"{name}.jsonl")) as target:
        for document in documents:
            for message in import_messages(document.quads, document.id, document.row["collection"]):
                target.write(json_line(message))
            done.documents += 1
            done.quads += document.quads.count
    done.files += 1


# --- knowledge cores ---------------------------------------------------------------------------------------------------------------------


def _write_cores(job: Export, documents: Iterator[RunDocument], done: Exported, script: BinaryIO, left_out: BinaryIO) -> None:
    for document in documents:
        digest = hashlib.sha256(document.id.encode("utf-8", "surrogatepass")).hexdigest()
        file = f"{digest[:2]}/{digest[:32]}.msgpack"
        with publishing(join(job.to, file)) as target:
            missing: set[str] = set()
            core = library_id(document)
            for one in library_documents(document):
                if one.source is not None and not job.sources:
                    continue
                records = _library_records(job, one, missing, core)
                if isinstance(records, str):
                    missing.add(one.id)
                    left_out.write(json_line({"document_id": document.id, "id": one.id, "stage": "library", "message": records}))
                    done.left_out += 1
                    continue
                for record in records:
                    target.write(msgpack(record))
                done.library_documents += 1
            for message in import_messages(document.quads, document.id, document.row["collection"]):
                target.write(msgpack(triples_record(message)))
        _command(script, ExportFormat.KG_CORE, document.id, document.row["collection"], file)
        done.files += 1
        done.documents += 1
        done.quads += document.quads.count


def _library_records(job: Export, one: LibraryDocument, missing: set[str], document_id: str) -> list[Any] | str:
    """The two records of a document of the library, or why it has none."""
    if one.parent_id in missing and one.parent_id != document_id:
        return f"What it is derived from, {one.parent_id}, is left out."
    too_large = too_large_for(one.size, job.largest, one.id)
    if too_large:
        return too_large
    try:
        content = one.content(job.output)
    except Unavailable as reason:
        return str(reason)
    return too_large_for(len(content), job.largest, one.id) or [metadata_record(one), blob_record(one.id, content)]


def too_large_for(size: int, largest: int, document_id: str) -> str:
    """The sentence for a document whose message is over the limit; empty: it is not.

    Args:
      size: bytes of its content.
      largest: bytes of a message, in which the content stands as base64.
    """
    encoded = -(-size // 3) * 4
    if encoded <= largest:
        return ""
    return (
        f"{document_id} has {size} bytes, {encoded} as base64, over the {largest >> 20} MiB that one message may have: "
        "--max-message-size sets the limit, where the broker takes more."
    )


def metadata_record(one: LibraryDocument) -> list[Any]:
    """The record `lm` of a document of the library."""
    fields = {"i": one.id, "k": one.kind, "t": one.title, "p": one.parent_id, "d": one.document_type, "c": "", "g": []}
    return ["lm", fields]


def blob_record(identifier: str, content: bytes) -> list[Any]:
    """The record `lb` of a document of the library; its `lm` comes first."""
    return ["lb", {"i": identifier, "d": base64.b64encode(content).decode()}]


def triples_record(message: Mapping[str, Any]) -> list[Any]:
    """The record `t` that holds the triples of a message of the import socket."""
    about = message["metadata"]
    return ["t", {"m": {"i": about["id"], "m": about["root"], "c": about["collection"]}, "t": message["triples"]}]


def msgpack(value: Any) -> bytes:
    """A value of strings, lists and dictionaries with text keys as MessagePack.

    Source: https://github.com/msgpack/msgpack/blob/master/spec.md. It is 20 lines, and a package less.
    """
    if isinstance(value, str):
        data = value.encode("utf-8", "replace")
        return _head(len(data), (0xA0, 31), (0xD9, 0xDA, 0xDB)) + data
    if isinstance(value, list):
        return _head(len(value), (0x90, 15), (None, 0xDC, 0xDD)) + b"".join(map(msgpack, value))
    if isinstance(value, dict):
        return _head(len(value), (0x80, 15), (None, 0xDE, 0xDF)) + b"".join(msgpack(key) + msgpack(item) for key, item in value.items())
    raise TypeError(f"a knowledge core holds no {type(value).__name__}")


def _head(length: int, fixed: tuple[int, int], longer: tuple[int | None, int, int]) -> bytes:
    if length <= fixed[1]:
        return bytes([fixed[0] | length])
    if longer[0] is not None and length <= 0xFF:
        return bytes([longer[0], length])
    return struct.pack(">BH", longer[1], length) if length <= 0xFFFF else struct.pack(">BI", longer[2], length)


# --- the script that loads it ------------------------------------------------------------------------------------------------------------

_SCRIPT = """\
#!/bin/sh
# Loads this export. TRUSTGRAPH_URL, TRUSTGRAPH_TOKEN and TRUSTGRAPH_WORKSPACE say where to; FLOW names the flow (default: default).
# {note}
set -e
cd "$(dirname "$0")"
: "${{FLOW:=default}}"
"""
_SCRIPT_HEAD: Mapping[str, bytes] = {
    ExportFormat.TRIG: _SCRIPT.format(note=TRIG_SINCE).encode(),
    ExportFormat.KG_CORE: _SCRIPT.format(note=KG_CORE_BROKEN).encode(),
    ExportFormat.JSONL: b"",
}


def _command(script: BinaryIO, form: ExportFormat, identifier: str, collection: str, file: str) -> None:
    name, place, of = (shlex.quote(text) for text in (identifier, file, collection))
    if form == ExportFormat.TRIG:
        script.write(f'tg-load-knowledge -i {name} -f "$FLOW" -C {of} -F trig {place}\n'.encode())
    else:
        script.write(f'tg-put-kg-core --id {name} -i {place}\ntg-load-kg-core --id {name} -f "$FLOW" -C {of}\n'.encode())


@contextmanager
def _nowhere() -> Iterator[BinaryIO]:
    yield BytesIO()
