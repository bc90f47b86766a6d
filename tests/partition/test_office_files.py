"""DOCX, PPTX, XLSX and their relatives, from files that are made here, through `partition_document`."""

import io
import re
import shutil
import zipfile
from dataclasses import replace
from datetime import date, datetime

import docx
import openpyxl
import pptx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from PIL import Image
from pptx.util import Inches

from transforms.model import DecodeError, Element, Stage, Status
from transforms.partition.office.spreadsheets import cell_text, dense
from transforms.partition.office.word import _with_whole_table
from transforms.partition.partitioner import partition_document
from transforms.settings import DecodeSettings

SENTENCE = "The committee approved the annual budget after a long debate in the town hall."


@pytest.fixture
def partition(tmp_path):
    def run(data, name="", declared="", settings=None):
        path = tmp_path / "spool"
        path.write_bytes(data)
        return partition_document(path, declared_mime_type=declared, name=name, settings=settings or DecodeSettings())

    return run


@pytest.fixture
def refusal(partition):
    def run(data, name="", declared=""):
        with pytest.raises(DecodeError) as raised:
            partition(data, name, declared)
        return raised.value.status, raised.value.message

    return run


def saved(document):
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def png(colour="red"):
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(stream, "PNG")
    stream.seek(0)
    return stream


def rewritten(data, change):
    """The package with `change(name, content)` applied to each member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            target.writestr(name, change(name, source.read(name)))
    return stream.getvalue()


def outline(document):
    return [(element.category, element.category_depth, element.text) for element in document.elements]


def report():
    document = docx.Document()
    document.add_heading("Overview", 1)
    document.add_paragraph(SENTENCE)
    document.add_heading("Details", 2)
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Quarter", "Revenue", "Q1", "10"], strict=True):
        cell.text = text
    document.add_heading("Outlook", 1)
    document.core_properties.title = "Annual report"
    document.core_properties.author = "Ada"
    document.core_properties.created = datetime(2024, 5, 1, 10)  # noqa: DTZ001 python-docx wants it so
    return document


def test_docx_headings_have_their_levels_and_tables_their_html(partition):
    found = partition(saved(report()), "report.docx")
    assert outline(found) == [
        ("Title", 0, "Overview"),
        ("NarrativeText", 0, SENTENCE),
        ("Title", 1, "Details"),
        ("Table", None, "Quarter Revenue Q1 10"),
        ("Title", 0, "Outlook"),
    ]
    assert found.elements[3].html.startswith("<table><tr><td>Quarter</td><td>Revenue</td></tr>")
    assert found.mime_type == "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert (found.page_based, found.page_count, found.title, found.creator, found.date) == (
        False,
        None,
        "Annual report",
        "Ada",
        "2024-05-01T10:00:00Z",
    )
    assert {element.languages for element in found.elements} == {("eng",)}


def test_docx_identifiers_do_not_depend_on_the_name_of_the_file(partition):
    data = saved(report())
    first = [element.element_id for element in partition(data, "a.docx").elements]
    assert first == [element.element_id for element in partition(data, "another name.docx").elements]
    assert len(set(first)) == 5


def test_docx_headings_stand_under_the_title_of_the_document(partition):
    document = docx.Document()
    document.add_heading("The book", 0)
    document.add_heading("Chapter", 1)
    document.add_heading("Section", 2)
    assert outline(partition(saved(document))) == [("Title", 0, "The book"), ("Title", 1, "Chapter"), ("Title", 2, "Section")]


def test_docx_headings_are_known_by_the_outline_level_of_their_style(partition):
    document = docx.Document()
    chapter = document.styles.add_style("Kapitel", WD_STYLE_TYPE.PARAGRAPH)
    chapter.base_style = document.styles["Heading 2"]
    own = document.styles.add_style("Eigenes", WD_STYLE_TYPE.PARAGRAPH)
    own.element.get_or_add_pPr().append(docx.oxml.parse_xml(f'<w:outlineLvl {docx.oxml.ns.nsdecls("w")} w:val="2"/>'))
    document.add_paragraph("Erstes", style="Kapitel")
    document.add_paragraph("Zweites", style="Eigenes")
    document.add_paragraph("Kein Titel", style="Body Text")
    assert outline(partition(saved(document)))[:2] == [("Title", 1, "Erstes"), ("Title", 2, "Zweites")]
    assert partition(saved(document)).elements[2].category != "Title"


def test_docx_text_boxes_are_read_once_behind_their_paragraph(partition):
    document = docx.Document()
    document.add_paragraph("Before the box.")
    paragraph = document.add_paragraph("Anchor of the box.")
    box = "<w:txbxContent><w:p><w:r><w:t>Inside the box.</w:t></w:r></w:p></w:txbxContent>"
    names = docx.oxml.ns.nsdecls("w") + ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    names += ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml"'
    paragraph.add_run()._r.append(
        docx.oxml.parse_xml(
            f"<mc:AlternateContent {names}><mc:Choice Requires='wps'><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
            f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>"
        )
    )
    document.add_paragraph("After the box.")
    texts = [element.text for element in partition(saved(document)).elements]
    assert texts == ["Before the box.", "Anchor of the box.", "Inside the box.", "After the box."]


WORD = docx.oxml.ns.nsdecls("w") + ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def with_body(xml):
    """A DOCX whose body is this."""
    body = f"<w:document {WORD}><w:body>{xml}</w:body></w:document>".encode()
    return rewritten(saved(docx.Document()), lambda name, content: body if name == "word/document.xml" else content)


def control(content, properties=""):
    return f"<w:sdt>{properties}<w:sdtContent>{content}</w:sdtContent></w:sdt>"


def paragraph(text):
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_docx_content_controls_are_read_at_their_place_but_a_table_of_contents_is_not(partition):
    inline = f"<w:p><w:r><w:t>Name: </w:t></w:r>{control('<w:r><w:t>Ada</w:t></w:r>')}</w:p>"
    block = control(paragraph("In a control.") + control(paragraph("In two.")))
    gallery = '<w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
    contents = control(paragraph("Chapter one ... 3"), gallery)
    found = partition(with_body(contents + paragraph("Before.") + block + inline + paragraph("After.")))
    assert [element.text for element in found.elements] == ["Before.", "In a control.", "In two.", "Name: Ada", "After."]


def test_docx_equations_are_written_in_one_line(partition):
    def run(text):
        return f"<m:r><m:t>{text}</m:t></m:r>"

    square = f"<m:sSup><m:e>{run('r')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    fraction = f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('c')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{fraction}</m:e><m:sup>{run('n')}</m:sup></m:sSup>"
    root = f"<m:rad><m:radPr/><m:deg/><m:e>{run('x-1')}</m:e></m:rad>"
    total = (
        f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{run("i=1")}</m:sub><m:sup>{run("n")}</m:sup><m:e>{run("i")}</m:e></m:nary>'
    )
    equations = [f"<m:oMath>{content}</m:oMath>" for content in (run("A=π") + square, power, root, total)]
    body = f"<w:p><w:r><w:t>The area is </w:t></w:r>{equations[0]}<w:r><w:t>.</w:t></w:r></w:p>"
    body += f"<w:p>{equations[1]}{equations[2]}</w:p><m:oMathPara>{equations[3]}</m:oMathPara>"
    texts = [element.text for element in partition(with_body(body)).elements]
    assert texts == ["The area is A=πr^2.", "((a+b)/c)^n √(x-1)", "∑_(i=1)^n i"]


def test_docx_footnotes_stand_behind_the_paragraph_that_they_belong_to(partition):
    reference = '<w:p><w:r><w:t>A claim.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    data = with_body(reference + paragraph("The next paragraph."))
    notes = f'<w:footnotes {WORD}><w:footnote w:id="1">{paragraph("Of another place.")}</w:footnote>'
    notes += f'<w:footnote w:id="2">{paragraph("The source of the claim.")}</w:footnote></w:footnotes>'
    office = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relation = f'<Relationship Id="rIdNotes" Type="{relations}/footnotes" Target="footnotes.xml"/>'
    kind = f'<Override PartName="/word/footnotes.xml" ContentType="{office}.footnotes+xml"/>'

    def change(name, content):
        if name == "word/_rels/document.xml.rels":
            return content.replace(b"</Relationships>", f"{relation}</Relationships>".encode())
        return content.replace(b"</Types>", f"{kind}</Types>".encode()) if name == "[Content_Types].xml" else content

    stream = io.BytesIO(rewritten(data, change))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("word/footnotes.xml", notes)
    texts = [element.text for element in partition(stream.getvalue()).elements]
    assert texts == ["A claim.", "The source of the claim.", "The next paragraph."]


def test_the_html_of_a_docx_table_that_misses_a_cell_is_not_used():
    whole = Element("Table", text="A B", html="<table><tr><td>A</td><td>B</td></tr></table>")
    assert _with_whole_table(whole) == whole
    assert _with_whole_table(replace(whole, html="<table><tr><td>A</td></tr></table>")).html == ""


def test_docx_pictures_stand_where_they_are_shown_and_can_be_left_out(partition):
    document = docx.Document()
    document.add_paragraph("Above.")
    document.add_picture(png())
    document.add_paragraph("Below.")
    data = saved(document)
    elements = partition(data).elements
    assert [element.category == "Image" for element in elements] == [False, True, False]
    assert (elements[1].picture.mime_type, elements[1].picture.width, elements[1].picture.height) == ("image/png", 40, 30)
    assert elements[1].picture.data == png().read()
    assert [element.picture for element in partition(data, settings=DecodeSettings(images=False)).elements] == [None, None]


def test_a_docx_with_page_breaks_keeps_its_sections_and_its_page_numbers(partition):
    document = docx.Document()
    document.add_paragraph("First page.")
    run = document.add_paragraph().add_run("Second page.")
    run._r.insert(0, docx.oxml.parse_xml(f"<w:lastRenderedPageBreak {docx.oxml.ns.nsdecls('w')}/>"))
    found = partition(saved(document))
    assert not found.page_based
    assert [(element.text, element.page_number) for element in found.elements] == [("First page.", 1), ("Second page.", 2)]


@pytest.mark.parametrize(
    "main",
    [
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    ],
)
def test_docx_with_macros_and_templates_are_read(partition, main):
    usual = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    data = rewritten(saved(report()), lambda name, content: content.replace(usual, main.encode()))
    found = partition(data, "report.docm")
    assert found.elements[0].text == "Overview"
    assert found.mime_type == "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def strict(name, content):
    content = content.replace(
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships", b"http://purl.oclc.org/ooxml/officeDocument/relationships"
    )
    return re.sub(
        rb"http://schemas.openxmlformats.org/(wordprocessingml|spreadsheetml|presentationml|drawingml)/2006/",
        rb"http://purl.oclc.org/ooxml/\1/",
        content,
    )


def test_strict_packages_are_read(partition):
    assert [element.text for element in partition(rewritten(saved(report()), strict)).elements][:2] == ["Overview", SENTENCE]
    workbook = openpyxl.Workbook()
    workbook.active.append(["a", 1])
    assert partition(rewritten(saved(workbook), strict)).elements[0].html == "<table><tr><td>a</td><td>1</td></tr></table>"
    assert partition(rewritten(saved(slides()), strict)).elements[0].text == "First slide"


def test_a_docx_without_text_is_empty_and_no_error(partition):
    assert partition(saved(docx.Document())).elements == []


def test_a_damaged_member_makes_a_package_corrupt(refusal):
    data = bytearray(saved(report()))
    place = data.find(b"word/document.xml") + 60
    data[place : place + 40] = bytes(40)
    status, message = refusal(bytes(data), "a.docx")
    assert status is Status.CORRUPT
    assert "decompressing" in message


def test_a_package_without_its_document_is_corrupt(refusal):
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(report()))) as source, zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            if name != "word/document.xml":
                target.writestr(name, source.read(name))
    assert refusal(stream.getvalue(), "a.docx")[0] is Status.CORRUPT


def test_comments_and_charts_that_are_left_out_are_said(partition):
    data = saved(report())
    stream = io.BytesIO(data)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("word/comments.xml", "<x/>")
        archive.writestr("word/charts/chart1.xml", "<x/>")
    assert partition(stream.getvalue()).warnings == ["Its comments are not decoded.", "Its charts are not decoded."]


def slides():
    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "First slide"
    first.placeholders[1].text = SENTENCE
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "Second slide"
    second.shapes.add_picture(png("blue"), Inches(1), Inches(2), Inches(4), Inches(3))
    second._element.set("show", "0")
    presentation.slides.add_slide(presentation.slide_layouts[6])
    return presentation


def test_pptx_slides_are_pages_blank_and_hidden_ones_too(partition):
    found = partition(saved(slides()), "deck.pptx")
    assert [(element.page_number, element.category, element.text) for element in found.elements] == [
        (1, "Title", "First slide"),
        (1, "NarrativeText", SENTENCE),
        (2, "Title", "Second slide"),
        (2, "Image", found.elements[3].text),
    ]
    assert (found.page_based, found.page_count, found.page_names) == (True, 3, {1: "First slide", 2: "Second slide"})
    assert found.page_sizes == {1: (720.0, 540.0), 2: (720.0, 540.0), 3: (720.0, 540.0)}
    assert found.warnings == ["Hidden slides are included: 2."]
    assert found.elements[3].coordinates == (0.1, 0.266667, 0.5, 0.666667)


def test_pptx_notes_that_are_left_out_are_said(partition):
    presentation = slides()
    presentation.slides[0].notes_slide.notes_text_frame.text = "Say hello."
    assert "Its speaker notes are not decoded." in partition(saved(presentation)).warnings


def test_a_slide_show_is_read(partition):
    usual = b"presentationml.presentation.main+xml"
    data = rewritten(saved(slides()), lambda name, content: content.replace(usual, b"presentationml.slideshow.main+xml"))
    assert partition(data, "deck.ppsx").elements[0].text == "First slide"


def workbook():
    book = openpyxl.Workbook()
    book.active.title = "Figures"
    for row in (
        ["Quarter", "Revenue", "Code"],
        [date(2024, 3, 31), 1234567.891, "007"],
        [datetime(2024, 6, 30, 12, 30), 12, None],  # noqa: DTZ001 a spreadsheet has no time zones
        [None, 13.0, True],
    ):
        book.active.append(row)
    hidden = book.create_sheet("Secret")
    hidden["B3"] = "only cell"
    hidden.sheet_state = "hidden"
    book.create_sheet("Blank")
    return book


def test_xlsx_sheets_are_pages_of_one_table_with_their_values_as_they_are(partition):
    found = partition(saved(workbook()), "book.xlsx")
    assert [(element.page_number, element.category, element.html) for element in found.elements] == [
        (
            1,
            "Table",
            "<table><tr><td>Quarter</td><td>Revenue</td><td>Code</td></tr>"
            "<tr><td>2024-03-31</td><td>1234567.891</td><td>007</td></tr>"
            "<tr><td>2024-06-30 12:30:00</td><td>12</td><td/></tr>"
            "<tr><td/><td>13</td><td>TRUE</td></tr></table>",
        ),
        (2, "Table", "<table><tr><td>only cell</td></tr></table>"),
    ]
    assert (found.page_based, found.page_count, found.page_names) == (True, 3, {1: "Figures", 2: "Secret", 3: "Blank"})
    assert found.warnings == ["Hidden sheets are included: Secret."]


def test_xlsx_blocks_with_gaps_stay_one_table(partition):
    book = openpyxl.Workbook()
    for cell, value in {"A1": "a", "B1": "b", "A9": "c", "D9": "d", "A1000000": "far"}.items():
        book.active[cell] = value
    (table,) = partition(saved(book)).elements
    assert table.html == (
        "<table><tr><td>a</td><td>b</td><td/><td/></tr><tr><td/><td/><td/><td/></tr><tr><td>c</td><td/><td/><td>d</td></tr>"
        "<tr><td/><td/><td/><td/></tr><tr><td>far</td><td/><td/><td/></tr></table>"
    )


def test_xlsx_formulas_without_a_stored_value_stand_for_themselves(partition):
    book = openpyxl.Workbook()
    book.active.append([1, 2, "=A1+B1"])
    found = partition(saved(book))
    assert found.elements[0].html == "<table><tr><td>1</td><td>2</td><td>=A1+B1</td></tr></table>"
    assert found.warnings == ["1 formulas have no stored value and stand as formulas."]


def test_xlsx_pictures_belong_to_their_sheet(partition):
    from openpyxl.drawing.image import Image as SheetImage

    book = openpyxl.Workbook()
    book.active.append(["first"])
    book.create_sheet("two").add_image(SheetImage(png()), "B2")
    found = partition(saved(book))
    assert [(element.page_number, element.category) for element in found.elements] == [(1, "Table"), (2, "Image")]
    assert found.elements[1].picture.width == 40


def test_an_empty_workbook_is_empty(partition):
    found = partition(saved(openpyxl.Workbook()))
    assert (list(found.elements), found.page_count) == ([], 1)


def test_an_encrypted_workbook_is_encrypted(refusal):
    import msoffcrypto
    from msoffcrypto.format.ooxml import OOXMLFile

    plain, locked = io.BytesIO(saved(workbook())), io.BytesIO()
    assert msoffcrypto.olefile
    OOXMLFile(plain).encrypt("secret", locked)
    assert refusal(locked.getvalue(), "book.xlsx") == (Status.ENCRYPTED, "The Office file is encrypted with a password.")


def test_cells_are_written_as_a_spreadsheet_shows_them():
    assert [cell_text(value) for value in (None, 0.1 + 0.2, 1e20, 1e-7, 12.0, -3, False, date(2024, 1, 2), "x")] == [
        "",
        "0.3",
        "1e+20",
        "1e-07",
        "12",
        "-3",
        "FALSE",
        "2024-01-02",
        "x",
    ]


def test_runs_of_empty_rows_and_columns_are_cut_to_one():
    assert dense([["", ""], ["", "a", "", "", "", "b"], [], [""], ["", "c"], [""]]) == [["a", "", "b"], ["", "", ""], ["c", "", ""]]


OFFICE = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
OFFICE += 'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
OFFICE += 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" '
OFFICE += 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'


def opendocument(kind, body, styles="", **members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        content = f"<office:automatic-styles>{styles}</office:automatic-styles><office:body>{body}</office:body>"
        archive.writestr("content.xml", f"<office:document-content {OFFICE}>{content}</office:document-content>")
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f'<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.{kind}"/>'
            "</manifest:manifest>",
        )
        for name, data in members.items():
            archive.writestr(f"Pictures/{name}.png", data)
    return stream.getvalue()


def test_odt_headings_have_their_levels(partition):
    body = (
        '<text:h text:outline-level="1">Overview</text:h><text:p>' + SENTENCE + '</text:p><text:h text:outline-level="2">Details</text:h>'
    )
    found = partition(opendocument("text", f"<office:text>{body}</office:text>"), "a.odt")
    assert outline(found) == [("Title", 0, "Overview"), ("NarrativeText", 0, SENTENCE), ("Title", 1, "Details")]
    assert found.mime_type == "application/vnd.oasis.opendocument.text"
    assert not found.page_based


def test_ods_sheets_are_pages_and_repeated_cells_are_repeated(partition):
    cell = "<table:table-cell {}><text:p>{}</text:p></table:table-cell>"
    rows = "<table:table-row>" + cell.format("", "a") + cell.format("table:number-columns-repeated='2'", "b")
    rows += '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
    rows += '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    sheets = f'<table:table table:name="One">{rows}</table:table>'
    sheets += (
        f'<table:table table:name="Two" table:style-name="ta2"><table:table-row>{cell.format("", "c")}</table:table-row></table:table>'
    )
    styles = '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'
    found = partition(opendocument("spreadsheet", f"<office:spreadsheet>{sheets}</office:spreadsheet>", styles), "a.ods")
    assert [(element.page_number, element.html) for element in found.elements] == [
        (1, "<table><tr><td>a</td><td>b</td><td>b</td></tr></table>"),
        (2, "<table><tr><td>c</td></tr></table>"),
    ]
    assert (found.page_based, found.page_count, found.page_names) == (True, 2, {1: "One", 2: "Two"})
    assert found.warnings == ["Hidden sheets are included: Two."]


def test_odp_slides_are_pages_with_titles_lists_and_pictures(partition):
    frame = '<draw:frame presentation:class="{}"><draw:text-box>{}</draw:text-box></draw:frame>'
    items = "<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>"
    image = '<draw:frame><draw:image xlink:href="Pictures/a.png"/></draw:frame>'
    notes = "<presentation:notes><draw:frame><draw:text-box><text:p>Notes.</text:p></draw:text-box></draw:frame></presentation:notes>"
    pages = f"<draw:page>{frame.format('title', '<text:p>First</text:p>')}{frame.format('outline', items)}</draw:page>"
    pages += f"<draw:page>{frame.format('title', '<text:p>Second<text:line-break/>line</text:p>')}{image}{notes}</draw:page>"
    found = partition(opendocument("presentation", f"<office:presentation>{pages}</office:presentation>", a=png().read()), "a.odp")
    assert [(element.page_number, element.category, element.category_depth, element.text) for element in found.elements] == [
        (1, "Title", 0, "First"),
        (1, "ListItem", 0, "one"),
        (2, "Title", 0, "Second line"),
        (2, "Image", None, ""),
    ]
    assert (found.page_count, found.elements[3].picture.width) == (2, 40)
    assert found.page_names == {1: "First", 2: "Second\nline"}
    assert found.warnings == ["Its speaker notes are not decoded."]


def test_legacy_formats_without_libreoffice_miss_their_tool(refusal, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    status, message = refusal(ole({"WordDocument": bytes(2000)}), "a.doc")
    assert status is Status.MISSING_TOOL
    assert message.startswith("DOC needs soffice: LibreOffice converts legacy Office files: apt-get install")


def ole(streams):
    """A compound file with these streams, each of 4 KiB, in the root: just enough for a reader to list them."""
    import struct

    free, end, fat_sector = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
    names = list(streams)
    fat = [fat_sector, end]
    sectors = b""
    entries = [("Root Entry", 5, end, 0)]
    for name in names:
        start = len(fat)
        fat += [*range(start + 1, start + 8), end]
        sectors += streams[name].ljust(4096, b"\0")
        entries.append((name, 2, start, 4096))
    fat += [free] * (128 - len(fat))
    directory = b""
    for index, (name, kind, start, size) in enumerate(entries):
        encoded = (name + "\0").encode("utf-16-le")
        following = index + 1 if 0 < index < len(entries) - 1 else free
        child = 1 if index == 0 else free
        directory += encoded.ljust(64, b"\0") + struct.pack("<HBBIII", len(encoded), kind, 1, free, following, child)
        directory += bytes(16) + struct.pack("<I", 0) + bytes(16) + struct.pack("<IQ", start, size)
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0) + struct.pack("<I", 0) + struct.pack("<I", free) * 108
    return header + struct.pack("<128I", *fat) + directory.ljust(512, b"\0") + sectors


@pytest.mark.parametrize(
    ("stream", "status", "says"),
    [
        ("EncryptedPackage", Status.ENCRYPTED, "encrypted with a password"),
        ("\tDRMContent", Status.ENCRYPTED, "rights management"),
        ("VisioDocument", Status.UNSUPPORTED, "a Visio drawing"),
        ("Anything", Status.UNSUPPORTED, "an unknown application"),
    ],
)
def test_ole_files_are_told_apart_by_their_streams(refusal, stream, status, says):
    found, message = refusal(ole({stream: b""}))
    assert found is status
    assert says in message


def test_a_locked_doc_is_encrypted(refusal):
    fib = bytearray(2000)
    fib[0:4] = b"\xec\xa5\xc1\x00"
    fib[11] = 1  # fEncrypted, bit 0x0100 of the word at 10
    fib[14] = 1  # lKey
    assert refusal(ole({"WordDocument": bytes(fib), "1Table": b"\x01\x00\x01\x00"}), "a.doc")[0] is Status.ENCRYPTED


needs_soffice = pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")


@needs_soffice
def test_libreoffice_converts_a_doc_with_a_profile_of_its_own(partition, tmp_path):
    import subprocess

    (tmp_path / "report.docx").write_bytes(saved(report()))
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = ["soffice", profile, "--headless", "--convert-to", "doc:MS Word 97", "--outdir", str(tmp_path), str(tmp_path / "report.docx")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    found = partition((tmp_path / "report.doc").read_bytes(), "report.doc")
    assert [element.text for element in found.elements] == ["Overview", SENTENCE, "Details", "Quarter Revenue Q1 10", "Outlook"]
    assert [element.category_depth for element in found.elements if element.category == "Title"] == [0, 1, 0]
    assert found.mime_type == "application/msword"
    assert (found.title, found.creator) == ("Annual report", "Ada")


def test_a_converter_that_gives_nothing_means_a_corrupt_file(refusal, monkeypatch, tmp_path):
    program = tmp_path / "bin" / "soffice"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'Error: source file could not be loaded'\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    assert refusal(ole({"WordDocument": bytes(2000)}), "a.doc") == (
        Status.CORRUPT,
        "LibreOffice could not convert it: Error: source file could not be loaded.",
    )


def test_a_converter_that_hangs_is_ended_with_what_it_started(refusal, monkeypatch, tmp_path):
    import psutil

    from transforms.partition.office import conversion

    program = tmp_path / "bin" / "soffice"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {tmp_path}/pid\nwait\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    monkeypatch.setattr(conversion, "CONVERSION_SECONDS", 0.5)
    assert refusal(ole({"WordDocument": bytes(2000)}), "a.doc")[0] is Status.TIMEOUT
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_refusals_name_the_stage(tmp_path):
    path = tmp_path / "spool"
    path.write_bytes(b"PK\x03\x04 broken")
    with pytest.raises(DecodeError) as raised:
        partition_document(path, declared_mime_type="", name="a.docx", settings=DecodeSettings())
    assert raised.value.stage is Stage.DETECT
