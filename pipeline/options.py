"""The command line as values: every flag is read here, checked here, and nowhere else.

Nothing here imports Beam, unstructured or pyarrow, so that `--help` and a mistyped flag answer at once. A flag that is not the decoder's
may be Beam's: it is kept as it is, and `pipeline.preflight` asks Beam for it.
"""

import argparse
import difflib
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import NoReturn, TypeVar

from transforms.errors import UsageError
from transforms.settings import DECODER, DIVIDED_FROM, OCR_PAGE, RANGE_PAGES, DecodeSettings, Limits, SectionStrategy, Strategy
from transforms.trustgraph.export_format import ExportFormat
from transforms.trustgraph.gateway import DEFAULT_WORKSPACE, STREAMS, TOKEN_VARIABLE, URL_VARIABLE, WORKSPACE_VARIABLE, gateway_url
from transforms.trustgraph.library import GatewayAccess, Library, store_address
from transforms.version import VERSION

COMMANDS = {
    "backfill": "decode a library of documents into texts, images and provenance",
    "trace": "follow a page, section or image back to its document, and show its text",
    "report": "print the summary of a run again",
    "load": "bring a run into TrustGraph: its texts and images to the library, its provenance to the graph",
    "export": "write a run as files for TrustGraph's own commands",
    "doctor": "show what this installation can decode, and what to install for the rest",
}
DEFAULT_COLLECTION = "default"
DEFAULT_SHARDS = 4
DEFAULT_RUNNER = "DirectRunner"
DEFAULT_MESSAGE_SIZE = 10
"""MiB: what TrustGraph's Kafka producer takes; RabbitMQ 4 takes 16 and 3 takes 128."""
DEFAULT_CONNECTIONS = 4
DEFAULT_RATE = 100.0
"""A librarian on one machine took 60 documents a second over 4 connections, and no more over 8."""
FLINK_RUNNER = "FlinkRunner"
RUN_ON_WITHOUT_US = (FLINK_RUNNER, "DataflowRunner")
"""Runners whose jobs go on when the command that submitted them has ended."""
MAX_SHARDS = 10_000  # part names have five digits, and a run below 10,000 documents a part has no use for more
MAX_MIB = 1 << 30  # the kernel's limits are numbers of 63 bits, of bytes

GUARDS = (
    ("max_unpacked_size", "MIB", "MiB", "what an archive (Office formats, EPUB) may unpack to"),
    ("max_archive_ratio", "N", "times", "how many times its size an archive may unpack to"),
    ("max_archive_members", "N", "files", "files that an archive may hold"),
    ("max_nesting", "N", "levels", "how deep mails may lie in mails"),
    ("max_pages", "N", "pages", "pages that a PDF may have"),
    ("max_pixels", "MILLIONS", "millions of pixels", "millions of pixels that an image may have"),
)
"""Flag of each limit that is looked at before a document is decoded, and after `max_` the field of `Limits`; metavar, unit, help."""

Choice = TypeVar("Choice", bound=Enum)

EXAMPLES = f"""\
examples:
  {DECODER} backfill --input ~/library --output ~/decoded --dry-run
  {DECODER} backfill --input 'gs://bucket/library/**' --output gs://bucket/decoded --section-strategy heading
  {DECODER} backfill --references references.jsonl --output decoded --max-failures 0.01
  {DECODER} backfill --librarian http://localhost:8088 --output decoded
  {DECODER} trace urn:page:6f1d... --output decoded
  {DECODER} report decoded
  {DECODER} doctor
"""


@dataclass(frozen=True)
class BackfillSettings:
    """All that `backfill` was asked to do, except for the options of Beam and its runner."""

    inputs: tuple[str, ...]
    """Files, folders and globs, as given (`~` expanded)."""
    references: tuple[str, ...]
    """Reference files: JSON lines, CSV or Parquet."""
    output: str
    decode: DecodeSettings
    limits: Limits
    collection: str
    children: int
    """Decoding child processes of each worker process."""
    shards: int
    """Parts of each dataset."""
    run_id: str
    started_at: str
    """xsd:dateTime, UTC, such as 2026-01-31T10:00:00Z."""
    limit: int | None
    force: bool
    retry_failed: bool
    dry_run: bool
    max_failures: float | None
    accelerated: bool
    """Whether children may replace code of other packages by faster code with the same results."""
    runner: str
    range_pages: int = RANGE_PAGES
    """Pages of text in a range of a large PDF."""
    children_given: bool = True
    """Whether `children` was asked for; on a cluster its default comes from the machines there."""
    no_wait: bool = False
    """Whether the command ends once the cluster has the job."""
    library: Library | None = None
    """Of TrustGraph."""
    access: GatewayAccess | None = None
    """The gateway that may be asked for documents: the library's, or the one in the environment."""


@dataclass(frozen=True)
class TraceSettings:
    """What `trace` was asked to find."""

    id: str
    output: str
    run_id: str | None
    full: bool
    """The whole text instead of its beginning."""


@dataclass(frozen=True)
class ReportSettings:
    """Which run `report` was asked for; `run_id` None: the newest."""

    output: str
    run_id: str | None


@dataclass(frozen=True)
class ExportSettings:
    """What `export` was asked to write."""

    run: str
    """OUTPUT, or the folder of a run in it."""
    to: str
    format: ExportFormat
    sources: bool
    max_message_size: int
    """Bytes."""


@dataclass(frozen=True)
class LoadSettings:
    """What `load` was asked to bring, and where to, except for the options of Beam. The token is in none of it."""

    run: str
    """OUTPUT, or the folder of a run in it."""
    gateway: str
    workspace: str
    flow: str
    """Whose store takes the triples."""
    collection: str | None
    """None: each document's own."""
    start_processing: str | None
    """The flow whose chunker is handed each text."""
    sources: bool
    again: bool
    connections: int
    rate: float
    """Requests a second, of each worker."""
    max_message_size: int
    """Bytes."""
    max_failures: float | None
    token_file: str | None
    every_quad: bool
    runner: str


@dataclass(frozen=True)
class DoctorSettings:
    """How `doctor` answers."""

    as_json: bool


# --- values ------------------------------------------------------------------------------------------------------------------------------


def nearest(word: str, words: Iterable[str]) -> str:
    """The entry of `words` that `word` was most likely meant to be; empty when none is near."""
    spelled: dict[str, str] = {}
    for known in words:
        spelled.setdefault(known.lower().replace("_", "-"), known)
    found = difflib.get_close_matches(word.lower().replace("_", "-"), spelled, n=1, cutoff=0.7)
    return spelled[found[0]] if found else ""


def enumerate_words(words: Sequence[str], conjunction: str = "or") -> str:
    """`a, b or c`, for sentences."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def _choice(flag: str, choices: type[Choice]) -> Callable[[str], Choice]:
    def parse(text: str) -> Choice:
        try:
            return choices(text)
        except ValueError:
            values = [str(choice.value) for choice in choices]
            meant = nearest(text, values)
            raise UsageError(
                f"{flag} {text!r} is not known: use {enumerate_words(values)}" + (f" (did you mean {meant}?)." if meant else ".")
            ) from None

    return parse


def _whole_number(flag: str, unit: str, maximum: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,15}", text) and 1 <= int(text) <= (maximum or int(text)):
            return int(text)
        raise UsageError(f"{flag} {text!r} is not a number of {unit}: give a whole number from 1{f' to {maximum}' if maximum else ' up'}.")

    return parse


def _seconds(flag: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value) and value > 0:
            return value
        raise UsageError(f"{flag} {text!r} is not a time: give a number of seconds above 0, such as 600.")

    return parse


def _fraction(flag: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if 0 <= value <= 1:
            return value
        raise UsageError(f"{flag} {text!r} is not a fraction: give a number from 0 to 1, such as 0.05 for 5 % of all documents.")

    return parse


def _truth(flag: str) -> Callable[[str], bool]:
    def parse(text: str) -> bool:
        value = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}.get(text.lower())
        if value is None:
            raise UsageError(f"{flag} {text!r} is neither true nor false: give {flag} alone, {flag}=true or {flag}=false.")
        return value

    return parse


def _languages(text: str) -> tuple[str, ...]:
    """`eng,deu` or tesseract's own `eng+deu`; whether they are installed is for `preflight` to see."""
    codes = [code.strip() for code in re.split(r"[,+]", text)]
    for code in codes:
        if not re.fullmatch(r"[A-Za-z0-9_]+(/[A-Za-z0-9_]+)?", code):
            raise UsageError(
                f"--languages {text!r} is not a list of languages: give tesseract codes with commas between them, such as eng,deu."
            )
    return tuple(dict.fromkeys(codes))


def _run_id(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", text):
        return text
    raise UsageError(
        f"--run-id {text!r} cannot name a folder everywhere: use letters, digits, '.', '_' and '-', at most 128, first a letter or a digit."
    )


def _started_at(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--started-at {text!r} is not a time: give ISO 8601, such as 2026-01-31T10:00:00Z (without a zone it is UTC)."
        ) from None
    return date_time(moment)


def date_time(moment: datetime) -> str:
    """The canonical xsd:dateTime of a moment in UTC: `Z`, and no zeros at the end of a fraction."""
    text = moment.replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def _place(flag: str) -> Callable[[str], str]:
    """A path or URI. The shell leaves `--output=~/x` alone, which would make a folder named `~`: so expand it here."""

    def parse(text: str) -> str:
        if not text.strip():
            raise UsageError(f"{flag} is empty: give a path or a URI.")
        if "\0" in text:
            raise UsageError(f"{flag} {text!r} holds a NUL, which no path can.")
        return str(Path(text).expanduser()) if text == "~" or text.startswith("~/") else text

    return parse


def _gateway(flag: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        try:
            return gateway_url(text)
        except ValueError as error:
            shown = text if "@" not in text else "with its URL"  # what stands before the @ may be a secret
            raise UsageError(f"{flag} {shown} {error}.") from None

    return parse


def _store(text: str) -> str:
    try:
        store_address(text)
    except ValueError as error:
        raise UsageError(f"--librarian-store {text if '@' not in text else 'with its URL'} {error}.") from None
    return text


def _word(flag: str, example: str = "") -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not text.strip() or not text.isprintable():
            raise UsageError(f"{flag} {text!r} is not a name: give printable characters{example and f', such as {example}'}.")
        return text

    return parse


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and value > 0:
        return value
    raise UsageError(f"--rate {text!r} is not a rate: give a number of requests a second above 0, such as 50.")


def available_cpus() -> int:
    """CPUs that this process may use: its affinity, and the quota of its control group (a container's), whichever is less."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        cpus = min(cpus, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):
        pass  # no control group v2, or "max": no quota
    return max(cpus, 1)


# --- parsers -----------------------------------------------------------------------------------------------------------------------------


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Flags in a column of 34, lines of at most 110: a page that can be read; the metavar of a short flag stays on its line."""

    def __init__(self, prog: str) -> None:
        width = int(os.environ["COLUMNS"]) if os.environ.get("COLUMNS", "").isdigit() else _terminal_width()
        super().__init__(prog, max_help_position=34, width=max(60, min(width, 112) - 2))

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs == "+":
            return f"{action.metavar}..."
        return f"[{action.metavar}]" if action.nargs == "?" else super()._format_args(action, default_metavar)


def _terminal_width() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 100


class _Parser(argparse.ArgumentParser):
    """argparse that answers a mistake with our sentence instead of a usage block."""

    def __init__(self, command: str, usage: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"{DECODER} {command}",
            usage=f"{DECODER} {command} {usage}",
            description=description,
            epilog=epilog,
            formatter_class=_Formatter,
            allow_abbrev=False,  # an abbreviation would change its meaning with the next release, and may be Beam's flag
            add_help=False,
        )

    def error(self, message: str) -> NoReturn:
        match = re.fullmatch(r"argument (\S+?)(?:/\S+)?: expected (?:one|at least one) argument", message)
        if match:
            raise UsageError(f"{match[1]} needs a value: {self.prog} --help shows what it takes.")
        match = re.fullmatch(r"argument (\S+?)(?:/\S+)?: ignored explicit argument (.*)", message)
        if match:
            raise UsageError(f"{match[1]} takes no value, and was given {match[2]}.")
        match = re.fullmatch(r"the following arguments are required: (.*)", message)
        if match:
            names = match[1].split(", ")
            verb = "is" if len(names) == 1 else "are"
            raise UsageError(f"{enumerate_words(names, 'and')} {verb} missing: {self.prog} --help shows how to give them.")
        raise UsageError(f"{message[:1].upper()}{message[1:]}.")


def _switch(group: argparse._ArgumentGroup, flag: str, default: bool, text: str) -> None:
    """`--flag`, `--flag=true|false` (the seed spec gives its switches values) and `--no-flag`."""
    destination = flag.lstrip("-").replace("-", "_")
    group.add_argument(flag, dest=destination, nargs="?", const=True, default=default, type=_truth(flag), metavar="true|false", help=text)
    group.add_argument(f"--no-{flag.lstrip('-')}", dest=destination, action="store_false", help=argparse.SUPPRESS)


def backfill_parser() -> argparse.ArgumentParser:
    """The parser of `backfill`, from which its help comes."""
    decode, limits = DecodeSettings(), Limits()
    parser = _Parser(
        "backfill",
        "--input PATTERN... --output DIR [options] [any option of Beam and its runner]",
        "Decodes a whole library of documents: the text of every page or section with exact offsets, images as blobs,\n"
        "provenance as N-Quads, and a dead letter with its reason for every document that cannot be decoded. A run that was\n"
        "stopped goes on where it was when the same command is given again; a second run decodes only what is new or changed.",
        "Exit code: 0 the job ran (dead letters are in its report), 1 the job failed, 2 something is wrong with the command\n"
        "or the installation and nothing was started, 3 more documents failed than --max-failures allows.",
    )

    group = parser.add_argument_group("input and output")
    group.add_argument(
        "--input",
        dest="inputs",
        metavar="PATTERN",
        nargs="+",
        action="extend",
        default=[],
        type=_place("--input"),
        help="a file, a folder (with all below it) or a glob, local or on any file system that Beam knows (gs://, s3://, hdfs://...); "
        "may be repeated",
    )
    group.add_argument(
        "--references",
        dest="references",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        type=_place("--references"),
        help="a file of document references, as JSON lines, CSV or Parquet: uri or data (base64), and document_id, kind, title, "
        "collection, metadata as known; the dead letters of a run are such a file; may be repeated",
    )
    group.add_argument("--output", metavar="DIR", type=_place("--output"), help="where everything goes: staging/, blobs/ and runs/ID/")
    group.add_argument(
        "--collection",
        metavar="NAME",
        type=_word("--collection", DEFAULT_COLLECTION),
        default=DEFAULT_COLLECTION,
        help="collection of the documents whose reference names none (default: %(default)s)",
    )

    group = parser.add_argument_group(
        "a TrustGraph library",
        f"the documents of a librarian; the gateway's token comes from {TOKEN_VARIABLE} in the environment, or from a file",
    )
    group.add_argument(
        "--librarian",
        metavar="URL",
        type=_gateway("--librarian"),
        default=None,
        help="the gateway of a TrustGraph, such as http://localhost:8088",
    )
    group.add_argument(
        "--librarian-store",
        metavar="URI",
        type=_store,
        default=None,
        help="instead of --librarian: the librarian's own tables, cassandra://HOST[,HOST...][:PORT][/KEYSPACE][?bucket=NAME], and its "
        "bucket on S3; for libraries of any size (pip install 'universal-decoder[trustgraph]')",
    )
    group.add_argument(
        "--workspace",
        metavar="NAME",
        type=_word("--workspace"),
        default=None,
        help=f"whose library (default: {WORKSPACE_VARIABLE}, else {DEFAULT_WORKSPACE})",
    )
    group.add_argument(
        "--kind",
        dest="kinds",
        metavar="MIME",
        nargs="+",
        action="extend",
        default=[],
        type=_word("--kind"),
        help="only documents of this MIME type, such as application/pdf or 'text/*'; may be repeated",
    )
    group.add_argument(
        "--tag",
        dest="tags",
        metavar="TAG",
        nargs="+",
        action="extend",
        default=[],
        type=_word("--tag"),
        help="only documents with this tag, or one of several; may be repeated",
    )
    group.add_argument(
        "--document-ids", metavar="FILE", type=_place("--document-ids"), default=None, help="only the documents with these ids, one a line"
    )
    group.add_argument(
        "--librarian-token-file",
        metavar="FILE",
        type=_place("--librarian-token-file"),
        default=None,
        help=f"holds the token (default: {TOKEN_VARIABLE} in the environment); workers on other machines look for either as well",
    )
    group.add_argument(
        "--librarian-streams",
        metavar="N",
        type=_whole_number("--librarian-streams", "streams", 64),
        default=STREAMS,
        help="documents that one worker process reads from the gateway at a time (default: %(default)s)",
    )

    group = parser.add_argument_group("what decoding does", "another value gives another result, decoded anew and kept beside the first")
    group.add_argument(
        "--strategy",
        metavar="NAME",
        type=_choice("--strategy", Strategy),
        default=decode.strategy,
        help="how pages are read: auto (OCR where a page is a picture), fast (never OCR), hi_res (a layout model finds tables and titles; "
        f"slow) or ocr_only (default: {decode.strategy.value})",
    )
    group.add_argument(
        "--languages",
        metavar="CODES",
        type=_languages,
        default=decode.languages,
        help=f"languages that OCR reads, as tesseract codes with commas between them (default: {','.join(decode.languages)})",
    )
    group.add_argument(
        "--section-strategy",
        metavar="NAME",
        type=_choice("--section-strategy", SectionStrategy),
        default=decode.section_strategy,
        help="how a document without pages is divided: whole-document, heading (at its headings, nested), element-type (tables stand "
        f"alone), count or size (default: {decode.section_strategy.value})",
    )
    group.add_argument(
        "--section-element-count",
        metavar="N",
        type=_whole_number("--section-element-count", "elements"),
        default=decode.section_element_count,
        help="elements a section, for count (default: %(default)s)",
    )
    group.add_argument(
        "--section-max-size",
        metavar="N",
        type=_whole_number("--section-max-size", "characters"),
        default=decode.section_max_size,
        help="characters a section, tables as HTML, for size (default: %(default)s)",
    )
    _switch(
        group,
        "--section-within-pages",
        decode.section_within_pages,
        "divide each page into sections as well, by the section strategy (default: false)",
    )
    group.add_argument("--images", dest="images", action="store_true", default=decode.images, help="store the images as blobs (default)")
    group.add_argument("--no-images", dest="images", action="store_false", help="leave images out")

    group = parser.add_argument_group("limits", "a document over one of them becomes a dead letter; the job goes on")
    group.add_argument(
        "--document-timeout",
        metavar="SECONDS",
        type=_seconds("--document-timeout"),
        default=limits.timeout,
        help=f"time that one document may take (default: {limits.timeout:g}), and as much again for each 4 MiB that it has, up to 16 times",
    )
    group.add_argument(
        "--document-memory",
        metavar="MIB",
        type=_whole_number("--document-memory", "MiB", MAX_MIB),
        default=limits.memory,
        help="memory that the decoding of one document may take (default: %(default)s)",
    )
    group.add_argument(
        "--max-document-size",
        metavar="MIB",
        type=_whole_number("--max-document-size", "MiB", MAX_MIB),
        default=limits.document_size,
        help="bytes that one document may have (default: %(default)s)",
    )
    for name, metavar, unit, text in GUARDS:
        flag = f"--{name.replace('_', '-')}"
        default = getattr(limits, name.removeprefix("max_"))
        number = _whole_number(flag, unit, MAX_MIB if unit == "MiB" else None)
        group.add_argument(flag, metavar=metavar, type=number, default=default, help=f"{text} (default: %(default)s)")
    group.add_argument(
        "--max-failures",
        metavar="FRACTION",
        type=_fraction("--max-failures"),
        default=None,
        help="exit with 3 when more than this part of all documents failed, such as 0.05 (default: never)",
    )

    group = parser.add_argument_group("run")
    group.add_argument("--dry-run", action="store_true", help="list what would be decoded, by format, and what is staged; change nothing")
    group.add_argument(
        "--limit", metavar="N", type=_whole_number("--limit", "documents"), default=None, help="take the first N documents only"
    )
    group.add_argument("--force", action="store_true", help="decode everything anew, also what is staged")
    group.add_argument(
        "--retry-failed",
        action="store_true",
        help="try again all documents that failed before, not only those that could not be fetched or lacked a tool",
    )
    group.add_argument("--run-id", metavar="NAME", type=_run_id, default=None, help="name of the run's folder (default: the time, in UTC)")
    group.add_argument(
        "--started-at",
        metavar="TIME",
        type=_started_at,
        default=None,
        help="start of the run as its provenance tells it, ISO 8601; give the same to get the same bytes again (default: now)",
    )

    group = parser.add_argument_group(
        "runner", "every other option goes to Beam, such as --flink_master; one that Beam does not know either is refused"
    )
    group.add_argument(
        "--runner",
        metavar="NAME",
        default=DEFAULT_RUNNER,
        help="where the job runs: DirectRunner (this machine), FlinkRunner, DataflowRunner, PrismRunner... (default: %(default)s)",
    )
    group.add_argument(
        "--no-wait",
        action="store_true",
        help=f"with FlinkRunner and DataflowRunner: end once the cluster has the job; {DECODER} report DIR follows the one on Flink",
    )
    group.add_argument(
        "--children",
        metavar="N",
        type=_whole_number("--children", "child processes", 1024),
        default=None,
        help="documents that each worker decodes at a time, each in a process of its own (default: the CPUs of this machine; on Flink "
        "those of a TaskManager's machine, divided by its slots)",
    )
    group.add_argument(
        "--pdf-range-pages",
        dest="range_pages",
        metavar="N",
        type=_whole_number("--pdf-range-pages", "pages"),
        default=RANGE_PAGES,
        help=f"a PDF of {DIVIDED_FROM} times as many pages and more is read in ranges of so many, by several children at a time; a page "
        f"for OCR counts as {OCR_PAGE}; changes no result, only what a page that ends its child takes with it (default: %(default)s)",
    )
    group.add_argument(
        "--no-acceleration",
        dest="acceleration",
        action="store_false",
        help="leave pdfminer and unstructured as they are; they give the same results with and without, but take several times as long",
    )
    group.add_argument(
        "--shards",
        metavar="N",
        type=_whole_number("--shards", "parts", MAX_SHARDS),
        default=DEFAULT_SHARDS,
        help="parts that each dataset is written in (default: %(default)s)",
    )
    group.add_argument("-h", "--help", action="help", help="show this page")
    group = parser.add_argument_group(
        "on Flink (--runner FlinkRunner)",
        "--flink_master HOST:PORT, the REST address of a cluster, is all that has to be given. The defaults of the rest:\n"
        "--parallelism: all slots of the cluster; --sdk_worker_parallelism: the slots of one TaskManager;\n"
        f"--environment_type: PROCESS with the {DECODER}-worker beside this program (workers on this machine), or\n"
        "EXTERNAL where --environment_config=HOST:PORT names a worker pool;\n"
        "--flink_version: the cluster's; --flink_job_server_jar: the one that make flink-up has built, else Beam's own,\n"
        "downloaded; --streaming: the streaming engine, as all of Flink 2 has (else the batch engine);\n"
        "--number_of_execution_retries: 3 with --streaming, unless the cluster has a restart strategy; without\n"
        "--streaming only the cluster's counts; --max_bundle_size and --max_bundle_time_mills: without end, so that\n"
        "no document waits for the end of others; no checkpoints, as what is decoded is kept without them.",
    )
    return parser


def _small_parser(command: str, usage: str, description: str) -> _Parser:
    parser = _Parser(command, usage, description)
    parser.add_argument("-h", "--help", action="help", help="show this page")
    return parser


def trace_parser() -> argparse.ArgumentParser:
    """The parser of `trace`."""
    parser = _small_parser(
        "trace",
        "ID --output DIR [--run NAME] [--full]",
        "Follows a page, section or image (urn:page:..., urn:section:..., urn:image:...) or a document's id back to its source: labels,\n"
        "offsets, headings, the text itself, the file and its digest. Reads a finished run.",
    )
    parser.add_argument("id", metavar="ID", help="what to trace: an id, or the URI or path of a document")
    parser.add_argument("--output", metavar="DIR", required=True, type=_place("--output"), help="the --output of the backfill")
    parser.add_argument(
        "--run", dest="run_id", metavar="NAME", type=_run_id, default=None, help="the run to look in (default: all, the newest first)"
    )
    parser.add_argument("--full", action="store_true", help="show the whole text (default: its first 600 characters)")
    return parser


def report_parser() -> argparse.ArgumentParser:
    """The parser of `report`."""
    parser = _small_parser(
        "report",
        "DIR [--run NAME]",
        "Prints the summary of a run again: counts, formats, dead letters with their reasons, and where things are.",
    )
    parser.add_argument("output", metavar="DIR", type=_place("DIR"), help="the --output of the backfill")
    parser.add_argument("--run", dest="run_id", metavar="NAME", type=_run_id, default=None, help="the run to show (default: the newest)")
    return parser


def export_parser() -> argparse.ArgumentParser:
    """The parser of `export`."""
    parser = _small_parser(
        "export",
        "RUN --format trig|kg-core|jsonl --to DIR [options]",
        "Writes a finished run as files for TrustGraph's own commands, with a script that runs them:\n"
        "trig (tg-load-knowledge -F trig, TrustGraph 2.10.18 and later) holds the provenance; kg-core (tg-put-kg-core and\n"
        "tg-load-kg-core, up to 2.9.x, broken in 2.10.0 to 2.11.1) the provenance, the texts, the images and the documents, one\n"
        "file a document; jsonl the messages of the gateway's socket import/triples.",
    )
    parser.add_argument("run", metavar="RUN", type=_place("RUN"), help="the --output of a backfill (its newest run), or DIR/runs/NAME")
    parser.add_argument("--format", metavar="NAME", required=True, type=_choice("--format", ExportFormat), help="trig, kg-core or jsonl")
    parser.add_argument("--to", metavar="DIR", required=True, type=_place("--to"), help="the folder or URI to write")
    _sources(parser, "kg-core: leave out the documents themselves, which TrustGraph has already")
    _message_size(parser)
    return parser


def load_parser() -> argparse.ArgumentParser:
    """The parser of `load`."""
    parser = _Parser(
        "load",
        "RUN --gateway URL [options] [any option of Beam and its runner]",
        "Brings a finished run into TrustGraph. To the library: each page and section as text, and each image, below its document\n"
        "(which is added where the library does not have it). To the graph: the provenance, in urn:graph:source, counted back by\n"
        "queries. What is there already is compared and left; a load that was stopped goes on with the same command.",
        f"The token comes from the environment variable {TOKEN_VARIABLE} or from --token-file, and from nowhere else.\n"
        "Exit code: 0 the job ran (dead letters are in its report), 1 the job failed, 2 something is wrong with the command\n"
        "or the gateway and nothing was sent, 3 more failed than --max-failures allows.",
    )
    parser.add_argument("run", metavar="RUN", type=_place("RUN"), help="the --output of a backfill (its newest run), or DIR/runs/NAME")
    group = parser.add_argument_group("where to")
    group.add_argument(
        "--gateway",
        metavar="URL",
        required=True,
        type=_gateway("--gateway"),
        help="of TrustGraph's API gateway, such as http://localhost:8088",
    )
    group.add_argument(
        "--workspace",
        metavar="NAME",
        default=None,
        type=_word("--workspace"),
        help=f"(default: {WORKSPACE_VARIABLE}, else {DEFAULT_WORKSPACE})",
    )
    group.add_argument("--token-file", metavar="FILE", default=None, type=_place("--token-file"), help="a file that holds the token")
    group.add_argument(
        "--flow",
        metavar="NAME",
        default="default",
        type=_word("--flow"),
        help="the flow whose store takes the triples (default: %(default)s)",
    )
    group.add_argument(
        "--collection", metavar="NAME", default=None, type=_word("--collection"), help="of the graph (default: each document's own)"
    )
    group = parser.add_argument_group("what is sent")
    _sources(group, "do not add documents that the library lacks; their pages are added all the same")
    group.add_argument(
        "--start-processing",
        metavar="FLOW",
        default=None,
        type=_word("--start-processing"),
        help="hand each text to the chunker of this flow, once (default: texts are only stored)",
    )
    group.add_argument("--again", action="store_true", help="look at everything again, also at what an earlier load has brought")
    group.add_argument(
        "--every-quad",
        action="store_true",
        help="ask the graph for each quad that was sent (default: for those about the last subject of each message)",
    )
    _message_size(group)
    group.add_argument(
        "--max-failures",
        metavar="FRACTION",
        type=_fraction("--max-failures"),
        default=None,
        help="exit with 3 when more than this part of all that was to be sent failed (default: never)",
    )
    group = parser.add_argument_group(
        "runner", "every other option goes to Beam, such as --flink_master; one that Beam does not know either is refused"
    )
    group.add_argument("--runner", metavar="NAME", default=DEFAULT_RUNNER, help="where the job runs (default: %(default)s)")
    group.add_argument(
        "--connections",
        metavar="N",
        type=_whole_number("--connections", "connections", 64),
        default=DEFAULT_CONNECTIONS,
        help="of each worker to the gateway (default: %(default)s)",
    )
    group.add_argument(
        "--rate",
        metavar="N",
        type=_rate,
        default=DEFAULT_RATE,
        help=f"requests a second that each worker sends at most (default: {DEFAULT_RATE:g})",
    )
    group.add_argument("-h", "--help", action="help", help="show this page")
    return parser


def _sources(parser: argparse._ActionsContainer, text: str) -> None:
    parser.add_argument("--no-sources", dest="sources", action="store_false", help=text)


def _message_size(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--max-message-size",
        metavar="MIB",
        type=_whole_number("--max-message-size", "MiB", 255),
        default=DEFAULT_MESSAGE_SIZE,
        help="what TrustGraph's broker takes in one message: a page or image that is larger (as base64) is left out and told of "
        "(default: %(default)s)",
    )


def doctor_parser() -> argparse.ArgumentParser:
    """The parser of `doctor`."""
    parser = _small_parser(
        "doctor",
        "[--json]",
        "Shows what this installation can decode: formats, tools, models, versions; and what to install for the rest.",
    )
    parser.add_argument("--json", dest="as_json", action="store_true", help="as JSON, for programs")
    return parser


def overview() -> str:
    """What `universal-decoder --help` prints."""
    lines = [
        f"usage: {DECODER} COMMAND [options]",
        "",
        f"{DECODER} {VERSION} decodes a library of documents of any format into text, images and provenance.",
        "",
        "commands:",
        *(f"  {name:<10} {text}" for name, text in COMMANDS.items()),
        "",
        f"{DECODER} COMMAND --help shows the options of a command; {DECODER} --version the version.",
        "",
    ]
    return "\n".join(lines) + "\n" + EXAMPLES


# --- from arguments to settings ----------------------------------------------------------------------------------------------------------


def parse_backfill(argv: Sequence[str], now: datetime | None = None) -> tuple[BackfillSettings, list[str]]:
    """Reads the arguments of `backfill`.

    Args:
      argv: without the command's own name.
      now: the time from which the defaults of `--run-id` and `--started-at` come.
    Returns:
      The settings, and the arguments for Beam: all that are not the decoder's own, in their order, and `--runner` with its value.
      They are not checked yet: `preflight.check_beam_arguments` does, as that has to import Beam.
    Raises:
      UsageError: a sentence about the first wrong argument.
    """
    now = now or datetime.now(UTC)
    parser = backfill_parser()
    found, rest = parser.parse_known_args(list(argv))
    library, access = _library(found)
    if not found.inputs and not found.references and library is None:
        raise UsageError("--input is missing: give a file, a folder or a glob to decode, --references FILE or --librarian URL.")
    if found.output is None:
        raise UsageError("--output is missing: give the folder or URI that the results shall be written to.")
    settings = BackfillSettings(
        inputs=tuple(dict.fromkeys(found.inputs)),
        references=tuple(dict.fromkeys(found.references)),
        output=found.output,
        decode=DecodeSettings(
            strategy=found.strategy,
            languages=found.languages,
            section_strategy=found.section_strategy,
            section_element_count=found.section_element_count,
            section_max_size=found.section_max_size,
            section_within_pages=found.section_within_pages,
            images=found.images,
        ),
        limits=Limits(
            timeout=found.document_timeout,
            memory=found.document_memory,
            document_size=found.max_document_size,
            **{name.removeprefix("max_"): getattr(found, name) for name, *_ in GUARDS},
        ),
        collection=found.collection,
        children=found.children or available_cpus(),
        shards=found.shards,
        run_id=found.run_id or f"{now:%Y%m%dT%H%M%S}.{now.microsecond // 1000:03d}Z",  # thousandths: two jobs of one script never meet
        started_at=found.started_at or date_time(now.replace(microsecond=0)),
        limit=found.limit,
        force=found.force,
        retry_failed=found.retry_failed,
        dry_run=found.dry_run,
        max_failures=found.max_failures,
        accelerated=found.acceleration,
        runner=found.runner,
        range_pages=found.range_pages,
        children_given=found.children is not None,
        no_wait=found.no_wait,
        library=library,
        access=access,
    )
    if settings.no_wait and settings.runner not in RUN_ON_WITHOUT_US:
        raise UsageError(
            f"--no-wait goes with --runner {enumerate_words(RUN_ON_WITHOUT_US)} only: elsewhere the job ends with this command."
        )
    return settings, [f"--runner={found.runner}", *(argument for argument in rest if argument != "--")]


def _library(found: argparse.Namespace) -> tuple[Library | None, GatewayAccess | None]:
    """The library of TrustGraph that is asked for, and the gateway that documents may be read from: also those that references name."""
    token_file = str(Path(found.librarian_token_file).absolute()) if found.librarian_token_file else ""
    url = found.librarian or (_gateway_of_environment() if found.references else "")
    access = GatewayAccess(url, token_file, found.librarian_streams) if url else None
    if found.librarian and found.librarian_store:
        raise UsageError("--librarian and --librarian-store name the same library twice: give one of them.")
    if not found.librarian and not found.librarian_store:
        for flag in ("workspace", "kinds", "tags", "document_ids"):
            if getattr(found, flag):
                name = {"kinds": "kind", "tags": "tag"}.get(flag, flag).replace("_", "-")
                raise UsageError(f"--{name} is about a TrustGraph library: give --librarian URL or --librarian-store URI with it.")
        return None, access
    library = Library(
        gateway=access if found.librarian else None,
        store=found.librarian_store or "",
        workspace=found.workspace or _workspace_of_environment(),
        kinds=tuple(dict.fromkeys(found.kinds)),
        tags=tuple(dict.fromkeys(found.tags)),
        document_ids=found.document_ids or "",
    )
    return library, access


def _workspace_of_environment() -> str:
    return os.environ.get(WORKSPACE_VARIABLE, "").strip() or DEFAULT_WORKSPACE


def _gateway_of_environment() -> str:
    try:
        return gateway_url(os.environ[URL_VARIABLE])
    except (KeyError, ValueError):  # other programs' business, until a document is there
        return ""


def _parse_all(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    found, rest = parser.parse_known_args(list(argv))
    if rest:
        raise UsageError(unknown_argument(rest[0], parser_flags(parser), parser.prog))
    return found


def parser_flags(parser: argparse.ArgumentParser) -> list[str]:
    """The long flags that a parser knows."""
    return [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]


def unknown_argument(argument: str, flags: Iterable[str], command: str) -> str:
    """The sentence for an argument that nobody knows, with the flag that was most likely meant."""
    if not argument.startswith("-"):
        return f"{argument!r} belongs to no option: {command} --help shows what can be given."
    flag = argument.partition("=")[0]
    meant = nearest(flag, flags)
    return f"{flag} is not an option of {command}" + (f": did you mean {meant}?" if meant else f": {command} --help shows them all.")


def parse_trace(argv: Sequence[str]) -> TraceSettings:
    """Reads the arguments of `trace`. Raises: UsageError."""
    found = _parse_all(trace_parser(), argv)
    return TraceSettings(found.id.strip().strip("<>"), found.output, found.run_id, found.full)


def parse_report(argv: Sequence[str]) -> ReportSettings:
    """Reads the arguments of `report`. Raises: UsageError."""
    found = _parse_all(report_parser(), argv)
    return ReportSettings(found.output, found.run_id)


def parse_export(argv: Sequence[str]) -> ExportSettings:
    """Reads the arguments of `export`. Raises: UsageError."""
    found = _parse_all(export_parser(), argv)
    return ExportSettings(found.run, found.to, found.format, found.sources, found.max_message_size << 20)


def parse_load(argv: Sequence[str]) -> tuple[LoadSettings, list[str]]:
    """Reads the arguments of `load`.

    Returns:
      The settings, and the arguments for Beam, as of `parse_backfill`.
    Raises:
      UsageError: a sentence about the first wrong argument.
    """
    found, rest = load_parser().parse_known_args(list(argv))
    settings = LoadSettings(
        run=found.run,
        gateway=found.gateway,
        workspace=found.workspace or _workspace_of_environment(),
        flow=found.flow,
        collection=found.collection,
        start_processing=found.start_processing,
        sources=found.sources,
        again=found.again,
        connections=found.connections,
        rate=found.rate,
        max_message_size=found.max_message_size << 20,
        max_failures=found.max_failures,
        token_file=found.token_file,
        every_quad=found.every_quad,
        runner=found.runner,
    )
    return settings, [f"--runner={found.runner}", *(argument for argument in rest if argument != "--")]


def parse_doctor(argv: Sequence[str]) -> DoctorSettings:
    """Reads the arguments of `doctor`. Raises: UsageError."""
    return DoctorSettings(_parse_all(doctor_parser(), argv).as_json)
