"""Makes the sample library: the yearly papers of an invented observatory, in every format that the decoder reads.

    python samples/make_library.py [directory]

The results are committed, so only who changes a document runs this. Besides the Python packages of the decoder (pandoc comes with
pypandoc) it needs LibreOffice, `soffice`, to print the report. Dates, seeds and identifiers are fixed: a second run on the same machine
gives the same bytes, except for the encrypted PDF, whose key is random. All words are our own, and the observatory, its people and its
suppliers do not exist.
"""

import base64
import csv
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path

import docx
import matplotlib as mpl
import numpy as np
import pikepdf
import pptx
import pypandoc
import xlsxwriter
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from pptx.util import Cm as SlideCm
from pptx.util import Pt as SlidePt

OBSERVATORY = "Birkenfirst Observatory"
YEAR = 2024
ISSUED = datetime(2025, 1, 15, 9, 0, tzinfo=UTC)
"""The date that every document carries."""

# Month, clear nights, hours with the dome open, energy in kWh. All totals in all documents come from here.
MONTHS = (
    ("January", 7, 41, 612),
    ("February", 6, 33, 548),
    ("March", 10, 52, 471),
    ("April", 12, 54, 372),
    ("May", 13, 47, 298),
    ("June", 11, 33, 241),
    ("July", 14, 45, 236),
    ("August", 16, 68, 259),
    ("September", 12, 66, 318),
    ("October", 9, 58, 427),
    ("November", 5, 34, 534),
    ("December", 4, 29, 604),
)
NIGHTS, HOURS, ENERGY = (sum(month[column] for month in MONTHS) for column in (1, 2, 3))
ENERGY_BY_QUARTER_OF_2023 = (2130, 1140, 985, 1895)
PRICE_PER_KWH = 0.31

# Name, its Greek form, kind, aperture in mm, focal length in mm.
INSTRUMENTS = (
    ("Argos", "Άργος", "reflector", 500, 4000),
    ("Selene", "Σελήνη", "refractor", 150, 2250),
    ("Helios", "Ήλιος", "solar telescope", 80, 560),
)

FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"
"""The DejaVu fonts that matplotlib brings along: the same everywhere."""

Row = Sequence[object]


# Pictures


def font(size: int, name: str = "DejaVuSans") -> ImageFont.FreeTypeFont:
    """A font of the given size in pixels."""
    return ImageFont.truetype(FONTS / f"{name}.ttf", size)


def png(picture: Image.Image) -> bytes:
    """The picture as a PNG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def jpeg(picture: Image.Image) -> bytes:
    """The picture as a JPEG file."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=82, optimize=True)
    return buffer.getvalue()


def draw_moon(width: int = 560, height: int = 420) -> Image.Image:
    """A half Moon with seas and craters, shaded like a photograph."""
    random = np.random.default_rng(1987)
    radius = height * 0.44
    rows, columns = np.mgrid[0:height, 0:width]
    x, y = (columns - width / 2) / radius, (rows - height / 2) / radius
    surface = np.full((height, width), 0.82)
    for _ in range(14):  # seas
        a, b, size = random.uniform(-0.7, 0.7), random.uniform(-0.7, 0.7), random.uniform(0.08, 0.24)
        surface -= 0.28 * np.exp(-(((x - a) ** 2 + (y - b) ** 2) / size**2))
    for _ in range(220):  # craters: a bright wall towards the Sun, a dark one away from it
        a, b, size = random.uniform(-0.95, 0.95), random.uniform(-0.95, 0.95), random.uniform(0.012, 0.05)
        distance = np.hypot(x - a, y - b) / size
        surface += 0.3 * ((x - a) / size) * np.exp(-((distance - 0.8) ** 2) * 4)
    light = np.clip(1.6 * x + 0.35, 0, 1) ** 0.7
    disc = np.clip((1 - np.hypot(x, y)) * radius, 0, 1)
    grey = np.clip(np.clip(surface, 0.15, 1) * light, 0, 1) * disc * 235 + random.normal(6, 2.5, (height, width))
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).convert("RGB")


def draw_star_trails(width: int = 720, height: int = 480) -> Image.Image:
    """Arcs of stars around the pole, over the outline of the dome."""
    random = np.random.default_rng(24)
    dusk = np.linspace((10, 14, 38), (70, 62, 96), height).astype(np.uint8)
    picture = Image.fromarray(np.repeat(dusk[:, None, :], width, axis=1))
    draw = ImageDraw.Draw(picture)
    pole = (width * 0.42, height * 0.36)
    for _ in range(170):
        distance, start = random.uniform(8, 520), random.uniform(0, 360)
        glow = int(random.uniform(110, 250))
        box = (pole[0] - distance, pole[1] - distance, pole[0] + distance, pole[1] + distance)
        draw.arc(box, start, start + 28, fill=(glow, glow, min(255, glow + 15)), width=1 if glow < 215 else 2)
    draw.rectangle((0, height - 70, width, height), fill=(8, 8, 14))
    draw.pieslice((470, height - 210, 650, height - 30), 180, 360, fill=(18, 18, 26))
    draw.rectangle((470, height - 122, 650, height - 60), fill=(18, 18, 26))
    draw.rectangle((548, height - 209, 572, height - 140), fill=(196, 120, 70))
    return picture.filter(ImageFilter.GaussianBlur(0.6))


def draw_dome(width: int = 560, height: int = 360) -> Image.Image:
    """A labelled drawing of the dome: shutter, ring, pier and control room."""
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    ink = (40, 60, 90)
    draw.pieslice((150, 30, 390, 270), 180, 360, outline=ink, fill=(226, 233, 242), width=4)
    draw.polygon(((258, 32), (300, 36), (318, 150), (268, 150)), outline=ink, fill=(250, 214, 150), width=3)
    draw.rectangle((142, 150, 398, 168), outline=ink, fill=(180, 192, 208), width=3)
    draw.rectangle((158, 168, 382, 320), outline=ink, fill=(244, 244, 240), width=3)
    draw.rectangle((252, 200, 292, 320), outline=ink, fill=(200, 200, 196), width=3)
    draw.rectangle((382, 236, 520, 320), outline=ink, fill=(244, 244, 240), width=3)
    draw.line((40, 320, 540, 320), fill=ink, width=4)
    for label, position, target in (
        ("shutter", (420, 34), (304, 70)),
        ("ring", (40, 130), (146, 158)),
        ("pier", (60, 226), (254, 250)),
        ("control room", (404, 200), (450, 240)),
    ):
        draw.text(position, label, font=font(18), fill=(20, 20, 20))
        left, top, right, bottom = draw.textbbox(position, label, font=font(18))
        start = (
            (right + 4 if target[0] > right else left - 4, (top + bottom) / 2) if not left < target[0] < right else (target[0], bottom + 2)
        )
        draw.line((start, target), fill=(150, 30, 30), width=2)
    return picture


def draw_filter_wheel(size: int = 320) -> Image.Image:
    """The filter wheel of Argos with its six numbered places."""
    picture = Image.new("RGB", (size, size), "white")
    draw = ImageDraw.Draw(picture)
    centre, ring = size / 2, size * 0.31
    draw.ellipse((8, 8, size - 8, size - 8), outline=(50, 50, 50), fill=(225, 225, 225), width=4)
    colours = ((250, 250, 250), (220, 90, 90), (110, 190, 110), (100, 130, 220), (150, 30, 40), (60, 60, 60))
    for place, (label, colour) in enumerate(zip(("L", "R", "G", "B", "Hα", "—"), colours, strict=True)):
        angle = math.radians(60 * place - 90)
        x, y = centre + ring * math.cos(angle), centre + ring * math.sin(angle)
        draw.ellipse((x - 44, y - 44, x + 44, y + 44), outline=(50, 50, 50), fill=colour, width=3)
        draw.text((x, y), f"{place + 1}: {label}", font=font(20), fill="white" if place in (4, 5) else "black", anchor="mm")
    draw.ellipse((centre - 12, centre - 12, centre + 12, centre + 12), fill=(50, 50, 50))
    return picture


def draw_lyra(width: int = 420, height: int = 420) -> Image.Image:
    """A finder chart of the constellation Lyra, its stars named by Greek letters."""
    picture = Image.new("RGB", (width, height), (12, 16, 40))
    draw = ImageDraw.Draw(picture)
    stars = {"α": (290, 70, 9), "ζ": (235, 140, 5), "δ": (165, 165, 5), "β": (190, 330, 6), "γ": (115, 345, 6)}
    for one, other in (("α", "ζ"), ("ζ", "δ"), ("δ", "γ"), ("γ", "β"), ("β", "ζ")):
        draw.line((stars[one][:2], stars[other][:2]), fill=(90, 110, 160), width=2)
    for letter, (x, y, radius) in stars.items():
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill="white")
        draw.text((x + 14, y - 26), letter, font=font(22), fill=(230, 220, 170))
    draw.text((310, 84), "Vega", font=font(18), fill="white")
    draw.ellipse((146, 332, 158, 344), outline=(120, 220, 200), width=2)
    draw.text((132, 362), "M57", font=font(18), fill=(120, 220, 200))
    return picture


def draw_travelling_telescope(width: int = 360, height: int = 360) -> Image.Image:
    """A small telescope on a tripod."""
    picture = Image.new("RGB", (width, height), (248, 246, 240))
    draw = ImageDraw.Draw(picture)
    for foot in ((90, 340), (180, 345), (270, 340)):
        draw.line(((180, 190), foot), fill=(120, 80, 40), width=9)
    draw.line(((95, 235), (270, 110)), fill=(40, 80, 120), width=34)
    draw.line(((255, 121), (300, 88)), fill=(20, 40, 70), width=46)
    draw.line(((70, 253), (100, 231)), fill=(30, 30, 30), width=18)
    draw.ellipse((160, 165, 205, 210), fill=(60, 60, 60))
    return picture


def chart_of_months(values: Sequence[float], title: str, unit: str) -> bytes:
    """A bar chart of twelve months, as a PNG file."""
    figure = Figure(figsize=(6, 3), dpi=100, layout="constrained")
    axes = figure.subplots()
    bars = axes.bar([month[0][:3] for month in MONTHS], values, color="#3b6ea5")
    axes.bar_label(bars, fontsize=8)
    axes.set_title(title)
    axes.set_ylabel(unit)
    axes.spines[["top", "right"]].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    # Sixteen colours: a third of the bytes, the same to the eye.
    return png(Image.open(buffer).convert("RGB").quantize(16))


def scan(lines: str, dots_per_inch: int, tilt: float) -> Image.Image:
    """An A4 page of typewriter text as a scanner sees it: grey, a little tilted, with specks."""
    width, height = round(8.27 * dots_per_inch), round(11.69 * dots_per_inch)
    page = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(page)
    draw.multiline_text(
        (width * 0.11, height * 0.08),
        lines.strip("\n"),
        font=font(round(dots_per_inch * 0.16), "DejaVuSansMono"),
        fill=25,
        spacing=dots_per_inch * 0.08,
    )
    page = page.rotate(tilt, Image.Resampling.BICUBIC, fillcolor=255)
    random = np.random.default_rng(dots_per_inch)
    draw = ImageDraw.Draw(page)
    for x, y in zip(random.integers(0, width, 60), random.integers(0, height, 60), strict=True):
        draw.point((int(x), int(y)), fill=130)
    return page


# Files


def fix_zip(path: Path) -> None:
    """Writes an office file anew, with one date for all members and for its core properties: the libraries put in the present."""
    with zipfile.ZipFile(path) as archive:
        members = [(member.filename, archive.read(member)) for member in archive.infolist()]
    stamp = ISSUED.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            if name == "docProps/core.xml":
                content = re.sub(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*", rb"\g<1>" + stamp, content)
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)


def fix_pdf(path: Path, title: str, encryption: pikepdf.Encryption | None = None) -> None:
    """Sets the title, author and dates of a PDF, and an identifier made from its content."""
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        del pdf.docinfo
        for key in {"/ID", "/DocChecksum"} & set(pdf.trailer.keys()):  # random; half of the ID would be kept
            del pdf.trailer[key]
        pdf.docinfo["/Title"] = title
        pdf.docinfo["/Author"] = OBSERVATORY
        pdf.docinfo["/CreationDate"] = ISSUED.strftime("D:%Y%m%d%H%M%SZ")
        if encryption:
            pdf.save(path, encryption=encryption)
        else:
            pdf.save(path, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.generate)


def pandoc(markdown: str, path: Path, pictures: dict[str, bytes] | None = None) -> None:
    """Writes a document from Markdown; the format follows from the name of the file."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (pictures or {}).items():
            (Path(folder) / name).write_bytes(content)
        subprocess.run(
            [pypandoc.get_pandoc_path(), "--from=markdown", "--standalone", f"--output={path.resolve()}"],
            input=markdown,
            text=True,
            encoding="utf-8",
            check=True,
            cwd=folder,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(int(ISSUED.timestamp()))},
        )


def office_to_pdf(source: Path, target: Path) -> None:
    """Prints an office document to PDF with LibreOffice; pictures stay as they are."""
    with tempfile.TemporaryDirectory() as folder:
        options = '{"UseLosslessCompression":{"type":"boolean","value":"true"},"ReduceImageResolution":{"type":"boolean","value":"false"}}'
        subprocess.run(
            [
                "soffice",
                f"-env:UserInstallation={Path(folder).as_uri()}/profile",
                "--headless",
                "--convert-to",
                f"pdf:writer_pdf_Export:{options}",
                "--outdir",
                folder,
                str(source),
            ],
            check=True,
            capture_output=True,
        )
        target.write_bytes((Path(folder) / f"{source.stem}.pdf").read_bytes())


def letter(lines: Sequence[str], path: Path) -> None:
    """Writes a PDF of one page by hand: a heading and lines of text in Helvetica."""
    text = ["BT", "72 770 Td", "/F1 16 Tf", "18 TL"]
    for number, line in enumerate(lines):
        escaped = re.sub(r"([\\()])", r"\\\1", line)
        text += [f"({escaped}) Tj T*"] + (["/F1 11 Tf"] if number == 0 else [])
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(595, 842))
        helvetica = pikepdf.Dictionary(
            Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica, Encoding=pikepdf.Name.WinAnsiEncoding
        )
        pdf.pages[0].Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=helvetica))
        pdf.pages[0].Contents = pdf.make_stream("\n".join([*text, "ET"]).encode("cp1252"))
        pdf.save(path)
    fix_pdf(path, lines[0])


def write_table(path: Path, rows: Sequence[Row], delimiter: str) -> None:
    """Writes rows as separated values."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)


def new_document(title: str) -> docx.document.Document:
    """An empty A4 word-processor document in one font, with its title and author set."""
    document = docx.Document()
    document.core_properties.title = title
    document.core_properties.author = OBSERVATORY
    document.core_properties.comments = ""
    document.core_properties.last_modified_by = OBSERVATORY
    page = document.sections[0]
    page.page_width, page.page_height = docx.shared.Cm(21), docx.shared.Cm(29.7)
    for name in ("Normal", "Title", "Heading 1", "Heading 2", "Heading 3", "Caption"):
        style = document.styles[name]
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for attribute in list(fonts.attrib):
            del fonts.attrib[attribute]
        style.font.name = "DejaVu Sans"
        if name.startswith("Heading"):
            style.paragraph_format.space_after = docx.shared.Pt(8)
    document.styles["Normal"].font.size = docx.shared.Pt(10)
    loosen_lists(document)
    return document


def loosen_lists(document: docx.document.Document) -> None:
    """Spaces the items of lists, and sets a common bullet: so that readers of PDF see items, not one block beside a column of dots."""
    for name in ("List Bullet", "List Number"):
        style = document.styles[name]
        for element in style.element.xpath("./w:pPr/w:contextualSpacing"):
            element.getparent().remove(element)
        style.paragraph_format.space_after = docx.shared.Pt(7)
    for level in document.part.numbering_part.element.iter(qn("w:lvl")):
        for tabs in list(level.iter(qn("w:tabs"))):
            tabs.getparent().remove(tabs)
        for indent in level.iter(qn("w:ind")):
            indent.set(qn("w:hanging"), "240")
        for text in level.iter(qn("w:lvlText")):
            if text.get(qn("w:val")) == "\uf0b7":
                text.set(qn("w:val"), "•")
                for fonts in list(level.iter(qn("w:rFonts"))):
                    fonts.getparent().remove(fonts)


def save_document(document: docx.document.Document, path: Path) -> None:
    """Saves a word-processor document."""
    document.save(path)
    fix_zip(path)


def add_rows(document: docx.document.Document, rows: Sequence[Row], caption: str) -> None:
    """Adds a ruled table under its caption; the first row is the heading."""
    document.add_paragraph(caption, style="Caption")
    table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
    for number, row in enumerate(rows):
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.paragraphs[0].add_run(f"{value:,}" if isinstance(value, int) else str(value)).bold = number == 0
    document.add_paragraph()


def add_figure(document: docx.document.Document, picture: bytes, width: float, description: str, caption: str) -> None:
    """Adds a picture of a width in centimetres, with its description for who cannot see it, over its caption."""
    paragraph = document.add_paragraph()
    paragraph.paragraph_format.keep_with_next = True
    shape = paragraph.add_run().add_picture(io.BytesIO(picture), width=docx.shared.Cm(width))
    shape._inline.docPr.set("descr", description)
    document.add_paragraph(caption, style="Caption")


def add_field(paragraph: docx.text.paragraph.Paragraph, code: str) -> None:
    """Adds a field such as PAGE, which the word processor fills in."""
    paragraph._p.append(parse_xml(f'<w:fldSimple {nsdecls("w")} w:instr="{code}"><w:r><w:t>1</w:t></w:r></w:fldSimple>'))


def add_footnote(document: docx.document.Document, paragraph: docx.text.paragraph.Paragraph, text: str) -> None:
    """Adds the document's one footnote at the end of a paragraph; python-docx 1.2 has no call for it."""
    notes = "".join(
        f'<w:footnote w:id="{number}"{kind}><w:p><w:r>{content}</w:r></w:p></w:footnote>'
        for number, kind, content in (
            (0, ' w:type="separator"', "<w:separator/>"),
            (1, ' w:type="continuationSeparator"', "<w:continuationSeparator/>"),
            (2, "", f'<w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> {text}</w:t>'),
        )
    )
    blob = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<w:footnotes {nsdecls("w")}>{notes}</w:footnotes>'.encode()
    part = Part(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, blob, document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    run = paragraph.add_run()
    run.font.superscript = True
    run._r.append(parse_xml(f'<w:footnoteReference {nsdecls("w")} w:id="2"/>'))


def quarters(column: int) -> tuple[int, ...]:
    """The sums of a column of the months, by quarter."""
    return tuple(sum(month[column] for month in MONTHS[start : start + 3]) for start in (0, 3, 6, 9))


# Documents


def make_report(path: Path) -> None:
    """PDF of five pages: headings, a running header and footer, two tables, a JPEG and a PNG picture."""
    title = f"Annual Report {YEAR}"
    document = new_document(title)
    page = document.sections[0]
    page.header.paragraphs[0].text = f"{OBSERVATORY} · {title}"
    footer = page.footer.paragraphs[0]
    footer.alignment = WD_ALIGN_PARAGRAPH.CENTER
    footer.add_run("Page ")
    add_field(footer, "PAGE")
    footer.add_run(" of ")
    add_field(footer, "NUMPAGES")

    document.add_heading(f"{OBSERVATORY}: {title}", 0)
    document.add_heading("Summary", 1)
    document.add_paragraph(
        f"The observatory was open for work on {NIGHTS} clear nights of {YEAR}, and its dome stood open for {HOURS} hours. "
        "August was the best month, December the poorest. The main mirror of Argos was washed for the first time in six years, "
        "and the motor of the dome shutter, which had failed twice, was replaced in September."
    )
    document.add_paragraph(
        f"We used {ENERGY:,} kWh of electricity, a fifth less than in the year before. Nearly all of the saving comes from the "
        "heat pump that has warmed the control room since October 2023."
    )
    document.add_heading("The year in figures", 2)
    for line in (
        f"{NIGHTS} clear nights",
        f"{HOURS} hours with the dome open",
        f"{ENERGY:,} kWh of electricity",
        "84 visitors on the open night",
    ):
        document.add_paragraph(line, style="List Bullet")

    document.add_heading("1 Observing", 1).paragraph_format.page_break_before = True
    document.add_heading("1.1 Clear nights", 2)
    document.add_paragraph(
        "A night counts as clear when the cloud sensor reports an open sky for two hours without a break. Summer nights are "
        "more often clear, but they are short: a clear night of December gave more than seven hours, one of June only three."
    )
    rows = [("Quarter", "Clear nights", "Hours open")]
    rows += [(f"Q{number}", *row) for number, row in enumerate(zip(quarters(1), quarters(2), strict=True), 1)]
    add_rows(document, [*rows, ("Year", NIGHTS, HOURS)], f"Table 1. Clear nights and dome hours, {YEAR}")
    document.add_heading("1.2 Programmes", 2)
    document.add_paragraph(
        "Argos followed eleven variable stars in three colours. Selene was used for the Moon, above all for the partial "
        "eclipse in the early hours of 18 September, and for teaching. Helios drew the Sun on 142 days; the largest group of "
        "spots was seen on 9 May."
    )
    document.add_heading("1.3 Open night", 2)
    document.add_paragraph(
        "On Saturday 12 October the doors were open to everyone. 84 visitors came, twice as many as in 2023, and saw the Moon, "
        "Saturn and Albireo."
    )

    document.add_heading("2 Instruments", 1).paragraph_format.page_break_before = True
    document.add_heading("2.1 Argos", 2)
    document.add_paragraph(
        "The 500 mm reflector has been in service since 1987. Its mirror was washed on 6 August; the reflectivity at 550 nm "
        "rose from 81 % to 88 %. The next washing is due in 2030."
    )
    document.add_heading("2.2 Selene", 2)
    document.add_paragraph("The 150 mm refractor received a new focuser in February. Figure 1 was its first picture afterwards.")
    add_figure(
        document, jpeg(draw_moon()), 12, "The Moon, half lit from the right.", "Figure 1. The Moon through Selene, 16 February 2024."
    )
    document.add_heading("2.3 Helios", 2)
    document.add_paragraph(
        "The 80 mm solar telescope ran without a fault. Its filter is checked for pinholes on the first Monday of each month."
    )

    document.add_heading("3 Energy", 1).paragraph_format.page_break_before = True
    document.add_paragraph(
        f"The year took {ENERGY:,} kWh, against {sum(ENERGY_BY_QUARTER_OF_2023):,} kWh in {YEAR - 1}. Heating is the largest "
        "share, and so winter months take more than twice as much as summer months."
    )
    rows = [("Quarter", f"{YEAR - 1} (kWh)", f"{YEAR} (kWh)")]
    rows += [(f"Q{number}", *row) for number, row in enumerate(zip(ENERGY_BY_QUARTER_OF_2023, quarters(3), strict=True), 1)]
    add_rows(document, [*rows, ("Year", sum(ENERGY_BY_QUARTER_OF_2023), ENERGY)], "Table 2. Electricity by quarter")
    add_figure(
        document,
        chart_of_months([month[3] for month in MONTHS], f"Electricity {YEAR}", "kWh"),
        14,
        "Bar chart: electricity in each month.",
        f"Figure 2. Electricity by month, {YEAR}.",
    )

    document.add_heading("4 Maintenance and outlook", 1).paragraph_format.page_break_before = True
    document.add_heading("4.1 Work done", 2)
    for line in (
        "12 February: new focuser for Selene",
        "6 August: main mirror of Argos washed",
        "24 September: shutter motor replaced by type BF-2207",
        "18 November: lightning protection measured, no fault found",
    ):
        document.add_paragraph(line, style="List Bullet")
    document.add_heading("4.2 Plans for 2025", 2)
    for line in (
        "Solar panels on the roof of the control room, 6 kW",
        "A second cloud sensor, since the first one sees only the zenith",
        "A printed catalogue of the glass plates from 1987 to 1999",
    ):
        document.add_paragraph(line, style="List Number")
    document.add_paragraph("The report was adopted by the board on 15 January 2025.")

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "report.docx"
        save_document(document, source)
        office_to_pdf(source, path)
    fix_pdf(path, title)


def make_handbook(path: Path) -> None:
    """DOCX with headings of three levels, a table, two pictures, a list, a footnote and a page break."""
    document = new_document("Observer's Handbook")
    document.add_heading("Observer's Handbook", 0)
    document.add_paragraph(f"{OBSERVATORY}, edition of January 2025. Read it before your first night, and keep a copy in the control room.")

    document.add_heading("1 Before the night", 1)
    document.add_heading("1.1 Arrival", 2)
    document.add_paragraph("Come an hour before sunset. Two people are on duty on every night; nobody opens the dome alone.")
    add_figure(document, png(draw_dome()), 10, "Drawing of the dome with its parts.", "Figure 1. The dome and the control room.")
    document.add_heading("1.1.1 Keys and alarm", 3)
    document.add_paragraph("The key hangs in the porch. The alarm is off when the lamp beside the door is green.")
    document.add_heading("1.1.2 Warm-up", 3)
    document.add_paragraph("Switch on the mount first and the camera last:")
    for line in ("Mount and dome controller", "Focuser and filter wheel", "Camera, cooled to −20 °C in steps of 5 °C"):
        document.add_paragraph(line, style="List Number")
    document.add_heading("1.2 Weather limits", 2)
    add_rows(
        document,
        (
            ("Quantity", "Warn at", "Close at"),
            ("Wind gusts", "35 km/h", "45 km/h"),
            ("Humidity", "85 %", "92 %"),
            ("Temperature", "−12 °C", "−18 °C"),
        ),
        "Table 1. Limits for the open dome",
    )
    document.add_heading("1.2.1 Wind", 3)
    paragraph = document.add_paragraph("Close the dome when gusts reach 45 km/h, and do not reopen it before half an hour of calm.")
    add_footnote(document, paragraph, "The limit was 50 km/h until a shutter panel was bent on 10 February 2020.")
    document.add_heading("1.2.2 Humidity", 3)
    document.add_paragraph("At 92 % water settles on the mirror. Close at once, and leave the fans running.")

    document.add_heading("2 Instruments", 1).paragraph_format.page_break_before = True
    document.add_heading("2.1 Argos", 2)
    document.add_paragraph("Argos (Greek Άργος, the watchman with a hundred eyes) is the main telescope.")
    document.add_heading("2.1.1 History", 3)
    document.add_paragraph("It saw first light on 27 March 1987. The log of that night has been scanned and is kept in this library.")
    document.add_heading("2.1.2 Filter wheel", 3)
    document.add_paragraph(
        "The wheel has six places. Place 5 holds the hydrogen filter (Hα, 656 nm); place 6 is closed and serves for dark frames."
    )
    add_figure(
        document,
        png(draw_filter_wheel()),
        6,
        "The six places of the filter wheel.",
        "Figure 2. Places of the filter wheel, seen from the camera.",
    )
    document.add_heading("2.2 Selene", 2)
    document.add_paragraph("Selene is for the eye. Never leave it uncapped in daylight.")

    document.add_heading("3 After the night", 1)
    document.add_heading("3.1 Closing", 2)
    for line in ("Park the telescope, then close the shutter", "Cap all lenses", "Write the log, also when nothing was seen"):
        document.add_paragraph(line, style="List Bullet")
    save_document(document, path)


def make_slides(path: Path) -> None:
    """PPTX of four slides, with a table, a picture, and notes for the speaker."""
    show = pptx.Presentation()
    show.core_properties.title = "Open Night 2024"
    show.core_properties.author = OBSERVATORY
    title_layout, list_layout, free_layout = show.slide_layouts[0], show.slide_layouts[1], show.slide_layouts[5]

    slide = show.slides.add_slide(title_layout)
    slide.shapes.title.text = "Open Night 2024"
    slide.placeholders[1].text = f"{OBSERVATORY}\n12 October 2024"
    slide.notes_slide.notes_text_frame.text = "Welcome everybody. Remind them that red lamps only are allowed in the dome."

    slide = show.slides.add_slide(list_layout)
    slide.shapes.title.text = "What we looked at"
    slide.placeholders[1].text = "The Moon, two days after first quarter\nSaturn and its narrow rings\nAlbireo, a pair of gold and blue"
    slide.notes_slide.notes_text_frame.text = "The rings were tilted by only five degrees, so expect questions."

    slide = show.slides.add_slide(free_layout)
    slide.shapes.title.text = "Programme"
    rows = (
        ("Time", "Station", "Instrument", "Guests"),
        ("18:45", "The Moon", "Selene", "52"),
        ("19:30", "Talk: how a mirror is washed", "—", "37"),
        ("20:15", "Saturn", "Argos", "61"),
        ("21:30", "Albireo", "Argos", "28"),
    )
    table = slide.shapes.add_table(len(rows), 4, SlideCm(2), SlideCm(5), SlideCm(21.4), SlideCm(7)).table
    for column, width in enumerate((3, 10, 5, 3.4)):
        table.columns[column].width = SlideCm(width)
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            table.cell(number, column).text = value
    slide.notes_slide.notes_text_frame.text = "84 visitors came in all; most of them went to more than one station."

    slide = show.slides.add_slide(free_layout)
    slide.shapes.title.text = "The sky over the dome"
    picture = slide.shapes.add_picture(io.BytesIO(jpeg(draw_star_trails())), SlideCm(4.2), SlideCm(4.5), width=SlideCm(17))
    picture._element.nvPicPr.cNvPr.set("descr", "Trails of stars around the pole, above the dome.")
    box = slide.shapes.add_textbox(SlideCm(4.2), SlideCm(16.3), SlideCm(17), SlideCm(1.5))
    box.text_frame.text = "Two hours of exposure, camera on the meadow"
    box.text_frame.paragraphs[0].font.size = SlidePt(16)
    slide.notes_slide.notes_text_frame.text = "The bright gap is the open shutter, lit from within by the red lamp."
    show.save(path)
    fix_zip(path)


def make_workbook(path: Path) -> None:
    """XLSX of three sheets: figures with formulas, an empty one, one with a picture.

    By XlsxWriter, because a reader without a calculator finds the values of the formulas too.
    """
    with xlsxwriter.Workbook(path) as book:
        book.set_properties({"title": f"Energy {YEAR}", "author": OBSERVATORY, "created": ISSUED.replace(tzinfo=None)})
        bold, ratio = book.add_format({"bold": True}), book.add_format({"num_format": "0.0"})
        sheet = book.add_worksheet("Monthly")
        sheet.set_column(0, 4, 16)
        sheet.write_row(0, 0, ("Month", "Clear nights", "Hours open", "Energy (kWh)", "kWh per hour"), bold)
        for number, (month, nights, hours, energy) in enumerate(MONTHS, 1):
            sheet.write_row(number, 0, (month, nights, hours, energy))
            sheet.write_formula(number, 4, f"=D{number + 1}/C{number + 1}", ratio, round(energy / hours, 1))
        sheet.write(13, 0, "Year", bold)
        for column, total in enumerate((NIGHTS, HOURS, ENERGY), 1):
            letter_of_column = "ABCD"[column]
            sheet.write_formula(13, column, f"=SUM({letter_of_column}2:{letter_of_column}13)", bold, total)
        sheet.write_formula(13, 4, "=D14/C14", ratio, round(ENERGY / HOURS, 1))

        book.add_worksheet("Reserve")

        sheet = book.add_worksheet("Chart")
        sheet.write("A1", "Clear nights by month", bold)
        sheet.write("A2", "The picture was drawn from the figures of the sheet Monthly.")
        chart = chart_of_months([month[1] for month in MONTHS], f"Clear nights {YEAR}", "nights")
        sheet.insert_image("A4", "chart.png", {"image_data": io.BytesIO(chart), "description": "Bar chart: clear nights in each month."})


def make_web_page(path: Path) -> None:
    """HTML with headings of three levels, a table, and a PNG picture inside the page."""
    rows = "\n".join(
        f"<tr><td>{name}</td><td>{greek}</td><td>{kind}</td><td>{aperture} mm</td><td>f/{length / aperture:g}</td></tr>"
        for name, greek, kind, aperture, length in INSTRUMENTS
    )
    picture = base64.b64encode(png(draw_dome().quantize(16))).decode()
    path.write_text(
        f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Instruments of Birkenfirst Observatory</title>
<meta name="author" content="{OBSERVATORY}">
<style>body {{ font-family: sans-serif; max-width: 40em; margin: auto }} td, th {{ border: 1px solid #999; padding: 4px }}</style>
</head>
<body>
<h1>Instruments</h1>
<p>Three telescopes stand on the hill, 612 metres above the sea. Each has a name from a Greek story.</p>
<table>
<thead><tr><th>Name</th><th>Greek</th><th>Kind</th><th>Aperture</th><th>Ratio</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
<h2>Argos</h2>
<p>The main telescope fills the dome. It weighs 1.4 tonnes and turns so smoothly that one finger can move it.</p>
<h3>Optics</h3>
<p>The mirror is made of glass ceramic and is coated with aluminium. Dust costs it about one per cent of its light a year.</p>
<h3>Camera</h3>
<p>The camera has 4096 × 4096 pixels and a field of half a degree, as wide as the full Moon.</p>
<h2>Selene</h2>
<p>The refractor rides on the back of Argos and is used by eye.</p>
<h2>Helios</h2>
<p>The solar telescope has a hut of its own, whose roof slides off towards the south.</p>
<h3>Safety</h3>
<ul>
<li>Check the front filter for holes before every use.</li>
<li>Never leave the hut while the telescope is uncovered.</li>
</ul>
<h2>The dome</h2>
<p><img alt="Drawing of the dome with its parts" width="560" height="360" src="data:image/png;base64,{picture}"></p>
<p>The dome is 6.2 metres wide and turns once in four minutes.</p>
</body>
</html>
""",
        encoding="utf-8",
    )


def make_controller_manual(path: Path) -> None:
    """Markdown with nested headings, a table and blocks of code."""
    path.write_text(
        """# Dome controller

The dome controller opens and closes the shutter, turns the dome, and closes by itself in bad weather. 🔭

## Settings

The settings stand in one file, which is read at the start:

```yaml
dome:
  wind_close_kmh: 45      # as in the handbook, section 1.2
  humidity_close_percent: 92
  calm_minutes: 30
shutter:
  motor: BF-2207          # since 24 September 2024
  run_seconds: 75
```

### Changing a limit

Limits may be lowered by the observer on duty, and raised only by the board. A change takes effect at the next start.

## Commands

| Command | What it does | Allowed in daylight |
|---|---|---|
| `open` | opens the shutter | no |
| `close` | closes the shutter, whatever else is running | yes |
| `turn 180` | turns the opening to an azimuth in degrees | yes |
| `park` | closes, then turns to north | yes |

### From a script

```python
with Dome("tcp://dome.birkenfirst.example:7100") as dome:
    if dome.weather().gusts < 35:
        dome.open()
```

## Faults

### Shutter stops half-way

1. Press the red button, and wait ten seconds.
2. Send `close` again.
3. If it stops again, close it by the crank: 140 turns.

### No weather data

Without data for five minutes the controller closes the dome and reports `E17`. Look at the cable of the cloud sensor first.
""",
        encoding="utf-8",
    )


def make_night_notes(path: Path) -> None:
    """Plain text in English and German, with Greek letters and an emoji."""
    path.write_text(
        """NOTES OF THE NIGHT, 28 DECEMBER 2024

On duty: observer A and observer C. Sky clear from 17:10, no Moon, seeing 1.9 arc seconds.

17:40 Argos on the variable star υ Persei field, series of 60 exposures in three colours. Focus drifted with the cold, corrected twice.

21:05 Gusts of 38 km/h, warning from the dome controller. We stayed open, pointing away from the wind.

22:30 Gusts of 47 km/h. Dome closed by itself. We waited for half an hour of calm, which did not come.

Übergabe an die nächste Schicht: Die Heizung im Kontrollraum läuft auf kleinster Stufe. Der Schlüssel hängt wieder am gewohnten Ort. \
Bitte die Batterie der Türklingel wechseln, sie klingt müde.

Temperature at closing: −6 °C. Frost on the stairs, sand is in the red box. ❄️ Good night.
""",
        encoding="utf-8",
    )


def make_observation_log(path: Path) -> None:
    """CSV: the log of observations, with Greek letters."""
    write_table(
        path,
        (
            ("date", "start_ut", "instrument", "object", "seeing_arcsec", "observer", "remark"),
            ("2024-01-12", "18:20", "Argos", "M42", 2.1, "A", "sky very dry"),
            ("2024-02-09", "19:05", "Argos", "M35", 2.4, "B", "shutter slow to open"),
            ("2024-02-16", "18:10", "Selene", "Moon", 1.8, "C", "first picture with the new focuser"),
            ("2024-03-09", "20:15", "Argos", "M51", 1.7, "A", ""),
            ("2024-04-06", "20:40", "Argos", "M3", 2.0, "B", "shutter stuck, closed by crank"),
            ("2024-05-09", "10:00", "Helios", "Sun", 2.8, "C", "largest group of spots of the year"),
            ("2024-05-10", "21:30", "Argos", "M13", 1.6, "A", ""),
            ("2024-06-07", "22:10", "Argos", "M57", 1.5, "C", "central star seen"),
            ("2024-07-06", "22:05", "Argos", "α Lyrae (Vega)", 1.6, "B", "test of pointing"),
            ("2024-08-03", "21:00", "Argos", "M27", 1.4, "A", "last night before the washing"),
            ("2024-08-09", "21:10", "Argos", "M27", 1.3, "A", "clean mirror: 0.08 mag gained"),
            ("2024-08-12", "21:30", "eye", "Perseids", "", "A, B, C", "96 meteors in two hours"),
            ("2024-09-18", "02:10", "Selene", "Moon", 1.9, "B", "partial eclipse"),
            ("2024-10-01", "19:00", "Argos", "M31", 1.8, "C", "new shutter motor is quiet"),
            ("2024-10-12", "16:45", "Selene", "Moon", 2.2, "A", "open night"),
            ("2024-10-12", "19:30", "Argos", "β Cygni (Albireo)", 2.0, "B", "open night"),
            ("2024-11-01", "18:00", "Argos", "M33", 2.3, "C", ""),
            ("2024-12-28", "16:40", "Argos", "υ Persei field", 1.9, "A, C", "closed by wind, 47 km/h"),
        ),
        ",",
    )


def make_maintenance_list(path: Path) -> None:
    """TSV: the list of maintenance work."""
    write_table(
        path,
        (
            ("date", "part", "work", "hours", "cost_eur", "next_due"),
            ("2024-02-12", "Selene", "new focuser fitted", 3, 640, ""),
            ("2024-04-08", "Dome shutter", "motor cleaned after second failure", 5, 0, "2024-09"),
            ("2024-06-17", "Dome ring", "24 rollers greased", 4, 35, "2026-06"),
            ("2024-08-06", "Argos", "main mirror washed", 9, 120, "2030"),
            ("2024-09-24", "Dome shutter", "motor replaced by BF-2207", 7, 1890, "2034"),
            ("2024-11-18", "Building", "lightning protection measured", 2, 310, "2028-11"),
        ),
        "\t",
    )


def make_washing_guide(path: Path) -> None:
    """reStructuredText: sections, numbered steps, a table and a warning."""
    path.write_text(
        """===================
Washing the mirror
===================

The main mirror of Argos is washed about every six years. It takes two people one day. The last washing was on 6 August 2024.

What you need
=============

=====================  ========  =====================
Thing                  Amount    Where
=====================  ========  =====================
Distilled water        60 litres store room
Mild soap              20 ml     first-aid cupboard
Cotton wool            500 g     store room
Lifting frame          1         behind the pier
=====================  ========  =====================

Steps
=====

Taking the mirror out
---------------------

1. Point the telescope to the zenith and lock both axes.
2. Fix the lifting frame with its three bolts.
3. Lower the mirror cell, never faster than one centimetre a second.

Washing
-------

1. Rinse with ten litres of water, until no grain of dust is left.
2. Draw cotton wool over the glass by its own weight. Use each piece once.
3. Rinse again, and blow the last drops off with dry air.

.. warning::

   Never rub. A scratch stays for as long as the coating does.

Afterwards
==========

Measure the reflectivity at 550 nm. It was 81 % before and 88 % after the washing of 2024.
""",
        encoding="utf-8",
    )


def make_house_rules(path: Path) -> None:
    """RTF in German: headings, a list and a table."""
    pandoc(
        """---
title: Hausordnung der Sternwarte Birkenfirst
---

# Öffnungszeiten

Die Sternwarte ist vom 1. September bis zum 30. April an jedem klaren Freitag geöffnet.
Größere Gruppen melden sich bitte zwei Wochen vorher an.

| Monate             | Beginn | Schluss |
|--------------------|--------|---------|
| September, Oktober | 20 Uhr | 23 Uhr  |
| November bis März  | 18 Uhr | 21 Uhr  |
| April              | 21 Uhr | 24 Uhr  |

# Verhalten in der Kuppel

- Nur rotes Licht benutzen; weißes Licht stört für zwanzig Minuten.
- Gläser und Spiegel nicht berühren.
- Kinder unter zwölf Jahren bleiben bei ihren Eltern.

# Eintritt

Der Eintritt kostet 4 €, für Schülerinnen und Schüler 2 €. Am Tag der offenen Tür ist er frei.
""",
        path,
    )


def make_loan_agreement(path: Path) -> None:
    """ODT with headings, a table and a picture."""
    pandoc(
        f"""---
title: Loan of the travelling telescope
author: {OBSERVATORY}
date: 2025-01-15
---

# What is lent

The observatory lends its travelling telescope to schools, free of charge, for up to four weeks.

![The travelling telescope on its tripod](telescope.png){{width=6cm}}

| Part                  | Number | Value (€) |
|-----------------------|--------|-----------|
| Telescope tube, 70 mm | 1      | 380       |
| Tripod                | 1      | 150       |
| Eyepieces             | 3      | 210       |
| Case                  | 1      | 60        |

# Duties of the school

## Care

The case stays shut when it rains. Lenses are cleaned by the observatory only.

## Damage

Damage is reported within three days. The school pays for no more than 100 € of a repair.

# Return

The telescope comes back on a Friday between 18 and 20 o'clock, with a page on what was seen.
""",
        path,
        {"telescope.png": png(draw_travelling_telescope())},
    )


def make_primer(path: Path) -> None:
    """EPUB of two chapters with a picture."""
    pandoc(
        f"""---
title: A First Evening under the Sky
author: {OBSERVATORY}
lang: en
date: 2025-01-15
identifier: urn:uuid:7b0f3a52-2f0c-5d0e-9c1e-2024101220ab
---

# Finding north

Go out when it is quite dark, and give your eyes a quarter of an hour. Look for the seven bright stars of the Plough.

## The two pointers

The last two stars of its bowl point to Polaris. Measure their distance with your fingers and go on five times as far.

## Why Polaris stands still

The axis of the Earth points almost at it, less than one degree away. All other stars circle around it, once in a day.

# Lyra, a small harp

In summer the brightest star high in the sky is Vega, α Lyrae. Below it four fainter stars make a slanted box.

![The constellation Lyra, with the Ring Nebula M57 between β and γ](lyra.png)

## The ring

Between β and γ lies the Ring Nebula, M57. Selene shows it as a tiny grey smoke ring; to Argos its central star is visible too.

## A double double

Near Vega, ε Lyrae is a pair to the naked eye, and each of the two is a pair again in a telescope.
""",
        path,
        {"lyra.png": png(draw_lyra().quantize(64))},
    )


def make_invoice_mail(path: Path) -> None:
    """EML with a PDF and a CSV attached, and umlauts in its subject."""
    cost = f"{ENERGY * PRICE_PER_KWH:,.2f} €"
    with tempfile.TemporaryDirectory() as folder:
        invoice, readings = Path(folder) / "invoice-2024-1187.pdf", Path(folder) / "readings-2024.csv"
        letter(
            (
                "Invoice 2024-1187",
                "Hollerstrom Electricity, customer number 30417",
                f"Supply of {ENERGY:,} kWh in {YEAR} at {PRICE_PER_KWH} € per kWh",
                f"Amount due: {cost}",
                "Payable by 31 January 2025",
            ),
            invoice,
        )
        write_table(readings, [("month", "kwh"), *((month[0], month[3]) for month in MONTHS)], ",")
        message = EmailMessage()
        message["From"] = "Hollerstrom Accounts <accounts@hollerstrom.example>"
        message["To"] = f"{OBSERVATORY} <office@birkenfirst.example>"
        message["Subject"] = f"Invoice 2024-1187 and readings (Zählerstände) for {YEAR}"
        message["Date"] = ISSUED - timedelta(days=7)
        message["Message-ID"] = "<2024-1187@hollerstrom.example>"
        message.set_content(
            f"Good morning,\n\nplease find attached the invoice for {YEAR} and the monthly readings of meter 88-205.\n\n"
            f"You used {ENERGY:,} kWh. At {PRICE_PER_KWH} € per kWh this makes {cost}.\n\nMit freundlichen Grüßen\nHollerstrom Accounts\n"
        )
        message.add_attachment(invoice.read_bytes(), maintype="application", subtype="pdf", filename=invoice.name)
        message.add_attachment(readings.read_text(encoding="utf-8"), subtype="csv", filename=readings.name)
        message.set_boundary("=_hollerstrom_2024_1187")
        path.write_bytes(message.as_bytes())


def make_delivery_note(path: Path) -> None:
    """PNG: the scan of one typed page, to be read by OCR."""
    page = scan(
        """
DELIVERY NOTE 40-771

Kranich Motors, Unterdorf
To: Birkenfirst Observatory
Date: 17 September 2024

Position   Part           Number

Item 1     Motor BF-2207  1 piece
Item 2     Limit switch   4 pieces
Item 3     Toothed belt   2 pieces

The motor is tested for a load of
120 kilograms. Keep it dry until it
is fitted.

Guarantee: five years from the date
of this note.

Received in good order.
""",
        200,
        0.4,
    )
    path.write_bytes(png(page.quantize(16)))


def make_logbook_scan(path: Path) -> None:
    """PDF of two scanned pages, black and white, without any text that a program could copy."""
    pages = [
        scan(text, 200, tilt).point(lambda grey: 255 if grey > 140 else 0).convert("1")
        for text, tilt in (
            (
                """
BIRKENFIRST OBSERVATORY
LOG BOOK 1987, PAGE 12

Night of 27 March 1987

Sky clear after rain, no Moon.

21:40  First light of the large
       reflector. Object: the open
       cluster M44. Stars round to
       the edge of the field.

22:15  Galaxies M65 and M66, both
       seen at once.

23:50  Clouds from the west. Closed.

We propose to name the telescope
ARGOS.
""",
                0.5,
            ),
            (
                """
LOG BOOK 1987, PAGE 13

Night of 4 April 1987

Moon near first quarter.

20:10  Mirror cell adjusted by two
       turns of the north screw.

21:30  Plate number 1 exposed for
       40 minutes. Object: M51.

22:30  Plate developed. The spiral
       arms are plain to see.

Temperature at closing: 3 degrees.
""",
                -0.4,
            ),
        )
    ]
    pages[0].save(path, "PDF", resolution=200, save_all=True, append_images=pages[1:])
    fix_pdf(path, "Log book 1987, pages 12 and 13")


def make_alarm_plan(path: Path) -> None:
    """PDF behind a user's password ("birkenfirst"); expected: encrypted."""
    letter(
        (
            "Alarm plan",
            "The siren is in the porch, the second key in the store room.",
            "Call the fire brigade first, the board afterwards.",
        ),
        path,
    )
    fix_pdf(path, "Alarm plan", pikepdf.Encryption(user="birkenfirst", owner="birkenfirst-board"))


def make_broken_inventory(path: Path) -> None:
    """DOCX cut off in the middle, as by a broken download; expected: corrupt."""
    document = new_document("Inventory of the store room")
    document.add_heading("Inventory of the store room", 1)
    document.add_paragraph("Distilled water, cotton wool, two spare belts, one crank.")
    save_document(document, path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def make_empty_log(path: Path) -> None:
    """Text file without a byte; expected: empty."""
    path.write_bytes(b"")


DOCUMENTS = {
    "annual-report-2024.pdf": make_report,
    "observers-handbook.docx": make_handbook,
    "open-night-2024.pptx": make_slides,
    "energy-2024.xlsx": make_workbook,
    "instruments.html": make_web_page,
    "dome-controller.md": make_controller_manual,
    "night-notes.txt": make_night_notes,
    "observations-2024.csv": make_observation_log,
    "maintenance-2024.tsv": make_maintenance_list,
    "mirror-washing.rst": make_washing_guide,
    "hausordnung.rtf": make_house_rules,
    "telescope-loan.odt": make_loan_agreement,
    "first-evening.epub": make_primer,
    "electricity-invoice.eml": make_invoice_mail,
    "delivery-note.png": make_delivery_note,
    "logbook-1987.pdf": make_logbook_scan,
    "alarm-plan.pdf": make_alarm_plan,
    "inventory.docx": make_broken_inventory,
    "cloud-sensor.txt": make_empty_log,
}


def main() -> None:
    """Makes all documents, in the directory given or in `library` beside this file."""
    library = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "library"
    library.mkdir(parents=True, exist_ok=True)
    for name, make in DOCUMENTS.items():
        make(library / name)
        print(f"{(library / name).stat().st_size:>8,}  {name}")


if __name__ == "__main__":
    main()
