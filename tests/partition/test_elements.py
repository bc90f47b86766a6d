from transforms.model import Element
from transforms.partition.elements import (
    clean_text,
    detect_languages,
    fractions_of_page,
    from_unstructured,
    link_elements,
    render_table,
)


def title(text, depth=None, page=None):
    return Element("Title", text=text, category_depth=depth, page_number=page)


def paragraph(text, page=None):
    return Element("NarrativeText", text=text, page_number=page)


def test_identifiers_are_unique_and_depend_on_content_and_place_only():
    elements = [paragraph("same"), paragraph("same"), paragraph("other")]
    first, again = link_elements(elements, page_based=False), link_elements(elements, page_based=False)
    assert [element.element_id for element in first] == [element.element_id for element in again]
    assert len({element.element_id for element in first}) == 3
    assert all(len(element.element_id) == 32 for element in first)
    changed = link_elements([paragraph("same"), paragraph("changed"), paragraph("other")], page_based=False)
    assert [a.element_id == b.element_id for a, b in zip(first, changed, strict=True)] == [True, False, True]


def test_parts_of_an_identifier_cannot_run_into_each_other():
    first = Element("Table", text="1", html="12")
    second = Element("Table", text="11", html="2")
    assert link_elements([first], page_based=False)[0].element_id != link_elements([second], page_based=False)[0].element_id


def test_parents_follow_the_headings_and_are_not_broken_by_an_image():
    elements = [title("A", 0), title("B", 1), paragraph("b"), Element("Image"), paragraph("after the image"), title("C", 0), paragraph("c")]
    linked = link_elements(elements, page_based=False)
    ids = {element.text or element.category: element.element_id for element in linked}
    parents = [element.parent_id for element in linked]
    assert parents == ["", ids["A"], ids["B"], ids["B"], ids["B"], "", ids["C"]]


def test_nested_list_items_stand_under_the_item_above_them():
    def item(text, depth):
        return Element("ListItem", text=text, category_depth=depth)

    linked = link_elements([title("T", 0), item("1", 1), item("1a", 2), item("2", 1), paragraph("p")], page_based=False)
    ids = {element.text: element.element_id for element in linked}
    assert [element.parent_id for element in linked] == ["", ids["T"], ids["1"], ids["T"], ids["T"]]


def test_a_heading_of_a_slide_does_not_reach_into_the_next_slide_but_that_of_a_pdf_does():
    elements = [title("one", 0, page=1), paragraph("a", page=1), paragraph("b", page=2)]
    slides = link_elements(elements, page_based=True)
    assert [element.parent_id for element in slides] == ["", slides[0].element_id, ""]
    pdf = link_elements(elements, page_based=True, outline_over_pages=True)
    assert [element.parent_id for element in pdf] == ["", pdf[0].element_id, pdf[0].element_id]


def test_a_table_is_rendered_as_unstructured_renders_it():
    from unstructured.common.html_table import HtmlTable, htmlify_matrix_of_cell_texts

    rows = [["Quarter", "Revenue & <more>"], ["Q1", ""], [' "x" ', "two\nlines"]]
    theirs = HtmlTable.from_html_text(htmlify_matrix_of_cell_texts(rows))
    assert render_table(rows)[0] == 'Quarter Revenue & <more> Q1 "x" two lines'
    assert render_table(rows)[1] == (
        "<table><tr><td>Quarter</td><td>Revenue &amp; &lt;more&gt;</td></tr>"
        '<tr><td>Q1</td><td/></tr><tr><td>"x"</td><td>two lines</td></tr></table>'
    )
    assert render_table(rows[:2]) == (theirs.text.partition(' "x"')[0], theirs.html.partition('<tr><td>"x"')[0] + "</table>")


def test_a_table_without_any_text_is_no_table():
    assert render_table([["", " "], []]) == ("", "")


def test_characters_that_no_output_can_hold_are_cleaned():
    assert clean_text("a\x00b\udc80c") == "ab�c"
    assert clean_text("unchanged – ß") == "unchanged – ß"


def test_coordinates_become_fractions_of_the_page():
    from unstructured.documents.coordinates import PixelSpace
    from unstructured.documents.elements import CoordinatesMetadata

    points = ((-10, 50), (-10, 100), (100, 100), (100, 50))
    assert fractions_of_page(CoordinatesMetadata(points=points, system=PixelSpace(200, 400))) == (0.0, 0.125, 0.5, 0.25)
    assert fractions_of_page(None) is None
    assert fractions_of_page(CoordinatesMetadata(points=None, system=None)) is None


def test_coordinates_from_the_bottom_left_are_turned_over():
    from unstructured.documents.coordinates import RelativeCoordinateSystem
    from unstructured.documents.elements import CoordinatesMetadata

    points = ((0.25, 0.75), (0.25, 1.0), (0.5, 1.0), (0.5, 0.75))
    assert fractions_of_page(CoordinatesMetadata(points=points, system=RelativeCoordinateSystem())) == (0.25, 0.0, 0.5, 0.25)


def test_page_breaks_are_left_out_and_html_belongs_to_tables_only():
    from unstructured.documents.elements import ElementMetadata, NarrativeText, PageBreak, Table

    metadata = ElementMetadata(text_as_html="<table><tr><td>a</td></tr></table>", page_number=3, languages=["deu"])
    normal = from_unstructured([Table("a", metadata=metadata), PageBreak(""), NarrativeText("b", metadata=metadata)])
    assert [(element.category, element.html, element.page_number, element.languages) for element in normal] == [
        ("Table", "<table><tr><td>a</td></tr></table>", 3, ("deu",)),
        ("NarrativeText", "", 3, ("deu",)),
    ]


def test_a_form_without_text_says_its_keys_and_values():
    from unstructured.documents.elements import FormKeysValues

    pairs = [{"key": {"text": "Name:"}, "value": {"text": "Ada"}}, {"key": {"text": "Signature"}, "value": None}]
    form = FormKeysValues(text="")
    form.metadata.key_value_pairs = pairs
    assert from_unstructured([form])[0].text == "Name: Ada\nSignature:"


def test_the_language_of_elements_that_we_made_is_detected():
    spanish = [Element("Table", text="El presupuesto de la ciudad para el año que viene fue aprobado ayer por la noche")]
    assert detect_languages(spanish)[0].languages == ("spa",)
    assert detect_languages([]) == []
