"""The documents that `make bench` runs over: copies of a folder's files of the formats that all sides know, by group."""

import hashlib
import os
import shutil
import sys
import zlib
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
SCANS = "scans"
"""The group that needs OCR; nobody else reads it in the time that a benchmark may take."""


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
      The groups `all`, `text`, `pdf` (with a text layer), `docling`, `one` (a text of one line), `largest` (the PDF with the most pages),
      `pages` (a PDF of 400 pages, of the same) and `scans` (one of 400 pictures of text).
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
    _write_scans(_place(made, SCANS, "scans.pdf"))
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


def _write_scans(target: Path) -> None:
    """Pages as a scanner of 150 dpi gives them: one grey picture each, of eight lines, all different."""
    import pikepdf
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(size=36)
    name, facts = pikepdf.Name, {"Width": 1240, "Height": 1754, "BitsPerComponent": 8}
    with pikepdf.new() as made:
        for number in range(PAGES):
            picture = Image.new("L", (facts["Width"], facts["Height"]), 255)
            for line in range(8):
                text = f"Page {number} line {line}: the lens was ground in the tower by night."
                ImageDraw.Draw(picture).text((100, 150 + 90 * line), text, fill=0, font=font)
            data = zlib.compress(picture.tobytes())
            scan = made.make_stream(
                data, Type=name.XObject, Subtype=name.Image, ColorSpace=name.DeviceGray, Filter=name.FlateDecode, **facts
            )
            page = made.add_blank_page(page_size=(595, 842))
            page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(Scan=scan))
            page.Contents = made.make_stream(b"595 0 0 842 0 0 cm /Scan Do")
        made.save(target)


def _place(made: BenchSet, group: str, name: str) -> Path:
    path = made.folder / group / name
    path.parent.mkdir(exist_ok=True, parents=True)
    made.groups.setdefault(group, []).append(path)
    return path
