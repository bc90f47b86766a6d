import copy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unstructured.documents.coordinates import PixelSpace
from unstructured.documents.elements import CoordinatesMetadata, ElementMetadata

from transforms.partition.acceleration.metadata import speed_up_metadata
from transforms.partition.acceleration.patches import Patches

PLAIN = ElementMetadata.__init__

VALUES = {
    "filename": st.sampled_from(("", "a.docx", "folder/a.docx", "/", Path("folder/b.docx"))),
    "file_directory": st.sampled_from(("", "elsewhere")),
    "category_depth": st.integers(0, 3),
    "page_number": st.integers(0, 9),
    "languages": st.lists(st.sampled_from(("eng", "deu"))),
    "last_modified": st.text(max_size=3),
    "link_urls": st.lists(st.text(max_size=3), max_size=2),
    "style_name": st.text(max_size=3),
    "text_as_html": st.text(max_size=3),
    "url": st.text(max_size=3),
    "coordinates": st.just(CoordinatesMetadata(((0, 1), (2, 3)), PixelSpace(4, 5))),
}

fields = st.lists(st.sampled_from(sorted(VALUES)), unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: st.none() | VALUES[name] for name in names})
)


@pytest.fixture(autouse=True)
def _fast():
    patches = Patches("unstructured")
    speed_up_metadata(patches)
    yield
    patches.undo()


def made(init, values):
    metadata = object.__new__(ElementMetadata)
    init(metadata, **values)
    return metadata


@settings(max_examples=150)
@given(fields)
def test_a_record_has_the_same_fields_in_the_same_order(values):
    plain, fast = made(PLAIN, values), ElementMetadata(**values)
    assert list(fast.__dict__.items()) == list(plain.__dict__.items())
    assert fast == plain
    assert list(fast.to_dict().items()) == list(plain.to_dict().items())


@settings(max_examples=60)
@given(fields, st.booleans())
def test_a_copy_is_equal_and_shares_nothing_that_changes(values, asked):
    original = ElementMetadata(**values)
    if asked:
        assert original.bcc_recipient is None  # the record keeps the names of its fields from then on
    copied = copy.deepcopy(original)
    assert list(copied.__dict__.items()) == list(original.__dict__.items())
    if values.get("languages") is not None:
        copied.languages.append("fra")
        assert original.languages == values["languages"]
        assert "fra" not in original.languages


def test_a_copy_of_a_list_that_holds_a_record_twice_holds_one_copy_twice():
    metadata = ElementMetadata(page_number=3)
    first, second = copy.deepcopy([metadata, metadata])
    assert first is second
    assert first is not metadata


def test_positional_and_unknown_arguments_are_for_the_original():
    assert ElementMetadata("mail.eml").attached_to_filename == "mail.eml"
    with pytest.raises(TypeError, match="no_such_field"):
        ElementMetadata(no_such_field=1)
