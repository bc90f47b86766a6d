"""Measures what the job costs besides decoding: time and memory for references that are staged already, and for the writing of datasets.

    python benchmarks/control_plane.py staged      # runs over 1,000, 10,000 and 100,000 references, all staged but ten
    python benchmarks/control_plane.py compaction  # 10,000, 100,000 and 1,000,000 text records, from synthetic commits

Documents and commits are made on the way, in a temporary folder (3 GB for the largest); each measurement is a process of its own.
"""

import argparse
import contextlib
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path

import psutil

from transforms.model import DecodedDocument, DocumentReference, Element, Span, Status, TextEntity
from transforms.provenance.identifiers import document_id_from_digest, page_id
from transforms.references.listing import list_files
from transforms.settings import DecodeSettings, unstructured_version
from transforms.sinks.write import shard_of, write_shard
from transforms.storage.commit import StagedDocument, write_commit
from transforms.storage.filesystem import to_uri
from transforms.storage.staging import staging_key, staging_path
from transforms.version import VERSION

STARTED_AT = "2026-01-31T10:00:00Z"
FRESH = 10
PAGES = 50
ELEMENTS = 6
WORDS = [f"{syllable}{ending}" for syllable in ("lens", "mir", "pris", "optic", "glas", "sten", "ward", "lum") for ending in range(500)]
WORDS_AN_ELEMENT = 20
PROCESSES = os.cpu_count() or 1
FINGERPRINT = DecodeSettings().fingerprint


def synthetic_document(reference: DocumentReference, number: int, pages: int) -> DecodedDocument:
    """A decoded document whose pages hold ELEMENTS elements of some 150 characters each; no two of them are the same."""
    chance = random.Random(number)
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    document_id = document_id_from_digest(digest)
    texts: list[TextEntity] = []
    offset = 0
    for page in range(1, pages + 1):
        spans: list[Span] = []
        pieces: list[str] = []
        place = 0
        for element in range(ELEMENTS):
            piece = " ".join(chance.choices(WORDS, k=WORDS_AN_ELEMENT))
            spans.append(Span(Element("NarrativeText", piece, f"{number}-{page}-{element}", page_number=page), place, len(piece)))
            pieces.append(piece)
            place += len(piece) + 2
        text = "\n\n".join(pieces)
        texts.append(
            TextEntity(
                id=page_id(document_id, digest, FINGERPRINT, page),
                document_type="page",
                parent_id=document_id,
                number=page,
                title=f"Page {page}",
                text=text,
                spans=spans,
                char_offset=offset,
                char_length=len(text),
                element_types=("NarrativeText",),
                table_count=0,
                image_count=0,
                page_number=page,
            )
        )
        offset += len(text) + 2
    return DecodedDocument(
        document_id=document_id,
        source_uri=reference.uri,
        status=Status.OK,
        collection=reference.collection,
        mime_type="text/plain" if pages == 1 else "application/pdf",
        page_based=pages > 1,
        source_sha256=digest,
        size_bytes=reference.size,
        page_count=pages,
        texts=texts,
        element_count=pages * ELEMENTS,
        seconds=0.1,
        started_at=STARTED_AT,
        decoder_version=VERSION,
        unstructured_version=unstructured_version(),
        reference=reference,
    )


def stage(output: Path, pages: int, numbered: Sequence[tuple[int, DocumentReference]]) -> list[StagedDocument]:
    """Writes the commits of some references."""
    staged = []
    for number, reference in numbered:
        key = staging_key(reference)
        path = staging_path(FINGERPRINT, key)
        (output / path).parent.mkdir(parents=True, exist_ok=True)
        outcome = write_commit(output / path, [synthetic_document(reference, number, pages)], fingerprint=FINGERPRINT)
        staged.append(StagedDocument(path, key, outcome.document_id, reference.uri, outcome.status, size=reference.size))
    return staged


def _stage(arguments: tuple[Path, int, Sequence[tuple[int, DocumentReference]]]) -> list[StagedDocument]:
    return stage(*arguments)


def stage_all(output: Path, pages: int, references: Sequence[DocumentReference]) -> list[StagedDocument]:
    """Writes the commits of all references, with all processors."""
    numbered = list(enumerate(references, start=1))
    batches = [(output, pages, numbered[start : start + 500]) for start in range(0, len(numbered), 500)]
    with Pool(PROCESSES) as pool:
        return [document for batch in pool.imap(_stage, batches) for document in batch]


# --- references that are staged already ----------------------------------------------------------------------------------------------


def measure_staged(folder: Path, number: int) -> tuple[float, float]:
    """CPU seconds and MiB of a run over `number` files of which all but FRESH are staged."""
    library, output = folder / "library", folder / "out"
    for index in range(number):
        subfolder = library / f"{index // 1000:04d}"
        if index % 1000 == 0:
            subfolder.mkdir(parents=True)
        (subfolder / f"{index:07d}.txt").write_text(f"Document number {index} speaks of lenses.")
    references = [reference._replace(collection="default") for reference in list_files(str(library))]
    stage_all(output, 1, references[FRESH:])
    arguments = ["backfill", "--input", str(library), "--output", str(output), "--children", "1", "--started-at", STARTED_AT]
    return run_alone([sys.executable, "-m", "pipeline", *arguments])


def staged(numbers: Sequence[int]) -> None:
    """The table of runs over staged references."""
    print("| references | of them staged | CPU seconds | ms a staged reference, beyond the first row | MiB |\n|---|---|---|---|---|")
    first: tuple[int, float] | None = None
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="control-plane-") as name:
            seconds, memory = measure_staged(Path(name), number)
        cost = f"{1000 * (seconds - first[1]) / (number - first[0]):.2f}" if first else ""
        first = first or (number, seconds)
        print(f"| {number:,} | {number - FRESH:,} | {seconds:.1f} | {cost} | {memory:.0f} |", flush=True)


# --- compaction ----------------------------------------------------------------------------------------------------------------------


def measure_compaction(folder: Path, records: int, shards: int) -> tuple[float, float, int]:
    """CPU seconds, MiB and bytes written for the datasets of `records` pages in documents of PAGES pages."""
    output = folder / "out"
    references = [
        DocumentReference(uri=f"file:///library/{index:07d}.pdf", collection="default", size=100_000, version=f"100000-{index}")
        for index in range(records // PAGES)
    ]
    documents = stage_all(output, PAGES, references)
    (folder / "staged.txt").write_text("\n".join(repr(tuple(document)) for document in documents))
    seconds, memory = run_alone([sys.executable, __file__, "compact", str(output), str(folder / "staged.txt"), str(shards)])
    return seconds, memory, sum(path.stat().st_size for path in (output / "runs").rglob("part-*"))


def compact(output: str, listing: Path, shards: int) -> None:
    """Writes all shards one after another, as one worker does."""
    import ast

    by_shard: dict[int, list[StagedDocument]] = {shard: [] for shard in range(shards)}
    with listing.open() as lines:
        for line in lines:
            document = StagedDocument(*ast.literal_eval(line))
            by_shard[shard_of(document, shards)].append(document)
    for shard, documents in by_shard.items():
        write_shard(to_uri(output), "measured", shard, shards, documents)


def compaction(numbers: Sequence[int], shards: int) -> None:
    """The table of the writing of datasets."""
    print("| text records | documents | CPU seconds | records a CPU second | MiB | written |\n|---|---|---|---|---|---|")
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="control-plane-") as name:
            seconds, memory, written = measure_compaction(Path(name), number, shards)
        rate = number / seconds
        print(f"| {number:,} | {number // PAGES:,} | {seconds:.1f} | {rate:,.0f} | {memory:.0f} | {written / 1e6:,.0f} MB |", flush=True)


def run_alone(command: Sequence[str]) -> tuple[float, float]:
    """Seconds of processor time of a process, and the most MiB that it had resident; its children, which decode, apart.

    Not the time on the wall: that of a machine with other work to do says nothing.
    """
    root = Path(__file__).parents[1]
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - progress; read only if it fails
    process = psutil.Popen(command, env={**os.environ, "PYTHONPATH": str(root)}, cwd=root, stdout=subprocess.DEVNULL, stderr=errors)
    seconds = peak = 0.0
    while process.poll() is None:
        with contextlib.suppress(psutil.Error, OSError, StopIteration):
            times = process.cpu_times()
            seconds = max(seconds, times.user + times.system)
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            peak = max(peak, next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")))
        time.sleep(0.05)
    if process.returncode:
        errors.seek(0)
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {errors.read().decode()[-2000:]}")
    return seconds, peak / 1024


def main() -> None:
    """Reads what to measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["staged", "compaction", "compact"])
    parser.add_argument("rest", nargs="*")
    arguments = parser.parse_args()
    if arguments.what == "compact":
        compact(arguments.rest[0], Path(arguments.rest[1]), int(arguments.rest[2]))
    elif arguments.what == "staged":
        staged([int(number) for number in arguments.rest] or [1_000, 10_000, 100_000])
    else:
        compaction([int(number) for number in arguments.rest] or [10_000, 100_000, 1_000_000], shards=4)


if __name__ == "__main__":
    main()
