"""What can be said about a text's words without tokenizing it, or without tokenizing all of it.

spaCy's tokenizer (3.8) divides a text at white space and each piece by itself, in 1 to 3 µs a token, and a Doc of a long paragraph costs
more than the answer is worth: unstructured asks whether most words are capitalised, and whether one of them is a verb.
"""

import re
from typing import Any

from spacy.attrs import IS_ALPHA, IS_TITLE, IS_UPPER

_LETTERS = re.compile(r"[^\W\d_]+")
_CAPITAL_SHARES = (IS_ALPHA, IS_TITLE, IS_UPPER)


class Words:
    """The tokenizer of a spaCy pipeline, asked for as little as possible."""

    def __init__(self, nlp: Any) -> None:
        self._nlp = nlp
        self._runs = "\n".join(sorted({run for rule in nlp.tokenizer.rules for run in _LETTERS.findall(rule)}))

    def limited(self, text: str) -> str:
        """A text cut where unstructured (0.27.35, `_run_pipeline`) cuts it: spaCy refuses more than a million characters."""
        limit = self._nlp.max_length
        if len(text) <= limit:
            return text
        cut = text.rfind(" ", max(0, limit - 256), limit)
        return text[: cut if cut != -1 else limit]

    def tokens(self, text: str) -> Any:
        """The Doc of a text, tokenized only."""
        return self._nlp.make_doc(text)

    def first_tokens(self, text: str, characters: int) -> tuple[Any, bool]:
        """The Doc of a text's beginning, and whether that is the whole text.

        Its tokens are exactly the first ones of the whole text's Doc, spaces included. The tokenizer works on each piece between white
        space by itself, with one exception: after that it looks for its special cases ("a.m.", ":-)") in the sequence of tokens, and a
        match may reach over white space. So the cut is made behind a word of letters that is part of no special case: no match that
        begins before such a word ends after it.

        Args:
          characters: about as many as are wanted; more are taken where there is no place to cut.
        """
        cut = self._cut(text, characters)
        return (self._nlp.make_doc(text), True) if cut is None else (self._nlp.make_doc(text[:cut]), False)

    def _cut(self, text: str, characters: int) -> int | None:
        """Where a text may be cut at or after so many characters: behind a single blank; None: nowhere."""
        start = characters
        while 0 < (blank := text.find(" ", start)) < len(text) - 1:
            before = text[max(0, blank - 32) : blank].split(" ")[-1]
            word = before.isalpha() and len(before) < 32 and before not in self._runs
            if word and not text[blank + 1].isspace():
                return blank + 1
            start = blank + 1
        return None

    def exceed_capital_share(self, text: str, threshold: float) -> bool:
        """Whether more than `threshold` of the words of letters are capitalised; also if there are none.

        Most prose is decided by two counts, 10 µs in place of 100: a capitalised word has at least one capital letter of its own, so
        there are at most C of them, C the number of capitals; and each lower-case piece of nothing but letters is at least one word that
        is not. So the share is at most C / (C + pieces), and where that is not over the threshold the tokenizer is not needed.
        """
        text = self.limited(text)
        capitals = sum(map(str.istitle, text))  # of a single character, `istitle` is true for capitals and for titlecase digraphs
        if capitals:
            lower = sum(map(str.islower, filter(str.isalpha, text.split())))
            if lower and capitals / (capitals + lower) <= threshold:
                return False
        doc = self.tokens(text)
        if not len(doc):
            return True
        flags = doc.to_array(_CAPITAL_SHARES).astype(bool)
        words = flags[:, 0]
        total = int(words.sum())
        if not total:
            return True
        return int((words & (flags[:, 1] | flags[:, 2])).sum()) / total > threshold


_ASCII_LETTERS = bytes(range(65, 91)) + bytes(range(97, 123))
_ASCII_NOT_LETTERS = bytes(set(range(128)) - set(_ASCII_LETTERS))
_ASCII_SPACES = bytes(number for number in range(128) if chr(number).isspace())


def under_non_alpha_ratio(text: str, threshold: float = 0.5) -> bool:
    """Whether less than `threshold` of a text's characters, white space apart, are letters; no for a text of nothing else.

    What unstructured's function of that name (0.27.35) counts in a loop, 20 times as fast.
    """
    if text.isascii():
        data = text.encode("ascii")
        letters = len(data.translate(None, _ASCII_NOT_LETTERS))
        total = len(data.translate(None, _ASCII_SPACES))
    else:
        letters = sum(map(str.isalpha, text))
        total = len("".join(text.split()))
    return letters / total < threshold if total > 0 else False
