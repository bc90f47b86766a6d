"""What a sentence about a mistake is made of: the words that can be used, and the one that was meant."""

import difflib
from collections.abc import Iterable, Sequence


def nearest(word: str, words: Iterable[str]) -> str:
    """The entry of `words` that `word` was most likely meant to be; empty when none is near."""
    spelled: dict[str, str] = {}
    for known in words:
        spelled.setdefault(known.lower().replace("_", "-"), known)
    found = difflib.get_close_matches(word.lower().replace("_", "-"), spelled, n=1, cutoff=0.7)
    return spelled[found[0]] if found else ""


def enumerate_words(words: Sequence[str], conjunction: str = "or") -> str:
    """`a, b or c`, for sentences."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"
