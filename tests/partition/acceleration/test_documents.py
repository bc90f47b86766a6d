import io
import random

import docx
import pytest
from generated_texts import PIECES
from unstructured.partition.docx import partition_docx
from unstructured.partition.email import partition_email
from unstructured.partition.html import partition_html
from unstructured.partition.md import partition_md
from unstructured.partition.text import partition_text

from transforms.partition.acceleration import documents
from transforms.partition.acceleration.installation import accelerate, restore


def paragraphs(seed):
    maker = random.Random(seed)
    for _ in range(60):
        text = " ".join(maker.choices(PIECES, k=maker.randint(0, 20))).replace("\x0b", " ")
        yield maker.choice((text, text, text.upper(), text.title(), "Doylestown, PA 18901", "a@example.org", "- item", "1. item", "x"))


def html(seed):
    maker = random.Random(seed)
    tags = ("p", "h1", "h3", "li", "div", "td", "pre", "blockquote", "span")
    body = "".join(f"<{tag}>{text}</{tag}>" for text in paragraphs(seed) for tag in [maker.choice(tags)])
    return f"<html><body><ul>{body}</ul><div>tail <b>bold</b><p>Nested ones are here.</p>He said so.</div></body></html>"


def word(seed):
    maker, document = random.Random(seed), docx.Document()
    for text in paragraphs(seed):
        printable = "".join(character for character in text if character.isprintable())
        document.add_paragraph(printable, style=maker.choice((None, None, None, "Heading 2", "List Bullet", "Quote")))
    document.add_table(2, 2).cell(0, 0).text = "cell"
    stream = io.BytesIO()
    document.save(stream)
    return stream


def mail(seed):
    text = "\n\n".join(paragraphs(seed)).encode("utf-8", "ignore").decode()
    header = "From: A <a@example.org>\nTo: b@example.org\nSubject: s\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n"
    return io.BytesIO((header + text).encode())


KINDS = {
    "text": lambda seed: partition_text(text="\n\n".join(paragraphs(seed))),
    "html": lambda seed: partition_html(text=html(seed)),
    "markdown": lambda seed: partition_md(text="\n\n".join(paragraphs(seed))),
    "word": lambda seed: partition_docx(file=word(seed)),
    "mail": lambda seed: partition_email(file=mail(seed), process_attachments=False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_all_elements_of_a_document_are_unstructured_s(model, kind, seed):
    plain = [element.to_dict() for element in KINDS[kind](seed)]
    assert accelerate(model).on
    fast = [element.to_dict() for element in KINDS[kind](seed)]
    restore()
    assert fast == plain
    assert {"NarrativeText", "UncategorizedText"} <= {element["type"] for element in plain}


def test_classes_are_those_of_unstructured_and_not_only_their_names(model):
    accelerate(model)
    narrative, text = partition_html(text="<p>The company paid a dividend.</p><p>house</p>")
    assert [type(element).__name__ for element in (narrative, text)] == ["NarrativeText", "Text"]
    assert [type(element).__module__ for element in (narrative, text)] == ["unstructured.documents.elements"] * 2


def test_texts_of_one_document_are_classified_together(model, classifier, monkeypatch):
    asked = []
    accelerate(model)
    original = type(classifier).are_narratives
    monkeypatch.setattr(type(classifier), "are_narratives", lambda self, texts, *a: asked.append(list(texts)) or original(self, texts, *a))
    partition_html(text="<p>He paid a lot.</p><p>house</p><p>house</p><li>item</li><h1>Title</h1>")
    partition_text(text="He paid a lot.\n\nA house\n\n- item one")
    assert asked == [["He paid a lot.", "house"], ["He paid a lot.", "A house"]]


def test_an_element_made_outside_of_a_document_is_decided_at_once(model):
    from unstructured.documents.elements import NarrativeText, Text
    from unstructured.partition.html.parser import derive_element_type_from_text

    accelerate(model)
    from unstructured.partition.html import parser

    assert parser.derive_element_type_from_text is not derive_element_type_from_text
    assert parser.derive_element_type_from_text("The company paid a dividend.") is NarrativeText
    assert parser.derive_element_type_from_text("house") is Text


def test_a_document_that_fails_leaves_no_undecided_elements(classifier):
    classes = documents.LateClasses(classifier)

    def fails():
        yield classes.element_class("house")("house")
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        classes.read(fails)
    assert not classes.are_possible
