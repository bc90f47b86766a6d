import docx
import pptx
import pytest
from docx.oxml import ns, xmlchemy
from lxml import etree
from pptx.oxml import ns as pptx_ns
from pptx.oxml import xmlchemy as pptx_xmlchemy

from transforms.partition.acceleration.patches import Patches
from transforms.partition.acceleration.xml_paths import compile_xpaths

EXPRESSIONS = (
    "./w:p",
    ".//w:t/text()",
    "count(w:p)",
    "boolean(w:none)",
    "string(./w:p[2])",
    "w:p/w:pPr/w:pStyle/@w:val",
    "//w:sectPr | ./w:p",
    "..",
    "w:none",
)


@pytest.fixture
def body():
    document = docx.Document()
    document.add_heading("Heading", 1)
    document.add_paragraph("Text")
    return document.element.body


@pytest.fixture
def patches():
    made = Patches("unstructured")
    yield made
    made.undo()


def test_expressions_find_the_same(body, patches):
    plain = [body.xpath(expression) for expression in EXPRESSIONS]
    compile_xpaths(patches, xmlchemy, ns.nsmap)
    for _ in range(2):
        assert [body.xpath(expression) for expression in EXPRESSIONS] == plain
    assert plain[0][0].xpath("./w:r/w:t/text()") == ["Heading"]


def test_strings_know_where_they_come_from(body, patches):
    compile_xpaths(patches, xmlchemy, ns.nsmap)
    text = body.xpath(".//w:t/text()")[1]
    assert (text, text.getparent().tag) == ("Text", ns.qn("w:t"))


@pytest.mark.parametrize("expression", ["w:p[", "no:prefix", ""])
def test_errors_are_the_same(body, patches, expression):
    with pytest.raises(etree.XPathError) as plain:
        body.xpath(expression)
    compile_xpaths(patches, xmlchemy, ns.nsmap)
    for _ in range(2):
        with pytest.raises(etree.XPathError) as fast:
            body.xpath(expression)
        assert (type(fast.value), str(fast.value)) == (type(plain.value), str(plain.value))


def test_presentations_have_prefixes_of_their_own(patches):
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[0])
    slide.shapes.title.text = "Title"
    plain = slide._element.xpath(".//a:t/text()")
    compile_xpaths(patches, pptx_xmlchemy, pptx_ns._nsmap)
    assert slide._element.xpath(".//a:t/text()") == plain == ["Title"]
