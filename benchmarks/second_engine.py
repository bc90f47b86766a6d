"""Compares the texts of a finished run with what other, simpler readers find in the same documents: whether anything is lost.

usage: python benchmarks/second_engine.py OUTPUT [--run RUN] [--share 0.02] [--words 12]

PDFs are read by pdfium, Office files as the text nodes of their XML, PPT and DOC as the text in their streams, HTML and EPUB by the parser
of Python's library, mails by its `email`, texts as they are; pictures, and sheets in XLS, not at all. Compared are words, without regard to
case, order and number; a word counts as found where its letters stand together in the run's text. Listed is each document that lacks more
than a share of the other reader's words, with some of them. Local files only.

Exit code 1: a document that is `ok` or `empty` has text by the other reader and none in the run.
"""

import argparse
import contextlib
import email
import email.policy
import html.parser
import json
import re
import struct
import sys
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

WORD = re.compile(r"\w+")
TAG = re.compile(r"<[^<>]*>")


def main() -> int:
    """Reads the command line, compares, and prints what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--run", default="", help="default: the newest")
    parser.add_argument("--share", type=float, default=0.02, help="of the other reader's words, from which on a document is listed")
    parser.add_argument("--words", type=int, default=12, help="missing words to show of each")
    options = parser.parse_args()
    run = options.output / "runs" / (options.run or (options.output / "latest").read_text().strip())
    found = [compared(row, texts) for row, texts in documents(run)]
    print(summary(found))
    listed = sorted((one for one in found if one.share > options.share), key=lambda one: -one.share)
    for one in listed:
        print(f"{one.share:6.1%} of {one.words:6,}  {one.status:<9} {one.name}: {' '.join(one.missing[: options.words])}")
    lost = [one for one in found if one.is_lost]
    print("\n".join(f"LOST: {one.status} without text, by the other reader {one.words:,} words: {one.name}" for one in lost))
    return 1 if lost else 0


@dataclass(frozen=True)
class Compared:
    """One document."""

    name: str
    kind: str
    status: str
    words: int
    """By the other reader; -1: there is none for the format, or it cannot read it."""
    missing: Sequence[str] = ()
    has_text: bool = True
    reason: str = ""

    @property
    def share(self) -> float:
        return len(self.missing) / self.words if self.words > 0 and self.status in ("ok", "empty") else 0.0

    @property
    def is_lost(self) -> bool:
        return self.words > 0 and not self.has_text and self.status in ("ok", "empty")


def documents(run: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The rows of the documents (without attachments), each with the document's text, the attachments' texts after it."""
    texts: dict[str, list[str]] = {}
    for row in rows(run / "text_documents", ["source_uri", "text"]):
        texts.setdefault(row["source_uri"].partition("#attachment=")[0], []).append(row["text"])
    for row in rows(run / "documents", ["source_uri", "status", "reason", "mime_type", "parent_document_id", "title"]):
        if not row["parent_document_id"]:
            yield row, "\n".join([*texts.get(row["source_uri"], ()), row["title"] or ""])


def rows(dataset: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Of all parts of a dataset."""
    for part in sorted(dataset.glob("*.parquet")):
        yield from pq.read_table(part, columns=list(columns)).to_pylist()


def compared(row: Mapping[str, Any], text: str) -> Compared:
    """One document of the run against the other reader."""
    path = Path(unquote(urlsplit(row["source_uri"]).path))
    kind = path.suffix.lower().lstrip(".")
    name = f"{path.parent.name}/{path.name}"
    reader = READERS.get(kind)
    other = None
    if reader is not None:
        with contextlib.suppress(Exception):  # whatever it raises: it cannot read the document, and says nothing of it
            other = reader(path)
    if other is None:
        return Compared(name, kind, row["status"], -1)
    body = text.removesuffix(row["title"] or "").strip()
    plain = html.unescape(text)
    ours = {**words(plain), **words(html.unescape(TAG.sub(" ", text)))}
    letters = "".join(WORD.findall(normal(plain))) + "".join(WORD.findall(normal(html.unescape(TAG.sub("", text)))))
    letters += letters[::-1]  # pdfminer gives right-to-left letters as they stand on the page, from the left
    theirs = list(dict.fromkeys(words(other)))
    missing = [word for word in theirs if word not in ours and word not in letters]
    return Compared(name, kind, row["status"], len(theirs), missing, bool(body), row["reason"] or "")


def words(text: str) -> dict[str, None]:
    """The different words of a text, in order: two letters or digits at least."""
    return {word: None for word in WORD.findall(normal(text)) if len(word) > 1}


def normal(text: str) -> str:
    """Without differences that mean nothing: ligatures, soft hyphens, case."""
    return unicodedata.normalize("NFKC", text.replace("\u00ad", "").replace("\u200b", "")).casefold()


def summary(found: Sequence[Compared]) -> str:
    """A line for each format: documents, those compared, words, and the share of them that is missing."""
    lines = [f"{'format':<8}{'documents':>10}{'compared':>10}{'words':>12}{'missing':>10}"]
    for kind in sorted({one.kind for one in found}):
        all_of = [one for one in found if one.kind == kind]
        read = [one for one in all_of if one.words >= 0 and one.status in ("ok", "empty")]
        total, missing = sum(one.words for one in read), sum(len(one.missing) for one in read)
        lines.append(f"{kind:<8}{len(all_of):>10,}{len(read):>10,}{total:>12,}{missing / total if total else 0:>10.2%}")
    return "\n".join(lines)


# --- the other readers: path -> all text that is shown --------------------------------------------------------------------------------


def of_pdf(path: Path) -> str:
    """By pdfium, page after page."""
    import pypdfium2

    pages = pypdfium2.PdfDocument(path)
    return "\n".join(page.get_textpage().get_text_bounded() for page in pages)


_BREAKS = ("p", "tab", "br", "si", "is", "oMath")
"""Elements of Office files that end a word."""


def of_xml(path: Path, members: str, skipped: Sequence[str] = (), only: str = "") -> str:
    """The text nodes of the members of a ZIP whose names match.

    Args:
      skipped: local names of elements that are left out with all in them.
      only: the local name of the elements that hold text; empty: all.
    """
    from lxml import etree

    found: list[str] = []
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if not re.fullmatch(members, name):
                continue
            root = etree.fromstring(archive.read(name), etree.XMLParser(resolve_entities=False, huge_tree=True))
            for node in root.iter(*(f"{{*}}{tag}" for tag in skipped)):
                node.clear(keep_tail=True)
            if only:
                nodes = root.iter(*(f"{{*}}{tag}" for tag in (only, *_BREAKS)))
                found += [" " if etree.QName(node).localname in _BREAKS else node.text or "" for node in nodes]
            else:
                found += [text + " " for text in root.itertext()]
    return "".join(found)


class _Page(html.parser.HTMLParser):
    """Collects the text of a page that a browser shows."""

    HIDDEN = ("script", "style", "noscript", "template", "del", "textarea", "select", "option", "button", "svg", "math", "iframe")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002 - as the base class has it
        if tag in self.HIDDEN:
            self._hidden.append(tag)
        self.found.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        self.found.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.found.append(data)


def of_page(text: str) -> str:
    """Of a page of HTML."""
    page = _Page()
    page.feed(text)
    page.close()
    return "".join(page.found)


def decoded(data: bytes) -> str:
    """A text: what it says it is, or the first of the usual encodings that fits."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    declared = re.search(rb"(?:charset|encoding)=[\"']?([\w-]+)", data[:2000])
    for name in ["utf-8-sig"] + ([declared.group(1).decode()] if declared else []) + ["cp1252"]:
        with contextlib.suppress(UnicodeDecodeError, LookupError):
            return data.decode(name)
    return data.decode("latin-1")


def of_epub(path: Path) -> str:
    """All of its pages."""
    with zipfile.ZipFile(path) as archive:
        return "\n".join(of_page(decoded(archive.read(name))) for name in archive.namelist() if re.search(r"\.x?html?$", name))


def of_eml(path: Path) -> str:
    """The body: HTML if there is one; attached texts are not looked at."""
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    body = message.get_body(preferencelist=("html", "plain"))
    text = str(body.get_content()) if body is not None else ""
    return of_page(text) if body is not None and body.get_content_type() == "text/html" else text


def of_msg(path: Path) -> str:
    """The plain body as it is stored."""
    import olefile

    with olefile.OleFileIO(path) as ole:
        for name, encoding in (("__substg1.0_1000001F", "utf-16-le"), ("__substg1.0_1000001E", "cp1252")):
            if ole.exists(name):
                return str(ole.openstream(name).read().decode(encoding, "replace"))
    return ""


def of_ppt(path: Path) -> str:
    """The text atoms of its records. Source: [MS-PPT], 2.9.42 and 2.9.44."""
    import olefile

    with olefile.OleFileIO(path) as ole:
        data = ole.openstream("PowerPoint Document").read()
    found: list[str] = []

    def walk(start: int, end: int) -> None:
        while start + 8 <= end:
            version, kind, size = struct.unpack_from("<HHI", data, start)
            inner = start + 8
            if kind in (0x03F8, 0x03F0):  # master and notes
                pass
            elif kind == 0x0FA0:
                found.append(data[inner : inner + size].decode("utf-16-le", "replace"))
            elif kind == 0x0FA8:
                found.append(data[inner : inner + size].decode("latin-1"))
            elif version & 15 == 15:
                walk(inner, min(end, inner + size))
            start = inner + size

    walk(0, len(data))
    return "\n".join(found)


def of_rtf(path: Path) -> str:
    """Its text without control words and groups that hold none."""
    data = path.read_bytes().decode("latin-1")
    data = re.sub(r"\\'([0-9a-f]{2})", lambda code: bytes.fromhex(code[1]).decode("cp1252", "replace"), data)
    data = re.sub(r"\\u(-?\d+) ?\??", lambda code: chr(int(code[1]) % 65536), data)
    silent = (
        r"fonttbl|colortbl|stylesheet|info|pict|listtable|listoverridetable|rsidtbl|generator|xmlnstbl|themedata|datastore|latentstyles"
    )
    depth, hidden, found, place = 0, 0, [], 0
    for token in re.finditer(r"\{\\\*|\{\\(?:" + silent + r")\b|[{}]|\\[a-z]+-?\d* ?|\\.|[^{}\\]+", data, re.DOTALL):
        piece = token.group()
        if piece[0] == "{":
            depth += 1
            hidden = hidden or (depth if len(piece) > 1 else 0)
        elif piece == "}":
            hidden = 0 if hidden == depth else hidden
            depth -= 1
        elif not hidden:
            found.append(piece if piece[0] != "\\" else "\n" if re.match(r"\\(par|line|tab|cell|row)\b", piece) else "")
        place = token.end()
    del place
    return "".join(found)


def of_json(path: Path) -> str:
    """The texts of unstructured's elements, or all strings."""
    text = decoded(path.read_bytes())
    values = [json.loads(text)] if path.suffix == ".json" else [json.loads(line) for line in text.splitlines() if line.strip()]
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "text" in value and "type" in value:
                found.append(str(value["text"]))
                return
            value = list(value.values())
        if isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str):
            found.append(value)

    walk(values)
    return "\n".join(found)


def of_text(path: Path) -> str:
    """As it is."""
    return decoded(path.read_bytes())


READERS: Mapping[str, Callable[[Path], str]] = {
    "pdf": of_pdf,
    **dict.fromkeys(
        ("docx", "docm", "dotx"),
        lambda path: of_xml(path, r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml", ("del", "Fallback"), "t"),
    ),
    **dict.fromkeys(("pptx", "ppsx"), lambda path: of_xml(path, r"ppt/slides/slide\d+\.xml", ("Fallback",), "t")),
    **dict.fromkeys(
        ("xlsx", "xlsm"), lambda path: of_xml(path, r"xl/(sharedStrings|worksheets/[^/]+)\.xml", ("rPh", "f", "v", "headerFooter"), "t")
    ),
    **dict.fromkeys(("odt", "ods", "odp"), lambda path: of_xml(path, r"content\.xml", ("tracked-changes", "annotation", "notes"))),
    **dict.fromkeys(("html", "htm"), lambda path: of_page(decoded(path.read_bytes()))),
    "epub": of_epub,
    "eml": of_eml,
    "msg": of_msg,
    "ppt": of_ppt,
    "rtf": of_rtf,
    **dict.fromkeys(("json", "ndjson"), of_json),
    "xml": lambda path: of_page(decoded(path.read_bytes())),
    **dict.fromkeys(("txt", "csv", "tsv", "rst", "org"), of_text),
    "md": lambda path: of_page(decoded(path.read_bytes())),
}
"""Extension -> the other reader."""


if __name__ == "__main__":
    sys.exit(main())
