"""Documents that are small and cost much: nested without end, repeated, compressed, or made to go round in circles."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import docx
import pikepdf
import seeds

DEEP = 100_000


def laughs(root: str, body: str) -> str:
    """Ten entities, each of ten of the one before: ten billion words."""
    lines = ["<!ENTITY l0 'laugh '>", *(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10}'>" for n in range(1, 11))]
    return f"<?xml version='1.0'?><!DOCTYPE {root} [{''.join(lines)}]>{body}"


def rewritten(data: bytes, name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for member in source.namelist():
            if member != name:
                target.writestr(member, source.read(member))
        target.writestr(name, content)
    return stream.getvalue()


def laughing_docx() -> bytes:
    with zipfile.ZipFile(io.BytesIO(seeds.docx())) as archive:
        body = archive.read("word/document.xml").decode().partition("?>")[2]
    return rewritten(seeds.docx(), "word/document.xml", laughs("w:document", body.replace(seeds.SENTENCE, "&l10;")).encode())


def nested_tables() -> bytes:
    document = docx.Document()
    document.add_paragraph(seeds.SENTENCE)
    xml = seeds.SENTENCE
    table = "<w:tbl><w:tblPr/><w:tblGrid><w:gridCol/></w:tblGrid><w:tr><w:tc><w:p/>{}</w:tc></w:tr></w:tbl>"
    head, tail = table.split("{}")
    xml = head * 1500 + f"<w:p><w:r><w:t>{xml}</w:t></w:r></w:p>" + "<w:p/>".join([""] + [tail] * 1500)
    with zipfile.ZipFile(io.BytesIO(seeds.saved(document))) as archive:
        body = archive.read("word/document.xml").decode()
    return rewritten(seeds.saved(document), "word/document.xml", body.replace("<w:sectPr", f"{xml}<w:sectPr", 1).encode())


def bomb_in_a_picture() -> bytes:
    """A PNG of 20,000 × 20,000 pixels in a DOCX."""
    rows = zlib.compress(bytes(20_001) * 20_000, 9)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return rewritten(seeds.docx(), "word/media/image1.png", png)


def pdf(change: Callable[[pikepdf.Pdf], None]) -> bytes:
    with pikepdf.open(io.BytesIO(seeds.pdf())) as document:
        change(document)
        return seeds.saved(document)


def _deep_page_tree(document: pikepdf.Pdf) -> None:
    node = document.Root.Pages
    for _ in range(2_000):
        parent = document.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.Pages, Count=3, Kids=pikepdf.Array([node])))
        node.Parent = parent
        node = parent
    document.Root.Pages = node


def _form_in_itself(document: pikepdf.Pdf) -> None:
    form = document.make_stream(b"/X Do /X Do")
    form.Type, form.Subtype, form.BBox = pikepdf.Name.XObject, pikepdf.Name.Form, pikepdf.Array([0, 0, 9, 9])
    form.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(X=form))
    document.pages[0].Resources.XObject = pikepdf.Dictionary(X=form)
    document.pages[0].contents_add(document.make_stream(b"/X Do"))


def _doubling_forms(document: pikepdf.Pdf) -> None:
    """Thirty forms, each of which draws the one before twice: a billion."""
    before = document.make_stream(b"0 0 1 1 re f")
    for _ in range(30):
        before.Type, before.Subtype, before.BBox = pikepdf.Name.XObject, pikepdf.Name.Form, pikepdf.Array([0, 0, 9, 9])
        after = document.make_stream(b"/X Do /X Do")
        after.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(X=before))
        before = after
    before.Type, before.Subtype, before.BBox = pikepdf.Name.XObject, pikepdf.Name.Form, pikepdf.Array([0, 0, 9, 9])
    document.pages[0].Resources.XObject = pikepdf.Dictionary(X=before)
    document.pages[0].contents_add(document.make_stream(b"/X Do"))


def _endless_content(document: pikepdf.Pdf) -> None:
    document.pages[1].Contents = pikepdf.Stream(document, zlib.compress(b"q Q " * (1 << 20), 9), Filter=pikepdf.Name.FlateDecode)


def _large_page(document: pikepdf.Pdf) -> None:
    document.pages[0].MediaBox = pikepdf.Array([0, 0, 900_000_000, 900_000_000])
    document.pages[0].Contents = document.make_stream(b"0 0 900000000 900000000 re f")


def _deep_arrays(document: pikepdf.Pdf) -> None:
    document.pages[0].contents_add(document.make_stream(b"[" * 20_000))


def wide_sheet() -> bytes:
    rows = "".join(f'<row r="{number}"><c r="XFD{number}"><v>1</v></c></row>' for number in range(1, 20_001))
    sheet = f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>'
    return rewritten(seeds.xlsx(), "xl/worksheets/sheet1.xml", sheet.encode())


def nested_multiparts() -> bytes:
    head = b"From: a@example.org\nSubject: s\nMIME-Version: 1.0\n"
    for number in range(2_000):
        head += f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n".encode()
    return head + b"Content-Type: text/plain\n\nThe innermost text.\n"


def endless_tiff() -> bytes:
    """Its only directory names itself as the next."""
    entries = [
        (256, 4, 1, 9),
        (257, 4, 1, 9),
        (258, 3, 1, 1),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, 1, 200),
        (278, 4, 1, 9),
        (279, 4, 1, 18),
    ]
    directory = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries) + struct.pack("<I", 8)
    return (b"II*\x00" + struct.pack("<I", 8) + directory).ljust(200, b"\0") + bytes(18)


def doubling_forms() -> bytes:
    return pdf(_doubling_forms)


BOMBS: dict[str, Callable[[], bytes]] = {
    "nested.html": lambda: b"<html><body>" + b"<div>" * 1_500 + seeds.SENTENCE.encode() + b"</div>" * 1_500 + b"<p>The end of it.",
    "deep.html": lambda: b"<html><body>" + b"<div>" * DEEP + seeds.SENTENCE.encode(),
    "lists.html": lambda: b"<html><body>" + b"<ul><li>" * 5_000 + seeds.SENTENCE.encode(),
    "tables.html": lambda: b"<html><body>" + b"<table><tr><td>" * 3_000 + seeds.SENTENCE.encode(),
    "deep.xml": lambda: b"<?xml version='1.0'?>" + b"<a>" * DEEP + seeds.SENTENCE.encode() + b"</a>" * DEEP,
    "laughs.xml": lambda: laughs("a", "<a>&l10;</a>").encode(),
    "laughs.svg": lambda: laughs("svg", '<svg xmlns="http://www.w3.org/2000/svg"><text>&l10;</text></svg>').encode(),
    "laughs.docx": laughing_docx,
    "deep.json": lambda: b"[" * DEEP + b"]" * DEEP,
    "deep.md": lambda: b">" * 20_000 + b" a\n\n" + b"[" * 20_000 + b"\n\n" + b"- " * 5_000 + b"x\n" + b"*a_b" * 5_000,
    "deep.rst": lambda: "\n".join(" " * depth + "- " + seeds.SENTENCE for depth in range(0, 400, 2)).encode(),
    "deep.org": lambda: "\n".join("*" * depth + " " + seeds.SENTENCE for depth in range(1, 500)).encode(),
    "deep.rtf": lambda: b"{\\rtf1 " + b"{" * DEEP + seeds.SENTENCE.encode() + b"}" * DEEP + b"}",
    "tables.docx": nested_tables,
    "picture.docx": bomb_in_a_picture,
    "tree.pdf": lambda: pdf(_deep_page_tree),
    "circle.pdf": lambda: pdf(_form_in_itself),
    "content.pdf": lambda: pdf(_endless_content),
    "page.pdf": lambda: pdf(_large_page),
    "arrays.pdf": lambda: pdf(_deep_arrays),
    "wide.xlsx": wide_sheet,
    "deep.eml": nested_multiparts,
    "endless.tiff": endless_tiff,
    "columns.csv": lambda: b"," * 500_000 + b"a\n" + b"b\n" * 10_000,
    "spaces.txt": lambda: b" " * 5_000_000 + b"a",
    "words.txt": lambda: b"a" * 3_000_000,
    "breaks.txt": lambda: b"ab\n\n" * 20_000,
}
