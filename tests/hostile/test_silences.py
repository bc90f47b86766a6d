"""What `partition()` answers with nothing at all is told apart, and what is known to be missing from a document is told."""

import io
import zipfile

import bombs
import docx
import openpyxl
import pikepdf
import pytest
import seeds
from docx.oxml import parse_xml

from transforms.decode import Decoding, decode_document
from transforms.model import DocumentReference, Status
from transforms.settings import DecodeSettings, Strategy

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


@pytest.fixture
def decode(tmp_path):
    def run(data, name, **settings):
        path = tmp_path / name
        path.write_bytes(data)
        (document,) = decode_document(path, DocumentReference(path.as_uri()), Decoding(DecodeSettings(**settings), "2026-01-31T10:00:00Z"))
        return document

    return run


def text_of(document):
    return "\n\n".join(entity.text for entity in document.texts)


def scan():
    """A PDF whose only page is a picture of text."""
    from PIL import Image

    stream = io.BytesIO()
    Image.open(io.BytesIO(seeds.picture("PNG"))).save(stream, "PDF")
    return stream.getvalue()


def locked():
    with pikepdf.open(io.BytesIO(seeds.pdf())) as document:
        stream = io.BytesIO()
        document.save(stream, encryption=pikepdf.Encryption(owner="o", user="u"))
        return stream.getvalue()


def blank():
    with pikepdf.new() as document:
        document.add_blank_page()
        return seeds.saved(document)


def strict():
    """The dialect that python-docx does not know."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(seeds.docx())) as source, zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            for kind in (b"officeDocument", b"wordprocessingml", b"drawingml"):
                data = data.replace(b"http://schemas.openxmlformats.org/" + kind + b"/2006/", b"http://purl.oclc.org/ooxml/" + kind + b"/")
            target.writestr(name, data)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "make", "settings", "status"),
    [
        ("corrupt.pdf", lambda: seeds.pdf()[:300], {}, Status.CORRUPT),
        ("encrypted.pdf", locked, {}, Status.ENCRYPTED),
        ("scan.pdf", scan, {"strategy": Strategy.FAST}, Status.NEEDS_OCR),
        ("blank.pdf", blank, {}, Status.EMPTY),
        ("strict.docx", strict, {}, Status.OK),
        ("drawing.vsd", lambda: b"AutoCAD \x00\x01\x02\x03" * 20, {}, Status.UNSUPPORTED),
        ("empty.docx", lambda: seeds.saved(docx.Document()), {}, Status.EMPTY),
        ("empty.xlsx", lambda: seeds.saved(openpyxl.Workbook()), {}, Status.EMPTY),
    ],
)
def test_the_reasons_for_nothing_are_told_apart(decode, name, make, settings, status):
    document = decode(make(), name, **settings)
    assert document.status is status
    assert bool(document.reason) is (status is not Status.OK)
    assert bool(text_of(document)) is (status is Status.OK)


def test_text_inserted_while_changes_were_tracked_is_read_and_deleted_text_is_not(decode):
    document = docx.Document()
    paragraph = document.add_paragraph("The council met on Monday")
    inserted = f'<w:ins {W} w:id="1" w:author="a"><w:r><w:t xml:space="preserve"> and again on Friday</w:t></w:r></w:ins>'
    deleted = f'<w:del {W} w:id="2" w:author="a"><w:r><w:delText> in secret</w:delText></w:r></w:del>'
    for part in (inserted, deleted):
        paragraph._p.append(parse_xml(part))
    paragraph.add_run(" to vote.")
    found = decode(seeds.saved(document), "a.docx")
    assert text_of(found) == "The council met on Monday and again on Friday to vote."
    assert found.warnings == ["It has tracked changes: they are taken as accepted."]


@pytest.mark.parametrize("wrapper", ["smartTag", "customXml", "dir", "bdo", 'fldSimple w:instr="AUTHOR"', "moveTo"])
def test_text_in_a_wrapper_of_runs_is_read(decode, wrapper):
    document = docx.Document()
    paragraph = document.add_paragraph("The telescope of ")
    tag = wrapper.split()[0]
    paragraph._p.append(parse_xml(f"<w:{wrapper} {W}><w:{tag}Pr/><w:r><w:t>Birkenfirst</w:t></w:r></w:{tag}>"))
    paragraph.add_run(" saw first light.")
    assert text_of(decode(seeds.saved(document), "a.docx")) == "The telescope of Birkenfirst saw first light."


def test_a_paragraph_that_was_inserted_whole_is_read_once(decode):
    document = docx.Document()
    paragraph = document.add_paragraph("All of this paragraph is new to the report.")
    paragraph._p.get_or_add_pPr().append(parse_xml(f'<w:rPr {W}><w:ins w:id="1" w:author="a"/></w:rPr>'))
    assert text_of(decode(seeds.saved(document), "a.docx")) == "All of this paragraph is new to the report."


def test_form_fields_and_comments_of_a_pdf_are_told(decode):
    with pikepdf.open(io.BytesIO(seeds.pdf())) as document:
        field = pikepdf.Dictionary(Subtype=pikepdf.Name.Widget, FT=pikepdf.Name.Tx, V="4,920 kWh", Rect=[0, 0, 9, 9])
        note = pikepdf.Dictionary(Subtype=pikepdf.Name.Text, Contents="Is this right?", Rect=[0, 0, 9, 9])
        link = pikepdf.Dictionary(Subtype=pikepdf.Name.Link, Contents="a link", Rect=[0, 0, 9, 9])
        document.pages[0].Annots = pikepdf.Array([document.make_indirect(entry) for entry in (field, note, note, link)])
        found = decode(seeds.saved(document), "a.pdf")
    assert found.warnings == ["1 filled form field of the PDF is not decoded.", "2 comments on pages of the PDF are not decoded."]


def test_a_page_made_by_scripts_or_of_frames_is_told(decode):
    found = decode(b"<html><head><script src='app.js'></script></head><body><div id='root'></div></body></html>", "a.html")
    assert (found.status, found.warnings) == (Status.EMPTY, ["Its content is made by scripts, which are not run."])
    found = decode(f"<html><body><p>{seeds.SENTENCE}</p><iframe src='other.html'></iframe></body></html>".encode(), "a.html")
    assert (found.status, found.warnings) == (Status.OK, ["It shows other pages in frames, which are not decoded."])


def test_a_block_of_zeros_in_a_log_costs_the_log_nothing(decode):
    found = decode(b"first line of the log file\n" + bytes(3000) + b"last line of the log f\xc3\xa4cile\n", "a.log")
    assert (found.status, found.warnings) == (Status.OK, ["3,000 zero bytes between its characters are left out."])
    assert text_of(found) == "first line of the log file last line of the log fäcile"


def test_characters_that_could_not_be_read_are_counted(decode):
    found = decode(b"\xff\xfe" + "Ein Wort und noch eines steht hier.".encode("utf-16-le") + b"\x00\xd8", "a.txt")
    assert found.warnings == ["1 bytes that are no characters in utf-16 are replaced by U+FFFD."]


def changed(data, name, old, new):
    """A ZIP with one member changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = archive.read(name)
    assert old in content
    return bombs.rewritten(data, name, content.replace(old, new))


def without(data, name):
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(stream, "w") as target:
        for member in source.namelist():
            if member != name:
                target.writestr(member, source.read(member))
    return stream.getvalue()


def two_sheets():
    workbook = openpyxl.Workbook()
    for sheet in (workbook.active, workbook.create_sheet("second")):
        sheet["A1"] = seeds.SENTENCE
    return seeds.saved(workbook)


def mail(boundary="edge", end="--edge--\n"):
    parts = f"--edge\nContent-Type: text/plain\n\n{seeds.SENTENCE}\n"
    return f"From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary={boundary}\n\n{parts}{end}".encode()


NO_PARTS = "--edge\nContent-Type: multipart/mixed; boundary=other\n\nThe parts of this one are lost.\n--edge--\n"


@pytest.mark.parametrize(
    ("name", "make", "reason"),
    [
        ("cut.ods", lambda: changed(seeds.ods(), "content.xml", b"</office:body>", b""), "The ODS file is damaged: "),
        ("cut.odp", lambda: changed(seeds.odp(), "content.xml", b"</office:body>", b""), "The ODP file is damaged: "),
        (
            "other.ods",
            lambda: changed(seeds.ods(), "content.xml", b"office:spreadsheet", b"office:text"),
            "The ODS file is damaged: there is ",
        ),
        (
            "other.odp",
            lambda: changed(seeds.odp(), "content.xml", b"office:presentation", b"office:text"),
            "The ODP file is damaged: there is ",
        ),
        (
            "closed.rtf",
            lambda: b"{\\rtf1{\\fonttbl{\\f0 Arial;}}}\\f0 " + seeds.SENTENCE.encode() + b"}",
            "The RTF file is damaged: its groups close before ",
        ),
        ("cut.rtf", lambda: b"{\\rtf1 " + seeds.SENTENCE.encode() + b"{\\b And", "pandoc could not read it as rtf"),
        ("none.ods", lambda: without(seeds.ods(), "content.xml"), "The ODS file is damaged: "),
        ("none.odp", lambda: without(seeds.odp(), "content.xml"), "The ODP file is damaged: "),
        (
            "none.xlsx",
            lambda: changed(two_sheets(), "xl/workbook.xml", b"sheets>", b"sheetz>"),
            "The XLSX file is damaged: it lists none of ",
        ),
        (
            "none.pptx",
            lambda: changed(seeds.pptx(), "ppt/presentation.xml", b"sldIdLst>", b"sldIdLzt>"),
            "The PPTX file is damaged: it lists none",
        ),
        ("parts.eml", lambda: mail(boundary="hedge"), "The parts of the mail cannot be told apart: "),
        (
            "body.msg",
            lambda: seeds.msg(seeds.SENTENCE).replace(b"\x02\x01\x13\x10", b"\x02\x01\x13\x17"),
            "The mail has a body that its list ",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value[-5:] else "",
)
def test_content_that_cannot_be_reached_is_not_taken_for_none(decode, name, make, reason):
    document = decode(make(), name)
    assert (document.status, document.reason[: len(reason)]) == (Status.CORRUPT, reason)


@pytest.mark.parametrize(
    ("name", "make", "warnings"),
    [
        ("whole.eml", mail, []),
        ("cut.eml", lambda: mail(end=""), ["It has no end: it may be cut short."]),
        ("part.eml", lambda: mail(end=NO_PARTS), ["1 of its parts should hold others that cannot be told apart; they are not decoded."]),
        ("whole.rtf", lambda: b"{\\rtf1 \\{" + seeds.SENTENCE.encode() + b"}", []),
        (
            "tail.rtf",
            lambda: b"{\\rtf1 " + seeds.SENTENCE.encode() + b"} And",
            ["Its groups close before its end; what stands behind is not read."],
        ),
        ("whole.xlsx", two_sheets, []),
        ("part.xlsx", lambda: without(two_sheets(), "xl/worksheets/sheet2.xml"), ["It lists 2 sheets, and has 1 of them."]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_part_that_cannot_be_reached_is_told(decode, name, make, warnings):
    document = decode(make(), name)
    assert document.status is Status.OK
    assert document.warnings == warnings
    assert text_of(document).count(seeds.SENTENCE) == (2 if name == "whole.xlsx" else 1)


def test_a_first_page_that_an_earlier_section_defines_is_read(decode):
    document = docx.Document()
    document.add_paragraph("The first section has no first page of its own.")
    section = document.sections[0]
    section.different_first_page_header_footer = True
    section.first_page_header.paragraphs[0].text = "The crest of the town"
    section.first_page_footer.paragraphs[0].text = "Printed by the council"
    section.different_first_page_header_footer = False
    document.add_section().different_first_page_header_footer = True
    document.add_paragraph("The second section has one, as the first one has defined it.")
    text = text_of(decode(seeds.saved(document), "a.docx"))
    assert [text.count(words) for words in ("The crest of the town", "Printed by the council")] == [1, 1]


def test_right_to_left_text_of_a_pdf_is_told(decode):
    with pikepdf.open(io.BytesIO(seeds.pdf())) as document:
        font = document.pages[1].Resources.Font.F1
        mapped = b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <ff> endcodespacerange "
        font.ToUnicode = document.make_stream(mapped + b"1 beginbfrange <61> <7a> <05d0> endbfrange endcmap end end")
        found = decode(seeds.saved(document), "a.pdf")
    assert found.warnings == ["Page 2: right-to-left text; its letters are in the order in which they stand, from the left."]


def test_a_mail_whose_page_holds_no_text_is_read_in_its_other_form(decode):
    page = "--edge\nContent-Type: text/html\n\n<html><body><a href='https://example.org'><img src='https://example.org/1.png'></a></body></html>\n"
    found = decode(mail(end=f"{page}--edge--\n").replace(b"multipart/mixed", b"multipart/alternative"), "a.eml")
    assert (found.status, text_of(found)) == (Status.OK, seeds.SENTENCE)
