"""From the bytes of one document to its typed elements, or to the reason why there are none: `partition_document`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from transforms.model import DecodeError, PartitionedDocument
from transforms.partition import formats
from transforms.partition.containers import missing_tool
from transforms.partition.detect import detect_format
from transforms.partition.elements import link_elements
from transforms.partition.environment import apply_decode_environment
from transforms.partition.formats import Format
from transforms.partition.nlp import install_nlp
from transforms.partition.source import Source
from transforms.settings import DecodeSettings, Limits

if TYPE_CHECKING:
    from transforms.partition.pdf.document import PagesRead, RangeFailure
    from transforms.partition.pdf.ranges import RangePlan

_PARTITIONERS: Mapping[str, tuple[str, str]] = {
    formats.DOCX.name: ("office.word", "partition_docx"),
    formats.DOC.name: ("office.word", "partition_doc"),
    formats.ODT.name: ("office.word", "partition_odt"),
    formats.PPTX.name: ("office.presentations", "partition_pptx"),
    formats.PPT.name: ("office.presentations", "partition_ppt"),
    formats.ODP.name: ("office.presentations", "partition_odp"),
    formats.XLSX.name: ("office.spreadsheets", "partition_xlsx"),
    formats.XLS.name: ("office.spreadsheets", "partition_xls"),
    formats.ODS.name: ("office.spreadsheets", "partition_ods"),
    formats.HTML.name: ("markup", "partition_html"),
    formats.MARKDOWN.name: ("markup", "partition_markdown"),
    formats.RST.name: ("markup", "partition_rst"),
    formats.ORG.name: ("markup", "partition_org"),
    formats.RTF.name: ("markup", "partition_rtf"),
    formats.EPUB.name: ("markup", "partition_epub"),
    formats.TEXT.name: ("texts", "partition_text"),
    formats.CSV.name: ("texts", "partition_csv"),
    formats.TSV.name: ("texts", "partition_tsv"),
    formats.XML.name: ("texts", "partition_xml"),
    formats.JSON.name: ("texts", "partition_json"),
    formats.NDJSON.name: ("texts", "partition_ndjson"),
    formats.EML.name: ("mail", "partition_eml"),
    formats.MSG.name: ("mail", "partition_msg"),
}
"""Format -> module and function of this package that take a `Source`. Imported when first needed: `doctor` wants the formats only."""


def partition_document(
    path: Path, *, declared_mime_type: str, name: str, settings: DecodeSettings, limits: Limits | None = None
) -> PartitionedDocument:
    """Partitions one document into typed elements.

    Args:
      path: the bytes; the file's name means nothing.
      declared_mime_type: as registered with the document; may be empty or wrong.
      name: the last segment of the source's path, for its extension; may be empty.
      settings: the strategy, the languages of OCR, and whether pictures are wanted.
      limits: those that are looked at before any work: what an archive unpacks to, pages, pixels.
    Returns:
      The elements in reading order, with identifiers that depend on content and place alone, and all that is known of the document.
      No elements means that there is nothing in it.
    Raises:
      DecodeError: it cannot be decoded; the status says why: needs_ocr, encrypted, corrupt, unsupported, missing_tool, too_large, timeout.
    """
    apply_decode_environment()
    limits = limits or Limits()
    known = detect_format(path, declared_mime_type, name, limits)
    if _is_blank(path):
        return PartitionedDocument(elements=(), mime_type=known.mime_type, page_based=known.page_based)
    try:
        document = _partition(Source(path, known, settings, name, declared_mime_type, limits))
    except DecodeError as error:
        error.mime_type = known.mime_type
        raise
    linked = link_elements(document.elements, page_based=document.page_based, outline_over_pages=known is formats.PDF)
    return replace(document, elements=linked)


def plan_document(
    path: Path, copy: Path, *, declared_mime_type: str, name: str, settings: DecodeSettings, limits: Limits, range_pages: int
) -> "RangePlan | None":
    """Divides a document into ranges of pages that can be decoded apart, if it is a PDF and large enough.

    Args:
      copy: where a copy is put, if ranges cannot be read from the document itself.
      range_pages: as in `plan_ranges`.
      others: as in `partition_document`.
    Returns:
      None where it is to be decoded as a whole: also where it cannot be decoded at all, which that tells.
    """
    apply_decode_environment()
    try:
        known = detect_format(path, declared_mime_type, name, limits)
        if known is not formats.PDF or missing_tool(known) is not None:
            return None
        from transforms.partition.pdf.ranges import plan_ranges

        return plan_ranges(path, copy, settings, limits, range_pages)
    except Exception:  # of the libraries, over a damaged document: anything
        return None


def partition_range(
    path: Path, readable: Path, first: int, last: int, *, settings: DecodeSettings, limits: Limits
) -> "PagesRead | DecodeError":
    """Reads a range of pages of a document that was divided.

    Args:
      readable: the document, or the copy of it.
      first, last: from 1.
    Returns:
      What was read, or why the whole document cannot be decoded.
    """
    from transforms.partition.pdf.document import opened, read_pages

    apply_decode_environment()
    install_nlp()
    try:
        with opened(path, limits, readable) as file:
            return read_pages(file, range(first, last + 1), settings)
    except DecodeError as error:
        return error


def partition_from_ranges(
    plan: "RangePlan", files: Sequence[Path], failures: "Sequence[RangeFailure]", settings: DecodeSettings
) -> PartitionedDocument:
    """Makes a document of what was read of its ranges: what `partition_document` would have given.

    Args:
      files: of the ranges that were read, in page order.
      failures: those that were not.
    Raises:
      DecodeError: as `partition_document`.
    """
    from transforms.partition.pdf.document import join_pages
    from transforms.partition.pdf.ranges import read_range

    apply_decode_environment()
    try:
        document = join_pages(plan.facts, [read_range(file) for file in files], settings, failures)
    except DecodeError as error:
        error.mime_type = formats.PDF.mime_type
        raise
    return replace(document, elements=link_elements(document.elements, page_based=True, outline_over_pages=True))


def _partition(source: Source) -> PartitionedDocument:
    lacking = missing_tool(source.format)
    if lacking is not None:
        raise lacking
    install_nlp()
    return _dispatch(source.format)(source)


def _dispatch(known: Format) -> Callable[[Source], PartitionedDocument]:
    if known is formats.PDF:
        return _partition_pdf
    if known.is_image:
        return _partition_image
    module, function = _PARTITIONERS[known.name]
    partition: Callable[[Source], PartitionedDocument] = getattr(import_module(f"transforms.partition.{module}"), function)
    return partition


def _partition_pdf(source: Source) -> PartitionedDocument:
    from transforms.partition.pdf.document import partition_pdf

    return partition_pdf(source.path, source.settings, source.limits)


def _partition_image(source: Source) -> PartitionedDocument:
    from transforms.partition.image_documents import partition_image

    return partition_image(source.path, source.format, source.settings, source.limits)


def _is_blank(path: Path) -> bool:
    """Whether a file holds nothing but white space."""
    with path.open("rb") as stream:
        return not any(block.strip() for block in iter(lambda: stream.read(1 << 20), b""))
