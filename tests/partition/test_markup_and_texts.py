"""HTML, Markdown, RST, ORG, RTF, EPUB, text, CSV, TSV, XML and JSON, made here, through `partition_document`."""

import base64
import io
import json
import zipfile

import pytest
from PIL import Image

from transforms.model import DecodeError, Status
from transforms.partition.partitioner import partition_document
from transforms.partition.texts import find_delimiter, read_rows
from transforms.settings import DecodeSettings

SENTENCE = "The committee approved the annual budget after a long debate in the town hall."


@pytest.fixture
def partition(tmp_path):
    def run(data, name="", declared="", settings=None):
        path = tmp_path / "spool"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return partition_document(path, declared_mime_type=declared, name=name, settings=settings or DecodeSettings())

    return run


def outline(document):
    return [(element.category, element.category_depth, element.text) for element in document.elements]


def png():
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), "green").save(stream, "PNG")
    return stream.getvalue()


def data_uri():
    return "data:image/png;base64," + base64.b64encode(png()).decode()


def test_html_headings_have_the_levels_of_their_tags(partition):
    body = "".join(f"<h{level}>Level {level}</h{level}><p>{SENTENCE}</p>" for level in range(1, 7))
    titles = [row for row in outline(partition(f"<html><body>{body}</body></html>")) if row[0] == "Title"]
    assert titles == [("Title", level - 1, f"Level {level}") for level in range(1, 7)]


def test_only_heading_tags_make_titles(partition):
    found = partition(f"<html><body><div>READ MORE</div><h2>Chapter</h2><p><b>Bold Words</b></p><p>{SENTENCE}</p></body></html>")
    assert [row for row in outline(found) if row[0] == "Title"] == [("Title", 1, "Chapter")]


def test_html_properties_are_those_of_its_head(partition):
    head = '<title>A &amp;\n B</title><meta name="author" content="Ada">'
    head += '<meta property="article:published_time" content="2024-05-01T10:00:00+02:00">'
    found = partition(f"<!doctype html><html><head>{head}</head><body><p>{SENTENCE}</p></body></html>")
    assert (found.title, found.creator, found.date) == ("A & B", "Ada", "2024-05-01T08:00:00Z")


def test_html_in_utf_16_is_read(partition):
    page = f'<?xml version="1.0" encoding="utf-16"?><html><head><meta charset="utf-16"></head><body><p>Größe. {SENTENCE}</p></body></html>'
    assert partition(page.encode("utf-16"), "a.html").elements[0].text == f"Größe. {SENTENCE}"


def test_html_figures_captions_and_forms_are_not_lost(partition):
    page = f'<html><body><form><figure><img src="{data_uri()}" alt="A map"><figcaption>Map of the town.</figcaption></figure></form>'
    page += "<details><summary>More Details</summary><p>Hidden until it is opened by a reader.</p></details></body></html>"
    found = partition(page)
    assert [(element.category, element.text) for element in found.elements] == [
        ("Image", "A map"),
        ("FigureCaption", "Map of the town."),
        ("UncategorizedText", "More Details"),
        ("NarrativeText", "Hidden until it is opened by a reader."),
    ]
    assert found.elements[0].picture.data == png()


def test_pictures_elsewhere_are_not_fetched(partition):
    (image,) = partition('<html><body><img src="http://127.0.0.1:9/x.png" alt="far"></body></html>').elements
    assert (image.category, image.picture) == ("Image", None)


def test_pictures_are_left_out_when_not_wanted(partition):
    found = partition(f'<html><body><img src="{data_uri()}"><p>{SENTENCE}</p></body></html>', settings=DecodeSettings(images=False))
    assert [element.picture for element in found.elements] == [None, None]


def test_markdown_headings_tables_and_pictures(partition):
    text = f"# One\n\n{SENTENCE}\n\n### Three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![alt]({data_uri()})\n"
    found = partition(text, "a.md")
    assert [row[:2] for row in outline(found)] == [("Title", 0), ("NarrativeText", None), ("Title", 2), ("Table", None), ("Image", None)]
    assert found.elements[3].html == (
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
    )
    assert found.elements[4].picture.width == 40
    assert found.mime_type == "text/markdown"


def test_front_matter_is_not_text_but_properties(partition):
    found = partition(f'---\ntitle: "My page"\nauthor: Ada\ndate: 2024-05-01\ntags: [a, b]\n---\n\n# One\n\n{SENTENCE}\n', "a.md")
    assert outline(found) == [("Title", 0, "One"), ("NarrativeText", None, SENTENCE)]
    assert (found.title, found.creator, found.date) == ("My page", "Ada", "2024-05-01")


def test_a_rule_at_the_start_of_markdown_is_no_front_matter(partition):
    assert outline(partition(f"---\n\n{SENTENCE}\n\n---\n", "a.md")) == [("NarrativeText", None, SENTENCE)]


def test_rst_headings_keep_their_levels_and_the_title_stays_text(partition):
    text = f"Title\n=====\n\n{SENTENCE}\n\nSection\n-------\n\n{SENTENCE}\n\nSub\n~~~\n\nDone.\n"
    titles = [row for row in outline(partition(text, "a.rst")) if row[0] == "Title"]
    assert titles == [("Title", 0, "Title"), ("Title", 1, "Section"), ("Title", 2, "Sub")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rst", "Before.\n\n.. include:: {}\n\nAfter the file.\n"),
        ("a.rst", "Before.\n\n.. csv-table::\n   :file: {}\n\nAfter the file.\n"),
        ("a.org", 'Before.\n\n#+INCLUDE: "{}"\n\nAfter the file.\n'),
        ("a.xml", '<!DOCTYPE a [<!ENTITY x SYSTEM "file://{}">]><a><b>Before.</b><b>&x;</b><b>After the file.</b></a>'),
        ("a.html", '<html><body><p>Before.</p><img src="file://{}"><iframe src="file://{}"></iframe><p>After the file.</p></body></html>'),
    ],
)
def test_no_file_of_the_host_is_read(partition, tmp_path, name, text):
    secret = tmp_path / "secret.txt"
    secret.write_text("The secret of the host, a line of many words.")
    found = partition(text.replace("{}", str(secret)), name)
    texts = [element.text for element in found.elements if element.text]
    assert texts[0] == "Before."
    assert texts[-1] == "After the file."
    assert not any("secret of the host" in shown for shown in texts)
    told = {"rst": "It includes other files, which are not read.", "org": "It includes other files, which are not read."}
    told["html"] = "It shows other pages in frames, which are not decoded."
    assert found.warnings == [told[suffix] for suffix in [name.rpartition(".")[2]] if suffix in told]


def test_org_headings_and_its_title(partition):
    found = partition(f"#+TITLE: The Title\n\n* One\n{SENTENCE}\n** Two\n{SENTENCE}\n", "a.org")
    assert [row for row in outline(found) if row[0] == "Title"] == [("Title", 0, "One"), ("Title", 1, "Two")]
    assert (found.title, found.mime_type) == ("The Title", "text/org")


def test_rtf_headings_have_their_levels_and_pictures_their_place(partition):
    picture = rf"{{\pict\pngblip\picw40\pich30 {png().hex()}}}"
    text = rf"{{\rtf1\ansi\pard\outlinelevel0 One\par\pard {SENTENCE}\par\pard {picture}\par\pard\outlinelevel1 Two\par}}"
    found = partition(text, "a.rtf", "text/rtf")
    assert outline(found) == [("Title", 0, "One"), ("NarrativeText", None, SENTENCE), ("Image", None, "image"), ("Title", 1, "Two")]
    assert found.elements[2].picture.data == png()
    assert found.mime_type == "application/rtf"


def epub(chapters):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        items = "".join(f'<item id="c{index}" href="c{index}.xhtml" media-type="application/xhtml+xml"/>' for index in range(len(chapters)))
        spine = "".join(f'<itemref idref="c{index}"/>' for index in reversed(range(len(chapters))))
        archive.writestr(
            "OEBPS/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i">'
            '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">x</dc:identifier><dc:title>The Book</dc:title>'
            "<dc:creator>Ada</dc:creator><dc:date>2020</dc:date><dc:language>en</dc:language></metadata>"
            f'<manifest>{items}<item id="p" href="img/p.png" media-type="image/png"/></manifest><spine>{spine}</spine></package>',
        )
        for index, chapter in enumerate(chapters):
            page = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>c</title></head><body>{chapter}</body></html>'
            archive.writestr(f"OEBPS/c{index}.xhtml", page)
        archive.writestr("OEBPS/img/p.png", png())
    return stream.getvalue()


def test_epub_chapters_stand_in_the_order_of_the_spine_with_their_pictures(partition):
    found = partition(epub([f"<h1>Two</h1><p>{SENTENCE}</p>", '<h1>One</h1><p><img src="img/p.png" alt="a map"/></p>']), "a.epub")
    rows = [(element.category, element.category_depth, element.text) for element in found.elements if element.text]
    assert rows == [("Title", 0, "One"), ("Image", None, "a map"), ("Title", 0, "Two"), ("NarrativeText", None, SENTENCE)]
    assert [element.picture.data for element in found.elements if element.picture] == [png()]
    assert (found.title, found.creator, found.date, found.mime_type) == ("The Book", "Ada", "2020", "application/epub+zip")


def test_text_stays_text_even_if_it_looks_like_a_table(partition):
    found = partition("name,age,town\nAda,36,London\nAlan,41,Wilmslow\n", "a.txt", "text/plain")
    assert "Table" not in {element.category for element in found.elements}
    assert " ".join(element.text for element in found.elements).replace("\n", " ").split() == [
        "name,age,town",
        "Ada,36,London",
        "Alan,41,Wilmslow",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_is_read_in_each_unicode_encoding(partition, encoding):
    found = partition(f"Größe und Länge.\n\n{SENTENCE}".encode(encoding), "a.txt")
    assert [element.text for element in found.elements] == ["Größe und Länge.", SENTENCE]
    assert found.warnings == []


def test_a_guessed_encoding_is_said(partition):
    found = partition("Die Größe der Stadt wächst und die Bürger freuen sich sehr darüber.".encode("cp1252"), "a.txt")
    assert found.elements[0].text == "Die Größe der Stadt wächst und die Bürger freuen sich sehr darüber."
    assert found.warnings == ["Its encoding is not declared and was guessed as cp1252."]


@pytest.mark.parametrize("data", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["a.txt", "a.html", "a.csv", "a.json", "a.xml", "a.md", "a.eml", "a.rst"])
def test_a_text_of_nothing_is_empty_in_every_format(partition, data, name):
    assert list(partition(data, name).elements) == []


def test_the_language_of_the_document_is_detected_whatever_the_languages_of_ocr_are(partition):
    german = "Der Ausschuss hat den Haushalt der Stadt nach einer langen Debatte am Abend beschlossen und veröffentlicht."
    found = partition(german, "a.txt", settings=DecodeSettings(languages=("eng",)))
    assert found.elements[0].languages == ("deu",)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a,b\n1,2\n", "<tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr>"),
        ("a;b\n1,5;2,5\n", "<tr><td>a</td><td>b</td></tr><tr><td>1,5</td><td>2,5</td></tr>"),
        ("a\tb\n1\t2\n", "<tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr>"),
        ("a|b\n1|2\n", "<tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr>"),
        ("Industry\nTravel\nRetail\n", "<tr><td>Industry</td></tr><tr><td>Travel</td></tr><tr><td>Retail</td></tr>"),
        ("a,b\n1\n1,2,3\n", "<tr><td>a</td><td>b</td><td/></tr><tr><td>1</td><td/><td/></tr><tr><td>1</td><td>2</td><td>3</td></tr>"),
        ('a,b\n"x, ""y""\nz",007\n', '<tr><td>a</td><td>b</td></tr><tr><td>x, "y" z</td><td>007</td></tr>'),
        ("sep=;\na;b\n", "<tr><td>a</td><td>b</td></tr>"),
        ('a,b\n"never closed,2\n', '<tr><td>a</td><td>b</td></tr><tr><td>"never closed</td><td>2</td></tr>'),
    ],
)
def test_a_csv_is_one_table_of_all_its_cells(partition, text, html):
    (table,) = partition(text, "a.csv").elements
    assert (table.category, table.html) == ("Table", f"<table>{html}</table>")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_csv_and_tsv_are_decoded_first(partition, name, encoding):
    delimiter = "," if name == "a.csv" else "\t"
    data = f"Größe{delimiter}Länge für Käufer\n1{delimiter}2\n".encode(encoding)
    assert partition(data, name).elements[0].text == "Größe Länge für Käufer 1 2"


def test_a_delimiter_is_the_one_that_divides_most_rows_alike():
    assert find_delimiter("a;b;c\n1,5;2;3\n4;5,5;6\n") == ";"
    assert find_delimiter("one, two\nthree\nfour\n") == ","
    assert read_rows("a,b\n\n , \nc,d\n", ",") == [["a", "b"], ["c", "d"]]


def test_xml_gives_the_text_of_its_elements(partition):
    found = partition(f'<?xml version="1.0" encoding="utf-16"?><a><b>{SENTENCE}</b><c> </c><d>Ende</d></a>'.encode("utf-16"), "a.xml")
    assert [element.text for element in found.elements] == [SENTENCE, "Ende"]


def test_xml_that_is_not_well_formed_is_corrupt(partition):
    with pytest.raises(DecodeError) as raised:
        partition("<?xml version='1.0'?><a><b>text</a>", "a.xml")
    assert raised.value.status is Status.CORRUPT


ELEMENTS = [
    {"type": "Title", "element_id": "x", "text": "One", "metadata": {"category_depth": 0, "page_number": 2, "languages": ["eng"]}},
    {"type": "Table", "element_id": "y", "text": "a", "metadata": {"text_as_html": "<table><tr><td>a</td></tr></table>"}},
]


def test_json_of_elements_gives_the_elements_back(partition):
    for data, name in ((json.dumps(ELEMENTS), "a.json"), ("\n".join(map(json.dumps, ELEMENTS)), "a.ndjson")):
        found = partition(data, name)
        assert [(element.category, element.text, element.page_number, element.html) for element in found.elements] == [
            ("Title", "One", 2, ""),
            ("Table", "a", None, "<table><tr><td>a</td></tr></table>"),
        ]
        assert not found.page_based


def test_json_of_anything_else_is_its_text(partition):
    (element,) = partition('{"name": "Ada", "born": 1815}', "a.json").elements
    assert json.loads(element.text) == {"name": "Ada", "born": 1815}
    assert len(partition('{"a": 1}\n{"a": 2}\n', "a.ndjson").elements) == 2


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        ('{"a": ', "a.json", "It is not valid JSON: Expecting value"),
        ('{"a": 1}\nnonsense\n', "a.ndjson", "It is not valid NDJSON: line 2: Expecting value"),
    ],
)
def test_json_that_cannot_be_parsed_is_corrupt(partition, data, name, says):
    with pytest.raises(DecodeError) as raised:
        partition(data, name)
    assert raised.value.status is Status.CORRUPT
    assert raised.value.message.startswith(says)


def test_a_format_whose_tool_is_missing_says_so(partition, monkeypatch):
    from transforms.partition import formats

    monkeypatch.setattr(formats, "_bundled_pandoc", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DecodeError) as raised:
        partition("Title\n=====\n", "a.rst")
    assert raised.value.status is Status.MISSING_TOOL
    assert raised.value.message == "RST needs pandoc: pandoc converts it: pip install pypandoc_binary, or apt-get install pandoc."


@pytest.mark.parametrize(
    ("table", "html"),
    [
        ("<tr>between<td>cell</td><p>behind</p></tr>", "<tr><td>between</td><td>cell</td><td>behind</td></tr>"),
        ("above<tr><td>cell</td></tr>below", "<tr><td>above</td></tr><tr><td>cell</td></tr><tr><td>below</td></tr>"),
        ("<tbody><tr><td>cell</td></tr><div>lost</div></tbody>", "<tbody><tr><td>cell</td></tr><tr><td>lost</td></tr></tbody>"),
        ("<tr><td>cell</td></tr><table><tr><td>inner</td></tr></table>", "<tr><td>cell</td></tr><tr><td>inner</td></tr>"),
        ("<caption>nothing else</caption>", "<tr><td>nothing else</td></tr>"),
        ("<tr>bet\x02ween<td>cell</td>beh&#2;ind</tr>", "<tr><td>between</td><td>cell</td><td>behind</td></tr>"),
    ],
)
def test_what_stands_in_a_table_but_in_no_cell_is_in_the_table(partition, table, html):
    (element,) = partition(f"<html><body><table>{table}</table></body></html>").elements
    assert element.html == f"<table>{html}</table>"


def test_labels_of_a_form_are_read(partition):
    found = partition("<html><body><form><label>Speed of the wind</label><input value='3'><p>in metres a second</p></form></body></html>")
    assert [element.text for element in found.elements] == ["Speed of the wind", "in metres a second"]


@pytest.mark.parametrize("tag", ["div", "font", "blockquote"])
def test_a_page_of_tags_that_nobody_closed_is_read_to_its_end(partition, tag):
    body = "".join(f"<{tag}>Line number {number} of the page. " for number in range(1000))
    found = partition(f"<html><body>{body}<p>The end of it.</p></body></html>")
    text = " ".join(element.text for element in found.elements)
    assert [f"Line number {number} of" in text for number in (0, 255, 256, 999)] == [True] * 4
    assert text.endswith("The end of it.")
