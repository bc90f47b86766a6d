"""Gives pages, sections and images their identity: ids, titles, counts, and their place in the document text."""

from collections.abc import Iterable, Sequence

from transforms.model import AssembledText, Element, Group, ImageEntity, PartitionedDocument, Picture, TextEntity
from transforms.provenance.identifiers import image_id, page_id, section_id
from transforms.sections.text import SEPARATOR, assemble_text


def describe_entities(
    groups: Sequence[Group], document: PartitionedDocument, *, document_id: str, sha256: str, fingerprint: str
) -> tuple[list[TextEntity], list[ImageEntity]]:
    """Describes each group as an entity, and each picture of it as one more.

    The document text is never built: it is all texts in order, joined by a blank line, and the offsets are those that it would have.
    A page that is divided spans its sections. An entity without text is at the end of the text before it, with length 0.

    Args:
      groups: as from `group_elements`: in document order, parents before children.
      document: what they were made of.
      document_id: IRI of the document; the parent of groups without a parent.
      sha256: hex digest of the document's bytes.
      fingerprint: of the settings.
    Returns:
      The pages and sections, one for each group in the same order, and the images, in the same order.
    Source: spec, sections 4, 5 and 7.
    """
    assembled = [assemble_text(group.elements) for group in groups]
    ids = [_group_id(group, document_id=document_id, sha256=sha256, fingerprint=fingerprint) for group in groups]
    offsets, lengths = _places(groups, assembled)
    digests: dict[int, str] = {}

    texts: list[TextEntity] = []
    images: list[ImageEntity] = []
    for index, group in enumerate(groups):
        # A divided page is described with all that lies on it; its sections follow it directly.
        within = range(index, _end_of_page(groups, index) if group.divided else index + 1)
        ordered = [*within[1:], index] if group.divided else within
        on_it = [element for position in ordered for element in _described(groups[position], assembled[position])]
        texts.append(
            TextEntity(
                id=ids[index],
                document_type=group.document_type,
                parent_id=document_id if group.parent is None else ids[group.parent],
                number=group.number,
                title=f"{group.document_type.capitalize()} {group.number}",
                text=assembled[index].text,
                spans=assembled[index].spans,
                char_offset=offsets[index],
                char_length=lengths[index],
                element_types=_distinct(element.category for element in on_it),
                table_count=sum(element.category == "Table" for element in on_it),
                image_count=sum(_picture(element) is not None for element in on_it),
                page_number=group.page_number,
                heading=group.heading or None,
                level=group.level,
                heading_path=group.heading_path,
                page_size=document.page_sizes.get(group.page_number) if group.page_number is not None else None,
                languages=_distinct(language for element in on_it for language in element.languages),
            )
        )
        for element in group.elements:
            if (picture := _picture(element)) is not None:
                # Keyed by identity: a logo that stands on 400 pages is one bytes object, hashed once.
                mark = id(picture if picture.published else picture.data)
                digest = digests.get(mark) or digests.setdefault(mark, picture.digest)
                number = len(images) + 1
                images.append(
                    ImageEntity(
                        id=image_id(document_id, sha256, fingerprint, number),
                        parent_id=ids[index],
                        title=f"Image from {group.document_type} {group.number}",
                        number=number,
                        page_number=group.page_number if group.page_number is not None else element.page_number,
                        element_id=element.element_id,
                        picture=picture,
                        sha256=digest,
                        coordinates=element.coordinates,
                    )
                )
    return texts, images


def _group_id(group: Group, *, document_id: str, sha256: str, fingerprint: str) -> str:
    if group.document_type == "page":
        return page_id(document_id, sha256, fingerprint, group.number)
    return section_id(document_id, sha256, fingerprint, group.number, page_number=group.page_number)


def _places(groups: Sequence[Group], assembled: Sequence[AssembledText]) -> tuple[list[int], list[int]]:
    """Offset and length of each group in the document text."""
    offsets: list[int] = []
    lengths: list[int] = []
    end = 0
    is_first = True
    for own in assembled:
        if own.text:
            start = end if is_first else end + len(SEPARATOR)
            end = start + len(own.text)
            is_first = False
            offsets.append(start)
            lengths.append(len(own.text))
        else:
            offsets.append(end)
            lengths.append(0)
    for index, group in enumerate(groups):
        if group.divided:
            last = _end_of_page(groups, index) - 1
            offsets[index] = offsets[index + 1]
            lengths[index] = offsets[last] + lengths[last] - offsets[index]
    return offsets, lengths


def _end_of_page(groups: Sequence[Group], page: int) -> int:
    """The position after the last section of the page at position `page`."""
    end = page + 1
    while end < len(groups) and groups[end].document_type != "page":
        end += 1
    return end


def _described(group: Group, assembled: AssembledText) -> list[Element]:
    """The elements that count: those with a place in the text, and images; in document order."""
    placed = {id(span.element) for span in assembled.spans}
    return [element for element in group.elements if id(element) in placed or element.category == "Image"]


def _picture(element: Element) -> Picture | None:
    return element.picture if element.category == "Image" else None


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    """In order of first appearance."""
    return tuple(dict.fromkeys(values))
