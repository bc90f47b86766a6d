import email.message
import io
import struct
import zipfile

import pytest

from transforms.model import DecodeError, Stage, Status
from transforms.partition.detect import detect_format, label_of

PROSE = b"It was the best of times, it was the worst of times, it was the age of wisdom, and of foolishness.\n"
HTML = b"<!DOCTYPE html>\n<html><body><p>Hello there.</p></body></html>"
MAIL = b"Message-ID: <1@example.org>\r\nFrom: a@example.org\r\nTo: b@example.org\r\nSubject: hello\r\n\r\nBody.\r\n"
PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer<<>>\nstartxref\n9\n%%EOF\n"


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def content_types(main):
    return f'<Types><Override PartName="/x.xml" ContentType="{main}"/></Types>'


@pytest.fixture
def detect(tmp_path):
    def run(data, declared="", name=""):
        path = tmp_path / "spool"
        path.write_bytes(data)
        return detect_format(path, declared, name).name

    return run


@pytest.fixture
def refusal(detect):
    def run(data, declared="", name=""):
        with pytest.raises(DecodeError) as raised:
            detect(data, declared, name)
        assert raised.value.stage is Stage.DETECT
        return raised.value.status, raised.value.message

    return run


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (PDF, "PDF"),
        (b"junk from a web server\r\n" + PDF, "PDF"),
        (rb"{\rtf1\ansi hello}", "RTF"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "PNG"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "JPEG"),
        (b"II*\x00" + bytes(20), "TIFF"),
        (b"GIF89a" + bytes(20), "GIF"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "WEBP"),
        (b"\x00\x00\x00\x18ftypheic" + bytes(20), "HEIC"),
        (b"BM" + struct.pack("<IHHI", 100, 0, 0, 54) + struct.pack("<I", 40) + bytes(40), "BMP"),
        (zipped({"[Content_Types].xml": content_types("application/vnd.ms-word.document.macroEnabled.main+xml")}), "DOCX"),
        (
            zipped(
                {"[Content_Types].xml": content_types("application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml")}
            ),
            "PPTX",
        ),
        (
            zipped({"[Content_Types].xml": content_types("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml")}),
            "XLSX",
        ),
        (zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": "<x/>"}), "DOCX"),
        (zipped({"mimetype": "application/epub+zip"}), "EPUB"),
        (zipped({"META-INF/container.xml": "<x/>"}), "EPUB"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.text-template"}), "ODT"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}), "ODS"),
        (
            zipped(
                {
                    "content.xml": "<x/>",
                    "META-INF/manifest.xml": ('<m><f full-path="/" media-type="application/vnd.oasis.opendocument.presentation"/></m>'),
                }
            ),
            "ODP",
        ),
        (HTML, "HTML"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><!DOCTYPE html><html/>", "HTML"),
        (b"<?xml version='1.0'?><a>b</a>", "XML"),
        (MAIL, "EML"),
        (b"a,b,c\n1,2,3\n4,5,6\n", "CSV"),
        (b"a\tb\n1\t2\n3\t4\n", "TSV"),
        (b'{"a": [1, 2]}', "JSON"),
        (b'{"a": 1}\n{"a": 2}\n', "NDJSON"),
        (PROSE, "Plain text"),
        ("Größe und Länge".encode("utf-16"), "Plain text"),
        (b"", "Plain text"),
    ],
)
def test_content_alone_tells_the_format(detect, data, name):
    assert detect(data) == name


def test_content_wins_over_a_wrong_label(detect):
    assert detect(PDF, "application/msword", "a.doc") == "PDF"
    assert detect(HTML, "application/pdf", "a.pdf") == "HTML"
    assert detect(PROSE, "application/vnd.ms-excel", "a.xls") == "Plain text"
    assert detect(HTML, "text/csv", "a.csv") == "HTML"
    assert detect(b"\x89PNG\r\n\x1a\n" + bytes(20), "image/jpeg", "a.jpg") == "PNG"


def test_the_label_decides_between_formats_of_characters(detect):
    assert detect(PROSE, "text/markdown; charset=utf-8", "") == "Markdown"
    assert detect(PROSE, "", "notes.rst") == "RST"
    assert detect(PROSE, "text/plain", "notes.org") == "ORG"
    assert detect(b"<p>Markdown may start with HTML</p>\n\n# A", "", "a.md") == "Markdown"


def test_commas_do_not_make_a_table_of_a_text(detect):
    assert detect(b"a,b,c\n1,2,3\n4,5,6\n", "text/plain", "notes.txt") == "Plain text"
    assert detect(b"a,b,c\n1,2,3\n4,5,6\n", "text/plain", "") == "Plain text"


def test_prose_with_commas_is_no_table_even_without_a_label(detect):
    assert detect(b"First, there was light.\nThen, one day, it went.\nAfter that, nothing.\n") == "Plain text"


def test_a_mail_is_found_behind_the_label_of_a_text_but_prose_with_colons_is_not(detect):
    assert detect(MAIL, "text/plain", "mail.txt") == "EML"
    assert detect(b"From: the beginning\nTo: the end\n\nA poem.", "text/plain", "poem.txt") == "Plain text"
    assert detect(b"Subject: only\n\nBody", "message/rfc822", "") == "EML"


def test_json_lines_are_told_from_json(detect):
    assert detect(b'{"a": 1}\n{"a": 2}\n', "application/json", "a.json") == "NDJSON"
    assert detect(b'[\n{"a": 1}\n]', "application/json", "a.json") == "JSON"


def test_a_text_about_pdf_is_no_pdf(detect):
    assert detect(b"The header of a file is %PDF-1.7 and that is all there is to it.", "", "a.txt") == "Plain text"


def test_a_type_that_says_nothing_leaves_the_word_to_the_extension():
    assert label_of("application/octet-stream", "a.md").name == "Markdown"
    assert label_of("text/plain", "a.md").name == "Markdown"
    assert label_of("text/html", "a.md").name == "HTML"
    assert label_of("application/x-strange", "a.csv").name == "CSV"
    assert label_of("", "") is None


def test_encrypted_containers_are_encrypted(refusal):
    locked = bytearray(zipped({"mimetype": "application/vnd.oasis.opendocument.text", "a": "b"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.rfind(signature) + offset] |= 1
    assert refusal(bytes(locked))[0] is Status.ENCRYPTED

    manifest = "<m><f full-path='content.xml'><encryption-data/></f></m>"
    odt = zipped({"mimetype": "application/vnd.oasis.opendocument.text", "META-INF/manifest.xml": manifest})
    assert refusal(odt) == (Status.ENCRYPTED, "The ODT file is encrypted with a password.")


def test_a_locked_epub_is_encrypted_and_one_with_hidden_fonts_is_not(refusal, detect):
    def epub(algorithm):
        encryption = f'<e><EncryptionMethod Algorithm="{algorithm}"/></e>'
        return zipped({"mimetype": "application/epub+zip", "META-INF/encryption.xml": encryption})

    assert refusal(epub("http://www.w3.org/2001/04/xmlenc#aes128-cbc"))[0] is Status.ENCRYPTED
    assert detect(epub("http://www.idpf.org/2008/embedding")) == "EPUB"


def test_broken_containers_are_corrupt(refusal):
    whole = zipped({"[Content_Types].xml": "x" * 500, "word/document.xml": "y" * 500})
    assert refusal(whole[:-30], "", "a.docx") == (Status.CORRUPT, "The ZIP container is broken: File is not a zip file.")
    assert refusal(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "", "a.doc")[0] is Status.CORRUPT
    assert refusal(bytes(range(128, 256)) * 20 + b"\x00\x01" * 50, "application/pdf", "a.pdf") == (
        Status.CORRUPT,
        "It is named application/pdf, but its bytes hold no PDF file.",
    )


def test_formats_that_are_not_decoded_say_what_they_are(refusal):
    assert refusal(zipped({"a.txt": "x"}), "application/zip", "a.zip") == (
        Status.UNSUPPORTED,
        "It is a ZIP archive of other files: unpack it and give the files.",
    )
    xlsb = content_types("application/vnd.ms-excel.sheet.binary.macroEnabled.main")
    assert refusal(zipped({"[Content_Types].xml": xlsb}))[1] == "It is a binary workbook (XLSB): save it as XLSX."
    assert refusal(zipped({"Index/Document.iwa": "x"}))[1].startswith("It is an Apple iWork document")
    wave = b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" + bytes(200)
    assert refusal(wave, "", "a.wav") == (Status.UNSUPPORTED, "The format audio/x-wav is not supported.")


def test_a_mail_whose_first_header_is_any_is_found_by_its_extension(detect):
    message = email.message.EmailMessage()
    message["X-Strange"] = "yes"
    message["From"] = "a@example.org"
    message.set_content("Body")
    assert detect(message.as_bytes(), "", "a.eml") == "EML"
