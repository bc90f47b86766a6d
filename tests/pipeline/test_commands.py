import json
import shlex
import sys
from dataclasses import fields

import pytest

from pipeline.graph import facts
from pipeline.options.backfill import parse_backfill
from pipeline.report.commands import LIMIT_FLAGS, USUAL, backfill_again, program
from transforms.settings import Limits


def manifest_of(*arguments):
    about = facts("out", parse_backfill(arguments)[0])
    return json.loads(json.dumps({"settings": about.settings, "options": about.options}))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--input", "a", "--output", "out"],
        ["--input", "a b", "it's/*.pdf", "--references", "r.jsonl", "--output", "my out", "--section-strategy", "count"],
        [
            *("--input", "a", "--output", "out", "--strategy", "fast", "--languages", "eng,deu", "--section-strategy", "size"),
            *("--section-element-count", "7", "--section-max-size", "900", "--section-within-pages", "--no-images", "--document-timeout"),
            *("0.5", "--document-memory", "100", "--max-document-size", "9", "--collection", "papers", "--limit", "3", "--max-failures"),
            *("0.05", "--shards", "9", "--runner", "FlinkRunner", "--children", "77"),
        ],
        [
            *("--input", "a", "--output", "out", "--max-unpacked-size", "8", "--max-archive-ratio", "7", "--max-archive-members", "6"),
            *("--max-nesting", "5", "--max-pages", "4", "--max-pixels", "3", "--pdf-range-pages", "9", "--no-acceleration"),
        ],
    ],
)
def test_the_command_of_a_run_is_what_was_typed(arguments):
    _, *words = shlex.split(backfill_again(manifest_of(*arguments), "out" if "my out" not in arguments else "my out"))
    assert words == ["backfill", *arguments]


def test_what_is_added_stands_at_the_end_and_nothing_acts_on_the_terminal():
    typed = backfill_again(manifest_of("--input", "a\x1b[2J", "--output", "out"), "/elsewhere", "--retry-failed")
    assert typed.endswith(r" backfill --input 'a\x1b[2J' --output /elsewhere --retry-failed")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The program in a folder that is not on PATH."""
    path = tmp_path / "v env" / "universal-decoder"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", "/nonexistent")
    return path


def test_the_program_is_named_as_the_shell_finds_it(installed, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(installed)])
    assert program() == f"'{installed}'"
    monkeypatch.setenv("PATH", str(installed.parent))
    assert program() == "universal-decoder"
    monkeypatch.chdir(installed.parent.parent)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(sys, "argv", ["v env/universal-decoder"])
    assert program() == "'v env/universal-decoder'"


def test_a_module_is_started_as_one(installed, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/pipeline/__main__.py"])
    assert program() == f"{shlex.quote(sys.executable)} -m pipeline"
    monkeypatch.setenv("PATH", str(installed.parent))
    assert program() == "universal-decoder"


def test_a_program_that_uses_this_as_a_library_gets_the_plain_name(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    assert program() == "universal-decoder"


def test_every_option_that_a_run_has_is_told():
    """One that is not would be lost by who types the command again; a new one has to be put into `commands`, or here."""
    told_elsewhere = {"inputs", "references", "output", "limits", "library", "children", "force", "retry_failed", "dry_run"}
    assert set(manifest_of("--input", "a", "--output", "out")["options"]) - told_elsewhere == set(USUAL)
    assert {field.name for field in fields(Limits)} == set(LIMIT_FLAGS)
