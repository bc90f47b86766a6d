"""PDF: which of its pages have text, which need OCR, which cannot be read, and the elements of each with the right page number.

unstructured's `partition_pdf` (0.27.35) decides once for the whole file: a scanned page among text is lost, a drawing of 10,000 strokes
sends all pages to OCR, an exception of pdfminer gives an empty list. Here its text pass and its sorting are called, and each page is
decided by itself.
"""

import contextlib
import importlib.util
import os
import tempfile
import warnings as python_warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transforms.model import Box, DecodeError, Element, PartitionedDocument, Status
from transforms.partition import ocr
from transforms.partition.elements import detect_languages, from_unstructured
from transforms.partition.pdf.images import PaintedPictures, find_pictures, place_found
from transforms.partition.pdf.pages import PageGeometry, named_pages, page_geometry
from transforms.partition.pdf.properties import pdf_properties
from transforms.partition.pdf.text_layer import TextLayer, is_damaged, read_text_layer, text_layer_warnings
from transforms.partition.properties import Properties
from transforms.settings import DecodeSettings, Limits, Strategy

MIME_TYPE = "application/pdf"
_HEADER = b"%PDF-"
_HEADER_WITHIN = 1 << 20
"""Bytes in which the header is looked for. The standard's readers look at 1,024; mail and web servers prepend more."""
_GARBLED = "most of the text layer has no meaning, as its fonts name no characters"
_SURE = 75.0
"""Mean confidence of OCR from which it replaces a text layer of that kind; in the wrong language it comes out at 30 to 60."""


@dataclass(frozen=True)
class DocumentFacts:
    """What is known of a PDF before any of its pages is read."""

    page_count: int
    damaged: bool = False
    """Whether qpdf had to repair the file."""
    warnings: Sequence[str] = ()
    properties: Properties = field(default_factory=Properties)


@dataclass
class PagesRead:
    """What is found out about pages: of a whole document, or of a range of it. Nothing in it depends on other pages."""

    sizes: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Of all pages that were looked at, as they are seen, in points."""
    layer: TextLayer = field(default_factory=TextLayer)
    read: dict[int, list[Element]] = field(default_factory=dict)
    """Elements of pages that OCR or a layout model has read: they take the place of the text layer's."""
    damaged: list[int] = field(default_factory=list)
    """Pages whose content cannot be decoded."""
    wanting: list[int] = field(default_factory=list)
    """Pages that need OCR."""
    lacking: str = ""
    """Why no OCR can be had."""
    failed: dict[int, str] = field(default_factory=dict)
    """Pages that OCR failed over, and why."""
    silent: list[int] = field(default_factory=list)
    """Pages in which OCR found no text."""
    no_better: list[int] = field(default_factory=list)
    """Pages whose text layer is without meaning, and that OCR reads no better."""
    pictures: PaintedPictures = field(default_factory=PaintedPictures)


@dataclass(frozen=True)
class RangeFailure:
    """A range of pages that was not read, and why."""

    first: int
    last: int
    status: Status
    message: str


def partition_pdf(path: Path, settings: DecodeSettings, limits: Limits | None = None) -> PartitionedDocument:
    """Partitions a PDF: `read_pages` for all of them, then `join_pages`.

    Args:
      path: of the bytes.
      settings: `auto` reads the text layer and, of pages that have none, the picture by OCR; `fast` reads the text layer only; `ocr_only`
        reads the picture of every page; `hi_res` is unstructured's layout model.
      limits: of which `pages` is looked at.
    Returns:
      Elements page by page; each embedded picture is an `Image` element behind its page's text. Blank pages count. Pages that are known to
      hold text that was not read are `missing_pages`, and a warning says why.
    Raises:
      DecodeError: `encrypted`, `corrupt`, `needs_ocr` (no page has a text layer, and the strategy is `fast`), `missing_tool` (no page has
        one, and there is no tesseract; or no layout model), `too_large` (more pages than `limits` has).
    """
    with opened(path, limits or Limits()) as file:
        facts = document_facts(file)
        pages = read_pages(file, range(1, facts.page_count + 1), settings)
    return join_pages(facts, [pages], settings)


def document_facts(file: "OpenedPdf") -> DocumentFacts:
    """What the file says of the document as a whole."""
    return DocumentFacts(
        page_count=len(file.pdf.pages),
        damaged=file.damaged,
        warnings=[*file.warnings, *_lossy_features(file.pdf)],
        properties=pdf_properties(file.pdf),
    )


def read_pages(file: "OpenedPdf", numbers: Sequence[int], settings: DecodeSettings) -> PagesRead:
    """Reads pages, each as if it were alone.

    Args:
      numbers: of the pages, growing; all of them for `hi_res`, whose model takes files.
    Raises:
      DecodeError: of the whole document: it cannot be drawn, or there is no layout model.
    """
    geometries = {number: page_geometry(file.pdf.pages[number - 1].obj) for number in numbers}
    found = PagesRead(sizes={number: geometry.size for number, geometry in geometries.items()})
    if settings.strategy is Strategy.HI_RES:
        _read_by_layout_model(found, file.readable, settings)
    else:
        if settings.strategy is not Strategy.OCR_ONLY:
            found.layer = read_text_layer(file.pdf, file.readable, geometries)
        _read_pictures_of_text(found, file, geometries, settings)
    if settings.images:
        found.pictures = find_pictures(file.pdf, geometries)
    return found


def join_pages(
    facts: DocumentFacts, ranges: Sequence[PagesRead], settings: DecodeSettings, failures: Sequence[RangeFailure] = ()
) -> PartitionedDocument:
    """Makes one document of what was read of its pages: the same whatever ranges they were read in.

    Args:
      ranges: in page order; together with the failures all pages.
      failures: ranges that were not read. They cost their pages, as long as there is anything else.
    Raises:
      DecodeError: as `partition_pdf`, where that is known only from all pages; with failures and nothing else the status of the first.
    """
    texts = _with_languages({number: page for found in ranges for number, page in found.layer.pages.items()})
    texts |= {number: page for found in ranges for number, page in found.read.items()}
    missing = {number for found in ranges for number in (*found.damaged, *found.failed, *found.no_better)}
    lost = {number for failure in failures for number in range(failure.first, failure.last + 1)}
    pictures = place_found([found.pictures for found in ranges])
    warnings = [*facts.warnings, *text_layer_warnings([found.layer for found in ranges])]
    damaged = [number for found in ranges for number in found.damaged]
    if damaged:
        warnings.append(f"{named_pages(damaged)}: the content is damaged and cannot be read.")
    if failures and not any(texts.values()) and not pictures.by_page:
        first = failures[0]
        raise DecodeError(first.status, f"{named_pages(range(first.first, first.last + 1))}: {first.message}")
    if settings.strategy is Strategy.FAST:
        missing |= _tell_unread(warnings, ranges, has_text=any(texts.values()))
    else:
        missing |= _tell_of_ocr(warnings, ranges, settings, has_text=any(texts.values()))
    elements = [
        element
        for number in sorted({number for found in ranges for number in found.sizes})
        for element in place_pictures(texts.get(number, []), pictures.by_page.get(number, []), images=settings.images)
    ]
    if not elements and (facts.damaged or missing):
        raise DecodeError(Status.CORRUPT, f"The PDF is damaged: nothing of its {facts.page_count} pages can be read.")
    warnings.extend(pictures.warnings)
    warnings.extend(
        f"{named_pages(range(failure.first, failure.last + 1))}: not read ({failure.status}). {failure.message}" for failure in failures
    )
    return PartitionedDocument(
        elements=elements,
        mime_type=MIME_TYPE,
        page_based=True,
        page_count=facts.page_count,
        page_sizes={number: size for found in ranges for number, size in found.sizes.items()},
        title=facts.properties.title,
        creator=facts.properties.creator,
        date=facts.properties.date,
        warnings=warnings,
        missing_pages=sorted(missing | lost),
    )


def _with_languages(texts: dict[int, list[Element]]) -> dict[int, list[Element]]:
    """The text layer's elements with the languages of the document, which are found in the texts of its first pages."""
    languages = iter(detect_languages([element for number in sorted(texts) for element in texts[number]]))
    return {number: [next(languages) for _ in texts[number]] for number in sorted(texts)}


def _tell_unread(warnings: list[str], ranges: Sequence[PagesRead], *, has_text: bool) -> set[int]:
    """Tells of pages that need the OCR that `fast` does not ask for.

    Returns:
      Those pages: they are missing.
    """
    wanting = [number for found in ranges for number in found.wanting]
    unread = {number for found in ranges for number in found.layer.unread}
    garbled = sorted({number for found in ranges for number in found.layer.garbled})
    pictures = [number for number in wanting if number not in unread and number not in garbled]
    if wanting and not has_text:
        if unread:
            raise DecodeError(Status.CORRUPT, f"The text layer of no page can be read. {warnings[-1]}")
        raise DecodeError(
            Status.NEEDS_OCR, "No page of the PDF has a text layer, only pictures: read it with --strategy auto or --strategy ocr_only."
        )
    if pictures:
        warnings.append(f"{named_pages(pictures)}: no text layer, only pictures; --strategy auto reads them by OCR.")
    if garbled:
        warnings.append(f"{named_pages(garbled)}: {_GARBLED}; --strategy auto reads them by OCR.")
    return set(wanting)


def _tell_of_ocr(warnings: list[str], ranges: Sequence[PagesRead], settings: DecodeSettings, *, has_text: bool) -> set[int]:
    """Tells of pages that OCR could not be had for, or gave nothing of.

    Returns:
      Those that are missing for want of it.
    """
    lacking = [number for found in ranges if found.lacking for number in found.wanting]
    if lacking:
        reason = next(found.lacking for found in ranges if found.lacking)
        if not has_text:
            raise DecodeError(Status.MISSING_TOOL, reason)
        warnings.append(f"{named_pages(lacking)}: there are pictures of text that are not read. {reason}")
    for found in ranges:
        warnings.extend(f"Page {number}: {reason}" for number, reason in found.failed.items())
    languages = " + ".join(settings.languages)
    silent = [number for found in ranges for number in found.silent]
    if silent:
        warnings.append(f"{named_pages(silent)}: OCR in {languages} finds no text.")
    no_better = [number for found in ranges for number in found.no_better]
    if no_better:
        warnings.append(f"{named_pages(no_better)}: {_GARBLED}, and OCR in {languages} reads them no better.")
    return set(lacking)


def place_pictures(elements: Sequence[Element], pictures: Sequence[Element], *, images: bool = True) -> list[Element]:
    """Joins one page's elements with its embedded pictures.

    A layout model gives `Image` elements of its own, crops of the drawn page. Where such a crop shows an embedded picture, that picture
    takes its place in the reading order; crops of drawings stay; those without any picture go, as do all when no images are wanted. The
    other pictures stand at the end.
    """
    left = list(pictures)
    placed: list[Element] = []
    for element in elements:
        if element.category != "Image":
            placed.append(element)
            continue
        same = next((picture for picture in left if _overlap(picture.coordinates, element.coordinates) > 0.5), None)
        if same is not None:
            left.remove(same)
            placed.append(replace(same, text=element.text, parent_id=element.parent_id, in_reading_order=True))
        elif images and element.picture is not None:
            placed.append(element)
    return placed + left


def _overlap(first: Box | None, second: Box | None) -> float:
    """Of two boxes: the area of both over the area of either."""
    if first is None or second is None:
        return 0.0
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return width * height / (areas - width * height)


# --- opening -------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenedPdf:
    """An open PDF."""

    pdf: Any
    """`pikepdf.Pdf`."""
    readable: Path
    """A file that every reader opens and finds the same pages in: the document's own, or a copy that qpdf has written, without the junk
    before the header, decrypted, with its damage repaired."""
    warnings: Sequence[str]
    damaged: bool


@contextlib.contextmanager
def opened(path: Path, limits: Limits, readable: Path | None = None) -> Iterator[OpenedPdf]:
    """Opens a PDF.

    Args:
      readable: the file that an earlier opening of the same document has found or made.
    """
    import pikepdf

    with tempfile.TemporaryDirectory(prefix="pdf-") as folder:
        bare = _without_junk(path, Path(folder))
        try:
            pdf = pikepdf.open(bare, suppress_warnings=True)
        except pikepdf.PasswordError as error:
            raise DecodeError(Status.ENCRYPTED, "The PDF is encrypted and opens only with a password.") from error
        except (pikepdf.PdfError, RuntimeError) as error:
            raise _unopenable(error, bare) from error
        with pdf:
            warnings = [] if bare == path else ["There are bytes before the PDF's header: they are skipped."]
            if len(pdf.pages) > limits.pages:
                message = f"The PDF has {len(pdf.pages):,} pages, over the limit of {limits.pages:,}. --max-pages sets it."
                raise DecodeError(Status.TOO_LARGE, message)
            if len(pdf.pages) == 0 and pdf.get_warnings():
                raise DecodeError(Status.CORRUPT, "The PDF is damaged: no page of it can be found.")
            damaged = any("damaged" in str(warning) or "reconstruct" in str(warning) for warning in pdf.get_warnings())
            if damaged:
                warnings.append("The PDF is damaged: it was repaired as far as it could be, and pages or text may be missing.")
            if readable is None:
                readable = bare
                if damaged or pdf.is_encrypted or _pages_of_pdfminer(bare) != len(pdf.pages):
                    readable = Path(folder) / "readable.pdf"
                    _save(pdf, readable)
            yield OpenedPdf(pdf, readable, warnings, damaged)


def _without_junk(path: Path, folder: Path) -> Path:
    with path.open("rb") as stream:
        offset = stream.read(_HEADER_WITHIN).find(_HEADER)
        if offset == 0:
            return path
        if offset < 0:
            raise DecodeError(Status.CORRUPT, "The file has no PDF header: it is no PDF, or its start is missing.")
        bare = folder / "bare.pdf"
        stream.seek(offset)
        with bare.open("wb") as copy:
            for block in iter(lambda: stream.read(1 << 20), b""):
                copy.write(block)
    return bare


def _unopenable(error: Exception, path: Path) -> DecodeError:
    reason = " ".join(str(error).replace(str(path), "").split()).lstrip(": ")
    if "encrypt" in reason.lower():
        return DecodeError(Status.ENCRYPTED, f"The PDF is encrypted in a way that no password opens: {reason}.")
    return DecodeError(Status.CORRUPT, f"The PDF is damaged beyond repair: {reason}.")


def _save(pdf: Any, path: Path) -> None:
    import pikepdf

    try:
        pdf.save(path, encryption=False)
    except (pikepdf.PdfError, RuntimeError) as error:
        raise _unopenable(error, path) from error


def _pages_of_pdfminer(path: Path) -> int:
    """How many pages pdfminer finds, -1 if it fails: it numbers pages by what it finds, so where it differs it gets a repaired copy."""
    from pdfminer.pdfpage import PDFPage

    try:
        with path.open("rb") as stream:
            return sum(1 for _ in PDFPage.get_pages(stream))
    except Exception:  # pdfminer raises nearly everything over broken files: it cannot read this one as it is
        return -1


def _lossy_features(pdf: Any) -> list[str]:
    """What the PDF holds beside its pages, as warnings."""
    lossy = []
    if bool(pdf.Root.get("/NeedsRendering", False)):
        lossy.append("The PDF is a dynamic XFA form: its pages are made by Acrobat alone, and only the placeholder page can be read.")
    try:
        attached = len(pdf.attachments)
    except Exception:  # a broken name tree: RuntimeError, TypeError, PdfError, …
        attached = 0
    if attached:
        lossy.append(f"The PDF carries {attached} attached file{'s' if attached > 1 else ''}, not decoded.")
    filled, noted = _annotations(pdf)
    if filled:
        lossy.append(f"{filled:,} filled form field{'s' if filled > 1 else ''} of the PDF {'are' if filled > 1 else 'is'} not decoded.")
    if noted:
        lossy.append(f"{noted:,} comment{'s' if noted > 1 else ''} on pages of the PDF {'are' if noted > 1 else 'is'} not decoded.")
    return lossy


_NO_COMMENTS = frozenset({"/Link", "/Widget", "/Popup", "/FileAttachment", "/Screen", "/3D", "/TrapNet", "/PrinterMark"})


def _annotations(pdf: Any) -> tuple[int, int]:
    """How many form fields have a text in them, and how many comments stand on the pages: pdfminer reads neither."""
    import pikepdf

    filled = noted = 0
    for page in pdf.pages:
        try:
            for annotation in page.obj.get("/Annots", ()):
                kind = str(annotation.get("/Subtype", ""))
                if kind == "/Widget":
                    value = annotation.get("/V", annotation.get("/Parent", {}).get("/V"))
                    filled += isinstance(value, pikepdf.String) and bool(str(value).strip())
                elif kind not in _NO_COMMENTS:
                    noted += bool(str(annotation.get("/Contents", "")).strip())
        except Exception:  # noqa: S112 - damaged annotations: TypeError, ValueError, PdfError, … on an object of another kind
            continue
    return filled, noted


# --- OCR -----------------------------------------------------------------------------------------------------------------------------


def _read_pictures_of_text(found: PagesRead, file: OpenedPdf, geometries: Mapping[int, PageGeometry], settings: DecodeSettings) -> None:
    """Finds the pages that need OCR, and reads those that may get it."""
    textless = [number for number in geometries if not found.layer.pages.get(number)]
    if not textless and not found.layer.garbled:
        return
    with _drawn(file.readable) as document:
        attempted = found.layer.unread | found.layer.garbled
        blank = [number for number in textless if number not in attempted and _is_blank(document, number)]
        # Pages that look blank because their content cannot be decoded are missing.
        found.damaged = [number for number in blank if is_damaged(file.pdf, number)]
        found.wanting = sorted({*textless, *found.layer.garbled} - set(blank))
        if found.wanting and settings.strategy is not Strategy.FAST:
            _read_by_ocr(found, document, geometries, settings)


def _read_by_ocr(found: PagesRead, document: Any, geometries: Mapping[int, PageGeometry], settings: DecodeSettings) -> None:
    try:
        ocr.require_tesseract(settings.languages)
    except DecodeError as lacking:
        found.lacking = lacking.message
        return
    for number in found.wanting:
        try:
            paragraphs = ocr.read_paragraphs(_page_image(document, number, geometries[number]), settings.languages)
        except DecodeError as error:
            found.failed[number] = error.message
            continue
        if number in found.layer.garbled and _confidence(paragraphs) < _SURE:
            found.no_better.append(number)
        elif paragraphs:
            elements = ocr.text_elements(paragraphs, page_number=number, languages=settings.languages)
            found.read[number] = from_unstructured(elements, images=False)
        else:
            found.silent.append(number)


def _confidence(paragraphs: Sequence[ocr.Paragraph]) -> float:
    letters = sum(len(paragraph.text) for paragraph in paragraphs)
    return sum(paragraph.confidence * len(paragraph.text) for paragraph in paragraphs) / letters if letters else 0.0


@contextlib.contextmanager
def _drawn(path: Path) -> Iterator[Any]:
    """The document in PDFium, which draws pages in a tenth of poppler's time and without a process."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise DecodeError(Status.CORRUPT, f"The PDF is damaged: its pages cannot be drawn ({error}).") from error
    try:
        yield document
    finally:
        document.close()


def _is_blank(document: Any, number: int) -> bool:
    """Whether nothing is painted on a page: no text, no image, no line, no visible annotation."""
    import pypdfium2
    from pypdfium2 import raw

    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return True
    blank = not raw.FPDFPage_CountObjects(page.raw) and not raw.FPDFPage_GetAnnotCount(page.raw)
    page.close()
    return bool(blank)


def _page_image(document: Any, number: int, geometry: PageGeometry) -> Any:
    width, height = geometry.size
    scale = min(ocr.RENDER_DPI / 72 * geometry.unit, (ocr.MAX_PIXELS / max(1.0, width * height)) ** 0.5 * geometry.unit)
    page = document[number - 1]
    try:
        return page.render(scale=scale, rev_byteorder=True).to_pil()
    finally:
        page.close()


# --- the layout model ----------------------------------------------------------------------------------------------------------------


def _read_by_layout_model(found: PagesRead, readable: Path, settings: DecodeSettings) -> None:
    from unstructured.partition.pdf import partition_pdf as partition

    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore")
            elements = partition(
                filename=os.fspath(readable),
                strategy="hi_res",
                languages=list(settings.languages),
                infer_table_structure=has_table_model(),
                extract_image_block_types=["Image"] if settings.images else None,
                extract_image_block_to_payload=settings.images,
            )
    except (FileNotFoundError, ImportError) as error:  # huggingface_hub's LocalEntryNotFoundError is a FileNotFoundError
        raise layout_model_missing() from error
    for element in from_unstructured(elements, images=settings.images):
        found.read.setdefault(element.page_number or 1, []).append(element)


def layout_model_missing() -> DecodeError:
    """What `hi_res` fails with where its models are not in the local cache: they are never downloaded during a decode."""
    return DecodeError(
        Status.MISSING_TOOL,
        "--strategy hi_res needs unstructured's layout models in the Hugging Face cache, where they are not: use --strategy auto.",
    )


def has_table_model() -> bool:
    """Whether tables can be read with structure: that model is made of torch and transformers, which the light installation leaves out."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))
