"""Image files as documents: the text that OCR finds in them, and the image itself."""

import contextlib
import io
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transforms.model import DecodeError, Element, PartitionedDocument, Picture, Stage, Status
from transforms.partition import ocr
from transforms.partition.containers import too_large
from transforms.partition.elements import from_unstructured
from transforms.partition.formats import Format
from transforms.partition.pdf.document import has_table_model, layout_model_missing
from transforms.partition.pictures.picture import image_element, picture_from_bytes
from transforms.settings import DecodeSettings, Limits, Strategy


def partition_image(
    path: Path,
    format: Format,  # noqa: A002 - the word of the field
    settings: DecodeSettings,
    limits: Limits | None = None,
) -> PartitionedDocument:
    """Partitions an image file.

    Args:
      path: of the bytes.
      format: what they were found to be; its MIME type is the document's.
      settings: `auto` and `ocr_only` read the text with tesseract; `hi_res` with unstructured's layout model.
      limits: of which `pixels` and `pages` are looked at.
    Returns:
      The text's elements, with the image itself as one `Image` element before them (with its bytes as they are, where images are wanted).
      A TIFF of more than one page has page numbers, as metadata: image formats have no pages. An image without any text is no failure:
      a warning tells.
    Raises:
      DecodeError: `needs_ocr` under `fast`, `missing_tool` without tesseract or a language model of it, `corrupt` where it is no readable
        image, `too_large` over one of the limits.
    """
    if settings.strategy is Strategy.FAST:
        raise DecodeError(Status.NEEDS_OCR, "The text of an image is read by OCR only: use --strategy auto or --strategy ocr_only.")
    limits = limits or Limits()
    data = path.read_bytes()
    with _opened(data, format, limits) as image:
        with _headers_of_pages():
            frames = int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1
        if frames > limits.pages:
            raise too_large(f"The image has {frames:,} pages, over the limit of {limits.pages:,}. --max-pages sets it.", Stage.PARTITION)
        told: list[str] = []
        if settings.strategy is Strategy.HI_RES:
            texts = _by_layout_model(data, settings)
        else:
            ocr.require_tesseract(settings.languages)
            texts = _by_ocr(image, frames, settings, limits, told)
        size = image.size
    if not texts:
        told.append(f"OCR in {' + '.join(settings.languages)} finds no text in the image.")
    picture = _picture(data, format, size) if settings.images else None
    elements = texts if picture is None else [image_element(picture, place="image", coordinates=(0.0, 0.0, 1.0, 1.0)), *texts]
    return PartitionedDocument(
        elements=elements,
        mime_type=format.mime_type,
        page_based=format.page_based,
        page_count=frames if frames > 1 else None,
        warnings=told,
    )


@contextlib.contextmanager
def _opened(data: bytes, known: Format, limits: Limits) -> Iterator[Any]:
    """The image in Pillow, its pixels not decoded yet; what goes wrong with it, then or later, as `corrupt` or `too_large`."""
    from pi_heif import register_heif_opener
    from PIL import Image, UnidentifiedImageError

    register_heif_opener()
    checked, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None  # the limit is looked at here, and told with its option
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data)) as image:
                _check_pixels("The image", image, limits)
                yield image
    except UnidentifiedImageError as error:
        raise DecodeError(Status.CORRUPT, f"The {known.name} image cannot be read: its header is damaged.") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise DecodeError(Status.CORRUPT, f"The {known.name} image is damaged: {' '.join(str(error).split())}.") from error
    finally:
        Image.MAX_IMAGE_PIXELS = checked


@contextlib.contextmanager
def _headers_of_pages() -> Iterator[None]:
    """What Pillow (12.3) raises over the damaged header of a further page, as the ValueError that it raises over other damage."""
    try:
        yield
    except (TypeError, KeyError, struct.error) as error:
        raise ValueError("the header of a page cannot be read") from error


def _check_pixels(what: str, image: Any, limits: Limits) -> None:
    if image.width * image.height > limits.pixels * 1_000_000:
        raise too_large(
            f"{what} has {image.width:,} × {image.height:,} pixels, over the limit of {limits.pixels:,} million. --max-pixels sets it.",
            Stage.PARTITION,
        )


def _by_ocr(image: Any, frames: int, settings: DecodeSettings, limits: Limits, told: list[str]) -> list[Element]:
    from PIL import ImageOps

    elements: list[Element] = []
    for number in range(1, frames + 1):
        with _headers_of_pages():
            image.seek(number - 1)
        _check_pixels(f"Page {number} of the image", image, limits)
        upright = ImageOps.exif_transpose(image)
        paragraphs = ocr.read_paragraphs(upright, settings.languages)
        page_number = number if frames > 1 else None
        elements.extend(
            from_unstructured(ocr.text_elements(paragraphs, page_number=page_number, languages=settings.languages), images=False)
        )
        if frames > 1 and not paragraphs:
            told.append(f"OCR finds no text on page {number} of the image.")
    return elements


def _by_layout_model(data: bytes, settings: DecodeSettings) -> list[Element]:
    from unstructured.partition.image import partition_image as partition

    try:
        elements = partition(
            file=io.BytesIO(data),
            strategy="hi_res",
            languages=list(settings.languages),
            infer_table_structure=has_table_model(),
        )
    except (FileNotFoundError, ImportError) as error:
        raise layout_model_missing() from error
    # The pictures in a picture are parts of what is stored whole.
    return [element for element in from_unstructured(elements, images=False) if element.category != "Image"]


def _picture(data: bytes, known: Format, size: tuple[int, int]) -> Picture | None:
    """The file itself: the whole of it, whatever its size, as an image of one pixel is still the document."""
    found = picture_from_bytes(data)
    return found if found is not None else Picture(data, known.mime_type, *size)
