"""Compares the elements of PDFs, whole, with the PDF kernel on and off: for exactness, for crashes, and for CPU time.

usage: python benchmarks/compare_pdf.py FOLDER [--mutations N] [--seed S] [--largest MB] [--times] [--rounds N] [--plain] [--keep FOLDER]

Each PDF below FOLDER is read twice, in two pools of child processes that differ in one variable only: whether the kernel is on, or with
`--plain` whether anything is accelerated, the classification of texts and the reading order included. Elements are compared as
unstructured writes them down, to the last digit of a coordinate, and exceptions by type and message. With `--mutations`, N damaged copies
are read as well: bytes and whole tokens changed at random places (seeded), in half of them in a copy that qpdf has unpacked, so that the
damage reaches operators and objects and not only compressed bytes. Of those the types of elements come from a rule and not from the
language model, which sees nothing but their texts, and takes most of the time. On both sides boxes at equal distances are joined in the
order in which they were found, as in all of the job: pdfminer by itself takes them as they lie in memory, and differs from itself.

Exit code 1: something differs, or a child ended with the kernel on that did not with it off.
"""

import argparse
import hashlib
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from transforms.isolation.pool import ChildFailure, ChildPool  # noqa: E402 - a script finds the package beside it
from transforms.model import Status  # noqa: E402
from transforms.partition.environment import ACCELERATION, DECODE_ENVIRONMENT  # noqa: E402
from transforms.partition.pdf_kernel.installation import SWITCH  # noqa: E402
from transforms.settings import Limits  # noqa: E402

TOKENS = (
    rb"( ) < > << >> [ ] / # % \ { } BT ET Tj TJ Td TD Tm T* Tf Tc Tw Tz TL Ts Tr ' q Q cm re m l c h S f W n Do BI ID EI 0 1 -1 .5 -.25 "
    rb"12345678901234567890 0.12345678901234567 99999999999 1e5 null true false R obj endobj stream endstream xref trailer /F1 /Length "
    rb"/Filter /FlateDecode /Font /Type /Kids /Contents /ToUnicode /Encoding /Differences /W /DW <0041> (a\(b\)) \101 \777 #41 "
    rb"beginbfchar endbfrange"
).split()

ENDED_ON = "ENDED WITH THE KERNEL ONLY"

UNPACKED = 2_000_000
"""Bytes of the largest unpacked PDF that is damaged."""

DOCUMENT = "document.pdf"
KEPT = "elements.txt"
"""In a child's own folder."""


# --- in the children ---------------------------------------------------------------------------------------------------------------------


def preload() -> None:
    """Imports once, in the zygote."""
    from transforms.partition import pdf_kernel
    from transforms.partition.nlp import install_nlp, warm_up

    install_nlp()
    pdf_kernel.install()
    warm_up()


def read(request: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The elements of `folder/document.pdf`, or the exception over it, as a digest; and the CPU seconds that they took.

    Raises:
      OSError: the file cannot be read, which no comparison may take for what is in it.
    """
    from unstructured.partition.pdf import _partition_pdf_with_pdfparser, extractable_elements

    from transforms.partition import pdf_kernel
    from transforms.partition.pdf_kernel.self_test import described

    _classify(by_rule=request["by_rule"])
    path = folder / DOCUMENT
    path.open("rb").close()
    started = time.process_time()
    try:
        pages = extractable_elements(filename=str(path), pdfminer_config=_config())
        elements = _partition_pdf_with_pdfparser(extracted_elements=pages)
        found, outcome = described(elements), f"{len(pages)} pages, {len(elements)} elements"
    except Exception as error:  # what pdfminer raises over broken files: the kernel must raise the same
        # Messages may hold the addresses of objects.
        found, outcome, pages = [], f"{type(error).__name__}: {error}".split(" at 0x")[0][:200], []
    seconds = time.process_time() - started
    outcome, *lines = (line.replace(str(folder), "") for line in (outcome, *map(repr, found)))  # another one in each pool
    if request["keep"]:
        (folder / KEPT).write_text("\n".join([outcome, *lines]) + "\n", encoding="utf-8", errors="backslashreplace")
    digest = hashlib.sha256("\n".join([outcome, *lines]).encode("utf-8", "backslashreplace")).hexdigest()
    return {"digest": digest, "outcome": outcome, "pages": len(pages), "seconds": seconds, "kernel": pdf_kernel.state().on}


def _classify(*, by_rule: bool) -> None:
    from unstructured.partition import text, text_type

    text.is_possible_narrative_text = (lambda piece: len(piece) % 2 == 0) if by_rule else text_type.is_possible_narrative_text
    text.is_possible_title = (lambda piece: len(piece) % 3 == 0) if by_rule else text_type.is_possible_title


def _config() -> Any:
    from unstructured.partition.pdf_image.pdfminer_utils import PDFMinerConfig

    return PDFMinerConfig(word_margin=0.185)  # as unstructured's `partition_pdf` sets it


# --- mutations ---------------------------------------------------------------------------------------------------------------------------


def mutated(data: bytes, generator: random.Random) -> bytes:
    """A damaged copy of some bytes."""
    damaged = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 4, 8, 16, 64))):
        place = generator.randrange(len(damaged) + 1)
        span = generator.choice((1, 1, 2, 5, 20, 200))
        kind = generator.randrange(6)
        if kind == 0 and place < len(damaged):
            damaged[place] = generator.randrange(256)
        elif kind == 1:
            del damaged[place : place + span]
        elif kind == 2:
            damaged[place:place] = damaged[place : place + span]
        elif kind == 3:
            damaged[place : place + generator.randrange(6)] = b" " + generator.choice(TOKENS) + b" "
        elif kind == 4:
            other = generator.randrange(len(damaged) + 1)
            damaged[place : place + span] = damaged[other : other + span]
        elif kind == 5:
            number = b"%d" % generator.choice((0, 1, -1, 7, 255, 256, 4096, 10**6, 2**31, 10**12))
            digits = next((at for at in range(place, min(place + 200, len(damaged))) if 48 <= damaged[at] <= 57), None)
            if digits is not None:
                damaged[digits : digits + 1] = number
    if generator.random() < 0.05:
        del damaged[generator.randrange(len(damaged) + 1) :]
    return bytes(damaged)


def unpacked(path: Path, folder: Path) -> bytes:
    """A PDF with plain streams and objects; as it is where qpdf cannot open it, or where that makes it large."""
    import pikepdf

    copy = folder / "unpacked.pdf"
    try:
        with pikepdf.open(path, suppress_warnings=True) as pdf:
            pdf.save(
                copy,
                compress_streams=False,
                stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
                object_stream_mode=pikepdf.ObjectStreamMode.disable,
                encryption=False,
            )
        # A scan becomes megabytes of pixels, which pdfminer searches for minutes once damaged, and in which no damage reaches an operator.
        return (path if copy.stat().st_size > UNPACKED else copy).read_bytes()
    except (pikepdf.PdfError, pikepdf.PasswordError, RuntimeError):
        return path.read_bytes()


def mutations(paths: list[Path], count: int, seed: int, folder: Path) -> Iterator[tuple[str, Path]]:
    """`count` damaged copies, the PDFs in turn; the same for the same seed."""
    plain: dict[Path, bytes] = {}
    for number in range(count):
        path = paths[number % len(paths)]
        generator = random.Random(f"{seed}-{number}")
        if path not in plain:
            plain[path] = unpacked(path, folder)
        data = path.read_bytes() if generator.random() < 0.5 else plain[path]
        copy = folder / "mutation.pdf"
        copy.write_bytes(mutated(data, generator))
        yield f"mutation {number} of {path.name}", copy


# --- comparing ---------------------------------------------------------------------------------------------------------------------------


@dataclass
class Reading:
    """What one side made of a PDF."""

    digest: str
    outcome: str
    pages: int = 0
    seconds: float = 0.0
    ended: bool = False
    """Its child crashed, or met a limit."""


def ask(pool: ChildPool, path: Path, keep: Path | None = None, *, by_rule: bool = False) -> Reading:
    """Has a PDF read in a child of the pool, which sees its own folder only.

    Args:
      keep: a file for the elements.
    Raises:
      ChildFailure: it could not be read at all: the comparison itself is broken.
    """
    with pool.lease() as child:
        shutil.copyfile(path, child.folder / DOCUMENT)
        try:
            answer = child.call({"keep": keep is not None, "by_rule": by_rule})
        except ChildFailure as failure:
            if failure.status is Status.FAILED:
                raise
            return Reading(failure.status.value, f"{failure.status.value}: {failure.message}", ended=True)
        if keep is not None:
            shutil.copyfile(child.folder / KEPT, keep)
    out_of_memory = answer["outcome"].startswith("MemoryError")  # of a library that asks for more than a child can have
    return Reading(answer["digest"], answer["outcome"], answer["pages"], answer["seconds"], ended=out_of_memory)


def main() -> int:
    """Reads, compares and prints; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mutations", type=int, default=0, help="how many damaged copies are read besides")
    parser.add_argument("--only-mutations", action="store_true", help="leaves the PDFs themselves out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=float, default=0.5, help="MB of the largest PDF that is mutated")
    parser.add_argument("--times", action="store_true", help="prints CPU seconds of each PDF, and the ratios")
    parser.add_argument("--rounds", type=int, default=1, help="times that each PDF is read by both in turn; the fastest counts")
    parser.add_argument("--plain", action="store_true", help="compares with nothing accelerated at all, and not only without the kernel")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a reading")
    parser.add_argument("--keep", type=Path, help="folder for the elements of what differs, and for the PDF itself")
    arguments = parser.parse_args()
    paths = sorted(path for path in arguments.folder.rglob("*.pdf") if path.is_file())
    limits = Limits(timeout=arguments.timeout)
    with (
        tempfile.TemporaryDirectory(prefix="compare-") as temporary,
        _pool({ACCELERATION: "off"} if arguments.plain else {SWITCH: "1"}, limits) as off,
        _pool({}, limits) as on,
    ):
        if not ask_kernel(on):
            print("The kernel is off: see `universal-decoder doctor`.")
            return 2
        comparison = Comparison(off, on, arguments.times, arguments.rounds, arguments.keep)
        for path in () if arguments.only_mutations else paths:
            comparison.compare(path.name, path)
        small = [path for path in paths if path.stat().st_size <= arguments.largest * 1e6]
        for label, path in mutations(small, arguments.mutations, arguments.seed, Path(temporary)):
            comparison.compare(label, path, by_rule=True)
    return comparison.conclude()


def ask_kernel(pool: ChildPool) -> bool:
    """Whether the children of a pool read with the kernel."""
    with pool.lease() as child:
        (child.folder / DOCUMENT).touch()
        return bool(child.call({"keep": False, "by_rule": True})["kernel"])


def _pool(variables: Mapping[str, str], limits: Limits) -> ChildPool:
    """Of children that read one PDF each: no cache of one reading is warm in the next, and each crash has one cause."""
    here = Path(__file__)
    functions = f"{here.stem}:read", f"{here.stem}:preload"
    environment = {**DECODE_ENVIRONMENT, **variables}
    return ChildPool(1, limits, *functions, python_path=[str(here.parent)], environment=environment, max_documents=1)


@dataclass
class Comparison:
    """Reads with both pools, and counts."""

    off: ChildPool
    on: ChildPool
    times: bool
    rounds: int
    keep: Path | None
    tally: Counter[str] = field(default_factory=Counter)
    readings: list[tuple[Reading, Reading]] = field(default_factory=list)

    def compare(self, label: str, path: Path, *, by_rule: bool = False) -> None:
        """Reads a PDF with both, and prints what is worth it."""
        first, second = self._fastest(path, by_rule=by_rule)
        self.readings.append((first, second))
        if first.ended or second.ended:
            kind = "ended both" if first.ended and second.ended else ENDED_ON if second.ended else "ended without the kernel only"
        else:
            kind = "same" if first.digest == second.digest else "DIFFERENT"
        self.tally[kind] += 1
        if kind == "same" and first.outcome.endswith("elements"):
            self.tally["with elements"] += not first.outcome.endswith(" 0 elements")
        if self.times:
            ratio = f"x{first.seconds / second.seconds:.1f}" if second.seconds else ""
            print(f"{first.seconds:8.3f} s {second.seconds:8.3f} s {ratio:>6}  {kind}  {label}: {first.outcome}", flush=True)
        elif kind != "same":
            print(f"{kind}  {label}: {first.outcome} | {second.outcome}", flush=True)
        if kind not in ("same", "ended both") and self.keep is not None:
            self._keep(label, path)

    def _fastest(self, path: Path, *, by_rule: bool) -> tuple[Reading, Reading]:
        """Of several readings in turn: the machine may be shared."""
        rounds = [(ask(self.off, path, by_rule=by_rule), ask(self.on, path, by_rule=by_rule)) for _ in range(self.rounds)]
        first, second = rounds[-1]
        if not (first.ended or second.ended):
            first.seconds = min(one.seconds for one, _ in rounds)
            second.seconds = min(other.seconds for _, other in rounds)
        return first, second

    def _keep(self, label: str, path: Path) -> None:
        folder = self.keep / label.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / "document.pdf")
        ask(self.off, path, folder / "off.txt", by_rule=True)
        ask(self.on, path, folder / "on.txt", by_rule=True)

    def conclude(self) -> int:
        """Prints the sums; returns the exit code."""
        print(f"{len(self.readings)} PDFs: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.tally.items()) if count))
        off, on = (sum(pair[side].seconds for pair in self.readings) for side in (0, 1))
        print(f"CPU seconds: {off:.1f} off, {on:.1f} on, x{off / on:.1f}")
        ratios = [first.seconds / second.seconds for first, second in self.readings if second.pages >= 10 and second.seconds]
        if self.times and ratios:
            print(f"median ratio of the {len(ratios)} PDFs of 10 pages and more: x{statistics.median(ratios):.1f}")
        return 1 if self.tally["DIFFERENT"] or self.tally[ENDED_ON] else 0


if __name__ == "__main__":
    sys.exit(main())
