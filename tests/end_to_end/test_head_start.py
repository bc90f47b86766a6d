"""The decoders of a new run begin to warm before Beam is imported, and are the ones that it uses; no run starts any without need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kill_matrix import no_process_within
from runs import ROOT

TELLING = """
import json, sys
from pipeline.cli import main
from transforms.isolation.pool import ChildPool

made, make = [], ChildPool.__init__

def telling(self, *arguments, **options):
    made.append("before Beam" if "apache_beam" not in sys.modules else "with Beam")
    make(self, *arguments, **options)

ChildPool.__init__ = telling
code = main()
print(json.dumps({"code": code, "pools": made}))
"""
"""The command, which says at its end when it has started each of its pools of decoders."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "a.txt").write_text("A lens was ground in the tower.")
    return folder


def pools(folder: Path, *arguments: object, expect: int = 0) -> list[str]:
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    command = [sys.executable, "-c", TELLING, "backfill", *map(str, arguments)]
    environment = {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "Traceback" not in done.stderr + done.stdout
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["code"] == expect, done.stderr
    assert no_process_within(temporary, seconds=2)
    assert not list(temporary.iterdir())
    return found["pools"]


def test_a_new_run_warms_the_decoders_that_it_uses_while_beam_is_imported(tmp_path: Path, library: Path) -> None:
    output = tmp_path / "out"
    assert pools(tmp_path, "--input", library, "--output", output) == ["before Beam"]
    assert pools(tmp_path, "--input", library, "--output", output) == []  # nothing is left to decode
    (library / "b.txt").write_text("Another lens.")
    assert pools(tmp_path, "--input", library, "--output", output) == ["with Beam"]  # known only when OUTPUT has been looked through


def test_its_options_reach_the_decoders_that_have_a_head_start(tmp_path: Path, library: Path) -> None:
    options = ("--no-acceleration", "--children", 1, "--document-memory", 900, "--document-timeout", 77)
    assert pools(tmp_path, "--input", library, "--output", tmp_path / "out", *options) == ["before Beam"]


def test_a_plan_starts_no_decoder(tmp_path: Path, library: Path) -> None:
    assert pools(tmp_path, "--input", library, "--output", tmp_path / "out", "--dry-run") == []


def test_what_is_refused_ends_the_decoders_that_have_begun_to_warm(tmp_path: Path, library: Path) -> None:
    assert pools(tmp_path, "--input", tmp_path / "nowhere", "--output", tmp_path / "out", expect=2) == ["before Beam"]
