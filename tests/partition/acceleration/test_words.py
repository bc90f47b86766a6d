import pytest
from generated_texts import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from unstructured.partition import text_type

from transforms.partition.acceleration.words import Words


@pytest.fixture(scope="module")
def words(model):
    return Words(model)


def facts(doc):
    return [(token.text, token.norm, token.shape, token.whitespace_) for token in doc]


def test_the_tokens_of_a_beginning_are_the_first_tokens_of_the_whole(words, model):
    cuts = []

    @settings(max_examples=600)
    @given(texts, st.integers(0, 80))
    def compare(text, characters):
        beginning, whole = words.first_tokens(text, characters)
        assert facts(beginning) == facts(model.make_doc(text))[: len(beginning)]
        assert not whole or len(beginning) == len(model.make_doc(text))
        cuts.append(not whole)

    compare()
    assert sum(cuts) > 100, "most of these texts were never cut"


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("one two three four", "one two "),
        ("one two  three four", "one two  three "),  # not before two blanks: the second is a token of its own
        ("one two, three four", "one two, three "),  # not behind punctuation, which special cases are made of
        ("one gonna three four", "one gonna three "),  # nor behind a special case
        ("one two", None),
        ("onetwo", None),
    ],
)
def test_a_text_is_cut_behind_a_plain_word(words, text, beginning):
    doc, whole = words.first_tokens(text, 5)
    assert whole is (beginning is None)
    assert doc.text_with_ws == (beginning or text)


def test_prose_is_decided_without_the_tokenizer(words, monkeypatch):
    monkeypatch.setattr(Words, "tokens", lambda *_: pytest.fail("was tokenized"))
    assert words.exceed_capital_share("The company paid a dividend to its shareholders.", 0.5) is False


@pytest.mark.parametrize(
    ("text", "threshold", "expected"),
    [
        ("", 0.5, True),
        ("123 45%", 0.5, True),  # no word at all
        ("A1 B2", 1.0, True),  # capitals, but no word of letters
        ("Risk factors", 0.5, False),  # just half
        ("Risk Factors here", 0.5, True),
        ("東京都 は", 0.0, False),
        ("東京都 は", -0.5, True),
    ],
)
def test_the_share_of_capitals(words, text, threshold, expected):
    assert words.exceed_capital_share(text, threshold) is expected
    assert text_type.exceeds_cap_ratio(text, threshold) is expected
