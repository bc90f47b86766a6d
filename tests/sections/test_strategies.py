import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.model import Element, Picture
from transforms.sections.strategies import DEEPEST_HEADING, STRATEGIES, by_count, by_element_type, by_heading, by_size, whole_document
from transforms.sections.text import assemble_text, emitted_piece
from transforms.settings import DecodeSettings, SectionStrategy

DEFAULTS = DecodeSettings()
PICTURE = Picture(b"\x89PNG", "image/png", 3, 2)
IMAGE = Element("Image", "OCR", picture=PICTURE)
BREAK = Element("PageBreak")
BLANK = Element("NarrativeText", " \t")

elements = st.lists(
    st.builds(
        Element,
        category=st.sampled_from(["Title", "NarrativeText", "Table", "Image", "PageBreak"]),
        text=st.sampled_from(["", " ", "a", "bc", "def & ghi"]),
        category_depth=st.sampled_from([None, -1, 0, 1, 2, 5, 40_000]),
    ),
    max_size=25,
)
settings = st.builds(DecodeSettings, section_element_count=st.integers(1, 5), section_max_size=st.integers(1, 40))


def title(text, depth=None):
    return Element("Title", text, category_depth=depth)


def text(text):
    return Element("NarrativeText", text)


def table(text):
    return Element("Table", text)


def texts(groups):
    return [assemble_text(group.elements).text for group in groups]


def test_every_strategy_has_its_function():
    assert set(STRATEGIES) == set(SectionStrategy)


@pytest.mark.parametrize("strategy", SectionStrategy)
@given(some=elements, options=settings)
def test_sections_one_after_the_other_are_the_elements(strategy, some, options):
    groups = STRATEGIES[strategy](some, options)

    if any(emitted_piece(element) or element.category == "Image" for element in some):
        assert [id(element) for group in groups for element in group.elements] == [id(element) for element in some]
    else:
        assert groups == []
    assert [group.number for group in groups] == list(range(1, len(groups) + 1))
    assert {group.document_type for group in groups} <= {"section"}
    if any(map(emitted_piece, some)):
        assert all(texts(groups)), "a picture alone never makes a section beside others"
    for index, group in enumerate(groups):
        assert group.parent is None or 0 <= group.parent < index


@given(some=elements, options=settings)
def test_size_is_filled_and_never_overrun(some, options):
    sizes = [len(text) for text in texts(by_size(some, options)) if text]
    groups = by_size(some, options)

    for group, size in zip(groups, sizes, strict=False):
        assert size <= options.section_max_size or len(assemble_text(group.elements).spans) == 1
    for size, following in zip(sizes, groups[1:], strict=False):
        assert size + 2 + assemble_text(following.elements).spans[0].length > options.section_max_size


@given(some=elements)
def test_each_section_is_one_heading_and_its_parent_the_next_higher_one_before_it(some):
    groups = by_heading(some, DEFAULTS)
    levels = [group.level for group in groups]

    for index, group in enumerate(groups):
        placed = [element for element in group.elements if emitted_piece(element)]
        assert all(element.category != "Title" for element in placed[1:])
        if group.level is None:
            assert index == 0
            assert (group.heading, group.heading_path, group.parent) == ("", (), None)
        else:
            higher = [before for before in range(index) if levels[before] is not None and levels[before] < group.level]
            assert group.parent == (higher[-1] if higher else None)
            above = groups[group.parent].heading_path if higher else ()
            assert group.heading_path == (*above, group.heading)
            assert 1 <= group.level <= DEEPEST_HEADING + 1


def test_whole_document_is_one_section():
    some = [BREAK, title("A"), IMAGE, text("a"), table("t")]

    (group,) = whole_document(some, DEFAULTS)

    assert (group.document_type, group.number, group.parent, group.heading, group.level) == ("section", 1, None, "", None)
    assert group.elements == some


@pytest.mark.parametrize("strategy", STRATEGIES.values())
def test_nothing_gives_no_section_and_pictures_alone_give_one(strategy):
    assert strategy([], DEFAULTS) == []
    assert strategy([BLANK, BREAK], DEFAULTS) == []
    (group,) = strategy([BLANK, IMAGE, IMAGE], DEFAULTS)
    assert group.elements == [BLANK, IMAGE, IMAGE]


def test_headings_make_nested_sections():
    some = [
        text("before"),
        title("Report", 0),
        title("Methods", 1),
        text("how"),
        title("Sampling", 2),
        text("whom"),
        title("Results", 1),
        table("numbers"),
        title("Annex"),
        title("Deep", 3),
        text("end"),
    ]

    groups = by_heading(some, DEFAULTS)

    assert texts(groups) == [
        "before",
        "Report",
        "Methods\n\nhow",
        "Sampling\n\nwhom",
        "Results\n\n<table>numbers</table>",
        "Annex",
        "Deep\n\nend",
    ]
    assert [(group.number, group.parent, group.level, group.heading_path) for group in groups] == [
        (1, None, None, ()),
        (2, None, 1, ("Report",)),
        (3, 1, 2, ("Report", "Methods")),
        (4, 2, 3, ("Report", "Methods", "Sampling")),
        (5, 1, 2, ("Report", "Results")),
        (6, None, 1, ("Annex",)),
        (7, 5, 4, ("Annex", "Deep")),
    ]
    assert [group.heading for group in groups] == ["", "Report", "Methods", "Sampling", "Results", "Annex", "Deep"]


def test_a_section_never_repeats_the_text_of_its_subsections():
    groups = by_heading([title("A", 0), text("of a"), title("B", 1), text("of b"), title("C", 2), text("of c")], DEFAULTS)

    assert texts(groups) == ["A\n\nof a", "B\n\nof b", "C\n\nof c"]


def test_a_heading_of_a_higher_level_after_a_lower_one_has_no_parent():
    groups = by_heading([title("low", 2), title("high", 1), title("low again", 2)], DEFAULTS)

    assert [group.parent for group in groups] == [None, None, 1]


def test_without_a_heading_there_is_one_section():
    assert by_heading([text("a"), title("  "), text("b")], DEFAULTS) == whole_document([text("a"), title("  "), text("b")], DEFAULTS)


def test_a_heading_is_told_on_one_line():
    (group,) = by_heading([title(" Annual\n  Report ")], DEFAULTS)

    assert (group.heading, group.heading_path) == ("Annual Report", ("Annual Report",))


def test_images_stay_with_the_section_that_they_stand_in():
    first, second, third = (Element("Image", element_id=name, picture=PICTURE) for name in "abc")
    some = [first, title("A"), text("a"), second, title("B"), third]

    assert [group.elements for group in by_heading(some, DEFAULTS)] == [[first, title("A"), text("a"), second], [title("B"), third]]


def test_a_parent_id_is_not_trusted():
    some = [title("A", 0), Element("Title", "B", category_depth=1, parent_id="of some image")]

    assert [group.parent for group in by_heading(some, DEFAULTS)] == [None, 0]


def test_tables_stand_alone():
    some = [text("a"), IMAGE, text("b"), table("1"), BREAK, IMAGE, table("2"), text("c"), table("3")]

    groups = by_element_type(some, DEFAULTS)

    assert texts(groups) == ["a\n\nb", "<table>1</table>\n\n<table>2</table>", "c", "<table>3</table>"]
    assert groups[1].elements == [table("1"), BREAK, IMAGE, table("2")]


def test_count_counts_neither_images_nor_breaks_nor_blanks():
    some = [IMAGE, text("a"), BLANK, BREAK, IMAGE, text("b"), text("c"), IMAGE, text("d"), text("e"), IMAGE]

    groups = by_count(some, DecodeSettings(section_element_count=2))

    assert texts(groups) == ["a\n\nb", "c\n\nd", "e"]
    assert [sum(element is IMAGE for element in group.elements) for group in groups] == [2, 1, 1]


def test_twenty_elements_a_section_by_default():
    groups = by_count([text(str(number)) for number in range(45)], DEFAULTS)

    assert [len(group.elements) for group in groups] == [20, 20, 5]


def test_size_counts_separators_and_the_html_of_tables():
    assert texts(by_size([text("1234"), text("5678")], DecodeSettings(section_max_size=10))) == ["1234\n\n5678"]
    assert texts(by_size([text("1234"), text("56789")], DecodeSettings(section_max_size=10))) == ["1234", "56789"]
    # "a & b" is 5 characters of text, and 24 of emitted HTML.
    assert texts(by_size([text("x"), table("a & b")], DecodeSettings(section_max_size=27))) == ["x\n\n<table>a &amp; b</table>"]
    assert texts(by_size([text("x"), table("a & b")], DecodeSettings(section_max_size=26))) == ["x", "<table>a &amp; b</table>"]


def test_size_never_cuts_an_element():
    groups = by_size([text("a"), text("0123456789"), text("b"), text("c")], DecodeSettings(section_max_size=4))

    assert texts(groups) == ["a", "0123456789", "b\n\nc"]
