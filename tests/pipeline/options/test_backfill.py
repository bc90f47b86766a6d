from datetime import UTC, datetime

import pytest

from pipeline.options.backfill import BackfillSettings, date_time, parse_backfill
from transforms.settings import DecodeSettings, Limits, SectionStrategy, Strategy

NOW = datetime(2026, 1, 31, 10, 0, 7, 45678, tzinfo=UTC)
BASE = ("--input", "library", "--output", "out")


def test_only_input_and_output_are_needed_and_all_defaults_are_the_contracts():
    settings, beam = parse_backfill([*BASE, "--children", "3"], NOW)
    assert settings == BackfillSettings(
        inputs=("library",),
        references=(),
        output="out",
        decode=DecodeSettings(Strategy.AUTO, ("eng",), SectionStrategy.WHOLE_DOCUMENT, 20, 4000, False, True),
        limits=Limits(600.0, 4096, 1024, 2048, 300, 50_000, 3, 50_000, 500),
        collection="default",
        children=3,
        shards=4,
        run_id="20260131T100007.045Z",
        started_at="2026-01-31T10:00:07Z",
        limit=None,
        force=False,
        retry_failed=False,
        dry_run=False,
        max_failures=None,
        accelerated=True,
        runner="DirectRunner",
        range_pages=50,
    )
    assert beam == ["--runner=DirectRunner"]


def test_every_option_reaches_its_setting():
    settings, _ = parse_backfill(
        [
            "--input",
            "a",
            "b",
            "--input",
            "c",
            "--references",
            "r.csv",
            "--output=out",
            "--collection",
            "law",
            "--strategy=ocr_only",
            "--languages",
            "deu,eng,deu",
            "--section-strategy=size",
            "--section-element-count=7",
            "--section-max-size=99",
            "--section-within-pages",
            "--no-images",
            "--document-timeout=1.5",
            "--document-memory=512",
            "--max-document-size=9",
            "--max-unpacked-size=10",
            "--max-archive-ratio=11",
            "--max-archive-members=12",
            "--max-nesting=13",
            "--max-pages=14",
            "--max-pixels=15",
            "--max-failures=0.25",
            "--dry-run",
            "--limit=5",
            "--force",
            "--retry-failed",
            "--run-id=run-1",
            "--started-at=2026-01-31T11:00:00.500+01:00",
            "--runner=FlinkRunner",
            "--children=2",
            "--pdf-range-pages=16",
            "--no-acceleration",
            "--shards=8",
        ],
        NOW,
    )
    assert settings == BackfillSettings(
        inputs=("a", "b", "c"),
        references=("r.csv",),
        output="out",
        decode=DecodeSettings(Strategy.OCR_ONLY, ("deu", "eng"), SectionStrategy.SIZE, 7, 99, True, False),
        limits=Limits(1.5, 512, 9, 10, 11, 12, 13, 14, 15),
        collection="law",
        children=2,
        shards=8,
        run_id="run-1",
        started_at="2026-01-31T10:00:00.5Z",
        limit=5,
        force=True,
        retry_failed=True,
        dry_run=True,
        max_failures=0.25,
        accelerated=False,
        runner="FlinkRunner",
        range_pages=16,
    )


def test_options_of_beam_keep_their_order_and_values():
    _, beam = parse_backfill(["--flink_master", "host:8081", *BASE, "--experiments=a", "--streaming", "--runner", "FlinkRunner"], NOW)
    assert beam == ["--runner=FlinkRunner", "--flink_master", "host:8081", "--experiments=a", "--streaming"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--section-within-pages"], True),
        (["--section-within-pages=true"], True),
        (["--section-within-pages", "false"], False),
        (["--section-within-pages", "--no-section-within-pages"], False),
    ],
)
def test_a_switch_takes_a_value_as_in_the_seed_specification(arguments, expected):
    assert parse_backfill([*BASE, *arguments], NOW)[0].decode.section_within_pages is expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--strategy", "hires"], "--strategy 'hires' is not known: use auto, fast, hi_res or ocr_only (did you mean hi_res?)."),
        (["--section-strategy", "x"], "--section-strategy 'x' is not known: use whole-document, heading, element-type, count or size."),
        (
            ["--languages", "eng,,deu"],
            "--languages 'eng,,deu' is not a list of languages: give tesseract codes with commas between them, such as eng,deu.",
        ),
        (["--limit", "0"], "--limit '0' is not a number of documents: give a whole number from 1 up."),
        (["--limit", "-3"], "--limit '-3' is not a number of documents: give a whole number from 1 up."),
        (["--shards", "10001"], "--shards '10001' is not a number of parts: give a whole number from 1 to 10000."),
        (
            ["--document-memory", "99999999999999"],
            "--document-memory '99999999999999' is not a number of MiB: give a whole number from 1 to 1073741824.",
        ),
        (["--document-timeout", "nan"], "--document-timeout 'nan' is not a time: give a number of seconds above 0, such as 600."),
        (
            ["--max-failures", "5"],
            "--max-failures '5' is not a fraction: give a number from 0 to 1, such as 0.05 for 5 % of all documents.",
        ),
        (
            ["--run-id", "../x"],
            "--run-id '../x' cannot name a folder everywhere: use letters, digits, '.', '_' and '-', at most 128, first a "
            "letter or a digit.",
        ),
        (
            ["--started-at", "today"],
            "--started-at 'today' is not a time: give ISO 8601, such as 2026-01-31T10:00:00Z (without a zone it is UTC).",
        ),
        (
            ["--section-within-pages=maybe"],
            "--section-within-pages 'maybe' is neither true nor false: give --section-within-pages alone, "
            "--section-within-pages=true or --section-within-pages=false.",
        ),
        (["--collection", ""], "--collection '' is not a name: give printable characters, such as default."),
        (["--force=yes"], "--force takes no value, and was given 'yes'."),
        (["--limit"], "--limit needs a value: universal-decoder backfill --help shows what it takes."),
        (["--output", ""], "--output is empty: give a path or a URI."),
    ],
)
def test_a_wrong_value_gives_one_sentence_with_its_flag(arguments, sentence, sentence_of):
    assert sentence_of(parse_backfill, *BASE, *arguments) == sentence


def test_what_is_missing_is_named(sentence_of):
    assert (
        sentence_of(parse_backfill, "--output", "o")
        == "--input is missing: give a file, a folder or a glob to decode, --references FILE or --librarian URL."
    )
    assert (
        sentence_of(parse_backfill, "--input", "i") == "--output is missing: give the folder or URI that the results shall be written to."
    )


def test_a_home_folder_is_expanded_where_the_shell_does_not(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert parse_backfill(["--input=~/in", "--output=~/out"], NOW)[0].output == "/home/someone/out"


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z"),
        ("2026-01-31T10:00:00", "2026-01-31T10:00:00Z"),
        ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
        ("2026-01-31T01:00:00+02:00", "2026-01-30T23:00:00Z"),
        ("0999-01-31T10:00:00.120000Z", "0999-01-31T10:00:00.12Z"),
    ],
)
def test_the_start_is_a_canonical_date_time_in_utc(given, canonical):
    assert parse_backfill([*BASE, "--started-at", given], NOW)[0].started_at == canonical


def test_date_time_drops_zeros_of_the_fraction_only():
    assert date_time(datetime(2026, 1, 1, 10, 10, 10, tzinfo=UTC)) == "2026-01-01T10:10:10Z"
