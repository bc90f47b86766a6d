import io
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.options.backfill import parse_backfill
from pipeline.report import plan as planning
from pipeline.report.plan import FormatPlan, expected_format, make_plan, show
from transforms.model import DecodedDocument, DocumentReference, Stage, Status
from transforms.references.listing import list_files
from transforms.storage.commit import write_commit
from transforms.storage.staging import staging_key, staging_path


@pytest.fixture
def settings(library, tmp_path):
    def parse(*arguments):
        return parse_backfill(["--input", str(library), "--output", str(tmp_path / "out"), *arguments])[0]

    return parse


def stage(settings, reference, status, reason=""):
    reference = reference._replace(collection=settings.collection)
    fingerprint = settings.decode.fingerprint
    path = Path(settings.output) / staging_path(fingerprint, staging_key(reference))
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {"collection": settings.collection, "reference": reference, "reason": reason, "stage": Stage.FETCH if reason else None}
    write_commit(
        path, [DecodedDocument("https://example.org/1", reference.uri, status, mime_type="text/plain", **facts)], fingerprint=fingerprint
    )


def shown(plan, settings):
    stream = io.StringIO()
    show(plan, settings, Console(file=stream, width=200, highlight=False, markup=False))
    return stream.getvalue()


def test_documents_are_counted_by_format(settings):
    assert make_plan(settings()).formats == {
        "Plain text": FormatPlan(1, 10, 0, 1),
        "CSV": FormatPlan(1, 8, 0, 1),
        "to be detected": FormatPlan(1, 13, 0, 1),
    }


def test_what_is_staged_is_not_decoded_again_unless_forced(settings, library):
    stage(settings(), next(list_files(str(library / "a.txt"))), Status.EMPTY, "There is nothing in it.")
    assert make_plan(settings()).formats["Plain text"] == FormatPlan(1, 10, 1, 0)
    assert make_plan(settings("--force")).formats["Plain text"] == FormatPlan(1, 10, 0, 1)
    assert make_plan(settings("--section-strategy=heading")).formats["Plain text"] == FormatPlan(1, 10, 0, 1)


def test_a_dead_letter_counts_as_the_next_run_takes_it(settings, library):
    stage(settings(), next(list_files(str(library / "a.txt"))), Status.CORRUPT, "It is damaged.")
    stage(settings(), next(list_files(str(library / "b.csv"))), Status.FETCH_FAILED, "It was away.")
    assert make_plan(settings()).total == FormatPlan(3, 31, 1, 2)
    assert make_plan(settings("--retry-failed")).total == FormatPlan(3, 31, 0, 3)


def test_a_limit_takes_the_first_by_uri(settings):
    assert make_plan(settings("--limit", "1")).formats == {"Plain text": FormatPlan(1, 10, 0, 1)}


def test_files_that_two_patterns_match_count_once(settings, library):
    assert make_plan(settings("--input", str(library / "*.txt"))).total.documents == 3


def test_batches_do_not_change_the_plan(settings, monkeypatch):
    whole = make_plan(settings())
    monkeypatch.setattr(planning, "BATCH", 2)
    assert make_plan(settings()) == whole


def test_references_that_cannot_be_used_are_told(settings, tmp_path):
    file = tmp_path / "references.jsonl"
    file.write_text('{"uri": "file:///nowhere/a.pdf", "kind": "text/html; charset=utf-8"}\nnot json \x1b[2J\n')
    plan = make_plan(settings("--references", str(file)))
    assert plan.formats["HTML"].documents == 1
    assert plan.formats["unusable reference"] == FormatPlan(1, 0, 0, 0)
    text = shown(plan, settings())
    assert text.splitlines()[-1] == (
        "4 documents would be decoded; 1 reference cannot be used, and would be dead letters. This was a dry run: nothing was written."
    )
    assert "/references.jsonl#line=2: " in text
    assert "\x1b" not in text


def test_a_list_of_problems_that_is_cut_says_so(settings, tmp_path):
    file = tmp_path / "references.jsonl"
    file.write_text("no json\n" * 7)
    lines = shown(make_plan(settings("--references", str(file))), settings()).splitlines()
    assert sum("/references.jsonl#line=" in line for line in lines) == 5
    assert "- and 2 more" in lines


def test_the_table_has_a_total_and_says_that_nothing_was_written(settings, tmp_path):
    text = shown(make_plan(settings()), settings())
    assert [line.split() for line in text.splitlines()[:5]] == [
        ["Format", "Documents", "Bytes", "Already", "staged", "To", "decode", "Tools", "missing", "here"],
        ["Plain", "text", "1", "10", "bytes", "0", "1"],
        ["CSV", "1", "8", "bytes", "0", "1"],
        ["to", "be", "detected", "1", "13", "bytes", "0", "1"],
        ["All", "3", "31", "bytes", "0", "3"],
    ]
    assert text.splitlines()[-1] == "3 documents would be decoded. This was a dry run: nothing was written."
    assert not (tmp_path / "out").exists()


def test_a_missing_tool_is_named_with_the_documents_that_need_it(library, settings, monkeypatch):
    (library / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    (library / "scan.png").write_bytes(b"\x89PNG")
    monkeypatch.setenv("PATH", "/nonexistent")
    text = shown(make_plan(settings()), settings())
    assert (
        "- soffice is missing: without it 1 DOC document would not be decoded. LibreOffice converts legacy Office files: apt-get install "
        "libreoffice-writer-nogui libreoffice-impress-nogui."
    ) in text
    assert "- tesseract is missing: of 1 PNG document what is a picture of text would not be decoded. tesseract reads" in text
    assert "tesseract" not in shown(make_plan(settings("--strategy=fast")), settings("--strategy=fast"))


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (DocumentReference("s3://b/Report%20A.PDF"), "PDF"),
        (DocumentReference("file:///a.bin", kind="Application/PDF"), "PDF"),
        (DocumentReference("file:///a%2Epdf"), "PDF"),
        (DocumentReference("file:///references.csv#row=3", locator="3"), "to be detected"),
        (DocumentReference("file:///folder.pdf/noname"), "to be detected"),
    ],
)
def test_expected_format(reference, name):
    assert expected_format(reference) == name
