"""unstructured's classification of a text, with the same answers and as little work as each of them takes.

Is it a narrative, is it a title? unstructured (0.27.35) has spaCy do everything to a text first (5.5 ms for a paragraph), and asks then.
Here the questions come in the order of their price, and most texts are decided by the first ones:

    letters          1 µs    whether half of the characters are letters
    capitals        10 µs    whether half of the words are capitalised: two counts bound the share for most prose (`words`)
    verbs          0.2 ms    whether there is a verb: the tagger over the first words (`verbs`); for all texts of a document together
    sentences        4 ms    whether there are two sentences: parsed only where there are words enough for two (`sentences`)

unstructured asks for the sentences first, because capitals do not count in a text of two; but when most words are not capitalised,
they do not matter.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from unstructured.nlp.patterns import ENDS_IN_PUNCT_RE
from unstructured.partition import text_type

from transforms.partition.acceleration.sentences import Sentences
from transforms.partition.acceleration.verbs import Verbs
from transforms.partition.acceleration.words import Words, under_non_alpha_ratio

NARRATIVE_SENTENCE = 3
"""Words that a sentence has at least, to unstructured, when it asks for a narrative."""

EXPECTED = 20_000
"""Texts of one document that are classified together at most, before the partitioner asks for the first of them."""

Languages = Sequence[str]


@dataclass
class Classifier:
    """Has the functions of `unstructured.partition.text_type` for one spaCy pipeline, and the same for many texts at a time."""

    words: Words
    verbs: Verbs
    sentences: Sentences
    _expected: dict[str, bool] = field(default_factory=dict)
    """Narrative or not, for texts that will be asked for; replaced with each document."""

    @classmethod
    def of(cls, nlp: Any) -> "Classifier":
        words = Words(nlp)
        return cls(words, Verbs(nlp, words), Sentences(nlp, words))

    def expect(self, texts: Iterable[str]) -> None:
        """Classifies texts together that `is_possible_narrative_text` will be asked for one by one, with its default arguments.

        It is asked later in the same partitioning, by the same process: the answers depend on the text and on the environment alone.
        Which texts are given here is of no consequence, but for the time that it takes.
        """
        wanted = list(dict.fromkeys(str(text) for text in texts))[:EXPECTED]
        self._expected = dict(zip(wanted, self.are_narratives(wanted), strict=True))

    def is_possible_narrative_text(
        self,
        text: str,
        cap_threshold: float = 0.5,
        non_alpha_threshold: float = 0.5,
        languages: Languages = ("eng",),
        language_checks: bool = False,
    ) -> bool:
        """As `unstructured.partition.text_type.is_possible_narrative_text`."""
        if self._expected and (cap_threshold, non_alpha_threshold, [*languages], language_checks) == (0.5, 0.5, ["eng"], False):
            known = self._expected.get(text)
            if known is not None:
                return known
        return self.are_narratives([text], cap_threshold, non_alpha_threshold, languages, language_checks)[0]

    def are_narratives(
        self,
        texts: Sequence[str],
        cap_threshold: float = 0.5,
        non_alpha_threshold: float = 0.5,
        languages: Languages = ("eng",),
        language_checks: bool = False,
    ) -> list[bool]:
        """`is_possible_narrative_text` of many texts."""
        language_checks = _environment_flag("UNSTRUCTURED_LANGUAGE_CHECKS", language_checks)
        english = "eng" in languages
        cap_threshold = float(os.environ.get("UNSTRUCTURED_NARRATIVE_TEXT_CAP_THRESHOLD", cap_threshold))
        non_alpha_threshold = float(os.environ.get("UNSTRUCTURED_NARRATIVE_TEXT_NON_ALPHA_THRESHOLD", non_alpha_threshold))
        open_ones = [
            number
            for number, text in enumerate(texts)
            if text
            and not text.isnumeric()
            and not (english and language_checks and not text_type.contains_english_word(text))
            and not under_non_alpha_ratio(text, non_alpha_threshold)
        ]
        capital = [number for number in open_ones if self._is_capital(texts[number], cap_threshold)]
        answers = [False] * len(texts)
        # A text of capitals is a narrative when it has two sentences, with a verb or without.
        self._answer(answers, texts, capital)
        rest = sorted(set(open_ones) - set(capital))
        if not english:
            for number in rest:
                answers[number] = True
            return answers
        for number, has_verb in zip(rest, self.verbs.contain_verb([str(texts[number]) for number in rest]), strict=True):
            answers[number] = has_verb
        self._answer(answers, texts, [number for number in rest if not answers[number]])
        return answers

    def _answer(self, answers: list[bool], texts: Sequence[str], numbers: Sequence[int]) -> None:
        two = self.sentences.are_two([str(texts[number]) for number in numbers], NARRATIVE_SENTENCE)
        for number, is_two in zip(numbers, two, strict=True):
            answers[number] = is_two

    def _is_capital(self, text: str, threshold: float) -> bool:
        return text.isupper() or self.words.exceed_capital_share(str(text), threshold)

    def exceeds_cap_ratio(self, text: str, threshold: float = 0.5) -> bool:
        """As `unstructured.partition.text_type.exceeds_cap_ratio`."""
        return self._is_capital(text, threshold) and not self.sentences.are_two([str(text)], NARRATIVE_SENTENCE)[0]

    def contains_verb(self, text: str) -> bool:
        """As `unstructured.partition.text_type.contains_verb`."""
        return self.verbs.contain_verb([str(text)])[0]

    def is_possible_title(
        self,
        text: str,
        sentence_min_length: int = 5,
        title_max_word_length: int = 12,
        non_alpha_threshold: float = 0.5,
        languages: Languages = ("eng",),
        language_checks: bool = False,
    ) -> bool:
        """As `unstructured.partition.text_type.is_possible_title`."""
        language_checks = _environment_flag("UNSTRUCTURED_LANGUAGE_CHECKS", language_checks)
        if not text or (text.isupper() and ENDS_IN_PUNCT_RE.search(text) is not None):
            return False
        if len(text.split(" ")) > int(os.environ.get("UNSTRUCTURED_TITLE_MAX_WORD_LENGTH", title_max_word_length)):
            return False
        if under_non_alpha_ratio(text, float(os.environ.get("UNSTRUCTURED_TITLE_NON_ALPHA_THRESHOLD", non_alpha_threshold))):
            return False
        if text.endswith(",") or text.isnumeric():
            return False
        if "eng" in languages and language_checks and not text_type.contains_english_word(text):
            return False
        if not sentence_min_length:  # every sentence counts, whatever its length: nobody asks for it
            return int(text_type.sentence_count(text, sentence_min_length)) <= 1
        return not self.sentences.are_two([str(text)], sentence_min_length)[0]


def _environment_flag(name: str, default: bool) -> bool:
    value = os.environ.get(name)
    return default if value is None else value.lower() == "true"
