import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from transforms.provenance.iris import percent_encode_segment, repair_iri

anything = st.text(st.characters(exclude_categories=()))
# Dense in what has a meaning in an IRI, so that each rule is met.
iri_like = st.tuples(
    st.sampled_from(["http:", "urn:", "file:", "s3:", "a+b.c-1:"]),
    st.sampled_from(["", "/", "//"]),
    st.text(st.sampled_from(':/?#[]@%4fzZ é\ue000\U0001f600\ufffe\ud800\\<>"{}|^`\n\x00&=+1.-'), max_size=12),
).map("".join)


def is_iri(text):
    try:
        NamedNode(text)
    except ValueError:
        return False
    return True


@given(st.one_of(iri_like, anything, anything.map("x:".__add__)))
@example("http://[::1]:80/")
@example("http://[::1")
@example("http://a:b:c@[x]:1:2/")
@example("http://1:2:3")
@example("http://[fe80::1%25eth0]/")
@example("x:#a#b")
@example("\u200ex:a")
def test_a_repaired_iri_is_an_iri_and_needs_no_repair(text):
    iri = repair_iri(text)

    if iri is None:
        assert not is_iri(text)
    else:
        assert is_iri(iri)
        assert repair_iri(iri) == iri


@given(st.one_of(iri_like, anything.map("x:".__add__)))
def test_an_iri_is_left_as_it_is(text):
    private_use = re.search("[\ue000-\uf8ff\U000f0000-\U0010fffd]", text)
    if is_iri(text) and not private_use:
        assert repair_iri(text) == text


@pytest.mark.parametrize(
    ("text", "iri"),
    [
        ("https://trustgraph.ai/doc/1", "https://trustgraph.ai/doc/1"),
        ("urn:page:0", "urn:page:0"),
        ("file:///a b/c[1].pdf", "file:///a%20b/c%5B1%5D.pdf"),
        ("file:///50%.pdf", "file:///50%25.pdf"),
        ("file:///50%25.pdf", "file:///50%25.pdf"),
        ("https://example.org/é?q=ü#§", "https://example.org/é?q=ü#§"),
        ("https://example.org/<script>", "https://example.org/%3Cscript%3E"),
        ("s3://bucket/a#b#c", "s3://bucket/a#b%23c"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("http://[fe80::1%25eth0]/", "http://%5Bfe80%3A%3A1%25eth0%5D/"),
        ("http://[nonsense]/a", "http://%5Bnonsense%5D/a"),
        ("http://me@example.org:x/", "http://me@example.org%3Ax/"),
        ("urn:a\ud800", "urn:a%ED%A0%80"),
        ("", None),
        ("no scheme", None),
        ("/path/to/a.pdf", None),
        ("1:a", None),
        (" urn:a", None),
    ],
)
def test_repairs(text, iri):
    assert repair_iri(text) == iri


@given(anything)
def test_a_segment_stays_one(text):
    segment = percent_encode_segment(text)

    assert "/" not in segment
    assert is_iri("https://example.org/" + segment)
