"""OCR by tesseract: what is read, where it stands, and how images are made ready for it."""

import shutil

import pytest
from PIL import Image, ImageDraw, ImageFont

from transforms.model import DecodeError, Status
from transforms.partition import ocr
from transforms.partition.environment import apply_decode_environment
from transforms.partition.nlp import install_nlp
from transforms.partition.ocr import read_paragraphs, require_tesseract, text_elements

pytestmark = pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")

SENTENCE = "The harvest was poor this year."


def page(text=SENTENCE, size=48, mode="L", paper=255, ink=0, at=(60, 100), canvas=(1000, 400)):
    image = Image.new(mode, canvas, paper)
    ImageDraw.Draw(image).text(at, text, fill=ink, font=ImageFont.load_default(size=size))
    return image


def test_a_paragraph_is_read_with_its_box_and_confidence():
    (paragraph,) = read_paragraphs(page(), ["eng"])

    assert paragraph.text == SENTENCE
    assert paragraph.confidence > 85
    assert paragraph.box[0] == pytest.approx(0.06, abs=0.01)
    assert 0.25 < paragraph.box[1] < 0.30
    assert paragraph.box[3] < 0.40


@pytest.mark.parametrize(
    "image",
    [
        page(mode="1", paper=1),
        page(mode="RGB", paper=(255, 255, 255), ink=(20, 20, 160)),
        page(mode="CMYK", paper=(0, 0, 0, 0), ink=(0, 0, 0, 255)),
        page(mode="RGBA", paper=(0, 0, 0, 0), ink=(0, 0, 0, 255)),
        page(mode="I;16", paper=65_535, ink=0),
        page().convert("P"),
    ],
    ids=["1", "RGB", "CMYK", "transparent", "16 bits", "palette"],
)
def test_every_kind_of_image_is_read(image):
    assert [paragraph.text for paragraph in read_paragraphs(image, ["eng"])] == [SENTENCE]


def test_small_text_is_read_from_a_larger_image_and_boxed_on_the_given_one():
    small = page(size=44, at=(30, 60), canvas=(900, 200)).resize((225, 50), resample=Image.Resampling.LANCZOS)

    (paragraph,) = read_paragraphs(small, ["eng"])

    assert paragraph.text == SENTENCE
    assert paragraph.box[0] == pytest.approx(30 / 900, abs=0.02)


def test_an_upside_down_page_is_read_and_boxed_where_it_stands():
    lines = "\n".join(["The quick brown fox jumps over", "the lazy dog and runs into the", "deep forest where nobody knows"])
    upright = page(lines, canvas=(1000, 700))

    read = read_paragraphs(upright.rotate(180), ["eng"])

    assert " ".join(paragraph.text for paragraph in read) == lines.replace("\n", " ")
    assert min(paragraph.box[1] for paragraph in read) > 0.5


def test_specks_are_no_text():
    image = Image.effect_noise((400, 300), 120)

    assert read_paragraphs(image, ["eng"]) == []
    assert read_paragraphs(Image.new("L", (300, 300), 255), ["eng"]) == []


def test_an_image_larger_than_tesseract_takes_is_scaled_down():
    wide = Image.new("L", (40_000, 300), 255)
    ImageDraw.Draw(wide).text((100, 100), SENTENCE, fill=0, font=ImageFont.load_default(size=80))

    assert [paragraph.text for paragraph in read_paragraphs(wide, ["eng"])] == [SENTENCE]


def test_elements_carry_page_language_and_place():
    apply_decode_environment()
    install_nlp()
    paragraph = ocr.Paragraph(SENTENCE, (0.1, 0.2, 0.5, 0.3), 90.0)

    (element,) = text_elements([paragraph], page_number=3, languages=["eng"], size=(200, 100))

    assert (element.category, element.text, element.metadata.page_number) == ("NarrativeText", SENTENCE, 3)
    assert element.metadata.languages == ["eng"]
    assert element.metadata.coordinates.points == ((20, 20), (20, 30), (100, 30), (100, 20))


def test_a_missing_language_names_its_package():
    with pytest.raises(DecodeError) as raised:
        require_tesseract(["eng", "chr"])

    assert raised.value.status is Status.MISSING_TOOL
    assert raised.value.message == "tesseract has no model for chr: apt-get install tesseract-ocr-chr."
