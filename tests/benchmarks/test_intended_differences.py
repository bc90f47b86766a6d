"""An intention explains its own difference and no other."""

import pytest
from intended_differences import Outcome, Piece, explain


def outcome(*texts, category="NarrativeText", depth=None, page=None):
    return Outcome(tuple(Piece(category, text, depth, page, "") for text in texts))


@pytest.mark.parametrize(
    ("suffix", "plain", "decoder", "name"),
    [
        (".txt", outcome("a"), outcome("a"), None),
        (".pdf", Outcome(error="ValueError: x"), Outcome(error="DecodeError: Damaged."), "a reason in place of silence"),
        (".pdf", outcome(), outcome("a"), "more is readable"),
        (".csv", outcome("Name 1.5e+06 None"), outcome("Name 1500000", category="Table"), "cells as they are"),
        (".docx", outcome("A", category="Title", depth=0), outcome("A", category="Title", depth=1), "headings of Word documents"),
        (".docx", outcome("one", "two"), outcome("one", "box", "two"), "hidden places of Word documents"),
        (".html", outcome("one"), outcome("one", "caption"), "figures and forms of pages"),
        (".eml", outcome("MIME-Version: 1.0", "Hello, you."), outcome("Hello, you."), "mails in UTF-16"),
        (".txt", outcome("ľe ĺ"), outcome("¾e å"), "Western letters"),
        (".eml", outcome("body", "attached"), outcome("body"), "attachments"),
        (".pdf", outcome("text", "(cid:3)(cid:4)"), outcome("text"), "glyphs without a meaning"),
        (".pdf", outcome("cba", page=1), outcome("abc", page=1), "lines that stand sideways"),
    ],
)
def test_what_is_intended_has_a_name(suffix, plain, decoder, name):
    assert explain((plain, decoder), suffix) == ([name] if name else [], None)


@pytest.mark.parametrize(
    ("suffix", "plain", "decoder"),
    [
        (".txt", outcome("one", "two"), outcome("one")),
        (".txt", outcome("one"), outcome("one", "two")),
        (".docx", outcome("one", "two"), outcome("one")),
        (".docx", outcome("one", "two"), outcome("two", "one")),
        (".docx", outcome("one"), outcome("one", category="ListItem")),
        (".csv", outcome("Name City"), outcome("Name", category="Table")),
        (".eml", outcome("body"), outcome("other")),
        (".eml", outcome("MIME-Version: 1.0", "Hello."), outcome("Hello, you.")),
        (".txt", outcome("ľe ĺ"), outcome("¾e ä a")),
        (".pdf", outcome("abc", page=1), outcome("abd", page=1)),
        (".pdf", outcome("abc", page=1), outcome("abc", page=2)),
        (".md", outcome("a", depth=0, category="Title"), outcome("a", depth=1, category="Title")),
    ],
)
def test_a_loss_is_never_explained(suffix, plain, decoder):
    _, rest = explain((plain, decoder), suffix)
    assert rest is not None
