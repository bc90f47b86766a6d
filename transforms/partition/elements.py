"""From unstructured's elements to our own: one normal form, whatever partitioner they come from, with identifiers that can be relied on."""

import hashlib
import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from transforms.model import Box, Element, Picture

TITLE = "Title"
TABLE = "Table"
IMAGE = "Image"
LIST_ITEM = "ListItem"
PAGE_BREAK = "PageBreak"
UNPLACED = frozenset({"Header", "Footer", IMAGE, PAGE_BREAK})
"""Categories that stand outside of the outline: they neither open a level nor close one."""

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
"""Lone surrogates cannot be written as UTF-8, nor a zero byte into a database; mails with broken charsets have both."""


def from_unstructured(
    elements: Sequence[Any], *, images: bool = True, resolve: Callable[[str], Picture | None] | None = None
) -> list[Element]:
    """Normalises what an unstructured partitioner gave.

    Args:
      elements: unstructured's, in reading order.
      images: whether pictures are kept.
      resolve: finds the picture of an address that an image has instead of its bytes.
    Returns:
      Ours in the same order, without page breaks. Coordinates are fractions of the page; identifiers and parents are still unstructured's
      (`link_elements` replaces them once the document is whole).
    """
    return [_from_unstructured(element, images, resolve) for element in elements if element.category != PAGE_BREAK]


def _from_unstructured(element: Any, images: bool, resolve: Callable[[str], Picture | None] | None) -> Element:
    metadata = element.metadata
    return Element(
        category=element.category,
        text=clean_text(element.text or _form_text(metadata.key_value_pairs)),
        element_id=str(element.id),
        html=clean_text(metadata.text_as_html or "") if element.category == TABLE else "",
        page_number=metadata.page_number,
        category_depth=metadata.category_depth,
        parent_id=metadata.parent_id or "",
        coordinates=fractions_of_page(metadata.coordinates),
        languages=tuple(metadata.languages or ()),
        picture=_picture(metadata, resolve) if element.category == IMAGE and images else None,
    )


def _form_text(pairs: Any) -> str:
    """A form's keys and values, a line each: an element of the kind FormKeysValues (in a JSON file of elements) has no other text."""
    lines = []
    for pair in pairs if isinstance(pairs, list) else ():
        key, value = (str((pair.get(side) or {}).get("text") or "").strip() for side in ("key", "value"))
        lines.append(f"{key.rstrip(' :')}: {value}".strip())
    return "\n".join(lines)


def clean_text(text: str) -> str:
    """A text without the characters that no output can hold: zero bytes go, lone surrogates become U+FFFD."""
    if not _UNWRITABLE.search(text):
        return text
    return _UNWRITABLE.sub(lambda match: "" if match.group() == "\x00" else "�", text)


def fractions_of_page(coordinates: Any) -> Box | None:
    """unstructured's corner points, in pixels or points of a system with a size, as x0, y0, x1, y1 in fractions of the page.

    Returns:
      The box, cut to the page; None where the element has no place or its system no size.
    """
    if coordinates is None or not coordinates.points or coordinates.system is None:
        return None
    width, height = coordinates.system.width, coordinates.system.height
    if not width or not height:
        return None
    xs = [float(x) / width for x, _ in coordinates.points]
    ys = [float(y) / height for _, y in coordinates.points]
    if coordinates.system.orientation.name == "CARTESIAN":  # its origin is at the bottom left
        ys = [1 - y for y in ys]
    x0, y0, x1, y1 = (round(min(1.0, max(0.0, value)), 6) for value in (min(xs), min(ys), max(xs), max(ys)))
    return (x0, y0, x1, y1)


def _picture(metadata: Any, resolve: Callable[[str], Picture | None] | None) -> Picture | None:
    from transforms.partition.pictures.picture import picture_from_base64, picture_from_data_uri

    if metadata.image_base64:
        return picture_from_base64(metadata.image_base64)
    address = metadata.image_url or ""
    return picture_from_data_uri(address) or (resolve(address) if resolve and address else None)


def link_elements(elements: Sequence[Element], *, page_based: bool, outline_over_pages: bool = False) -> list[Element]:
    """Gives the elements of a whole document their identifiers and parents.

    - An identifier is made of the element's content and its place in the document only. unstructured's (0.27.35) is a hash without
      separators over the file name, page and text, so it collides ("1" + "12" and "11" + "2") and changes with the name of the file.
    - The parent is the heading that the element stands under, or the list item that a nested item stands under.
      unstructured's own chain breaks at each image.

    Args:
      elements: in reading order.
      page_based: whether the format is.
      outline_over_pages: whether a heading reaches into the next page (of a PDF it does, of slides and sheets not).
    """
    linked: list[Element] = []
    open_headings: list[tuple[int, str]] = []
    open_items: list[tuple[int, str]] = []
    page: int | None = None
    for index, element in enumerate(elements):
        if page_based and not outline_over_pages and element.page_number is not None and element.page_number != page:
            page = element.page_number
            open_headings, open_items = [], []
        identifier = element_id(index, element)
        depth = element.category_depth or 0
        parent = ""
        if element.category == TITLE:
            open_items = []
            open_headings = [(level, opened) for level, opened in open_headings if level < depth]
            parent = open_headings[-1][1] if open_headings else ""
            open_headings.append((depth, identifier))
        elif element.category == LIST_ITEM:
            open_items = [(level, opened) for level, opened in open_items if level < depth]
            parent = (open_items or open_headings or [(0, "")])[-1][1]
            open_items.append((depth, identifier))
        elif element.category not in UNPLACED:
            open_items = []
            parent = open_headings[-1][1] if open_headings else ""
        elif element.category == IMAGE and element.in_reading_order:
            parent = open_headings[-1][1] if open_headings else ""
        linked.append(element.linked(identifier, parent))
    return linked


def element_id(index: int, element: Element) -> str:
    """32 hex digits over an element's content and its place (`index`, from 0) in the document."""
    picture = element.picture.digest if element.picture else ""
    facts = (str(index), str(element.page_number or ""), element.category, element.text, element.html, picture)
    # Each part is preceded by its length, so that no two lists of parts make the same bytes.
    content = "".join([f"{len(fact)}:{fact}" for fact in facts])
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def render_table(rows: Iterable[Sequence[str]]) -> tuple[str, str]:
    """Makes a table's text and its HTML, in the compact form that unstructured writes (`<tr><td>a</td><td/></tr>`).

    unstructured goes by a pandas frame: numbers are rounded to six digits (1234567.891 becomes 1.234568e+06), and the frame, its HTML and
    its parsed tree take a hundred times the size of the file. Here each cell is the text it is given as.

    Returns:
      The cells joined by blanks, and the HTML; both empty where no cell has text.
    """
    texts: list[str] = []
    parts: list[str] = ["<table>"]
    for row in rows:
        parts.append("<tr>")
        for cell in row:
            words = " ".join(cell.split())
            if words:
                texts.append(words)
                parts.append(f"<td>{html.escape(words, quote=False)}</td>")
            else:
                parts.append("<td/>")
        parts.append("</tr>")
    parts.append("</table>")
    return (" ".join(texts), "".join(parts)) if texts else ("", "")


def detect_languages(elements: Sequence[Element]) -> list[Element]:
    """Adds the language of the whole to elements that none of unstructured's partitioners made, as unstructured itself would."""
    from unstructured.partition.common.lang import detect_languages as detect

    text = " ".join(element.text for element in elements if element.text)
    # langdetect reads no more than its first 10,000 characters; to join a table of a gigabyte for it would only cost.
    languages = tuple(detect(text[:20_000]) or ()) if text.strip() else ()
    return [element.in_languages(languages) for element in elements]
