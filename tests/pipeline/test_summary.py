import io
import unicodedata

import pytest
from rich.console import Console

from pipeline.report.finished_run import open_run
from pipeline.report.summary import find, show, too_many_failures
from transforms.model import Status


@pytest.fixture
def lines(output):
    stream = io.StringIO()
    show(open_run(str(output.path)), Console(file=stream, width=200, highlight=False, markup=False), seconds=9.0)
    return [line.rstrip() for line in stream.getvalue().split("\n")]


def block(lines, heading):
    start = next(index for index, line in enumerate(lines) if line.startswith(heading))
    return lines[start + 1 : lines.index("", start)]


def test_the_head_tells_what_the_run_was(lines):
    assert lines[:2] == [
        "Run first: 11 documents in 9 s, finished 2026-01-31T10:00:09Z",
        "11 decoded now, 0 before, 4.7 kB, 1,037 characters of text, 14 s of decoding",
    ]


def test_counts_by_status_add_up_to_all_references(lines):
    assert [line.split() for line in block(lines, "Status")] == [
        ["ok", "2", "18", "%"],
        ["empty", "1", "9", "%"],
        ["corrupt", "1", "9", "%"],
        ["fetch_failed", "7", "64", "%"],
        ["and", "1", "attachment", "of", "mails:", "1", "empty"],
    ]


def test_counts_by_format_name_the_format(lines):
    assert [line.split()[:4] for line in block(lines, "Format")] == [
        ["unknown", "8", "0", "8"],
        ["PDF", "1", "1", "0"],
        ["DOCX", "1", "1", "0"],
        ["EML", "1", "0", "0"],
    ]


def test_slow_documents_and_warnings_are_named(lines):
    assert block(lines, "Slowest documents") == ["    12.5 s    1.5 kB  file:///library/report.pdf, 2 pages"]
    assert block(lines, "Warnings: 1 document") == ["  file:///library/report.pdf: Page 2 has a picture that could not be read."]


def test_dead_letters_have_their_reason_and_what_helps(lines):
    shown = block(lines, "Dead letters: 8 documents")
    assert shown[:3] == [
        "  corrupt (1): their bytes are damaged: store them again",
        "    file:///library/broken\\x1b[31m.pdf: The file ends\\nin the middle \\x1b[31mof an object.",
        "  fetch_failed (7): the next run tries them again",
    ]
    assert len(shown) == 9
    assert shown[-1] == "    and 2 more"


def test_it_ends_with_what_to_type_next(lines, output):
    assert [line.strip() for line in block(lines, "How to go on") if line.startswith("    ")] == [
        f"universal-decoder backfill --references '{output.path}/runs/first/dead_letters/*.jsonl' --output {output.path} --retry-failed",
        f"universal-decoder trace urn:section:00000000-0000-5000-8000-000000000003 --output {output.path}",
        f"universal-decoder report {output.path} --run first",
    ]


def test_nothing_of_it_can_control_the_terminal(lines):
    text = "\n".join(lines)
    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} == {"\n"}


def test_few_dead_letters_of_each_status_are_held(output):
    findings = find(open_run(str(output.path)))
    assert {status: len(letters) for status, letters in findings.letters.items()} == {Status.CORRUPT: 1, Status.FETCH_FAILED: 5}


@pytest.mark.parametrize(("dead", "matched", "allowed"), [(8, 11, None), (8, 11, 1.0), (1, 4, 0.25), (0, 5, 0.0), (0, 0, 0.0)])
def test_not_more_failures_than_allowed(dead, matched, allowed):
    assert too_many_failures({"invariant": {"dead_letters": dead, "matched": matched}}, allowed) == ""


def test_more_failures_than_allowed():
    assert too_many_failures({"invariant": {"dead_letters": 8, "matched": 11}}, 0.05) == (
        "8 of 11 documents failed (72.73%), more than --max-failures 0.05 allows; the run is finished and its results are written."
    )
    assert too_many_failures({"invariant": {"dead_letters": 1, "matched": 1000}}, 0.0) != ""
