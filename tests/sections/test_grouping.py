import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.model import Element, PartitionedDocument, Picture
from transforms.sections.grouping import group_elements
from transforms.sections.text import assemble_text, emitted_piece
from transforms.settings import DecodeSettings, SectionStrategy

PICTURE = Picture(b"\x89PNG", "image/png", 3, 2)
WITHIN = DecodeSettings(section_strategy=SectionStrategy.HEADING, section_within_pages=True)

elements = st.lists(
    st.builds(
        Element,
        category=st.sampled_from(["Title", "NarrativeText", "Table", "Image", "PageBreak"]),
        text=st.sampled_from(["", "a", "bc"]),
        page_number=st.sampled_from([None, 1, 2, 3]),
        category_depth=st.sampled_from([None, 0, 1, 2]),
        picture=st.sampled_from([None, PICTURE]),
        in_reading_order=st.booleans(),
    ),
    max_size=20,
)


def title(text, page=None, depth=None):
    return Element("Title", text, page_number=page, category_depth=depth)


def text(text, page=None):
    return Element("NarrativeText", text, page_number=page)


def image(page=None, *, in_reading_order=True):
    return Element("Image", page_number=page, picture=PICTURE, in_reading_order=in_reading_order)


def paged(*some, **facts):
    return PartitionedDocument(some, "application/pdf", page_based=True, **facts)


def unpaged(*some):
    return PartitionedDocument(some, "text/html", page_based=False)


def outline(groups):
    return [(group.document_type, group.number, group.parent, group.page_number, assemble_text(group.elements).text) for group in groups]


@given(elements, st.sampled_from(SectionStrategy), st.booleans())
def test_every_element_with_something_to_say_or_show_is_in_one_group(some, strategy, within):
    options = DecodeSettings(section_strategy=strategy, section_element_count=2, section_max_size=9, section_within_pages=within)
    groups = group_elements(paged(*some), options)

    grouped = [id(element) for group in groups for element in group.elements]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) >= {id(element) for element in some if emitted_piece(element) or element.category == "Image"}
    for page in {group.page_number for group in groups}:
        order = [id(element) for element in some if emitted_piece(element)]
        on_page = [id(e) for group in groups if group.page_number == page for e in group.elements if emitted_piece(e)]
        assert on_page == [key for key in order if key in set(on_page)], "the reading order of a page is kept"
    pages = [group.page_number for group in groups if group.document_type == "page"]
    assert pages == sorted(set(pages))


@given(elements, st.sampled_from(SectionStrategy))
def test_sections_within_pages_belong_to_the_page_before_them(some, strategy):
    groups = group_elements(paged(*some), DecodeSettings(section_strategy=strategy, section_within_pages=True, section_element_count=1))

    for index, group in enumerate(groups):
        if group.document_type == "page":
            page, number = index, 0
            assert group.divided is (index + 1 < len(groups) and groups[index + 1].document_type == "section")
            assert not group.divided or all(e.category == "Image" and not e.in_reading_order for e in group.elements)
        else:
            number += 1
            assert (group.number, group.page_number) == (number, groups[page].number)
            assert page <= group.parent < index
            assert all(e.in_reading_order or e.category != "Image" for e in group.elements)


def test_pages_come_in_page_order_each_once():
    groups = group_elements(paged(text("b", 2), text("a", 1), text("c", 3), text("b2", 2)), DecodeSettings())

    assert outline(groups) == [("page", 1, None, 1, "a"), ("page", 2, None, 2, "b\n\nb2"), ("page", 3, None, 3, "c")]


def test_an_element_without_a_page_number_is_on_the_page_of_the_one_before_it():
    groups = group_elements(paged(text("a"), text("b", 3), text("c"), text("d", 4)), DecodeSettings())

    assert outline(groups) == [("page", 1, None, 1, "a"), ("page", 3, None, 3, "b\n\nc"), ("page", 4, None, 4, "d")]


def test_pictures_beside_the_text_say_nothing_about_the_page_of_what_follows():
    groups = group_elements(paged(text("a", 1), image(7, in_reading_order=False), text("b")), DecodeSettings())

    assert outline(groups) == [("page", 1, None, 1, "a\n\nb"), ("page", 7, None, 7, "")]


def test_a_page_with_only_images_is_a_page_and_a_blank_one_is_not():
    some = [text("a", 1), Element("PageBreak", page_number=2), text("  ", 2), image(3), text("c", 4)]

    assert [group.number for group in group_elements(paged(*some, page_count=4), DecodeSettings())] == [1, 3, 4]
    assert [(group.number, group.divided) for group in group_elements(paged(image(3)), WITHIN)] == [(3, False)]


def test_pages_do_not_depend_on_the_section_strategy_unless_they_are_divided():
    some = paged(title("A", 1), text("a", 1), title("B", 1))

    for strategy in SectionStrategy:
        assert outline(group_elements(some, DecodeSettings(section_strategy=strategy))) == [("page", 1, None, 1, "A\n\na\n\nB")]


def test_a_page_number_does_not_make_a_format_page_based():
    groups = group_elements(unpaged(text("a", 1), text("b", 2)), DecodeSettings())

    assert outline(groups) == [("section", 1, None, None, "a\n\nb")]


def test_sections_within_pages_nest_under_their_page_and_stop_at_its_end():
    beside = image(1, in_reading_order=False)
    inside = image(1)
    some = [title("A", 1, 0), inside, title("B", 1, 1), text("b", 1), beside, text("goes on", 2), title("C", 2, 1)]

    groups = group_elements(paged(*some), WITHIN)

    assert outline(groups) == [
        ("page", 1, None, 1, ""),
        ("section", 1, 0, 1, "A"),
        ("section", 2, 1, 1, "B\n\nb"),
        ("page", 2, None, 2, ""),
        ("section", 1, 3, 2, "goes on"),
        ("section", 2, 3, 2, "C"),
    ]
    assert [group.divided for group in groups] == [True, False, False, True, False, False]
    assert groups[0].elements == [beside]
    assert inside in groups[1].elements


def test_a_page_is_divided_by_whole_document_too():
    options = DecodeSettings(section_within_pages=True)

    assert outline(group_elements(paged(text("a", 1)), options)) == [("page", 1, None, 1, ""), ("section", 1, 0, 1, "a")]


def test_within_pages_changes_nothing_where_there_are_no_pages():
    some = unpaged(title("A"), text("a"), title("B"))

    assert group_elements(some, WITHIN) == group_elements(some, DecodeSettings(section_strategy=SectionStrategy.HEADING))


def test_the_name_of_a_sheet_is_the_heading_of_its_page():
    one, two = group_elements(paged(text("a", 1), text("b", 2), page_names={1: "Q1\n results"}), DecodeSettings())

    assert (one.heading, one.heading_path, one.level) == ("Q1 results", ("Q1 results",), None)
    assert (two.heading, two.heading_path) == ("", ())


def test_without_images_pictures_are_left_out():
    some = paged(text("a", 1), image(1), image(2))

    (page,) = group_elements(some, DecodeSettings(images=False))
    assert page.elements == [text("a", 1)]


@pytest.mark.parametrize("document", [paged(), unpaged(), paged(Element("PageBreak")), unpaged(text(" "))])
def test_nothing_gives_no_group(document):
    assert group_elements(document, DecodeSettings()) == []
