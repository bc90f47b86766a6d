import pytest
from generated_texts import texts
from hypothesis import given, settings
from hypothesis import strategies as st
from unstructured.partition import text_type

from transforms.partition.acceleration import sentences
from transforms.partition.acceleration.sentences import Sentences
from transforms.partition.acceleration.words import Words


@pytest.fixture
def found(model):
    return Sentences(model, Words(model))


def test_two_sentences_are_two_by_unstructured_s_count(found):
    answers = []

    @settings(max_examples=400)
    @given(texts, st.integers(1, 6))
    def compare(text, least):
        answers.append(found.are_two([text], least)[0])
        assert answers[-1] == (text_type.sentence_count(text, least) > 1)

    compare()
    assert 20 < sum(answers) < len(answers) - 20


def test_many_texts_together_have_the_answers_of_each_alone(found):
    @settings(max_examples=25)
    @given(st.lists(texts, max_size=20))
    def compare(many):
        assert found.are_two(many, 3) == [text_type.sentence_count(text, 3) > 1 for text in many]

    compare()


def test_a_word_that_a_sentence_ends_in_counts_twice(found):
    """Five words between blanks, and two sentences of three."""
    text = "He was here.She was there"
    assert text_type.sentence_count(text, 3) == 2
    assert found.are_two([text], 3) == [True]


@pytest.mark.parametrize("text", ["", "Risk Factors Of This", "one two three four five", "- - - - - - - - one two ."])
def test_a_text_with_too_few_words_is_not_parsed(found, text, monkeypatch):
    monkeypatch.setattr(Sentences, "_parse", lambda *_: pytest.fail("was parsed"))
    assert found.are_two([text], 3) == [False]


def test_a_text_is_parsed_once_for_all_lengths(found, monkeypatch):
    text = "The first sentence is here now. The second sentence is there now."
    assert found.are_two([text, text], 3) == [True, True]
    monkeypatch.setattr(Sentences, "_parse", lambda *_: pytest.fail("was parsed again"))
    assert found.are_two([text], 5) == [True]
    assert found.are_two([text], 7) == [False]


def test_what_is_kept_is_bounded(found, monkeypatch):
    monkeypatch.setattr(sentences, "KEPT", 10)
    monkeypatch.setattr(sentences, "KEPT_CHARACTERS", 60)
    monkeypatch.setattr(sentences, "BATCH_CHARACTERS", 200)
    many = [f"Number {number} is not here. It is with the others." for number in range(40)]
    assert found.are_two([*many, "It is a long way from here to there. " * 3], 3) == [True] * 41
    assert len(found._kept) == 10
    assert max(map(len, found._kept)) <= 60
