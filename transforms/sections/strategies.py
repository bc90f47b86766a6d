"""How a run of elements is divided into sections: five pure functions of one shape.

Each decides only where sections start. The rest is the same for all, and is what makes the division safe: the sections, one after the
other, are the elements, none lost, none twice, none moved. Elements that have no place in a text (pictures, page breaks, blanks) never
start a section and are never counted: they stay with the section that they stand in, and before the first one, with the first.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from transforms.model import Element, Group
from transforms.sections.text import SEPARATOR, emitted_piece
from transforms.settings import DecodeSettings, SectionStrategy

Strategy = Callable[[Sequence[Element], DecodeSettings], list[Group]]

HEADING = "Title"
DEEPEST_HEADING = 31
"""Deeper ones count as this deep: HTML has 6 levels and DOCX 9, but a JSON file of elements may say anything, and a heading path of
20,000 entries on each of 20,000 sections takes 1.6 GB."""


def whole_document(elements: Sequence[Element], settings: DecodeSettings) -> list[Group]:  # noqa: ARG001 one shape for all
    """One section. Nothing at all gives no section; nothing but pictures gives a section without text."""
    return _sections(elements, starts=[0])


def by_heading(elements: Sequence[Element], settings: DecodeSettings) -> list[Group]:
    """A section for each heading, with all that follows it until the next heading of any level; subsections point to their parent.

    A section's own text ends where its first subsection starts, so nothing is said twice; the tree is in the parent links. Text before
    the first heading is a section of its own, without a heading. No heading at all: one section.

    unstructured's `parent_id` is not used: it breaks after an image (0.27.35). The level is that of the heading, from 1 (`<h1>` is
    level 1), not the depth in the tree: an `<h3>` right under an `<h1>` is a level 3 whose parent is a level 1.

    Source: spec, section 3.
    """
    placed = [(index, piece) for index, element in enumerate(elements) if (piece := emitted_piece(element))]
    headings = {index: piece for index, piece in placed if elements[index].category == HEADING}
    if not headings:
        return whole_document(elements, settings)
    starts = sorted({placed[0][0], *headings})

    groups: list[Group] = []
    ancestors: list[int] = []  # positions in `groups` of the open headings, outermost first
    for start, group in zip(starts, _sections(elements, starts), strict=True):
        if start not in headings:
            groups.append(group)
            continue
        level = min(max(elements[start].category_depth or 0, 0), DEEPEST_HEADING) + 1
        while ancestors and (groups[ancestors[-1]].level or 0) >= level:
            ancestors.pop()
        parent = ancestors[-1] if ancestors else None
        heading = " ".join(headings[start].split())
        path = (*(groups[parent].heading_path if parent is not None else ()), heading)
        ancestors.append(len(groups))
        groups.append(Group("section", group.elements, group.number, parent=parent, heading=heading, level=level, heading_path=path))
    return groups


def by_element_type(elements: Sequence[Element], settings: DecodeSettings) -> list[Group]:  # noqa: ARG001 one shape for all
    """A new section at each change between table and not-table. Tables that follow each other share a section."""
    starts: list[int] = []
    previous: bool | None = None
    for index, element in enumerate(elements):
        if emitted_piece(element):
            is_table = element.category == "Table"
            if is_table is not previous:
                starts.append(index)
            previous = is_table
    return _sections(elements, starts)


def by_count(elements: Sequence[Element], settings: DecodeSettings) -> list[Group]:
    """`section_element_count` elements a section; the last one has the rest."""
    placed = [index for index, element in enumerate(elements) if emitted_piece(element)]
    return _sections(elements, placed[:: settings.section_element_count])


def by_size(elements: Sequence[Element], settings: DecodeSettings) -> list[Group]:
    """Elements are added until the next one would take the emitted text over `section_max_size` code points.

    What is measured is what is emitted: tables as HTML, and the separators. No element is cut: one that is larger by itself is its own
    section.
    """
    starts: list[int] = []
    size = 0
    for index, element in enumerate(elements):
        length = len(emitted_piece(element))
        if not length:
            continue
        if starts and size + len(SEPARATOR) + length <= settings.section_max_size:
            size += len(SEPARATOR) + length
        else:
            starts.append(index)
            size = length
    return _sections(elements, starts)


STRATEGIES: Mapping[SectionStrategy, Strategy] = {
    SectionStrategy.WHOLE_DOCUMENT: whole_document,
    SectionStrategy.HEADING: by_heading,
    SectionStrategy.ELEMENT_TYPE: by_element_type,
    SectionStrategy.COUNT: by_count,
    SectionStrategy.SIZE: by_size,
}


def _sections(elements: Sequence[Element], starts: Sequence[int]) -> list[Group]:
    """Cuts the elements at `starts`; what stands before the first start goes to the first section.

    Elements among which nothing is to be said or shown give no section.
    """
    if not any(element.category == "Image" or emitted_piece(element) for element in elements):
        return []
    edges = [0, *starts[1:], len(elements)]
    return [Group("section", elements[start:end], number) for number, (start, end) in enumerate(pairwise(edges), start=1)]
