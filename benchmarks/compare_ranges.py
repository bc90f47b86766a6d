"""Compares the commits of PDFs that were decoded in ranges of pages with those that were decoded as a whole, byte for byte.

usage: python benchmarks/compare_ranges.py FOLDER [--pages N] [--children N] [--strategy NAME] [--section-strategy NAME] [--sections]

Compared are all members of the commits (texts, images, provenance, dead letters, the document's row, warnings and missing pages included)
but the seconds and the memory of the decode, and the blobs. Exit code 1: there is a difference.
"""

import argparse
import json
import sys
import tempfile
import time
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from transforms.decode_documents import DecodeTask, decode_reference  # noqa: E402 - a script finds the package beside it
from transforms.isolation.shared import close_pools, shared_pool  # noqa: E402
from transforms.model import DocumentReference  # noqa: E402
from transforms.settings import DecodeSettings, Limits, SectionStrategy, Strategy  # noqa: E402
from transforms.storage.commit import OUTCOME  # noqa: E402

STARTED_AT = "2026-01-31T10:00:00Z"
MEASURED = ("seconds", "peak_memory_mb")
"""Columns of a document's row that no two decodes share."""


def main() -> int:
    """Reads the command line, decodes each PDF twice, and prints what is different."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=1, help="--pdf-range-pages of the one side; a PDF of four times as many is divided")
    parser.add_argument("--children", type=int, default=2)
    parser.add_argument("--strategy", type=Strategy, default=Strategy.AUTO)
    parser.add_argument("--section-strategy", type=SectionStrategy, default=SectionStrategy.WHOLE_DOCUMENT)
    parser.add_argument("--sections", action="store_true", help="with --section-within-pages")
    given = parser.parse_args()
    settings = DecodeSettings(
        strategy=given.strategy, section_strategy=given.section_strategy, section_max_size=500, section_within_pages=given.sections
    )
    files = sorted(path for path in given.folder.rglob("*") if path.suffix.lower() == ".pdf" and path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        outputs = {0: Path(folder, "whole"), given.pages: Path(folder, "ranges")}
        found = {pages: decoded(files, output, settings, given.children, pages) for pages, output in outputs.items()}
    different = [str(file) for file in files if found[0][file] != found[given.pages][file]]
    for file in files:
        if str(file) in different:
            print(f"DIFFERENT {file}: {', '.join(differences(found[0][file], found[given.pages][file]))}")
    divided = sum(pages >= 4 * given.pages for pages in (found[0][file]["pages"] for file in files))
    statuses = Counter(found[0][file]["status"] for file in files)
    print(f"{len(files)} PDFs ({dict(statuses)}), {divided} of them of {4 * given.pages} pages and more: {len(different)} different")
    return 1 if different else 0


def decoded(files: list[Path], output: Path, settings: DecodeSettings, children: int, pages: int) -> dict[Path, dict[str, Any]]:
    """The content of each file's commit, decoded in ranges of so many pages of text (0: as a whole)."""
    started = time.perf_counter()
    task = DecodeTask(output.as_uri(), settings, Limits(), STARTED_AT, children, range_pages=pages)
    pool = shared_pool(task.children, task.limits)
    with ThreadPoolExecutor(children) as threads:
        flying = [threads.submit(decode_reference, DocumentReference(file.as_uri()), task, pool, threads) for file in files]
        staged = [future.result() for future in flying]
    close_pools()
    left = [path for path in output.rglob("*") if "ranges" in path.relative_to(output).parts]
    if left:
        raise SystemExit(f"left behind: {left[0]}")
    print(
        f"ranges of {pages}: {time.perf_counter() - started:.1f} s" if pages else f"whole: {time.perf_counter() - started:.1f} s",
        flush=True,
    )
    blobs = sorted(str(path.relative_to(output)) for path in output.glob("blobs/**/*") if path.is_file())
    return {file: content(output / one.path) | {"blobs": blobs} for file, one in zip(files, staged, strict=True)}


def content(commit: Path) -> dict[str, Any]:
    """All of a commit that two decodes share, by member; its status and pages for the summary."""
    with zipfile.ZipFile(commit) as archive:
        members: dict[str, Any] = {name: archive.read(name) for name in archive.namelist()}
    facts = json.loads(members.pop(OUTCOME))
    document = facts["documents"][0]
    for name in MEASURED:
        document.pop(name)
    return {**members, **facts, "status": document["status"], "pages": document["page_count"] or 0}


def differences(whole: dict[str, Any], ranges: dict[str, Any]) -> list[str]:
    """Names of what is different, with the values where they are short."""
    names = [name for name in {**whole, **ranges} if whole.get(name) != ranges.get(name)]
    return [name if isinstance(whole.get(name), bytes) else f"{name} {whole.get(name)} / {ranges.get(name)}"[:2000] for name in names]


if __name__ == "__main__":
    raise SystemExit(main())
