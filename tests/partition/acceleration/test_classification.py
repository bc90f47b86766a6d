from contextlib import contextmanager

import pytest
from generated_texts import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from unstructured.partition import text_type

from transforms.partition.acceleration.words import under_non_alpha_ratio

thresholds = st.sampled_from((-1.0, 0.0, 0.2, 0.5, 0.75, 1.0, 1.5))


@pytest.mark.parametrize("name", ["is_possible_narrative_text", "is_possible_title", "exceeds_cap_ratio", "contains_verb"])
def test_every_function_answers_as_unstructured_does(classifier, name):
    @settings(max_examples=250)
    @given(texts)
    def compare(text):
        assert getattr(classifier, name)(text) == getattr(text_type, name)(text)

    compare()


@settings(max_examples=2000)
@given(texts, thresholds)
def test_the_share_of_letters_is_compared_as_unstructured_does(text, threshold):
    assert under_non_alpha_ratio(text, threshold) == text_type.under_non_alpha_ratio(text, threshold)


def test_arguments_mean_the_same(classifier):
    @settings(max_examples=200)
    @given(texts, thresholds, thresholds, st.sampled_from((["eng"], ["deu"], ["deu", "eng"], [""], [])), st.booleans(), st.integers(0, 6))
    def compare(text, capitals, letters, languages, checks, words):
        arguments = (text, capitals, letters, languages, checks)
        assert classifier.is_possible_narrative_text(*arguments) == text_type.is_possible_narrative_text(*arguments)
        arguments = (text, words, 2 * words, letters, languages, checks)
        assert classifier.is_possible_title(*arguments) == text_type.is_possible_title(*arguments)
        assert classifier.exceeds_cap_ratio(text, capitals) == text_type.exceeds_cap_ratio(text, capitals)

    compare()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("UNSTRUCTURED_LANGUAGE_CHECKS", "True"),
        ("UNSTRUCTURED_LANGUAGE_CHECKS", "no"),
        ("UNSTRUCTURED_NARRATIVE_TEXT_CAP_THRESHOLD", "0.1"),
        ("UNSTRUCTURED_NARRATIVE_TEXT_NON_ALPHA_THRESHOLD", "0.9"),
        ("UNSTRUCTURED_TITLE_MAX_WORD_LENGTH", "3"),
        ("UNSTRUCTURED_TITLE_NON_ALPHA_THRESHOLD", "0.95"),
    ],
)
def test_thresholds_of_the_environment_are_honoured(classifier, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    narratives, titles = set(), set()

    @settings(max_examples=60)
    @given(texts)
    def compare(text):
        narratives.add(classifier.is_possible_narrative_text(text))
        assert classifier.is_possible_narrative_text(text) == text_type.is_possible_narrative_text(text)
        titles.add(classifier.is_possible_title(text))
        assert classifier.is_possible_title(text) == text_type.is_possible_title(text)

    compare()
    assert len(titles) == 2, "these texts show no difference"


def test_many_texts_together_have_the_answers_of_each_alone(classifier):
    @settings(max_examples=25)
    @given(st.lists(texts, max_size=30))
    def compare(many):
        assert classifier.are_narratives(many) == [text_type.is_possible_narrative_text(text) for text in many]

    compare()


def test_expected_texts_are_not_classified_again(classifier, monkeypatch):
    classifier.expect(["The company paid a dividend.", "Risk Factors"])
    monkeypatch.setattr(type(classifier.verbs), "contain_verb", lambda *_: pytest.fail("was classified again"))
    assert classifier.is_possible_narrative_text("The company paid a dividend.") is True
    assert classifier.is_possible_narrative_text("Risk Factors") is False


def test_expected_texts_count_only_for_the_arguments_that_they_were_classified_with(classifier):
    text = "Chief Executive Officer Of The Company resigned yesterday."
    classifier.expect([text])
    assert classifier.is_possible_narrative_text(text) is False
    assert classifier.is_possible_narrative_text(text, cap_threshold=1.0) is True


@contextmanager
def _short_texts(model, length):
    whole, model.max_length = model.max_length, length
    try:
        yield
    finally:
        model.max_length = whole


def test_a_text_that_spacy_would_refuse_is_cut_as_unstructured_cuts_it(classifier, model):
    """unstructured cuts a text at a million characters; here at 60, which takes less time to compare."""

    def compare(text):
        for name in ("is_possible_narrative_text", "is_possible_title", "exceeds_cap_ratio", "contains_verb"):
            assert getattr(classifier, name)(text) == getattr(text_type, name)(text), (name, text)

    from unstructured.nlp import tokenize

    with _short_texts(model, 60):
        for cache in (tokenize._process_cached, tokenize.word_tokenize, tokenize.pos_tag, tokenize._tokenize_for_cache):
            cache.cache_clear()
        compare("Annual Report Of The Company And Its Subsidiaries For The Year they ended and paid.")
        compare("ANNUAL REPORT OF THE COMPANY. AND ITS SUBSIDIARIES WERE SOLD. FOR A LOT OF MONEY.")
        compare("x" * 59 + " paid " * 20)
        compare("The quick " * 20)


def test_a_text_of_a_million_characters_is_answered_at_once(classifier):
    assert classifier.is_possible_narrative_text("The company paid a dividend to its shareholders. " * 20_000) is True
    assert classifier.is_possible_narrative_text("1234 - " * 150_000) is False
