import langdetect
import pytest
from generated_texts import texts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langdetect.detector import Detector
from langdetect.utils.ngram import NGram

from transforms.partition.acceleration import languages


@pytest.fixture(autouse=True)
def _seed(monkeypatch):
    monkeypatch.setattr(langdetect.DetectorFactory, "seed", 0)


def detected(detect, text):
    """Languages with their probabilities to the last bit, or the exception."""
    try:
        return [(found.lang, found.prob) for found in detect(text)]
    except langdetect.LangDetectException as error:
        return error.code, str(error)


@settings(max_examples=150)
@given(texts)
@example("")
@example(" ")
@example("12345 !!!")
@example("USA NATO UNO " * 3)
@example("Tiếng Việt là ngôn ngữ. Tie\u0302\u0301ng Vie\u0323\u0302t")
@example("Besuchen Sie https://example.org/ein/langer/pfad?x=1 oder schreiben Sie an jemand@example.org, danke sehr.")
@example("mixed 東京都は日本の首都です。人口は約1400万人です。 English words here and there")
def test_languages_and_probabilities_are_langdetect_s(text):
    assert detected(languages.detect_langs, text) == detected(langdetect.detect_langs, text)


@settings(max_examples=10)
@given(st.lists(texts, min_size=20, max_size=60).map(" ".join), st.integers(1, 3))
def test_a_text_that_is_longer_than_is_read(text, times):
    long = (text + " ") * (times * 10_000 // (len(text) + 1) + 1)
    assert detected(languages.detect_langs, long) == detected(langdetect.detect_langs, long)


@settings(max_examples=300)
@given(texts)
def test_the_n_grams_are_langdetect_s(text):
    langdetect.detect("warm")
    ours, theirs = languages._Detector(langdetect.detector_factory._factory), Detector(langdetect.detector_factory._factory)
    for detector in (ours, theirs):
        detector.append(text)
        detector.cleaning_text()
    assert ours.text == theirs.text
    assert ours._extract_ngrams() == theirs._extract_ngrams()


def test_every_character_counts_for_the_script_that_langdetect_takes_it_for():
    """A Latin text goes when there is twice as much of other scripts in it; what counts as other is asked for each character."""
    langdetect.detect("warm")
    factory = langdetect.detector_factory._factory
    for start in range(0, 0x2100, 0x40):
        text = "".join(map(chr, range(start, start + 0x40)))
        for latin in ("", "a" * 16):
            ours, theirs = languages._Detector(factory), Detector(factory)
            ours.text = theirs.text = text + latin
            ours.cleaning_text()
            theirs.cleaning_text()
            assert ours.text == theirs.text


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(languages, "KEPT_WORDS", 10)
    monkeypatch.setattr(languages, "KEPT_GRAMS", 10)
    monkeypatch.setattr(languages, "KEPT_CHARACTERS", 10)
    languages._normal.clear()
    languages._probabilities.clear()
    text = "Die Gesellschaft hat im Geschäftsjahr einen größeren Gewinn erzielt als in allen Jahren davor, sagte der Vorstand."
    for _ in range(3):
        assert detected(languages.detect_langs, text) == detected(langdetect.detect_langs, text)
    assert len(languages._probabilities) <= 11
    assert len(languages._normal) <= 10


def test_the_normal_form_of_a_character_is_langdetect_s():
    assert [languages._normal[code] for code in range(0x20, 0x500)] == [NGram.normalize(chr(code)) for code in range(0x20, 0x500)]
