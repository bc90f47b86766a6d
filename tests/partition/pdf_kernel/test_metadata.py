import inspect
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unstructured.documents.elements import ElementMetadata

from transforms.partition.pdf_kernel.metadata import lean_constructor

ORIGINAL = ElementMetadata.__init__
LEAN = lean_constructor(ORIGINAL)
FIELDS = list(inspect.signature(ORIGINAL).parameters)[1:]
PATHS = st.sampled_from(["", "a.pdf", "/x/a.pdf", "x/", pathlib.Path("/y/b.pdf"), None])


def made(construct, given):
    metadata = object.__new__(ElementMetadata)
    construct(metadata, **given)
    return list(metadata.__dict__.items())


@given(st.dictionaries(st.sampled_from(FIELDS), st.sampled_from([None, "", 0, 7, "x", []])), PATHS, st.booleans())
def test_the_same_attributes_stand_in_the_same_order(given_fields, path, has_path):
    given_fields = {**given_fields, "filename": path} if has_path else {k: v for k, v in given_fields.items() if k != "filename"}
    assert made(LEAN, given_fields) == made(ORIGINAL, given_fields)


def test_what_is_unknown_is_refused_as_before():
    with pytest.raises(TypeError, match="no_such_field"):
        made(LEAN, {"no_such_field": 1})


def test_arguments_by_position_are_taken():
    metadata = object.__new__(ElementMetadata)
    LEAN(metadata, "mail.eml", None, 3)
    assert list(metadata.__dict__.items()) == [("attached_to_filename", "mail.eml"), ("category_depth", 3)]
