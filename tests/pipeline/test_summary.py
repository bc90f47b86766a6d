import io
import unicodedata

import pytest
from rich.console import Console

from pipeline.report.finished_run import FinishedRun, open_run
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
    rows = [line.split() for line in block(lines, "Format")]
    assert next(line.split() for line in lines if line.startswith("Format"))[:6] == [
        "Format", "Documents", "ok", "empty", "corrupt", "fetch_failed",
    ]  # fmt: skip
    assert [row[:6] for row in rows] == [
        ["unknown", "8", "0", "0", "1", "7"],
        ["PDF", "1", "1", "0", "0", "0"],
        ["DOCX", "1", "1", "0", "0", "0"],
        ["EML", "1", "0", "1", "0", "0"],
    ]
    assert all(int(row[1]) == sum(map(int, row[2:6])) for row in rows)


def test_no_figure_is_lost_in_a_narrow_terminal(output):
    stream = io.StringIO()
    show(open_run(str(output.path)), Console(file=stream, width=30, highlight=False, markup=False))
    assert any(line.split() == ["unknown", "8", "0", "0", "1", "7", "160", "bytes", "0", "0.0"] for line in stream.getvalue().splitlines())


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
        f"universal-decoder backfill --input /library --output {output.path} --retry-failed",
        f"universal-decoder trace urn:section:00000000-0000-5000-8000-000000000003 --output {output.path}",
        f"universal-decoder report {output.path} --run first",
    ]


def test_nothing_of_it_can_control_the_terminal(lines):
    text = "\n".join(lines)
    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cf")} == {"\n"}


def test_few_dead_letters_of_each_status_are_held(output):
    findings = find(open_run(str(output.path)))
    assert {status: (len(letters.first), letters.documents) for status, letters in findings.letters.items()} == {
        (Status.CORRUPT, False): (1, 1),
        (Status.FETCH_FAILED, False): (5, 7),
    }


def letter(uri, status=Status.FETCH_FAILED, stage="fetch", reference=""):
    return {"source_uri": uri, "status": status.value, "stage": stage, "message": "Why.", "reference": {"uri": reference or uri}}


def shown_with(output, monkeypatch, *letters, **options):
    run = open_run(str(output.path))
    run.manifest["options"].update(options)
    monkeypatch.setattr(FinishedRun, "dead_letters", lambda self: iter(letters))
    stream = io.StringIO()
    show(run, Console(file=stream, width=200, highlight=False, markup=False))
    return [line.rstrip() for line in stream.getvalue().split("\n")]


def test_attachments_are_counted_apart(output, monkeypatch):
    one = letter("file:///mail.eml#attachment=1", Status.CORRUPT, "partition", "file:///mail.eml")
    lines = shown_with(output, monkeypatch, letter("file:///b", Status.CORRUPT, "partition"), one, one, letter("file:///c"))
    assert [line for line in block(lines, "Dead letters: 2 documents and 2 attachments not decoded") if line[2] != " "] == [
        "  corrupt (1 and 2 attachments): their bytes are damaged: store them again",
        "  fetch_failed (1): the next run tries them again",
    ]


def test_what_is_wrong_with_a_reference_is_to_be_corrected(output, monkeypatch):
    lines = shown_with(output, monkeypatch, letter("file:///r.jsonl#line=2", stage="reference"), letter("file:///c"))
    assert [line for line in block(lines, "Dead letters: 2 documents not decoded") if line[2] != " "] == [
        "  fetch_failed (1): the next run tries them again",
        "  fetch_failed (1): correct what the sentence names: the line, the link, or the rights of the folder",
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, None),
        ({"limit": 12}, None),
        ({"limit": 11}, "This run holds the first 11 references only (--limit 11), "),
        ({"inputs": [], "references": ["out/runs/first/dead_letters/*.jsonl"]}, "This run holds only documents that had failed (its "),
        ({"inputs": ["a"], "references": ["out/runs/first/dead_letters"]}, None),
        ({"inputs": [], "references": ["refs.jsonl"]}, None),
    ],
)
def test_a_run_of_a_part_says_so(output, monkeypatch, options, sentence):
    lines = shown_with(output, monkeypatch, **options)
    found = [line for line in lines if line.startswith("This run holds ")]
    assert len(found) == (sentence is not None)
    if sentence:
        assert found[0].startswith(sentence)
        assert found[0].endswith("not the whole library; while it is the newest, report, trace and the file `latest` mean it.")


@pytest.mark.parametrize(("dead", "matched", "allowed"), [(8, 11, None), (8, 11, 1.0), (1, 4, 0.25), (0, 5, 0.0), (0, 0, 0.0)])
def test_not_more_failures_than_allowed(dead, matched, allowed):
    assert too_many_failures({"invariant": {"dead_letters": dead, "matched": matched}}, allowed) == ""


def test_more_failures_than_allowed():
    assert too_many_failures({"invariant": {"dead_letters": 8, "matched": 11}}, 0.05) == (
        "8 of 11 documents failed (72.73%), more than --max-failures 0.05 allows; the run is finished and its results are written."
    )
    assert too_many_failures({"invariant": {"dead_letters": 1, "matched": 1000}}, 0.0) != ""
