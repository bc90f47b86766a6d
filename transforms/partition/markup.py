"""Marked-up texts: HTML and Markdown, and RST, ORG, RTF and EPUB by way of HTML."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from transforms.model import Element, PartitionedDocument, Picture, Stage
from transforms.partition.containers import corrupt, too_large
from transforms.partition.elements import from_unstructured
from transforms.partition.office import conversion
from transforms.partition.pictures.archives import ArchivePictures
from transforms.partition.pictures.partitioners import register_picture_partitioners
from transforms.partition.properties import Properties, epub_properties, html_properties, iso_date
from transforms.partition.source import Source, reading
from transforms.partition.text_encoding import DecodedText, decode_text
from transforms.settings import DecodeSettings

MARKDOWN_EXTENSIONS = ("tables", "fenced_code")
"""Those that unstructured switches on (0.27.35)."""

Resolve = Callable[[str], Picture | None]
"""The address of an image -> its picture, where the document itself holds it."""


def partition_html(source: Source) -> PartitionedDocument:
    """An HTML or XHTML page."""
    decoded = decode_text(source.read(), source.declared)
    with reading(source):
        elements = html_elements(decoded.text, source.settings)
    return source.partitioned(elements, html_properties(decoded.text), [*guess_warnings(decoded), *_elsewhere(decoded.text, elements)])


_FRAMES = re.compile(r"<i?frame\b[^<>]{0,2000}?\bsrc\s*=", re.IGNORECASE)
_SCRIPTS = re.compile(r"<script\b", re.IGNORECASE)


def _elsewhere(text: str, elements: Sequence[Element]) -> list[str]:
    """What a reader of the page sees that is not in it."""
    warnings = ["It shows other pages in frames, which are not decoded."] if _FRAMES.search(text) else []
    if not elements and _SCRIPTS.search(text):
        warnings.append("Its content is made by scripts, which are not run.")
    return warnings


def partition_markdown(source: Source) -> PartitionedDocument:
    """A Markdown text."""
    import markdown  # type: ignore[import-untyped]

    decoded = decode_text(source.read(), source.declared)
    front_matter = _FRONT_MATTER.match(decoded.text)
    with reading(source):
        text = decoded.text[front_matter.end() :] if front_matter else decoded.text
        elements = html_elements(markdown.markdown(text, extensions=list(MARKDOWN_EXTENSIONS)), source.settings)
    properties = _front_matter_properties(front_matter.group(1)) if front_matter else Properties()
    return source.partitioned(elements, properties, guess_warnings(decoded))


_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n((?:[A-Za-z_][\w-]*:.*\n|[ \t#-].*\n|\r?\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)")
"""YAML before a Markdown text, as site generators have it; read as Markdown it becomes a rule and a heading of all its lines."""


def _front_matter_properties(yaml: str) -> Properties:
    values = {key.lower(): value.strip().strip("\"'") for key, value in re.findall(r"^(\w+):[ \t]*(\S.*)$", yaml, re.MULTILINE)}
    return Properties(values.get("title", ""), values.get("author", ""), iso_date(values.get("date", "")))


def partition_rst(source: Source) -> PartitionedDocument:
    """A reStructuredText. Files that it includes are not read."""
    return _by_pandoc(source, "rst")


def partition_org(source: Source) -> PartitionedDocument:
    """An Org file. Files that it includes are not read."""
    return _by_pandoc(source, "org")


def partition_rtf(source: Source) -> PartitionedDocument:
    """A Rich Text document; its pictures come with it."""
    with conversion.work_folder() as folder, reading(source):
        page = folder / "page.html"
        conversion.pandoc(source.path, "rtf", "html", page, embed=source.settings.images)
        elements = html_elements(page.read_text(encoding="utf-8"), source.settings)
    behind = _behind_the_end(source.read())
    if behind and not elements:
        raise corrupt("The RTF file is damaged: its groups close before its text begins.")
    return source.partitioned(elements, warnings=["Its groups close before its end; what stands behind is not read."] if behind else [])


def _behind_the_end(rtf: bytes) -> bytes:
    """What follows on the group that all the rest should be in; pandoc (3.9) reads no further, and refuses a group that does not close."""
    depth = 0
    for mark in re.finditer(rb"\\.|[{}]", rtf, re.DOTALL):
        depth += {b"{": 1, b"}": -1}.get(mark.group(), 0)
        if mark.group() == b"}" and depth <= 0:
            return rtf[mark.end() :].strip(b"\0 \r\n\t")
    return b""


def partition_epub(source: Source) -> PartitionedDocument:
    """An EPUB, its chapters in the order of the spine."""
    with conversion.work_folder() as folder, reading(source):
        page = folder / "page.html"
        conversion.pandoc(source.path, "epub", "html", page)
        with ArchivePictures(source.path) as pictures:
            elements = html_elements(page.read_text(encoding="utf-8"), source.settings, resolve=pictures.resolve)
        return source.partitioned(elements, epub_properties(source.path))


def _by_pandoc(source: Source, reader: str) -> PartitionedDocument:
    decoded = decode_text(source.read(), source.declared)
    with conversion.work_folder() as folder, reading(source):
        text, page = folder / f"document.{reader}", folder / "page.html"
        # pandoc reads UTF-8 and nothing else; a table in a file that its sandbox hides makes it give up the whole document (3.9).
        text.write_text(_TABLE_IN_A_FILE.sub(r"\1", decoded.text), encoding="utf-8")
        conversion.pandoc(text, reader, "html", page)
        elements = html_elements(page.read_text(encoding="utf-8"), source.settings)
    included = ["It includes other files, which are not read."] if _INCLUDE.search(decoded.text) else []
    title = re.search(r"^#\+TITLE:[ \t]*(\S.*)$", decoded.text, re.IGNORECASE | re.MULTILINE) if reader == "org" else None
    properties = Properties(title=title.group(1).strip() if title else "")
    return source.partitioned(elements, properties, [*guess_warnings(decoded), *included])


_TABLE_IN_A_FILE = re.compile(r"(?m)^([ \t]*)\.\. (?:csv-table|raw)::.*\n(?:[ \t]+:.*\n)*?[ \t]+:(?:file|url):.*(?:\n[ \t]+:.*)*")
_INCLUDE = re.compile(
    r"^[ \t]*(?:\.\. (?:include|literalinclude)::|#\+INCLUDE:|\.\. (?:csv-table|raw)::.*\n(?:[ \t]+:.*\n)*?[ \t]+:(?:file|url):)",
    re.IGNORECASE | re.MULTILINE,
)


def guess_warnings(decoded: DecodedText) -> list[str]:
    """The warnings of a text whose bytes did not say all."""
    warnings = [f"Its encoding is not declared and was guessed as {decoded.encoding}."] if decoded.guessed else []
    if decoded.replaced:
        warnings.append(f"{decoded.replaced:,} bytes that are no characters in {decoded.encoding} are replaced by U+FFFD.")
    if decoded.zeros:
        warnings.append(f"{decoded.zeros:,} zero bytes between its characters are left out.")
    return warnings


def html_elements(text: str, settings: DecodeSettings, *, resolve: Resolve | None = None) -> list[Element]:
    """The elements of an HTML text, with its pictures at their places.

    Args:
      text: a whole page or a part of one.
      settings: whether pictures are wanted.
      resolve: finds the picture of an address that is not a data URI.
    """
    from unstructured.partition.html import partition_html as partition

    if not text.strip():
        return []
    register_picture_partitioners(images=settings.images)
    _keep_all_parts()
    with _reading_deep_pages():
        found = partition(
            # lxml reads a declared encoding from characters that are decoded already, and then reads them wrong.
            text=re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1),
            extract_image_block_types=["Image"],
            extract_image_block_to_payload=True,
        )
    return from_unstructured(found, images=settings.images, resolve=resolve)


@contextmanager
def _reading_deep_pages() -> Iterator[None]:
    """Has unstructured read pages of 2,048 elements in each other, and refuses those that go deeper.

    Its own parser (0.27.35, libxml2 2.14.6) stops at 256 and drops all that follows, as if the page ended there. Old pages get that deep by
    tags that nobody closed.

    Raises:
      DecodeError: `too_large`.
    """
    from lxml import etree
    from unstructured.partition.html import parser, partition

    if partition.html_parser is parser.html_parser:
        deep = etree.HTMLParser(remove_comments=True, remove_pis=True, huge_tree=True)
        deep.set_element_class_lookup(parser.element_class_lookup)
        partition.html_parser = deep
    recursion = sys.getrecursionlimit()
    sys.setrecursionlimit(max(recursion, _FRAMES_OF_DEEP_PAGES))
    try:
        yield
    finally:
        sys.setrecursionlimit(recursion)
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in partition.html_parser.error_log):
        raise too_large("It is nested too deeply to be read.", Stage.PARTITION)


_FRAMES_OF_DEEP_PAGES = 20_000
"""unstructured goes down a page with four frames for each level; its 2,048 levels take 2 MB of the stack."""


def _keep_all_parts() -> None:
    """Makes unstructured's HTML parser read what it throws away whole (0.27.35).

    That are figures, details, forms and labels, and what is in a table without being in a cell.
    pandoc writes each captioned picture as a figure, and many generated pages are one form from top to bottom. Controls (inputs, buttons,
    menus) stay left out.
    """
    from unstructured.documents.elements import FigureCaption
    from unstructured.partition.html import parser

    class Caption(parser.BlockItem):  # type: ignore[misc]
        """A `<figcaption>`."""

        _ElementCls = FigureCaption

    class Table(parser.TableBlock):  # type: ignore[misc]
        """A `<table>`."""

        def iter_elements(self) -> Iterator[Any]:
            _put_into_cells(self)
            yield from super().iter_elements()

    names = parser.element_class_lookup.get_namespace(None)
    if names["figure"] is parser.RemovedBlock:
        names.update(
            {"figure": parser.Flow, "figcaption": Caption, "details": parser.Flow, "summary": parser.BlockItem, "form": parser.Flow}
        )
        names.update({"label": parser.Phrasing, "table": Table})


def _put_into_cells(table: Any) -> None:
    """Puts what stands in a table or a row, but in no cell, into a cell of its own: unstructured (0.27.35) reads nothing else."""
    for group in (table, *(child for child in table if child.tag in _ROW_GROUPS)):
        _wrap(group, _IN_TABLE if group is table else ("tr",), "tr")
    rows = [child for group in (table, *(child for child in table if child.tag in _ROW_GROUPS)) for child in group if child.tag == "tr"]
    for row in rows:
        _wrap(row, ("td", "th"), "td")
    if not any(text.strip() for row in rows for text in row.itertext()):
        for caption in table.iterchildren("caption"):  # without a row with text there would be no table
            caption.tag = "tr"
            _wrap(caption, (), "td")


_ROW_GROUPS = ("thead", "tbody", "tfoot")
_IN_TABLE = ("caption", "colgroup", "col", "tr", *_ROW_GROUPS)
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What libxml2's HTML parser lets pass, and lxml (6) takes in no text that it is given."""


def _wrap(parent: Any, allowed: Sequence[str], tag: str) -> None:
    """Wraps each text, and each child of another kind, in a new child."""
    if (parent.text or "").strip():
        wrapper = parent.makeelement(tag)
        wrapper.text, parent.text = _NOT_XML.sub("", parent.text), None
        parent.insert(0, wrapper)
    for child in list(parent):
        tail, child.tail = child.tail, None
        place = parent.index(child)
        if child.tag not in allowed:
            wrapper = parent.makeelement(tag)
            parent.replace(child, wrapper)
            wrapper.append(child)
        if (tail or "").strip():
            wrapper = parent.makeelement(tag)
            wrapper.text = _NOT_XML.sub("", tail)
            parent.insert(place + 1, wrapper)
