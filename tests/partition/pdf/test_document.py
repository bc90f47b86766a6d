"""PDF documents that are made here, page by page, through `partition_pdf`: text, places, OCR, pictures, and each way to fail."""

import io
import shutil
import zlib

import pikepdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from transforms.model import DecodeError, Element, Picture, Status
from transforms.partition.environment import apply_decode_environment
from transforms.partition.nlp import install_nlp
from transforms.partition.pdf import document as pdf_module
from transforms.partition.pdf.document import partition_pdf, place_pictures
from transforms.settings import DecodeSettings, Strategy

FAST = DecodeSettings(strategy=Strategy.FAST)
AUTO = DecodeSettings()
OCR_ONLY = DecodeSettings(strategy=Strategy.OCR_ONLY)
SENTENCE = "The committee approved the annual budget after a long debate in the town hall."

needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")


@pytest.fixture(autouse=True, scope="module")
def nlp():
    apply_decode_environment()
    install_nlp()


def shown(text, x, y, size=12):
    """A content stream that shows a line of text at a place (points, origin bottom left)."""
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n".encode()


def make_pdf(*contents, media=(0, 0, 600, 800), images=None, page=None, **save):
    """A PDF with one page a content stream, in Helvetica; `images` are Pillow images or PDF streams, by name; `page` extra attributes."""
    document = pikepdf.new()
    objects = {f"/{name}": image_object(document, image) for name, image in (images or {}).items()}
    for content in contents:
        document.add_blank_page()
        added = document.pages[-1].obj
        font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
        added.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font), XObject=pikepdf.Dictionary(objects))
        added.MediaBox = pikepdf.Array(media)
        for name, value in (page or {}).items():
            added[f"/{name}"] = value
        if content:
            added.Contents = document.make_stream(content)
    stream = io.BytesIO()
    document.save(stream, **save)
    return stream.getvalue()


def in_identity_font(*lines):
    """A PDF whose lines are in a font of two-byte codes, each the code point that it stands for."""
    document = pikepdf.new()
    box = pikepdf.Array([0, -200, 1000, 800])
    about = pikepdf.Dictionary(Type=pikepdf.Name.FontDescriptor, FontName=pikepdf.Name.Odd, Flags=4, Ascent=800, Descent=-200, FontBBox=box)
    system = pikepdf.Dictionary(Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String("Identity"), Supplement=0)
    glyphs = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.CIDFontType2,
        BaseFont=pikepdf.Name.Odd,
        DW=1000,
        FontDescriptor=about,
        CIDSystemInfo=system,
    )
    identity = pikepdf.Name("/Identity-H")
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.Type0,
        BaseFont=pikepdf.Name.Odd,
        Encoding=identity,
        ToUnicode=identity,
        DescendantFonts=pikepdf.Array([document.make_indirect(glyphs)]),
    )
    page = document.add_blank_page(page_size=(600, 800))
    page.obj.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=document.make_indirect(font)))
    shows = (f"<{''.join(f'{ord(character):04X}' for character in line)}> Tj 0 -60 Td" for line in lines)
    page.obj.Contents = document.make_stream(f"BT /F1 10 Tf 50 700 Td {' '.join(shows)} ET".encode())
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def image_object(document, image):
    if not isinstance(image, Image.Image):
        return document.make_stream(*image) if isinstance(image, tuple) else image(document)
    grey = image.mode == "L"
    return document.make_stream(
        zlib.compress(image.tobytes()),
        Type=pikepdf.Name.XObject,
        Subtype=pikepdf.Name.Image,
        Width=image.width,
        Height=image.height,
        BitsPerComponent=8,
        ColorSpace=pikepdf.Name.DeviceGray if grey else pikepdf.Name.DeviceRGB,
        Filter=pikepdf.Name.FlateDecode,
    )


def scan(*lines, size=(1200, 400), turn=0):
    """A picture of text."""
    image = Image.new("L", size, 255)
    draw = ImageDraw.Draw(image)
    for index, line in enumerate(lines):
        draw.text((60, 60 + 80 * index), line, fill=0, font=ImageFont.load_default(size=48))
    return image.rotate(-turn, expand=True, fillcolor=255)


SCANNED = b"q 600 0 0 200 0 500 cm /Im Do Q\n"


@pytest.fixture
def partition(tmp_path):
    def run(data, settings=FAST):
        path = tmp_path / "spool"
        path.write_bytes(data)
        return partition_pdf(path, settings)

    return run


def texts(document):
    return [(element.page_number, element.text) for element in document.elements if element.category != "Image"]


# --- text and its places ---------------------------------------------------------------------------------------------------------------


def test_each_text_has_the_number_of_its_page_and_blank_pages_count(partition):
    document = partition(make_pdf(shown(SENTENCE, 50, 700), b"", shown("It rained.", 50, 700), b""))

    assert texts(document) == [(1, SENTENCE), (3, "It rained.")]
    assert document.page_count == 4
    assert document.page_sizes == dict.fromkeys((1, 2, 3, 4), (600.0, 800.0))
    assert document.page_based
    assert document.mime_type == "application/pdf"
    assert list(document.warnings) == []
    assert list(document.missing_pages) == []


def test_a_lone_surrogate_in_a_fonts_encoding_costs_one_character_and_no_page(partition):
    """A font whose codes are said to be its characters, and a code that is half of one."""
    document = partition(in_identity_font("The lens \udefe was ground in the tower by night.", "Half \ud801"))

    assert texts(document) == [(1, "The lens \ufffd was ground in the tower by night."), (1, "Half \ufffd")]
    assert list(document.warnings) == []


def test_a_pdf_of_blank_pages_has_no_elements(partition):
    document = partition(make_pdf(b"", b""), AUTO)

    assert list(document.elements) == []
    assert document.page_count == 2


@pytest.mark.parametrize(
    ("media", "page", "size", "box"),
    [
        # 24 points of Helvetica: "HHHH" is 4 × 0.722 × 24 = 69.3 wide, and its box reaches from 5 below the baseline to 19 above.
        ((0, 0, 600, 800), {}, (600, 800), (0.5, 0.476, 0.6155, 0.506)),
        # The same spot where the origin of the page is not zero.
        ((100, 200, 700, 1000), {}, (600, 800), (0.3333, 0.726, 0.449, 0.756)),
        # Only the crop box is seen: the spot is at 100 of 400 across, 600 - 400 of 600 down.
        ((0, 0, 600, 800), {"CropBox": [200, 100, 600, 700]}, (400, 600), (0.25, 0.468, 0.4233, 0.508)),
        ((0, 0, 600, 800), {"UserUnit": 2}, (1200, 1600), (0.5, 0.476, 0.6155, 0.506)),
    ],
)
def test_a_word_at_a_known_place_has_the_box_of_that_place(partition, media, page, size, box):
    attributes = {name: pikepdf.Array(value) if isinstance(value, list) else value for name, value in page.items()}

    document = partition(make_pdf(shown("HHHH", 300, 400, 24), media=media, page=attributes))

    (element,) = document.elements
    assert document.page_sizes == {1: size}
    assert element.coordinates == pytest.approx(box, abs=0.003)


@pytest.mark.parametrize(
    ("rotation", "corner"),
    [(0, (0.1, 0.9)), (90, (0.1, 0.1)), (180, (0.9, 0.1)), (270, (0.9, 0.9))],
)
def test_on_a_turned_page_places_are_those_that_the_reader_sees(partition, rotation, corner):
    # 10 % in from the bottom left of the unturned page: turned clockwise, that corner goes up on the left, then to the right, then down.
    document = partition(make_pdf(shown("H", 60, 80, 12), page={"Rotate": rotation}))

    (element,) = document.elements
    x = (element.coordinates[0] + element.coordinates[2]) / 2
    y = (element.coordinates[1] + element.coordinates[3]) / 2
    assert (x, y) == pytest.approx(corner, abs=0.015)
    assert document.page_sizes == {1: (800.0, 600.0) if rotation in (90, 270) else (600.0, 800.0)}


def test_lines_that_stand_sideways_are_read_whole(partition):
    sideways = b"BT /F1 12 Tf 0 1 -1 0 300 100 Tm (" + SENTENCE.encode() + b") Tj ET\n"

    document = partition(make_pdf(sideways))

    assert texts(document) == [(1, SENTENCE)]
    x0, y0, x1, y1 = document.elements[0].coordinates
    assert (x0, x1) == pytest.approx((0.48, 0.51), abs=0.02)  # the baseline stands at 300 of 600 points
    assert (y0, y1) == pytest.approx((1 - (100 + 424) / 800, 1 - 100 / 800), abs=0.01)  # 424 long, upwards from 100


def test_a_text_outside_of_the_crop_box_is_kept_without_a_place(partition):
    data = make_pdf(shown("Hidden beside the page.", 20, 20), page={"CropBox": pikepdf.Array([0, 400, 600, 800])})

    (element,) = partition(data).elements

    assert element.text == "Hidden beside the page."
    assert element.coordinates is None


def test_the_text_layer_equals_that_of_unstructured_itself(partition, tmp_path):
    from unstructured.partition.pdf import partition_pdf as original

    lines = ["ANNUAL REPORT", SENTENCE, "- first item", "Total 12,000"]
    content = b"".join(shown(line, 50, 740 - 40 * index) for index, line in enumerate(lines))
    data = make_pdf(content, content)
    (tmp_path / "whole.pdf").write_bytes(data)

    theirs = original(filename=str(tmp_path / "whole.pdf"), strategy="fast")

    ours = partition(data).elements
    assert [(e.category, e.text, e.page_number, e.languages) for e in ours] == [
        (e.category, e.text, e.metadata.page_number, tuple(e.metadata.languages)) for e in theirs
    ]


def test_a_drawing_of_many_strokes_does_not_cost_the_text(partition):
    # unstructured gives up a file at 10,000 operators on one page.
    strokes = b"".join(b"%d 10 m %d 90 l S\n" % (x % 600, x % 600) for x in range(12_000))

    document = partition(make_pdf(shown(SENTENCE, 50, 700) + strokes, shown("It rained.", 50, 700)))

    assert texts(document) == [(1, SENTENCE), (2, "It rained.")]


def test_glyphs_without_a_character_are_no_text(partition):
    data = make_pdf(shown(SENTENCE, 50, 700))
    with pikepdf.open(io.BytesIO(data)) as document:
        descendant = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.CIDFontType2,
            BaseFont=pikepdf.Name("/Unknown"),
            CIDSystemInfo=pikepdf.Dictionary(Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String("Identity"), Supplement=0),
            FontDescriptor=pikepdf.Dictionary(Type=pikepdf.Name.FontDescriptor, FontName=pikepdf.Name("/Unknown"), Flags=4),
        )
        page = document.pages[0].obj
        page.Resources.Font.F2 = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type0,
            BaseFont=pikepdf.Name("/Unknown"),
            Encoding=pikepdf.Name("/Identity-H"),
            DescendantFonts=pikepdf.Array([document.make_indirect(descendant)]),
        )
        page.Contents = document.make_stream(page.Contents.read_bytes() + b"BT /F2 12 Tf 50 300 Td <000100020003> Tj ET")
        stream = io.BytesIO()
        document.save(stream)

    assert texts(partition(stream.getvalue())) == [(1, SENTENCE)]


# --- OCR -------------------------------------------------------------------------------------------------------------------------------


@needs_tesseract
def test_a_scanned_page_among_text_is_read_by_ocr_under_auto(partition):
    data = make_pdf(shown(SENTENCE, 50, 700), SCANNED, images={"Im": scan("The harvest was poor.")})

    document = partition(data, AUTO)

    assert texts(document) == [(1, SENTENCE), (2, "The harvest was poor.")]
    assert list(document.missing_pages) == []
    (picture,) = [element for element in document.elements if element.category == "Image"]
    assert (picture.page_number, picture.in_reading_order) == (2, False)
    # 600 × 200 points at (0, 500) of 600 × 800.
    assert picture.coordinates == (0.0, 0.125, 1.0, 0.375)
    words = document.elements[1]
    # The text stands at 60 of 1200 and 60 to 108 of 400 pixels of the picture.
    assert words.coordinates[0] == pytest.approx(0.05, abs=0.01)
    assert words.coordinates[1] == pytest.approx(0.125 + 0.25 * 72 / 400, abs=0.02)


@needs_tesseract
@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_scan_that_lies_on_its_side_is_read_upright(partition, turn):
    lines = ["The quick brown fox jumps over", "the lazy dog and runs into the", "deep forest where nobody knows", "the miller's name."]
    image = scan(*lines, size=(1000, 800), turn=turn)
    content = b"q %d 0 0 %d 0 0 cm /Im Do Q" % (image.width // 2, image.height // 2)

    document = partition(make_pdf(content, media=(0, 0, image.width // 2, image.height // 2), images={"Im": image}), AUTO)

    assert " ".join(text for _, text in texts(document)) == " ".join(lines)


@needs_tesseract
def test_ocr_only_reads_pictures_even_where_there_is_a_text_layer(partition):
    data = make_pdf(shown("Wrong words", 50, 100) + SCANNED, images={"Im": scan("The harvest was poor.")})

    assert "The harvest was poor." in [text for _, text in texts(partition(data, OCR_ONLY))]


def test_a_scan_needs_ocr_under_fast(partition):
    with pytest.raises(DecodeError) as raised:
        partition(make_pdf(SCANNED, b"", images={"Im": scan("The harvest was poor.")}))

    assert raised.value.status is Status.NEEDS_OCR


def test_a_scanned_page_among_text_is_missing_under_fast(partition):
    document = partition(make_pdf(shown(SENTENCE, 50, 700), SCANNED, images={"Im": scan("The harvest was poor.")}))

    assert list(document.missing_pages) == [2]
    assert list(document.warnings) == ["Page 2: no text layer, only pictures; --strategy auto reads them by OCR."]


def test_without_tesseract_a_scan_waits_for_it_and_a_mixed_document_is_read_in_part(partition, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    images = {"Im": scan("The harvest was poor.")}

    with pytest.raises(DecodeError) as raised:
        partition(make_pdf(SCANNED, images=images), AUTO)
    document = partition(make_pdf(shown(SENTENCE, 50, 700), SCANNED, images=images), AUTO)

    assert raised.value.status is Status.MISSING_TOOL
    assert texts(document) == [(1, SENTENCE)]
    assert list(document.missing_pages) == [2]
    assert "tesseract" in document.warnings[0]


@needs_tesseract
def test_a_language_that_tesseract_lacks_is_a_missing_tool(partition):
    with pytest.raises(DecodeError) as raised:
        partition(make_pdf(SCANNED, images={"Im": scan("Text")}), DecodeSettings(languages=("chr",)))

    assert raised.value.status is Status.MISSING_TOOL
    assert "tesseract-ocr-chr" in raised.value.message


# --- ways to be broken -----------------------------------------------------------------------------------------------------------------


def test_a_password_is_encrypted_and_an_empty_or_an_owners_one_is_read(partition):
    content = shown(SENTENCE, 50, 700)
    with pytest.raises(DecodeError) as raised:
        partition(make_pdf(content, encryption=pikepdf.Encryption(owner="owner", user="secret")))

    assert raised.value.status is Status.ENCRYPTED
    for level in (2, 3, 4, 6):
        nothing = pikepdf.Permissions(extract=False)
        locked = pikepdf.Encryption(owner="owner", user="", R=level, aes=level > 3, metadata=level > 3, allow=nothing)
        assert texts(partition(make_pdf(content, encryption=locked))) == [(1, SENTENCE)], level


def test_junk_before_the_header_is_skipped_with_a_warning(partition):
    document = partition(b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n" + make_pdf(shown(SENTENCE, 50, 700)))

    assert texts(document) == [(1, SENTENCE)]
    assert document.warnings[0] == "There are bytes before the PDF's header: they are skipped."


@pytest.mark.parametrize(
    "data",
    [b"", b"no header at all", b"%PDF-1.7\nand then nothing of a PDF", b"%PDF-1.4\n<html><body>Not found</body></html>"],
    ids=["empty", "no header", "header only", "html"],
)
def test_what_cannot_be_opened_is_corrupt_in_a_sentence(partition, data):
    with pytest.raises(DecodeError) as raised:
        partition(data, AUTO)

    assert raised.value.status is Status.CORRUPT
    assert raised.value.message.endswith(".")
    assert "spool" not in raised.value.message


def test_a_truncated_pdf_is_repaired_with_a_warning_and_right_page_numbers(partition):
    data = make_pdf(*(shown(f"This is the text of page {number}.", 50, 700) for number in range(1, 9)), compress_streams=False)

    document = partition(data[: data.rindex(b"xref")])

    assert texts(document) == [(number, f"This is the text of page {number}.") for number in range(1, 9)]
    assert "damaged" in document.warnings[0]


def with_broken_content(data, *numbers):
    """The content streams of these pages are no deflate any more."""
    with pikepdf.open(io.BytesIO(data)) as document:
        for number in numbers:
            document.pages[number - 1].obj.Contents = document.make_stream(b"\xff\xff no deflate", Filter=pikepdf.Name.FlateDecode)
        stream = io.BytesIO()
        document.save(stream, stream_decode_level=pikepdf.StreamDecodeLevel.none)
    return stream.getvalue()


@pytest.mark.parametrize("settings", [FAST, AUTO], ids=["fast", "auto"])
def test_a_page_of_damaged_content_is_missing_and_not_blank(partition, settings):
    document = partition(with_broken_content(make_pdf(shown(SENTENCE, 50, 700), shown("Second.", 50, 700), b""), 2), settings)

    assert texts(document) == [(1, SENTENCE)]
    assert list(document.missing_pages) == [2]
    assert list(document.warnings) == ["Page 2: the content is damaged and cannot be read."]


def test_a_pdf_of_damaged_content_alone_is_corrupt_and_not_empty(partition):
    with pytest.raises(DecodeError) as raised:
        partition(with_broken_content(make_pdf(shown(SENTENCE, 50, 700), b""), 1), AUTO)

    assert raised.value.status is Status.CORRUPT


def test_one_page_that_pdfminer_cannot_read_costs_that_page_only(partition):
    data = make_pdf(shown("First page.", 50, 700), shown("Second page.", 50, 700), shown("Third page.", 50, 700))
    with pikepdf.open(io.BytesIO(data)) as document:
        # pdfminer (20260107) takes the filter for a dictionary, and raises TypeError or AttributeError for the whole document.
        document.pages[1].obj.Resources.Font = pikepdf.Dictionary(F1=pikepdf.Array([1, 2]))
        stream = io.BytesIO()
        document.save(stream)

    document = partition(stream.getvalue())

    assert [pair for pair in texts(document) if pair[0] != 2] == [(1, "First page."), (3, "Third page.")]
    assert list(document.missing_pages) == [2]


# --- pictures, properties --------------------------------------------------------------------------------------------------------------


def test_without_images_no_picture_is_read(partition):
    data = make_pdf(shown(SENTENCE, 50, 700) + SCANNED, images={"Im": scan("Text")})

    assert [e.category for e in partition(data, DecodeSettings(strategy=Strategy.FAST, images=False)).elements] == ["NarrativeText"]


def test_a_pdf_says_its_title_author_and_date(partition):
    data = make_pdf(shown(SENTENCE, 50, 700))
    with pikepdf.open(io.BytesIO(data)) as document:
        document.docinfo["/Title"] = "Größe der\nErnte"
        document.docinfo["/Author"] = "Ada Lovelace"
        document.docinfo["/CreationDate"] = "D:20240501120000+02'00'"
        stream = io.BytesIO()
        document.save(stream)

    document = partition(stream.getvalue())

    assert (document.title, document.creator, document.date) == ("Größe der Ernte", "Ada Lovelace", "2024-05-01T10:00:00Z")


def test_attached_files_and_xfa_forms_are_told_of(partition):
    data = make_pdf(shown(SENTENCE, 50, 700))
    with pikepdf.open(io.BytesIO(data)) as document:
        document.attachments["invoice.xml"] = b"<invoice/>"
        document.Root.NeedsRendering = True
        stream = io.BytesIO()
        document.save(stream)

    warnings = partition(stream.getvalue()).warnings

    assert len(warnings) == 2
    assert "XFA" in warnings[0]
    assert warnings[1] == "The PDF carries 1 attached file, not decoded."


def picture_element(name, box, **more):
    return Element("Image", element_id=name, coordinates=box, picture=Picture(name.encode(), "image/png", 10, 10), **more)


def test_an_embedded_picture_takes_the_place_of_the_layout_models_crop_of_it():
    text = Element("NarrativeText", "Text.")
    crop = picture_element("crop", (0.1, 0.1, 0.5, 0.5))
    drawing = picture_element("drawing", (0.6, 0.6, 0.9, 0.9))
    unseen = Element("Image", "words in it", coordinates=(0.0, 0.9, 0.1, 1.0))
    embedded = picture_element("embedded", (0.1, 0.1, 0.5, 0.48), in_reading_order=False)
    other = picture_element("other", (0.0, 0.0, 0.05, 0.05), in_reading_order=False)

    placed = place_pictures([crop, text, drawing, unseen], [other, embedded])

    assert [(e.element_id, e.in_reading_order) for e in placed] == [("embedded", True), ("", True), ("drawing", True), ("other", False)]


def test_hi_res_without_its_models_is_a_missing_tool():
    error = pdf_module.layout_model_missing()

    assert error.status is Status.MISSING_TOOL
    assert "--strategy auto" in error.message
