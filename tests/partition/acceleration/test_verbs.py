import re

import numpy as np
import pytest
from generated_texts import texts
from hypothesis import given, settings

from transforms.partition.acceleration import verbs
from transforms.partition.acceleration.verbs import MARGIN, UnknownModelError, Verbs
from transforms.partition.acceleration.words import Words


@pytest.fixture(scope="module")
def finder(model):
    return Verbs(model, Words(model))


def scores_of_spacy(model, text):
    doc = model.get_pipe("tok2vec")(model.make_doc(text))
    return model.get_pipe("tagger").model.predict([doc])[0]


def test_the_scores_of_windows_are_those_of_the_whole_text(finder, model):
    @settings(max_examples=300)
    @given(texts.filter(bool))
    def compare(text):
        expected = scores_of_spacy(model, text)
        found = finder.scores(text)
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() < MARGIN / 20

    compare()


def test_a_window_needs_as_many_neighbours_as_it_takes(finder, model, monkeypatch):
    """With a reach of one word less the scores are others: the windows are as narrow as they can be."""
    monkeypatch.setattr(finder._layers, "reach", finder._layers.reach - 1)
    text = "Prices rose in the third quarter of the year because of a long and unusually cold winter in the north of the country"
    with pytest.raises(ValueError, match="broadcast"):
        np.abs(finder.scores(text) - scores_of_spacy(model, text))


def test_a_verb_is_found_wherever_it_stands(finder):
    filler = "the big red house of the old man in the north "
    assert finder.contain_verb([filler * n + "said" for n in range(9)]) == [True] * 9
    assert finder.contain_verb([filler * n for n in range(9)]) == [False] * 9


def test_only_the_beginning_of_a_long_text_is_read(finder, monkeypatch):
    read = []
    original = Words.first_tokens
    monkeypatch.setattr(Words, "first_tokens", lambda self, *a: read.append(original(self, *a)) or read[-1])
    assert finder.contain_verb(["He paid the price for the house in the north of the country. " * 1000]) == [True]
    assert sum(len(doc) for doc, _ in read) < 40


def test_capitals_are_read_in_lower_case(finder):
    assert finder.contain_verb(["THE COMPANY PAID A DIVIDEND", "The company PAID a dividend"]) == [True, True]


def test_where_two_scores_are_close_spacy_is_asked(finder, monkeypatch):
    asked = []
    original = Verbs._ask_spacy
    monkeypatch.setattr(Verbs, "_ask_spacy", lambda self, text: asked.append(text) or original(self, text))
    monkeypatch.setattr(verbs, "MARGIN", 1000.0)
    assert finder.contain_verb(["He paid.", "The house", ""]) == [True, False, False]
    assert asked == ["He paid.", "The house"]


def test_embeddings_are_forgotten_when_there_are_too_many(finder, monkeypatch):
    monkeypatch.setattr(verbs, "EMBEDDINGS", 20)
    many = [f"word{number} was written" for number in range(300)]
    assert finder.contain_verb(many) == [True] * 300
    assert finder.contain_verb(["He paid."]) == [True]
    assert len(finder._embeddings._numbers) < 20


def test_another_architecture_is_refused(model, monkeypatch):
    config = model.config.copy()
    config["components"]["tok2vec"]["model"]["encode"]["window_size"] = 2
    monkeypatch.setattr(type(model), "config", property(lambda _: config))
    with pytest.raises(UnknownModelError, match=re.escape("spacy.MaxoutWindowEncoder.v2")):
        Verbs(model, Words(model))
