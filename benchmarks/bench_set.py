"""The documents that `make bench` runs over: copies of a folder's files of the formats that all sides know, by group."""

import hashlib
import os
import shutil
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from generated_documents import write_documents  # noqa: E402 - a script finds the package beside it

TEXT_SUFFIXES = frozenset(
    {
        *{".csv", ".docx", ".eml", ".epub", ".htm", ".html", ".json", ".md", ".msg", ".ndjson", ".odt", ".org", ".pptx", ".rst", ".rtf"},
        *{".tsv", ".txt", ".xls", ".xlsx", ".xml"},
    }
)
"""Formats that unstructured reads without OCR, LibreOffice or a layout model."""

DOCLING_SUFFIXES = frozenset({".csv", ".docx", ".htm", ".html", ".md", ".pptx", ".xlsx"})
"""Formats of docling's simple backends among them."""

GENERATED = 300
"""Documents that are made besides where no folder is given: the sample library alone is done before a start-up is over."""

PAGES = 400


@dataclass
class BenchSet:
    """Folders of files; each file of a group is a link to the same copy."""

    folder: Path
    groups: dict[str, list[Path]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    """Files in no group: by extension (they need OCR, LibreOffice or a layout model), or with the bytes of another one."""

    def size(self, group: str) -> int:
        """Bytes."""
        return sum(path.stat().st_size for path in self.groups[group])


def make_set(corpus: Path | None, folder: Path) -> BenchSet:
    """Copies the files of a folder (default: the sample library and generated documents) and sorts them into groups.

    Returns:
      The groups `all`, `text`, `pdf` (with a text layer), `docling`, `one` (a text of one line), `largest` (the PDF with the most pages)
      and `pages` (a PDF of 400 pages, of the same).
    """
    made = BenchSet(folder)
    source = folder / "source"
    if corpus is None:
        shutil.copytree(ROOT / "samples" / "library", source)
        (source / "generated").mkdir()
        write_documents(source / "generated", GENERATED)
    else:
        source = corpus
    seen: set[str] = set()
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        groups, reason = _groups(path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in seen:
            groups, reason = (), "same bytes as another"
        seen.add(digest)
        if not groups:
            made.left_out[reason] += 1
            continue
        number = len(made.groups.get("all", ()))
        first = _place(made, groups[0], f"{number:04d}-{path.name}")
        shutil.copyfile(path, first)
        for group in groups[1:]:
            os.link(first, _place(made, group, first.name))
    _place(made, "one", "one.txt").write_text("The observatory opens on Friday.\n", encoding="utf-8")
    pdfs = made.groups.get("pdf", [])
    if pdfs:
        largest = max(pdfs, key=_pages)
        os.link(largest, _place(made, "largest", largest.name))
        _write_pages(largest, _place(made, "pages", "pages.pdf"))
    return made


def _groups(path: Path) -> tuple[tuple[str, ...], str]:
    suffix = path.suffix.lower()
    if suffix == ".pdf":
        text, reason = _has_text(path)
        return (("all", "pdf") if text else ("all",)), reason
    if suffix in TEXT_SUFFIXES:
        return ("all", "text", "docling") if suffix in DOCLING_SUFFIXES else ("all", "text"), ""
    return (), suffix or "no extension"


def _has_text(path: Path) -> tuple[bool, str]:
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(path)
        return any(pdf[number].get_textpage().count_chars() > 20 for number in range(min(len(pdf), 5))), ""
    except pypdfium2.PdfiumError:  # damaged or encrypted: what becomes of it is part of the comparison
        return False, ""


def _pages(path: Path) -> int:
    import pypdfium2

    return len(pypdfium2.PdfDocument(path))


def _write_pages(source: Path, target: Path) -> None:
    import pikepdf

    with pikepdf.open(source) as pdf, pikepdf.new() as made:
        while len(made.pages) < PAGES:
            made.pages.extend(list(pdf.pages)[: PAGES - len(made.pages)])
        made.save(target)


def _place(made: BenchSet, group: str, name: str) -> Path:
    path = made.folder / group / name
    path.parent.mkdir(exist_ok=True, parents=True)
    made.groups.setdefault(group, []).append(path)
    return path
