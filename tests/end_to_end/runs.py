"""The job as a user runs it: real processes, and what they left read back with the libraries that a user would take."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples" / "library"
STARTED_AT = "2026-01-31T10:00:00Z"


@dataclass(frozen=True)
class FinishedRun:
    """A run's folder, read with the libraries that a user would take."""

    output: Path
    run_id: str

    @property
    def folder(self) -> Path:
        return self.output / "runs" / self.run_id

    @property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.folder / "manifest.json").read_text())

    def rows(self, dataset: str) -> list[dict[str, Any]]:
        return [row for part in sorted((self.folder / dataset).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]

    def quads(self) -> list[str]:
        return [
            line
            for part in sorted((self.folder / "provenance").glob("*"))
            for line in gzip.decompress(part.read_bytes()).decode().splitlines()
        ]

    def dead_letters(self) -> list[dict[str, Any]]:
        return [json.loads(line) for part in sorted((self.folder / "dead_letters").glob("*")) for line in part.read_text().splitlines()]

    def statuses(self) -> dict[str, str]:
        """File name -> status, of the documents themselves (attachments carry a fragment)."""
        return {row["source_uri"].rsplit("/", 1)[-1]: row["status"] for row in self.rows("documents")}

    def digests(self, *datasets: str) -> dict[str, str]:
        """Part -> SHA-256, for comparing runs byte by byte."""
        return {
            str(part.relative_to(self.folder)): hashlib.sha256(part.read_bytes()).hexdigest()
            for dataset in datasets
            for part in sorted((self.folder / dataset).iterdir())
        }


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "pipeline", *map(str, arguments)]


def start(*arguments: str | Path, extra: Mapping[str, str] | None = None, **options: Any) -> "subprocess.Popen[str]":
    """Starts the command in a session of its own, so that a test can kill the whole of it. `extra`: variables; an empty one is not set."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **(extra or {})}
    environment = {name: value for name, value in environment.items() if value or name not in (extra or {})}
    return subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True, **options
    )


def universal_decoder(*arguments: str | Path, expect: int = 0, extra: Mapping[str, str] | None = None) -> str:
    """Runs the command to its end and gives its standard output."""
    process = start(*arguments, extra=extra)
    out, err = process.communicate()
    assert process.returncode == expect, err
    assert "Traceback" not in err + out
    return out + err


def backfill(
    library: Path, output: Path, *arguments: str | Path, run_id: str = "first", extra: Mapping[str, str] | None = None
) -> FinishedRun:
    universal_decoder(
        "backfill", "--input", library, "--output", output, "--run-id", run_id, "--started-at", STARTED_AT, *arguments, extra=extra
    )
    return FinishedRun(output, run_id)
