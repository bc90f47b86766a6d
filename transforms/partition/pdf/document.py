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
from transforms.partition.elements import from_unstructured
from transforms.partition.pdf.images import EmbeddedPictures, embedded_pictures
from transforms.partition.pdf.pages import PageGeometry, named_pages, page_geometry
from transforms.partition.pdf.properties import pdf_properties
from transforms.partition.pdf.text_layer import is_damaged, read_text_layer
from transforms.settings import DecodeSettings, Limits, Strategy

MIME_TYPE = "application/pdf"
_HEADER = b"%PDF-"
_HEADER_WITHIN = 1 << 20
"""Bytes in which the header is looked for. The standard's readers look at 1,024; mail and web servers prepend more."""
_GARBLED = "most of the text layer has no meaning, as its fonts name no characters"
_SURE = 75.0
"""Mean confidence of OCR from which it replaces a text layer of that kind; in the wrong language it comes out at 30 to 60."""


@dataclass
class _Findings:
    """What is found out about a document while it is partitioned."""

    geometries: Mapping[int, PageGeometry]
    texts: dict[int, list[Element]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missing: set[int] = field(default_factory=set)
    unread: set[int] = field(default_factory=set)
    garbled: set[int] = field(default_factory=set)
    """Both as in `TextLayer`."""
    is_damaged: bool = False
    """Whether qpdf had to repair the file."""


def partition_pdf(path: Path, settings: DecodeSettings, limits: Limits | None = None) -> PartitionedDocument:
    """Partitions a PDF.

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
    with _opened(path, limits or Limits()) as (pdf, readable, warnings, damaged):
        geometries = {number: page_geometry(page.obj) for number, page in enumerate(pdf.pages, start=1)}
        found = _Findings(geometries, warnings=[*warnings, *_lossy_features(pdf)], is_damaged=damaged)
        if settings.strategy is Strategy.HI_RES:
            _read_by_layout_model(found, readable, settings)
        else:
            if settings.strategy is not Strategy.OCR_ONLY:
                layer = read_text_layer(pdf, readable, geometries)
                found.texts, found.unread, found.garbled = layer.pages, layer.unread, layer.garbled
                found.warnings.extend(layer.warnings)
            _read_pictures_of_text(found, pdf, readable, settings)
        pictures = embedded_pictures(pdf, geometries) if settings.images else EmbeddedPictures()
        properties = pdf_properties(pdf)
    elements = [
        element
        for number in geometries
        for element in place_pictures(found.texts.get(number, []), pictures.by_page.get(number, []), images=settings.images)
    ]
    if not elements and (found.is_damaged or found.missing):
        raise DecodeError(Status.CORRUPT, f"The PDF is damaged: nothing of its {len(geometries)} pages can be read.")
    return PartitionedDocument(
        elements=elements,
        mime_type=MIME_TYPE,
        page_based=True,
        page_count=len(geometries),
        page_sizes={number: geometry.size for number, geometry in geometries.items()},
        title=properties.title,
        creator=properties.creator,
        date=properties.date,
        warnings=[*found.warnings, *pictures.warnings],
        missing_pages=sorted(found.missing),
    )


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


@contextlib.contextmanager
def _opened(path: Path, limits: Limits) -> Iterator[tuple[Any, Path, list[str], bool]]:
    """Opens a PDF.

    Yields:
      The `pikepdf.Pdf`, a path that every reader opens and finds the same pages in, warnings, and whether it was damaged. The path is the
      document's own, or a copy that qpdf has written: without the junk before the header, decrypted, with its damage repaired.
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
            readable = bare
            if damaged or pdf.is_encrypted or _pages_of_pdfminer(bare) != len(pdf.pages):
                readable = Path(folder) / "readable.pdf"
                _save(pdf, readable)
            yield pdf, readable, warnings, damaged


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


def _read_pictures_of_text(found: _Findings, pdf: Any, readable: Path, settings: DecodeSettings) -> None:
    """Reads by OCR the pages that need it and may get it; tells of those that need it and do not get it."""
    textless = [number for number in found.geometries if not found.texts.get(number)]
    if not textless and not found.garbled:
        return
    with _drawn(readable) as document:
        blank = [number for number in textless if number not in found.unread | found.garbled and _is_blank(document, number)]
        _tell_damaged(found, pdf, blank)
        pictured = [number for number in textless if number not in blank]
        wanting = sorted({*pictured, *found.garbled})
        if settings.strategy is Strategy.FAST:
            _tell_unread(found, wanting)
        elif wanting:
            _read_pages(found, document, wanting, settings)


def _tell_damaged(found: _Findings, pdf: Any, blank: Sequence[int]) -> None:
    """Pages that look blank because their content cannot be decoded are missing."""
    damaged = [number for number in blank if is_damaged(pdf, number)]
    found.missing.update(damaged)
    if damaged:
        found.warnings.append(f"{named_pages(damaged)}: the content is damaged and cannot be read.")


def _tell_unread(found: _Findings, wanting: Sequence[int]) -> None:
    found.missing.update(wanting)
    pictures = [number for number in wanting if number not in found.unread and number not in found.garbled]
    if wanting and not any(found.texts.values()):
        if found.unread:
            raise DecodeError(Status.CORRUPT, f"The text layer of no page can be read. {found.warnings[-1]}")
        raise DecodeError(
            Status.NEEDS_OCR, "No page of the PDF has a text layer, only pictures: read it with --strategy auto or --strategy ocr_only."
        )
    if pictures:
        found.warnings.append(f"{named_pages(pictures)}: no text layer, only pictures; --strategy auto reads them by OCR.")
    if found.garbled:
        found.warnings.append(f"{named_pages(sorted(found.garbled))}: {_GARBLED}; --strategy auto reads them by OCR.")


def _read_pages(found: _Findings, document: Any, wanting: Sequence[int], settings: DecodeSettings) -> None:
    try:
        ocr.require_tesseract(settings.languages)
    except DecodeError as lacking:
        if not any(found.texts.values()):
            raise
        found.missing.update(wanting)
        found.warnings.append(f"{named_pages(wanting)}: there are pictures of text that are not read. {lacking.message}")
        return
    silent, garbled = [], []
    for number in wanting:
        try:
            paragraphs = ocr.read_paragraphs(_page_image(document, number, found.geometries[number]), settings.languages)
        except DecodeError as error:
            found.missing.add(number)
            found.warnings.append(f"Page {number}: {error.message}")
            continue
        if number in found.garbled and _confidence(paragraphs) < _SURE:
            garbled.append(number)
        elif paragraphs:
            elements = ocr.text_elements(paragraphs, page_number=number, languages=settings.languages)
            found.texts[number] = from_unstructured(elements, images=False)
        else:
            silent.append(number)
    languages = " + ".join(settings.languages)
    if silent:
        found.warnings.append(f"{named_pages(silent)}: OCR in {languages} finds no text.")
    if garbled:
        found.missing.update(garbled)
        found.warnings.append(f"{named_pages(garbled)}: {_GARBLED}, and OCR in {languages} reads them no better.")


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


def _read_by_layout_model(found: _Findings, readable: Path, settings: DecodeSettings) -> None:
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
        found.texts.setdefault(element.page_number or 1, []).append(element)


def layout_model_missing() -> DecodeError:
    """What `hi_res` fails with where its models are not in the local cache: they are never downloaded during a decode."""
    return DecodeError(
        Status.MISSING_TOOL,
        "--strategy hi_res needs unstructured's layout models in the Hugging Face cache, where they are not: use --strategy auto.",
    )


def has_table_model() -> bool:
    """Whether tables can be read with structure: that model is made of torch and transformers, which the light installation leaves out."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "transformers"))
