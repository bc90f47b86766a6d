"""What unstructured gives of DOCX, PPTX and HTML once it was taught about pictures, on documents that are made here."""

import io

import docx
import pptx
import pytest
from docx.shared import Inches
from lxml import etree
from PIL import Image
from pptx.util import Emu

from transforms.partition.environment import apply_decode_environment
from transforms.partition.nlp import install_nlp
from transforms.partition.pictures.partitioners import register_picture_partitioners
from transforms.partition.pictures.picture import picture_from_base64


@pytest.fixture(autouse=True)
def taught():
    apply_decode_environment()
    install_nlp()
    register_picture_partitioners()
    yield
    register_picture_partitioners(images=False)


def png(shade):
    stream = io.BytesIO()
    Image.new("L", (20, 10 + shade), shade).save(stream, "PNG")
    stream.seek(0)
    return stream


def saved(document):
    stream = io.BytesIO()
    document.save(stream)
    stream.seek(0)
    return stream


def order(elements):
    """Text, or the height of the picture."""
    return [picture_from_base64(e.metadata.image_base64).height if e.category == "Image" else e.text for e in elements]


def partition_docx(document):
    from unstructured.partition.docx import partition_docx as partition

    return partition(file=saved(document))


def test_the_pictures_of_a_docx_stand_where_they_stand():
    document = docx.Document()
    document.add_paragraph("Before.")
    document.add_paragraph().add_run().add_picture(png(1))
    document.add_paragraph("Between.").add_run().add_picture(png(2))
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "cell"
    table.cell(0, 1).paragraphs[0].add_run().add_picture(png(3))
    document.add_paragraph("After.")
    document.sections[0].header.paragraphs[0].add_run("Head").add_picture(png(4))
    document.sections[0].footer.paragraphs[0].add_run().add_picture(png(5))

    assert order(partition_docx(document)) == ["Head", 14, "Before.", 11, "Between.", 12, "cell", 13, "After.", 15]


def test_a_docx_picture_carries_its_alternative_text():
    document = docx.Document()
    document.add_paragraph().add_run().add_picture(png(1))
    document.element.body.find(".//{*}docPr").set("descr", "A grey field")

    (image,) = partition_docx(document)

    assert (image.text, image.metadata.image_mime_type) == ("A grey field", "image/png")


def test_a_fallback_does_not_show_the_picture_twice():
    document = docx.Document()
    run = document.add_paragraph().add_run()
    run.add_picture(png(1))
    drawing = run._r.find("{*}drawing")
    relation = drawing.find(".//{*}blip").get("{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed")
    wrapped = etree.fromstring(
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        '<mc:Choice Requires="wps"/><mc:Fallback><v:shape xmlns:v="urn:schemas-microsoft-com:vml" alt="old">'
        '<v:imagedata xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
        f'r:id="{relation}"/></v:shape></mc:Fallback></mc:AlternateContent>'
    )
    run._r.replace(drawing, wrapped)
    alone = [image.text for image in partition_docx(document)]
    wrapped[0].append(drawing)

    assert alone == ["old"]
    assert order(partition_docx(document)) == [11]


def test_linked_and_missing_pictures_are_left_out_and_nothing_is_fetched():
    document = docx.Document()
    document.add_paragraph("Text.").add_run().add_picture(png(1))
    name = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
    blip = document.element.body.find(".//{*}blip")
    blip.set(name, document.part.relate_to("http://127.0.0.1:9/none.png", "http://example.org/image", is_external=True))
    linked = order(partition_docx(document))
    blip.set(name, "rId999")

    assert linked == order(partition_docx(document)) == ["Text."]


def test_the_pictures_of_a_pptx_have_their_place_on_the_slide():
    presentation = pptx.Presentation()
    presentation.slide_width, presentation.slide_height = Emu(10_000_000), Emu(5_000_000)
    presentation.slides.add_slide(presentation.slide_layouts[6])
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    alone = slide.shapes.add_picture(png(1), Emu(1_000_000), Emu(500_000), Emu(4_000_000), Emu(2_000_000))
    alone.element.find(".//{*}cNvPr").set("descr", "A field")
    group = slide.shapes.add_group_shape()
    group.shapes.add_picture(png(2), Emu(0), Emu(0), Emu(10), Emu(10))
    # The group's own coordinates run from 0 to 20, and it is shown at (5, 2.5) million, 2 × 2 million.
    transform = group._element.grpSpPr.get_or_add_xfrm()
    for tag, pair in (("off", (5_000_000, 2_500_000)), ("ext", (2_000_000, 2_000_000)), ("chOff", (0, 0)), ("chExt", (20, 20))):
        node = transform.find(f"{{*}}{tag}")
        for key, value in zip(node.keys(), pair, strict=True):
            node.set(key, str(value))

    from unstructured.partition.pptx import partition_pptx

    images = {order([e])[0]: e for e in partition_pptx(file=saved(presentation)) if e.category == "Image"}

    places = {
        height: (image.metadata.page_number, image.metadata.coordinates.points[0], image.metadata.coordinates.points[2])
        for height, image in images.items()
    }
    assert places == {
        11: (2, (1_000_000, 500_000), (5_000_000, 2_500_000)),
        12: (2, (5_000_000, 2_500_000), (6_000_000, 3_500_000)),
    }
    assert images[11].text == "A field"
    assert (images[11].metadata.coordinates.system.width, images[11].metadata.coordinates.system.height) == (10_000_000, 5_000_000)


def test_an_incomplete_pptx_picture_does_not_cost_the_deck():
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    element = slide.shapes.add_picture(png(1), Emu(0), Emu(0)).element
    element.remove(element.find("{*}blipFill"))
    slide.shapes.add_textbox(Emu(0), Emu(900000), Emu(900), Emu(900)).text_frame.text = "Still here."

    from unstructured.partition.pptx import partition_pptx

    assert order(partition_pptx(file=saved(presentation))) == ["Still here."]


def test_pictures_in_html_tables_stand_behind_the_table():
    from unstructured.partition.html import partition_html

    page = "<table><tr><td>cell<img alt='field' src='data:image/png;base64,aGVsbG8='></td></tr></table><p>After.</p>"

    elements = partition_html(text=page, extract_image_block_to_payload=True, extract_image_block_types=["Image"])

    assert [(e.category, e.text) for e in elements] == [("Table", "cell"), ("Image", "field"), ("UncategorizedText", "After.")]
    assert elements[1].metadata.image_base64 == "aGVsbG8="


def test_teaching_twice_gives_each_picture_once_and_can_be_taken_back():
    document = docx.Document()
    document.add_table(1, 1).cell(0, 0).paragraphs[0].add_run("cell").add_picture(png(3), width=Inches(1))
    register_picture_partitioners()
    taught = order(partition_docx(document))
    register_picture_partitioners(images=False)

    assert taught == ["cell", 13]
    assert order(partition_docx(document)) == ["cell"]
