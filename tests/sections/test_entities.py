import hashlib
import time

from hypothesis import given
from hypothesis import strategies as st

from transforms.model import Element, PartitionedDocument, Picture
from transforms.provenance.identifiers import image_id, page_id, section_id
from transforms.sections.entities import describe_entities
from transforms.sections.grouping import group_elements
from transforms.settings import DecodeSettings, SectionStrategy

DOCUMENT = "https://example.org/report"
SHA256 = hashlib.sha256(b"report").hexdigest()
FINGERPRINT = "0123456789abcdef"
RED = Picture(b"red", "image/png", 3, 2)
BLUE = Picture(b"blue", "image/jpeg", 30, 20)
HEADING = DecodeSettings(section_strategy=SectionStrategy.HEADING)
WITHIN = DecodeSettings(section_strategy=SectionStrategy.HEADING, section_within_pages=True)

documents = st.builds(
    PartitionedDocument,
    elements=st.lists(
        st.builds(
            Element,
            category=st.sampled_from(["Title", "NarrativeText", "Table", "Image", "PageBreak"]),
            text=st.sampled_from(["", " ", "a", "bc\n\nd", "\U0001f600 & e"]),
            page_number=st.sampled_from([None, 1, 2, 3]),
            category_depth=st.sampled_from([None, 0, 1, 2]),
            picture=st.sampled_from([None, RED, BLUE]),
            in_reading_order=st.booleans(),
            languages=st.sampled_from([(), ("eng",), ("deu", "eng")]),
        ),
        max_size=20,
    ),
    mime_type=st.just("application/pdf"),
    page_based=st.booleans(),
)
options = st.builds(
    DecodeSettings,
    section_strategy=st.sampled_from(SectionStrategy),
    section_element_count=st.integers(1, 3),
    section_max_size=st.integers(1, 30),
    section_within_pages=st.booleans(),
)


def decode(document, settings=DecodeSettings(), *, document_id=DOCUMENT, sha256=SHA256, fingerprint=FINGERPRINT):  # noqa: B008 frozen
    groups = group_elements(document, settings)
    return describe_entities(groups, document, document_id=document_id, sha256=sha256, fingerprint=fingerprint)


def paged(*some, **facts):
    return PartitionedDocument(some, "application/pdf", page_based=True, **facts)


def unpaged(*some):
    return PartitionedDocument(some, "text/html", page_based=False)


def text(text, page=None, category="NarrativeText", **facts):
    return Element(category, text, page_number=page, **facts)


def image(page=None, picture=RED, **facts):
    return Element("Image", page_number=page, picture=picture, **facts)


@given(documents, options)
def test_the_texts_are_the_document_text_and_the_offsets_find_them_in_it(document, settings):
    texts, _ = decode(document, settings)
    document_text = "\n\n".join(entity.text for entity in texts if entity.text)

    for entity in texts:
        found = document_text[entity.char_offset : entity.char_offset + entity.char_length]
        children = [child.text for child in texts if child.document_type == "section" and child.page_number == entity.page_number]
        divided = entity.document_type == "page" and children
        assert found == ("\n\n".join(children) if divided else entity.text)
        assert entity.char_offset + entity.char_length <= len(document_text)
        slices = [entity.text[span.offset : span.offset + span.length] for span in entity.spans]
        assert slices == [_piece(span.element) for span in entity.spans]
        assert "\n\n".join(slices) == entity.text


def _piece(element):
    return f"<table>{element.text.replace('&', '&amp;')}</table>" if element.category == "Table" else element.text


@given(documents, options)
def test_ids_are_unique_and_parents_come_first(document, settings):
    texts, images = decode(document, settings)

    ids = [entity.id for entity in (*texts, *images)]
    assert len(set(ids)) == len(ids)
    known = {DOCUMENT}
    for entity in texts:
        assert entity.parent_id in known
        known.add(entity.id)
    assert all(image.parent_id in known - {DOCUMENT} for image in images)


@given(documents, options)
def test_every_picture_is_stored_once_and_counted_where_it_is(document, settings):
    texts, images = decode(document, settings)

    pictures = [element.picture for element in document.elements if element.category == "Image" and element.picture]
    assert sorted(image.picture.data for image in images) == sorted(picture.data for picture in pictures)
    assert [image.number for image in images] == list(range(1, len(images) + 1))
    tops = [entity for entity in texts if entity.document_type == "page"] if document.page_based else texts
    assert sum(entity.image_count for entity in tops) == len(images)


@given(documents, options)
def test_the_same_input_gives_the_same_entities(document, settings):
    assert decode(document, settings) == decode(document, settings)


def test_pages():
    title = text("Revenue", 1, "Title", languages=("eng",))
    table = text("1 2", 1, "Table", languages=("eng", "fra"))
    document = paged(
        title, image(1), table, text("more", 1, languages=("deu",)), text("end", 3),
        page_sizes={1: (612.0, 792.0)}, page_names={3: "Sheet"},
    )  # fmt: skip

    (one, three), _ = decode(document)

    assert (one.id, one.document_type, one.parent_id, one.number, one.title) == (
        page_id(DOCUMENT, SHA256, FINGERPRINT, 1),
        "page",
        DOCUMENT,
        1,
        "Page 1",
    )
    assert one.text == "Revenue\n\n<table>1 2</table>\n\nmore"
    assert [(span.element, span.offset, span.length) for span in one.spans][:2] == [(title, 0, 7), (table, 9, 18)]
    assert (one.char_offset, one.char_length) == (0, 33)
    assert one.element_types == ("Title", "Image", "Table", "NarrativeText")
    assert (one.table_count, one.image_count, one.page_number, one.page_size) == (1, 1, 1, (612.0, 792.0))
    assert (one.heading, one.level, one.heading_path, one.languages) == (None, None, (), ("eng", "fra", "deu"))
    assert (three.title, three.text, three.char_offset, three.char_length) == ("Page 3", "end", 35, 3)
    assert (three.page_size, three.heading) == (None, "Sheet")


def test_sections_of_headings():
    document = unpaged(text("A", None, "Title", category_depth=0), text("B", 9, "Title", category_depth=1), text("b"))

    (a, b), _ = decode(document, HEADING)

    assert (a.id, a.parent_id, a.title) == (section_id(DOCUMENT, SHA256, FINGERPRINT, 1), DOCUMENT, "Section 1")
    assert (b.id, b.parent_id, b.title) == (section_id(DOCUMENT, SHA256, FINGERPRINT, 2), a.id, "Section 2")
    assert (a.text, a.char_offset, b.text, b.char_offset) == ("A", 0, "B\n\nb", 3)
    assert (b.heading, b.level, b.heading_path, b.page_number) == ("B", 2, ("A", "B"), None)


def test_a_divided_page_spans_its_sections_and_is_described_with_all_that_is_on_it():
    document = paged(
        text("before", 1),
        text("A", 2, "Title"), image(2), text("t", 2, "Table"), text("B", 2, "Title"), image(2, BLUE, in_reading_order=False),
        text("after", 3),
    )  # fmt: skip

    texts, images = decode(document, WITHIN)

    assert [(entity.title, entity.text, entity.char_offset, entity.char_length) for entity in texts] == [
        ("Page 1", "", 0, 6),
        ("Section 1", "before", 0, 6),
        ("Page 2", "", 8, 22),
        ("Section 1", "A\n\n<table>t</table>", 8, 19),
        ("Section 2", "B", 29, 1),
        ("Page 3", "", 32, 5),
        ("Section 1", "after", 32, 5),
    ]
    page, section = texts[2], texts[3]
    assert (page.element_types, page.table_count, page.image_count) == (("Title", "Image", "Table"), 1, 2)
    assert (section.element_types, section.table_count, section.image_count) == (("Title", "Image", "Table"), 1, 1)
    assert (section.id, section.page_number) == (section_id(DOCUMENT, SHA256, FINGERPRINT, 1, page_number=2), 2)
    # In the order of the entities that they belong to.
    assert [(image.parent_id, image.title, image.picture) for image in images] == [
        (page.id, "Image from page 2", BLUE),
        (section.id, "Image from section 1", RED),
    ]


def test_a_page_without_text_stands_at_the_end_of_the_text_before_it():
    texts, _ = decode(paged(image(1), text("a", 2), image(3), text("b", 4), image(5)))

    assert [(entity.number, entity.char_offset, entity.char_length) for entity in texts] == [
        (1, 0, 0),
        (2, 0, 1),
        (3, 1, 0),
        (4, 3, 1),
        (5, 4, 0),
    ]
    assert texts[0].element_types == ("Image",)


def test_what_has_no_place_is_no_element_type():
    ((section,), _) = decode(unpaged(Element("PageBreak"), text(" ", None, "Footer"), text("a")))

    assert section.element_types == ("NarrativeText",)


def test_images():
    box = (0.1, 0.2, 0.5, 0.6)
    document = paged(text("a", 1), image(3, element_id="e1", coordinates=box), image(None, BLUE), image(3))

    (_, page), images = decode(document)

    assert [(image.id, image.parent_id, image.title, image.number, image.page_number) for image in images] == [
        (image_id(DOCUMENT, SHA256, FINGERPRINT, number), page.id, "Image from page 3", number, 3) for number in (1, 2, 3)
    ]
    assert (images[0].element_id, images[0].coordinates, images[1].coordinates) == ("e1", box, None)
    assert [image.sha256 for image in images] == [hashlib.sha256(data).hexdigest() for data in (b"red", b"blue", b"red")]
    assert images[1].blob_path == f"blobs/sha256/{images[1].sha256[:2]}/{images[1].sha256}.jpg"


def test_an_image_of_a_format_without_pages_comes_from_its_section():
    document = unpaged(text("A", None, "Title"), text("B", None, "Title"), image(4))

    (_, second), (picture,) = decode(document, HEADING)

    assert (picture.parent_id, picture.title, picture.page_number) == (second.id, "Image from section 2", 4)


def test_an_image_whose_bytes_were_not_found_is_told_and_not_stored():
    ((section,), images) = decode(unpaged(text("a"), image(picture=None)))

    assert (section.element_types, section.image_count, images) == (("NarrativeText", "Image"), 0, [])


def test_ids_depend_on_document_bytes_and_settings():
    document = paged(text("a", 1), image(1))
    ids = set()
    for change in ({}, {"document_id": "urn:other"}, {"sha256": "0" * 64}, {"fingerprint": "f" * 16}):
        texts, images = decode(document, **change)
        ids |= {texts[0].id, images[0].id}

    assert len(ids) == 8


def test_twenty_thousand_elements_take_well_under_a_second():
    some = [
        text(f"Heading {n}" if n % 2 else "Some words to say. " * 5, None, "Title" if n % 2 else "NarrativeText", category_depth=n % 7)
        for n in range(20_000)
    ]
    document = unpaged(*some)

    start = time.process_time()
    texts, _ = decode(document, HEADING)
    elapsed = time.process_time() - start

    assert len(texts) == 10_001
    # About 0.2 s here. What this is for is anything quadratic, which takes minutes.
    assert elapsed < 2
