"""langdetect, which unstructured asks for the language of every document, in a fifth of its time and with the same result to the last bit.

langdetect (1.0.9) draws some hundred n-grams of a text at random, from a fixed seed, and multiplies the probabilities of 55 languages by
those of each, one by one, in Python: 20 ms for a document that else takes 5. Here are the same random numbers and the same products and
quotients of 64-bit floats in the same order; but a product is one of arrays, and the n-grams of a word are those of its last occurrence.
"""

import re
from typing import Any

import numpy as np
from langdetect import detector_factory
from langdetect.detector import Detector
from langdetect.lang_detect_exception import ErrorCode, LangDetectException
from langdetect.utils.ngram import NGram
from numpy.typing import NDArray

KEPT_WORDS = 20_000
"""Words whose n-grams are kept, about 300 bytes each: 6 MB."""

KEPT_GRAMS = 8_000
"""N-grams whose 55 probabilities are kept as an array, 550 bytes each: 4 MB."""

KEPT_CHARACTERS = 70_000
"""Characters whose normal form is kept."""

BLANKS = re.compile("  +")
LATIN = re.compile("[A-z]")
NOT_LATIN = re.compile("[\u0300-\U0010ffff]")
"""Latin Extended Additional too: langdetect means to leave it out, but compares the number of its block with its name (1.0.9)."""

Probabilities = NDArray[np.float64]


def detect_langs(text: str) -> list[Any]:
    """As `langdetect.detect_langs`."""
    detector_factory.init_factory()
    detector = _Detector(detector_factory._factory)
    detector.append(text)
    found: list[Any] = detector.get_probabilities()
    return found


class _NormalCharacters(dict[int, str]):
    """For `str.translate`: the form in which langdetect takes a character."""

    def __missing__(self, code: int) -> str:
        if len(self) >= KEPT_CHARACTERS:
            self.clear()
        normal: str = NGram.normalize(chr(code))
        self[code] = normal
        return normal


_normal = _NormalCharacters()
_grams_of_words: dict[str, tuple[str, ...]] = {}
_probabilities: dict[str, Probabilities] = {}


class _Detector(Detector):  # type: ignore[misc]
    """langdetect's own, its loops replaced."""

    text: str

    def append(self, text: str) -> None:
        text = NGram.normalize_vi(self.MAIL_RE.sub(" ", self.URL_RE.sub(" ", text)))
        self.text += BLANKS.sub(" ", text[: self.max_text_length])

    def cleaning_text(self) -> None:
        if self.text.isascii():
            return
        latin, other = len(LATIN.findall(self.text)), len(NOT_LATIN.findall(self.text))
        if latin * 2 < other:
            self.text = LATIN.sub("", self.text)

    def _extract_ngrams(self) -> list[str]:
        """A word's n-grams follow from the word and whether a blank follows: the buffer of n-grams begins anew with each word."""
        if len(_grams_of_words) > KEPT_WORDS:
            _grams_of_words.clear()
        grams: list[str] = []
        words = self.text.translate(_normal).split(" ")
        last = words.pop()
        for word in words:
            if word:
                known = _grams_of_words.get(word)
                if known is None:
                    known = _grams_of_words[word] = tuple(self._grams(word + " "))
                grams += known
        return grams + self._grams(last)

    def _grams(self, word: str) -> list[str]:
        """The n-grams of a word in normal form, as langdetect's loop finds them."""
        grams: list[str] = []
        known = self.word_lang_prob_map
        buffer, last, capitals = " ", " ", False
        for character in word:
            if len(buffer) >= NGram.N_GRAM:
                buffer = buffer[1:]
            buffer += character
            capitals = character.isupper() and (capitals or last.isupper())
            last = character
            if not capitals:
                if character != " " and character in known:
                    grams.append(character)
                if buffer[-2:] in known:
                    grams.append(buffer[-2:])
                if len(buffer) == NGram.N_GRAM and buffer in known:
                    grams.append(buffer)
        return grams

    def _detect_block(self) -> None:
        self.cleaning_text()
        grams = self._extract_ngrams()
        if not grams:
            raise LangDetectException(ErrorCode.CantDetectError, "No features in text.")
        total = [0.0] * len(self.langlist)
        self.random.seed(self.seed)
        for _ in range(self.n_trial):
            trial = self._trial(grams, self.alpha + self.random.gauss(0.0, 1.0) * self.ALPHA_WIDTH)
            total = [before + share / self.n_trial for before, share in zip(total, trial, strict=True)]
        self.langprob = total

    def _trial(self, grams: list[str], alpha: float) -> list[float]:
        weight = alpha / self.BASE_FREQ
        shares = np.array(self._init_probability())
        for drawn in range(self.ITERATION_LIMIT + 1):
            shares *= self._of(self.random.choice(grams)) + weight
            if drawn % 5 == 0:
                # `sum` of a list, not numpy's: they add in another order, and the last bits would differ.
                shares /= sum(shares.tolist())
                if shares.max() > self.CONV_THRESHOLD:
                    break
        done: list[float] = shares.tolist()
        return done

    def _of(self, gram: str) -> Probabilities:
        found = _probabilities.get(gram)
        if found is None:
            if len(_probabilities) > KEPT_GRAMS:
                _probabilities.clear()
            found = _probabilities[gram] = np.array(self.word_lang_prob_map[gram])
        return found
