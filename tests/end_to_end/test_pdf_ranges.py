"""Large PDFs in ranges of pages, through the whole job: the same bytes, and a range that goes wrong costs its pages."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from runs import ROOT, STARTED_AT, FinishedRun

from pipeline.options.backfill import parse_backfill
from pipeline.run import run

PAGES = 6
DATASETS = ("text_documents", "images", "provenance")


class Watch:
    """A progress that adds up what it is told."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, documents: int, size: int) -> None:
        with self._lock:
            self.counts[name] += documents

    def phase(self, text: str) -> None: ...


def decode_with(
    decoder: str, library: Path, output: Path, *arguments: str, children: int = 2, run_id: str = "first", watch: Watch | None = None
) -> FinishedRun:
    """Runs the job in this process; each page is a range, unless the arguments say otherwise."""
    given = ["--input", str(library), "--output", str(output), "--run-id", run_id, "--started-at", STARTED_AT, "--pdf-range-pages", "1"]
    settings, beam_arguments = parse_backfill([*given, *arguments])
    run(replace(settings, children=children), beam_arguments, watch or Watch(), decoder=decoder)
    return FinishedRun(output, run_id)


def make_pdf(path: Path, name: str) -> Path:
    """Six pages with a text and a picture each, and a logo on all of them."""
    document = pikepdf.new()
    logo = image(document, 40)
    for number in range(1, PAGES + 1):
        document.add_blank_page(page_size=(600, 800))
        page = document.pages[-1].obj
        font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
        objects = pikepdf.Dictionary(L=logo, O=image(document, 40 + number))
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font), XObject=objects)
        lines = b"BT /F1 12 Tf 1 0 0 1 60 700 Tm (Page %d of %b tells of the harvest in the valley.) Tj ET\n" % (number, name.encode())
        page.Contents = document.make_stream(lines + b"q 90 0 0 60 50 500 cm /L Do Q q 90 0 0 60 50 300 cm /O Do Q")
    stream = io.BytesIO()
    document.save(stream)
    path.mkdir(exist_ok=True)
    (path / f"{name}.pdf").write_bytes(stream.getvalue())
    return path


def image(document: Any, side: int) -> Any:
    return document.make_stream(
        zlib.compress(bytes(range(side)) * side),
        Type=pikepdf.Name.XObject,
        Subtype=pikepdf.Name.Image,
        Width=side,
        Height=side,
        BitsPerComponent=8,
        ColorSpace=pikepdf.Name.DeviceGray,
        Filter=pikepdf.Name.FlateDecode,
    )


def left_behind(output: Path) -> list[str]:
    """What lies where ranges are staged."""
    return sorted(path.name for path in output.glob("staging/*/ranges/**/*") if path.is_file())


@pytest.fixture(autouse=True)
def decoders_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The zygote imports the decoder by name."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests" / "end_to_end")]))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranges") / "library"
    for name in ("lens", "mirror"):
        make_pdf(folder, name)
    (folder / "note.txt").write_text("A small document stands beside the large ones.")
    return folder


@pytest.fixture(scope="module")
def undivided(library: Path, tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return decode_with("transforms.decode:decode_file", library, tmp_path_factory.mktemp("undivided"), "--pdf-range-pages", "1000")


@pytest.mark.parametrize(
    ("children", "arguments"),
    [(1, ()), (2, ("--direct_runner_bundle_repeat=1",)), (3, ("--force",)), (2, ("--pdf-range-pages=1", "--no-acceleration"))],
)
def test_the_run_is_the_one_that_divides_nothing(
    library: Path, undivided: FinishedRun, tmp_path: Path, children: int, arguments: tuple[str, ...]
) -> None:
    divided = decode_with("hostile_ranges:decode_file", library, tmp_path, *arguments, children=children)
    assert divided.digests(*DATASETS) == undivided.digests(*DATASETS)
    assert {row["source_uri"]: row["page_count"] for row in divided.rows("documents")} == {
        row["source_uri"]: row["page_count"] for row in undivided.rows("documents")
    }
    assert {path.name for path in tmp_path.glob("blobs/**/*.png")} == {path.name for path in undivided.output.glob("blobs/**/*.png")}
    assert left_behind(tmp_path) == []


def test_a_range_that_hangs_eats_memory_or_crashes_costs_its_pages_only(tmp_path: Path) -> None:
    library = tmp_path / "library"
    for name in ("sleep", "eat", "crash", "nothing", "all-crash"):
        make_pdf(library, name)
    whole = decode_with("transforms.decode:decode_file", library, tmp_path / "whole", "--pdf-range-pages", "1000")
    limits = ("--document-timeout", "30", "--document-memory", "900")
    watch = Watch()
    finished = decode_with("hostile_ranges:decode_file", library, tmp_path / "out", *limits, watch=watch)

    assert (watch.counts["pages"], watch.counts["pages_read"]) == (5 * PAGES, 5 * PAGES)
    documents = {row["source_uri"].rpartition("/")[2]: row for row in finished.rows("documents")}
    reasons = {
        "sleep": "not done after 30 s",
        "eat": "its limit is 900 MiB",
        "crash": "SIGSEGV",
        "nothing": "has not left",
    }
    for name, reason in reasons.items():
        row = documents[f"{name}.pdf"]
        assert (row["status"], row["missing_pages"], row["page_count"]) == ("ok", [3], PAGES)
        assert len(row["warnings"]) == 1
        assert row["warnings"][0].startswith("Page 3: not read (")
        assert reason in row["warnings"][0]
    lost = documents["all-crash.pdf"]
    assert (lost["status"], lost["page_count"]) == ("crashed", None)
    assert lost["reason"].startswith("Page 1: The decoding process was killed by SIGSEGV")

    def texts(run: FinishedRun) -> dict[tuple[str, int], tuple[str, str]]:
        rows = run.rows("text_documents")
        return {(row["source_uri"], row["number"]): (row["id"], row["text"]) for row in rows if "all-" not in row["source_uri"]}

    assert texts(finished) == {place: text for place, text in texts(whole).items() if place[1] != 3}
    assert left_behind(tmp_path / "out") == []

    # Once the cause is gone, the pages can be had without decoding all of the library.
    again = decode_with("transforms.decode:decode_file", library, tmp_path / "out", "--retry-failed", run_id="again")
    assert again.digests("text_documents", "images", "provenance") == whole.digests("text_documents", "images", "provenance")


@contextlib.contextmanager
def started_job(library: Path, output: Path, decoder: str) -> Iterator[None]:
    """A job in a process of its own, that is killed at the end of the block."""
    program = ROOT / "tests" / "end_to_end" / "hostile_ranges.py"
    started = subprocess.Popen([sys.executable, str(program), str(library), str(output), decoder], start_new_session=True)
    try:
        yield
        assert started.poll() is None
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def wait_for_ranges(output: Path, expected: list[str]) -> None:
    until = time.monotonic() + 300
    while left_behind(output) != expected:
        assert time.monotonic() < until, left_behind(output)
        time.sleep(0.1)


def test_a_second_child_reads_other_ranges_while_one_hangs(tmp_path: Path) -> None:
    library = make_pdf(tmp_path / "library", "sleep")
    with started_job(library, tmp_path / "out", "decode_file"):
        wait_for_ranges(tmp_path / "out", [f"{number:06d}-{number:06d}.zip" for number in (1, 2, 4, 5, 6)])


def test_a_run_that_is_killed_in_the_middle_of_a_document_goes_on_in_the_middle_of_it(
    library: Path, undivided: FinishedRun, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    with started_job(library, output, "stop_at_page_3"):
        wait_for_ranges(output, ["000001-000001.zip", "000001-000001.zip", "000002-000002.zip", "000002-000002.zip"])
    damaged = shutil.copytree(output, tmp_path / "damaged")

    watch = Watch()
    again = decode_with("hostile_ranges:only_from_page_3", library, output, watch=watch)

    assert (watch.counts["pages"], watch.counts["pages_read"]) == (2 * PAGES, 2 * PAGES)
    assert [row["missing_pages"] for row in again.rows("documents")] == [[], [], []]
    assert again.digests(*DATASETS) == undivided.digests(*DATASETS)
    assert left_behind(output) == []

    # What is staged is not used where it is cut off or its pictures are gone.
    for number, file in enumerate(damaged.glob("staging/*/ranges/**/*.zip")):
        if number % 2:
            file.write_bytes(file.read_bytes()[:-9])
    for blob in damaged.glob("blobs/**/*.png"):
        blob.unlink()
    mended = decode_with("hostile_ranges:decode_file", library, damaged)
    assert mended.digests(*DATASETS) == undivided.digests(*DATASETS)
    assert {path.name for path in damaged.glob("blobs/**/*.png")} == {path.name for path in undivided.output.glob("blobs/**/*.png")}
