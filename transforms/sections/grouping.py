"""From a partitioned document to its pages and sections: which of the two a format has, and how they nest.

Whether a document has pages is a property of its format, never of an element that happens to carry a page number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from transforms.model import Element, Group, PartitionedDocument
from transforms.sections.strategies import STRATEGIES
from transforms.sections.text import emitted_piece
from transforms.settings import DecodeSettings


def group_elements(document: PartitionedDocument, settings: DecodeSettings) -> list[Group]:
    """Divides a document into its pages and sections.

    Args:
      document: its elements in reading order.
      settings: the section strategy, whether it works inside pages, and whether pictures are wanted at all.
    Returns:
      The groups in document order, a parent always before its children. Page-based: a page for each page number that has an element
      with something to say or show, in page order; with `section_within_pages`, a page with text is followed by its sections, and
      keeps for itself only the pictures that have no place in the reading order. Otherwise: the sections of the strategy.
    Source: spec, sections 2 and 3.
    """
    elements = [element for element in document.elements if settings.images or element.picture is None]
    divide = STRATEGIES[settings.section_strategy]
    if not document.page_based:
        return divide(elements, settings)

    groups: list[Group] = []
    for page_number, on_page in _by_page(elements):
        name = " ".join(document.page_names.get(page_number, "").split())
        page = Group("page", on_page, page_number, page_number=page_number, heading=name, heading_path=(name,) if name else ())
        has_text = any(emitted_piece(element) for element in on_page)
        if settings.section_within_pages and has_text:
            in_order = [element for element in on_page if not _stands_beside(element)]
            beside = [element for element in on_page if _stands_beside(element)]
            position = len(groups)
            groups.append(replace(page, elements=beside, divided=True))
            for section in divide(in_order, settings):
                parent = position if section.parent is None else position + 1 + section.parent
                groups.append(replace(section, parent=parent, page_number=page_number))
        elif has_text or any(element.category == "Image" for element in on_page):
            groups.append(page)
    return groups


def _by_page(elements: Iterable[Element]) -> Sequence[tuple[int, list[Element]]]:
    """The elements of each page, in page order. Without a page number: the page of the element before it; the first: page 1.

    Pictures that stand beside the text may be listed anywhere, so they say nothing about what comes after them.
    """
    pages: dict[int, list[Element]] = {}
    current = 1
    for element in elements:
        page_number = element.page_number if element.page_number is not None else current
        if not _stands_beside(element):
            current = page_number
        pages.setdefault(page_number, []).append(element)
    return sorted(pages.items())


def _stands_beside(element: Element) -> bool:
    """Whether only the page of this picture is known: it belongs to the page, never to a section of it."""
    return element.category == "Image" and not element.in_reading_order
