"""Compares every element that unstructured gives with the accelerations and without them, and the CPU time that both take.

usage: python benchmarks/identical.py FOLDER [--generated N] [--formats docx,html] [--through partition|decoder] [--rounds N] [--show N]

Two processes read the same files in turn: one with unstructured as it came, one with `transforms.partition.acceleration`. Compared are all
fields of all elements (category, text, order, depth, page, table HTML, identifiers, languages, links, emphasis), or the exception. With
`--through decoder` both go through `partition_document`, as the job does. Times are of the CPU (`time.process_time`), caches are emptied
before each file, and the sides take turns in being first. Exit code 1: there is a difference.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from transforms.partition.acceleration.installation import SWITCH  # noqa: E402

TEXT_FORMATS = ("csv", "docx", "eml", "epub", "htm", "html", "md", "msg", "odt", "org", "pptx", "rst", "rtf", "tsv", "txt", "xlsx", "xml")
"""Formats of files, by extension, that are compared unless others are named."""


def main() -> int:
    """Reads the command line, compares, and prints a table."""
    if sys.argv[1:2] == ["worker"]:
        return work(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--generated", type=int, default=0, help="generated documents of many kinds and languages besides")
    parser.add_argument("--formats", default=",".join(TEXT_FORMATS), help="extensions, with commas between them")
    parser.add_argument("--through", choices=("partition", "decoder"), default="partition")
    parser.add_argument("--rounds", type=int, default=1, help="times that each file is read, for steadier times")
    parser.add_argument("--show", type=int, default=0, help="files with the largest share of the accelerated time to list")
    arguments = parser.parse_args()
    suffixes = {f".{name.strip().lower()}" for name in arguments.formats.split(",")}
    with tempfile.TemporaryDirectory() as temporary:
        files = sorted(path for path in arguments.folder.rglob("*") if path.is_file()) if arguments.folder else []
        if arguments.generated:
            from generated_documents import write_documents

            files += write_documents(Path(temporary), arguments.generated)
        return compare([file for file in files if file.suffix.lower() in suffixes], arguments.through, arguments.rounds, arguments.show)


@dataclass
class Totals:
    """Of the files of one extension."""

    files: int = 0
    elements: int = 0
    different: int = 0
    plain: float = 0.0
    fast: float = 0.0
    ratios: list[float] = field(default_factory=list)


def compare(files: list[Path], through: str, rounds: int, show: int) -> int:
    """Reads all files on both sides, prints differences and a table, and gives the exit code."""
    totals: dict[str, Totals] = defaultdict(Totals)
    slowest: list[tuple[float, float, str]] = []
    with side(through, exact=True) as plain, side(through, exact=False) as fast:
        for number, file in enumerate(files):
            found = {True: [], False: []}
            for turn in range(rounds):
                for is_plain in (True, False) if (number + turn) % 2 else (False, True):
                    found[is_plain].append((plain if is_plain else fast)(file))
            total = totals[file.suffix.lower()]
            total.files += 1
            total.elements += found[True][0]["elements"]
            if any(answer["content"] != found[True][0]["content"] for answer in found[True] + found[False]):
                total.different += 1
                print(f"DIFFERENT {file}\n{first_difference(found[True][0]['content'], found[False][0]['content'])}", flush=True)
            before, after = (statistics.median(answer["seconds"] for answer in found[key]) for key in (True, False))
            total.plain, total.fast = total.plain + before, total.fast + after
            total.ratios.append(before / max(after, 1e-6))
            slowest.append((after, before, str(file)))
    print(f"{'format':8}{'files':>7}{'elements':>10}{'different':>11}{'plain s':>10}{'fast s':>9}{'ratio':>7}{'median of files':>17}")
    for suffix, total in [*sorted(totals.items()), ("all", summed(totals))]:
        ratio, median = total.plain / max(total.fast, 1e-6), statistics.median(total.ratios or [0])
        print(
            f"{suffix:8}{total.files:7}{total.elements:10}{total.different:11}{total.plain:10.2f}{total.fast:9.2f}{ratio:7.2f}{median:17.2f}"
        )
    for after, before, name in sorted(slowest, reverse=True)[:show]:
        print(f"{after:8.3f} s, before {before:8.3f} s  {name}")
    return 1 if any(total.different for total in totals.values()) else 0


def summed(totals: dict[str, Totals]) -> Totals:
    """The last line of the table."""
    every = Totals()
    for total in totals.values():
        every.files += total.files
        every.elements += total.elements
        every.different += total.different
        every.plain += total.plain
        every.fast += total.fast
        every.ratios += total.ratios
    return every


def first_difference(plain: Any, fast: Any) -> str:
    """Of two lists of elements, or of what else came of a file."""
    if not isinstance(plain, list) or not isinstance(fast, list):
        return f"  plain {str(plain)[:300]}\n  fast  {str(fast)[:300]}"
    for index, (one, other) in enumerate(zip(plain, fast, strict=False)):
        if one != other:
            return f"  element {index}\n  plain {json.dumps(one)[:600]}\n  fast  {json.dumps(other)[:600]}"
    return f"  {len(plain)} elements and {len(fast)}"


@contextlib.contextmanager
def side(through: str, *, exact: bool) -> Iterator[Callable[[Path], dict[str, Any]]]:
    """A process that reads files, one after the other."""
    with subprocess.Popen(
        [sys.executable, __file__, "worker", through],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, SWITCH: "1" if exact else "0"},
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise AssertionError

        def read(file: Path) -> dict[str, Any]:
            stdin.write(json.dumps(str(file)) + "\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer

        yield read
        stdin.close()


def work(through: str) -> int:
    """One side: paths come in, elements and seconds go out, as lines of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not be read as an answer
    from transforms.partition.environment import apply_decode_environment

    apply_decode_environment()
    import logging

    from transforms.partition import pdf_kernel
    from transforms.partition.nlp import install_nlp, warm_up

    logging.disable(logging.CRITICAL)
    acceleration = install_nlp()
    if acceleration.on == (os.environ[SWITCH] == "1"):
        raise SystemExit(acceleration.reason)
    read = READERS[through]
    if through.startswith("decoder"):
        pdf_kernel.install()
        warm_up()
    else:
        warm_up_partition()
    forget = caches()
    for line in sys.stdin:
        file = Path(json.loads(line))
        for clear in forget:
            clear()
        started = time.process_time()
        try:
            content = read(file)
        except Exception as error:
            content = f"{type(error).__name__}: {error}"
        seconds = time.process_time() - started
        if callable(content):
            content = content()
        elements = len(content) if isinstance(content, list) else 0
        answers.write(json.dumps({"content": content, "elements": elements, "seconds": seconds}) + "\n")
        answers.flush()
    return 0


def through_partition(file: Path) -> Any:
    """unstructured's own elements; to be made dictionaries after the clock has stopped."""
    from unstructured.partition.auto import partition

    elements = partition(filename=str(file), strategy="fast")
    return lambda: [element.to_dict() for element in elements]


def through_decoder(file: Path) -> Any:
    """The job's elements."""
    from transforms.partition.partitioner import partition_document
    from transforms.settings import DecodeSettings

    document = partition_document(file, declared_mime_type="", name=file.name, settings=DecodeSettings())
    return lambda: [asdict(element) | {"picture": element.picture is not None} for element in document.elements]


def plain_pieces(file: Path) -> Any:
    """What `intended_differences` compares of unstructured's elements: category, text, depth, page, and the HTML of tables."""
    from unstructured.partition.auto import partition

    from transforms.partition.elements import PAGE_BREAK, TABLE, clean_text

    return [
        (
            element.category,
            clean_text(element.text),
            element.metadata.category_depth,
            element.metadata.page_number,
            clean_text(element.metadata.text_as_html or "") if element.category == TABLE else "",
        )
        for element in partition(filename=str(file), strategy="fast")
        if element.category != PAGE_BREAK
    ]


def decoder_pieces(file: Path) -> Any:
    """The same of the job's elements."""
    from transforms.partition.partitioner import partition_document
    from transforms.settings import DecodeSettings, Strategy

    settings = DecodeSettings(strategy=Strategy.FAST)
    document = partition_document(file, declared_mime_type="", name=file.name, settings=settings)
    return [(piece.category, piece.text, piece.category_depth, piece.page_number, piece.html) for piece in document.elements]


READERS: dict[str, Callable[[Path], Any]] = {
    "partition": through_partition,
    "decoder": through_decoder,
    "plain pieces": plain_pieces,
    "decoder pieces": decoder_pieces,
}


def warm_up_partition() -> None:
    """Imports what `partition()` needs for each format, so that no file pays for it."""
    from transforms.partition.nlp import _TINY_DOCUMENTS

    with tempfile.TemporaryDirectory() as folder:
        for name, make in _TINY_DOCUMENTS.items():
            path = Path(folder, name)
            path.write_bytes(make())
            with contextlib.suppress(Exception):
                through_partition(path)


def caches() -> list[Callable[[], None]]:
    """Functions that empty the caches of texts, on either side: a library has few documents twice."""
    from unstructured.nlp import tokenize

    found = [tokenize._process_cached, tokenize.word_tokenize, tokenize.pos_tag, tokenize._tokenize_for_cache]
    return [function.cache_clear for function in found]


if __name__ == "__main__":
    raise SystemExit(main())
