"""The options of `backfill`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pipeline.machine import available_cpus
from pipeline.options.decoding import add_decoding, read_decoding
from pipeline.options.library import add_library, read_library
from pipeline.options.limits import add_limits, read_limits
from pipeline.options.parser import CommandParser, add_help
from pipeline.options.runners import RUN_ON_WITHOUT_US, add_runner, arguments_for_beam
from pipeline.options.values import place, run_id, whole_number, word
from pipeline.sentences import enumerate_words
from transforms.errors import UsageError
from transforms.settings import DECODER, DIVIDED_FROM, OCR_PAGE, RANGE_PAGES, DecodeSettings, Limits
from transforms.trustgraph.library import GatewayAccess, Library

DEFAULT_COLLECTION = "default"
DEFAULT_SHARDS = 4
MAX_SHARDS = 10_000  # part names have five digits, and a run below 10,000 documents a part has no use for more


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


def backfill_parser() -> argparse.ArgumentParser:
    """The parser of `backfill`, from which its help comes."""
    parser = CommandParser(
        "backfill",
        "--input PATTERN... --output DIR [options] [any option of Beam and its runner]",
        "Decodes a whole library of documents: the text of every page or section with exact offsets, images as blobs,\n"
        "provenance as N-Quads, and a dead letter with its reason for every document that cannot be decoded. A run that was\n"
        "stopped goes on where it was when the same command is given again; a second run decodes only what is new or changed.",
        "Exit code: 0 the job ran (dead letters are in its report), 1 the job failed, 2 something is wrong with the command\n"
        "or the installation and nothing was started, 3 more documents failed than --max-failures allows.",
    )
    _add_input_and_output(parser)
    add_library(parser)
    add_decoding(parser)
    add_limits(parser)
    _add_run(parser)
    _add_runner(parser)
    _add_flink(parser)
    return parser


def _add_input_and_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("input and output")
    group.add_argument(
        "--input",
        dest="inputs",
        metavar="PATTERN",
        nargs="+",
        action="extend",
        default=[],
        type=place("--input"),
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
        type=place("--references"),
        help="a file of document references, as JSON lines, CSV or Parquet: uri or data (base64), and document_id, kind, title, "
        "collection, metadata as known; the dead letters of a run are such a file; may be repeated",
    )
    group.add_argument("--output", metavar="DIR", type=place("--output"), help="where everything goes: staging/, blobs/ and runs/ID/")
    group.add_argument(
        "--collection",
        metavar="NAME",
        type=word("--collection", DEFAULT_COLLECTION),
        default=DEFAULT_COLLECTION,
        help="collection of the documents whose reference names none (default: %(default)s)",
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("run")
    group.add_argument("--dry-run", action="store_true", help="list what would be decoded, by format, and what is staged; change nothing")
    group.add_argument(
        "--limit", metavar="N", type=whole_number("--limit", "documents"), default=None, help="take the first N documents only"
    )
    group.add_argument("--force", action="store_true", help="decode everything anew, also what is staged")
    group.add_argument(
        "--retry-failed",
        action="store_true",
        help="try again all documents that failed before or lack pages, not only those that could not be fetched or lacked a tool",
    )
    group.add_argument(
        "--run-id", metavar="NAME", type=run_id("--run-id"), default=None, help="name of the run's folder (default: the time, in UTC)"
    )
    group.add_argument(
        "--started-at",
        metavar="TIME",
        type=_started_at,
        default=None,
        help="start of the run as its provenance tells it, ISO 8601; give the same to get the same bytes again (default: now)",
    )


def _add_runner(parser: argparse.ArgumentParser) -> None:
    group = add_runner(parser, ": DirectRunner (this machine), FlinkRunner, DataflowRunner, PrismRunner...")
    group.add_argument(
        "--no-wait",
        action="store_true",
        help=f"with FlinkRunner and DataflowRunner: end once the cluster has the job; {DECODER} report DIR follows the one on Flink",
    )
    group.add_argument(
        "--children",
        metavar="N",
        type=whole_number("--children", "child processes", 1024),
        default=None,
        help="documents that each worker decodes at a time, each in a process of its own (default: the CPUs of this machine; on Flink "
        "those of a TaskManager's machine, divided by its slots)",
    )
    group.add_argument(
        "--pdf-range-pages",
        dest="range_pages",
        metavar="N",
        type=whole_number("--pdf-range-pages", "pages"),
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
        type=whole_number("--shards", "parts", MAX_SHARDS),
        default=DEFAULT_SHARDS,
        help="parts that each dataset is written in (default: %(default)s)",
    )
    add_help(group)


def _add_flink(parser: argparse.ArgumentParser) -> None:
    parser.add_argument_group(
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
    found, rest = backfill_parser().parse_known_args(list(argv))
    library, access = read_library(found)
    if not found.inputs and not found.references and library is None:
        raise UsageError("--input is missing: give a file, a folder or a glob to decode, --references FILE or --librarian URL.")
    if found.output is None:
        raise UsageError("--output is missing: give the folder or URI that the results shall be written to.")
    settings = BackfillSettings(
        inputs=tuple(dict.fromkeys(found.inputs)),
        references=tuple(dict.fromkeys(found.references)),
        output=found.output,
        decode=read_decoding(found),
        limits=read_limits(found),
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
    return settings, arguments_for_beam(found, rest)


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
