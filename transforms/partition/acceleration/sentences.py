"""Whether a text has two sentences of so many words, with a parse only where it could.

unstructured (0.27.35) parses every text to ask this (and most texts twice); a parse is three quarters of all the time that spaCy takes.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from unstructured.cleaners.core import remove_punctuation

from transforms.partition.acceleration.words import Words

KEPT = 1024
"""Texts whose sentence lengths are kept: a text that is no narrative is asked again, with another length, whether it is a title."""

KEPT_CHARACTERS = 8192
"""Of the longest text that is kept."""

BATCH_CHARACTERS = 50_000
"""Of texts that are parsed together: 45 % less time than one by one, and a Doc takes about 200 bytes a character while it lives."""


class Sentences:
    """Answers for a spaCy pipeline how long a text's sentences are."""

    def __init__(self, nlp: Any, words: Words) -> None:
        self._words = words
        self._tok2vec, self._parser = nlp.get_pipe("tok2vec"), nlp.get_pipe("parser")
        self._kept: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    def are_two(self, texts: Sequence[str], least: int) -> list[bool]:
        """For each text, whether it has more than one sentence of at least `least` words (more than none: at least 1)."""
        answers = [False] * len(texts)
        open_ones = [number for number, text in enumerate(texts) if self._may_be_two(text, least)]
        for number, lengths in zip(open_ones, self._lengths([texts[number] for number in open_ones]), strict=True):
            answers[number] = sum(length >= least for length in lengths) > 1
        return answers

    def _may_be_two(self, text: str, least: int) -> bool:
        """Whether a text has words enough.

        Two such sentences have 2 · least words, words being what is left between white space when punctuation is gone. Sentences end
        between tokens, and a token may end inside of a word ("end.Next"): so one word of the text, and only one, can be in both of them
        and count twice. With fewer than 2 · least - 1 words there are none; with just so many only if a word has several tokens.
        """
        if len(text.split(None, 2 * least)) < 2 * least - 1:  # no more than is left with punctuation
            return False
        words = len(remove_punctuation(text).split(None, 2 * least))
        if words != 2 * least - 1:
            return words >= 2 * least
        text = self._words.limited(text)
        return sum(not token.is_space for token in self._words.tokens(text)) > len(text.split())

    def _lengths(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """For each text the numbers of words of its sentences, counted as unstructured does."""
        found = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        while missing:
            batch: list[str] = []
            size = 0
            while missing and (not batch or size + len(missing[-1]) <= BATCH_CHARACTERS):
                batch.append(missing.pop())
                size += len(batch[-1])
            found.update(zip(batch, self._parse(batch), strict=True))
        answers = [found[text] for text in texts]
        for text, lengths in found.items():
            if len(text) <= KEPT_CHARACTERS:
                self._kept[text] = lengths
                self._kept.move_to_end(text)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return answers

    def _parse(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        # Only what sentence boundaries depend on: the tagger, a listener of the same layers, changes nothing for the parser.
        docs = [self._words.tokens(self._words.limited(text)) for text in texts]
        filled = [doc for doc in docs if len(doc)]
        if filled:
            self._tok2vec.set_annotations(filled, self._tok2vec.predict(filled))
            self._parser.set_annotations(filled, self._parser.predict(filled))
        return [tuple(_count_words(sentence.text) for sentence in doc.sents) for doc in docs]


def _count_words(sentence: str) -> int:
    return sum(word != "." for word in remove_punctuation(sentence).split())
