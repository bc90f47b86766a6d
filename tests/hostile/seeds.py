"""One small document of each format that can be made here: what the mutation run starts from, besides the sample library."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path

SENTENCE = "The committee approved the annual budget after a long debate in the town hall."
LIBRARY = Path(__file__).parents[2] / "samples" / "library"


def seeds() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each document, the sample library's first. The scanned ones are left to the library: OCR takes seconds."""
    for path in sorted(LIBRARY.iterdir()):
        yield path.name, path.read_bytes()
    for name, make in MAKERS.items():
        yield name, make()


def saved(document: object) -> bytes:
    stream = io.BytesIO()
    document.save(stream)  # type: ignore[attr-defined]
    return stream.getvalue()


def docx() -> bytes:
    import docx as library

    document = library.Document()
    document.add_heading("Budget", 1)
    document.add_paragraph(SENTENCE)
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(1, 1).text = "Quarter", "12"
    document.add_picture(io.BytesIO(picture("PNG")))
    return saved(document)


def pptx() -> bytes:
    import pptx as library

    presentation = library.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Budget", SENTENCE
    slide.shapes.add_picture(io.BytesIO(picture("PNG")), 0, 0)
    return saved(presentation)


def xlsx() -> bytes:
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.active.append(["Quarter", "Revenue"])
    workbook.active.append(["first", 12.5])
    workbook.create_sheet("hidden").append(["=1+1"])
    return saved(workbook)


def pdf() -> bytes:
    import pikepdf

    with pikepdf.new() as document:
        for number in range(3):
            document.add_blank_page()
            page = document.pages[-1]
            font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
            page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font))
            page.Contents = document.make_stream(f"BT /F1 12 Tf 50 700 Td (Page {number}. {SENTENCE}) Tj ET".encode())
        stream = io.BytesIO()
        document.save(stream)
        return stream.getvalue()


def picture(kind: str) -> bytes:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (220, 40), "white")
    ImageDraw.Draw(image).text((10, 10), "The annual budget of 2024", fill="black")
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def open_document(mime_type: str, body: str) -> bytes:
    names = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for prefix, name in {
            "office": "office",
            "text": "text",
            "table": "table",
            "draw": "drawing",
            "presentation": "presentation",
        }.items()
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", mime_type, zipfile.ZIP_STORED)
        entries = {"/": mime_type, "content.xml": "text/xml"}.items()
        entry = "".join(f'<m:file-entry m:full-path="{path}" m:media-type="{kind}"/>' for path, kind in entries)
        archive.writestr(
            "META-INF/manifest.xml", f'<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">{entry}</m:manifest>'
        )
        content = f"<office:document-content {names}><office:body>{body}</office:body></office:document-content>"
        archive.writestr("content.xml", content)
    return stream.getvalue()


def ods() -> bytes:
    cell = f"<table:table-cell><text:p>{SENTENCE}</text:p></table:table-cell>"
    table = f'<table:table table:name="one"><table:table-row>{cell}</table:table-row></table:table>'
    return open_document("application/vnd.oasis.opendocument.spreadsheet", f"<office:spreadsheet>{table}</office:spreadsheet>")


def odp() -> bytes:
    slide = f"<draw:page><draw:frame><draw:text-box><text:p>{SENTENCE}</text:p></draw:text-box></draw:frame></draw:page>"
    return open_document("application/vnd.oasis.opendocument.presentation", f"<office:presentation>{slide}</office:presentation>")


def mail() -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Budget"
    message.set_content(SENTENCE)
    message.add_alternative(f"<html><body><p>{SENTENCE}</p><img src='cid:one'></body></html>", subtype="html")
    message.add_attachment(xlsx(), maintype="application", subtype="octet-stream", filename="budget.xlsx")
    message.add_attachment(picture("PNG"), maintype="image", subtype="png", cid="<one>")
    return message.as_bytes()


def msg(html: str) -> bytes:
    """A mail as Outlook stores it, with an HTML body. Source: [MS-OXMSG], 2.4."""
    values = {0x001A001F: "IPM.Note".encode("utf-16-le"), 0x0037001F: "Budget".encode("utf-16-le"), 0x10130102: html.encode()}
    entries = b"".join(struct.pack("<IIII", tag, 6, len(value) + 2 * (tag & 0xFFFF == 0x1F), 0) for tag, value in values.items())
    streams = {f"__substg1.0_{tag:08X}": value for tag, value in values.items()}
    return compound_file({"__properties_version1.0": bytes(32) + entries, **streams})


def compound_file(streams: dict[str, bytes]) -> bytes:
    """An OLE compound file of some streams, each under 4096 bytes. Source: [MS-CFB], version 3."""
    end, free, fat_sector, none = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF
    names = sorted(streams, key=lambda name: (len(name), name.upper()))
    mini, mini_fat, starts = b"", [], []
    for name in names:
        starts.append(len(mini_fat))
        count = -(-len(streams[name]) // 64)
        mini_fat += [*range(len(mini_fat) + 1, len(mini_fat) + count), end]
        mini += streams[name].ljust(count * 64, b"\0")

    def entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
        encoded = (name + "\0").encode("utf-16-le")
        links = struct.pack("<III", none, right, child)
        return encoded.ljust(64, b"\0") + struct.pack("<HBB", len(encoded), kind, 1) + links + bytes(36) + struct.pack("<IQ", start, size)

    sectors = {
        "mini_fat": struct.pack(f"<{len(mini_fat)}I", *mini_fat),
        "mini": mini,
        "directory": b"",
    }
    lengths = {name: -(-len(data) // 512) for name, data in sectors.items()} | {"directory": -(-(len(names) + 1) // 4)}
    firsts, place = {}, 1
    for name, length in lengths.items():
        firsts[name], place = place, place + length
    sectors["directory"] = entry("Root Entry", 5, none, 1, firsts["mini"], len(mini)) + b"".join(
        entry(name, 2, index + 2 if index + 1 < len(names) else none, none, starts[index], len(streams[name]))
        for index, name in enumerate(names)
    )
    fat = [fat_sector]
    for name, length in lengths.items():
        fat += [*range(firsts[name] + 1, firsts[name] + length), end]
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, 1, firsts["directory"], 0, 4096, firsts["mini_fat"], lengths["mini_fat"], end, 0)
    head += struct.pack("<109I", 0, *[free] * 108)
    body = struct.pack("<128I", *fat, *[free] * (128 - len(fat)))
    body += b"".join(sectors[name].ljust(length * 512, b"\0") for name, length in lengths.items())
    return head + body


def elements() -> list[dict[str, object]]:
    return [
        {"type": "Title", "element_id": "a", "text": "Budget", "metadata": {"category_depth": 0}},
        {"type": "NarrativeText", "element_id": "b", "text": SENTENCE, "metadata": {"parent_id": "a", "page_number": 2}},
        {"type": "Table", "element_id": "c", "text": "a b", "metadata": {"text_as_html": "<table><tr><td>a</td></tr></table>"}},
    ]


MAKERS: dict[str, Callable[[], bytes]] = {
    "made.docx": docx,
    "made.pptx": pptx,
    "made.xlsx": xlsx,
    "made.pdf": pdf,
    "made.ods": ods,
    "made.odp": odp,
    "made.eml": mail,
    "made.msg": lambda: msg(f"<html><body><p>{SENTENCE}</p></body></html>"),
    "made.json": lambda: json.dumps(elements()).encode(),
    "made.ndjson": lambda: "\n".join(map(json.dumps, elements())).encode(),
    "made.xml": lambda: f'<?xml version="1.0"?><a><b>{SENTENCE}</b><c d="e">{SENTENCE}</c></a>'.encode(),
    "made.org": lambda: f"#+TITLE: Budget\n* First\n{SENTENCE}\n** Second\n| a | b |\n| 1 | 2 |\n".encode(),
    "made.html": lambda: f"<html><body><h1>Budget</h1><p>{SENTENCE}</p><table><tr><td>1</td></tr></table></body></html>".encode(),
    "made.gif": lambda: picture("GIF"),
    "made.bmp": lambda: picture("BMP"),
    "made.webp": lambda: picture("WEBP"),
    "made.tiff": lambda: picture("TIFF"),
    "made.jpg": lambda: picture("JPEG"),
}
