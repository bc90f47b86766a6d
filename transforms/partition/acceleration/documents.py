"""Lets the partitioners of unstructured classify all texts of a document together: 0.2 ms a text in place of 0.5.

A partitioner asks for one text at a time. Where the answer only chooses the class of an element, it can be given later: HTML and DOCX
(0.27.35) get an element whose class is set when the document is read to its end. Where all texts are known before the first question,
as in a plain text, they are classified before.
"""

from collections.abc import Callable, Iterator
from typing import Any

from transforms.partition.acceleration.classification import Classifier
from transforms.partition.acceleration.patches import Patches

SHORTEST = 2
"""Characters of a text that HTML and DOCX classify."""


class LateClasses:
    """The elements of the document in hand that are narratives or not, which will be known at its end."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._undecided: list[tuple[Any, str]] | None = None

    @property
    def are_possible(self) -> bool:
        """Whether a document is being read whose end will be seen."""
        return self._undecided is not None

    def read(self, elements: Callable[[], Iterator[Any]]) -> list[Any]:
        """All elements of a document, those of late classes with the right ones."""
        outer, self._undecided = self._undecided, []
        try:
            found = list(elements())
            self._decide(self._undecided)
        finally:
            self._undecided = outer
        return found

    def element_class(self, text: str) -> Callable[..., Any]:
        """In place of the class of an element whose class depends on whether `text` is a narrative: called with what a class would be."""
        from unstructured.documents.elements import Text

        def make(*arguments: Any, **keywords: Any) -> Any:
            element = Text(*arguments, **keywords)
            if self._undecided is not None:
                self._undecided.append((element, text))
            return element

        return make

    def _decide(self, undecided: list[tuple[Any, str]]) -> None:
        from unstructured.documents.elements import NarrativeText

        texts = list(dict.fromkeys(text for _, text in undecided))
        narratives = {text for text, is_narrative in zip(texts, self._classifier.are_narratives(texts), strict=True) if is_narrative}
        for element, text in undecided:
            if text in narratives:
                # Text and NarrativeText differ in nothing but their class and its `category`.
                element.__class__ = NarrativeText


def batch_html(patches: Patches, classes: LateClasses) -> None:
    """HTML, and all formats that go by way of it: Markdown, EPUB, RST, ORG, RTF, mails."""
    from unstructured.documents.elements import Address, EmailAddress, ListItem
    from unstructured.partition.html import parser, partition

    derive = parser.derive_element_type_from_text

    def derive_element_type_from_text(text: str) -> Any:
        if not classes.are_possible:
            return derive(text)
        if parser.is_bulleted_text(text):
            return ListItem
        if parser.is_us_city_state_zip(text):
            return Address
        if parser.is_email_address(text):
            return EmailAddress
        return classes.element_class(text) if len(text) >= SHORTEST else None

    iter_elements = partition._HtmlPartitioner.iter_elements.__func__

    def iter_all(cls: Any, options: Any) -> Iterator[Any]:
        return iter(classes.read(lambda: iter_elements(cls, options)))

    patches.function(parser, "derive_element_type_from_text", derive_element_type_from_text)
    patches.attribute(partition._HtmlPartitioner, "iter_elements", classmethod(iter_all))


def batch_docx(patches: Patches, classes: LateClasses) -> None:
    """DOCX, and DOC and ODT by way of it."""
    from unstructured.documents.elements import Address, EmailAddress
    from unstructured.partition import docx

    parse = docx._DocxPartitioner._parse_paragraph_text_for_element_type

    def parse_paragraph_text_for_element_type(self: Any, paragraph: Any) -> Any:
        if not classes.are_possible:
            return parse(self, paragraph)
        text = paragraph.text.strip()
        if len(text) < SHORTEST:
            return None
        if docx.is_us_city_state_zip(text):
            return Address
        if docx.is_email_address(text):
            return EmailAddress
        return classes.element_class(text)

    iter_document_elements = docx._DocxPartitioner.iter_document_elements.__func__

    def iter_all(cls: Any, options: Any) -> Iterator[Any]:
        return iter(classes.read(lambda: iter_document_elements(cls, options)))

    patches.attribute(docx._DocxPartitioner, "_parse_paragraph_text_for_element_type", parse_paragraph_text_for_element_type)
    patches.attribute(docx._DocxPartitioner, "iter_document_elements", classmethod(iter_all))


def batch_text(patches: Patches, classifier: Classifier) -> None:
    """Plain text, and the text part of mails."""
    from unstructured.partition import text

    split = text._split_by_paragraph

    def split_by_paragraph(file_text: str) -> list[str]:
        paragraphs: list[str] = split(file_text)
        stripped = (paragraph.strip() for paragraph in paragraphs)
        # What is a list item by its first character is never asked for.
        classifier.expect(part for part in stripped if not text.is_bulleted_text(part) and not text.is_possible_numbered_list(part))
        return paragraphs

    patches.function(text, "_split_by_paragraph", split_by_paragraph)
