"""What an element contributes to a text, and how pieces become the text of a page or section with exact offsets.

One place decides whether an element has a place in a text at all: strategies, offsets, counts and element types follow it.
"""

import html
import re
from collections.abc import Iterable

from transforms.model import AssembledText, Element, Span

SEPARATOR = "\n\n"
"""A blank line: between the elements of a text, and between the texts of a document."""

PLACELESS_CATEGORIES = frozenset({"Image", "PageBreak"})
"""Never in a text: there is no image pipeline yet, and what OCR reads in a picture would make false facts. Source: spec, section 5."""

_TABLE_TAG = re.compile(r"<table[\s>]")
_TAG = re.compile(r"<[^<>]*>")
# As an attribute's value, a data URI ends at the closing quote. Anywhere else, at the first character that base64 (percent-encoded or
# URL-safe, too) does not have; a wrapped payload goes on after white space only into a run of 40: the words after a payload are not of
# it. Bounded and possessive: a text that only looks like many data URIs costs no more than a long one.
_DATA_URI = re.compile(
    r"""(?<==["'])data:[^"',\s]{0,200};base64,[A-Za-z0-9+/=%_\s-]*+(?=["'])"""
    r"""|\bdata:[^"',\s]{0,200};base64,(?:[A-Za-z0-9+/=%_-]|\s{1,4}(?=[A-Za-z0-9+/=%_-]{40}))*+""",
)


def emitted_piece(element: Element) -> str:
    """The element's contribution to the text of its page or section.

    Args:
      element: any; its text and HTML are taken as they are, only embedded `data:…;base64,…` URIs are cut out, and lone surrogates,
        which no UTF-8 file can hold, become U+FFFD.
    Returns:
      The text, or a table's HTML, or "" for what has no place in a text: images, page breaks, nothing but white space.
      A table without HTML gives its escaped text inside a `<table>` marker.
    Source: spec, section 4.
    """
    if element.category in PLACELESS_CATEGORIES:
        return ""
    piece = _table_piece(element) if element.category == "Table" else _clean(element.text)
    return piece if piece.strip() else ""


def assemble_text(elements: Iterable[Element]) -> AssembledText:
    """Joins the elements of one page or section into its text.

    Args:
      elements: in reading order.
    Returns:
      The text, and a span for each element that has a place in it: `text[span.offset:span.offset + span.length]` is the element's
      piece, exactly, and the pieces joined by `SEPARATOR` are the text.
    Source: spec, section 4.
    """
    pieces: list[str] = []
    spans: list[Span] = []
    offset = 0
    for element in elements:
        piece = emitted_piece(element)
        if piece:
            pieces.append(piece)
            spans.append(Span(element, offset, len(piece)))
            offset += len(piece) + len(SEPARATOR)
    return AssembledText(SEPARATOR.join(pieces), spans)


def _table_piece(element: Element) -> str:
    markup = _clean(element.html)
    text = _clean(element.text)
    if _TABLE_TAG.search(markup) and (text.strip() or html.unescape(_TAG.sub(" ", markup)).strip()):
        return markup
    return f"<table>{html.escape(text, quote=False)}</table>" if text.strip() else ""


def _clean(text: str) -> str:
    if ";base64," in text:  # a find is 50 times as fast as the pattern, and most texts have none
        text = _DATA_URI.sub("", text)
    try:
        text.encode()
    except UnicodeEncodeError:
        # By way of UTF-16, so that the two halves of a pair become their character.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
