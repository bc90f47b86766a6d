"""What pdfminer's own classes and the kernel's make of the same bytes, written down so that a difference in the last bit shows."""

import contextlib
import io
import logging

from pdfminer.layout import LAParams, LTAnno, LTChar, LTContainer, LTCurve, LTPage
from pdfminer.pdfpage import PDFPage
from unstructured.partition.pdf_image.pdfminer_utils import PDFMinerConfig, init_pdfminer

from transforms.partition.pdf_kernel import pages
from transforms.partition.pdf_kernel.ties import order_ties

CONFIG = PDFMinerConfig(word_margin=0.185)
PLAIN = LAParams(word_margin=0.185)

logging.getLogger("pdfminer").setLevel(logging.CRITICAL)  # it warns of nearly all that these tests make


@contextlib.contextmanager
def ordered_ties():
    """Has pdfminer join boxes at equal distances in the order in which they were found, as the job does."""
    undo = order_ties()
    try:
        yield
    finally:
        undo()


def devices():
    """The original device and interpreter, and the kernel's."""
    return init_pdfminer(CONFIG), pages._interpreter(CONFIG)


def characters_of(data, *, kernel):
    """The items of each page as they are found, before they are laid out; or the exception."""
    device, interpreter = devices()[kernel]
    device.laparams = None
    found = []
    try:
        for page in PDFPage.get_pages(io.BytesIO(data)):
            interpreter.process_page(page)
            found.append([described(item) for item in device.get_result() if kernel is False or not is_path(item)])
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}".split(" at 0x")[0])
    return found


def layout_of(data, *, kernel):
    """The items of each laid out page; or the exception."""
    device, interpreter = devices()[kernel]
    found = []
    with ordered_ties():
        try:
            for page in PDFPage.get_pages(io.BytesIO(data)):
                interpreter.process_page(page)
                found.append([described(item) for item in device.get_result() if not is_path(item)])
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}".split(" at 0x")[0])
    return found


def is_path(item):
    return isinstance(item, LTCurve)


def described(item):
    """All that a layout item says."""
    if isinstance(item, LTChar):
        return (
            *("char", item.get_text(), item.bbox, item.width, item.height, item.size, item.adv, item.matrix, item.upright, item.fontname),
            *(repr(item.ncs), repr(item.graphicstate), item.rendermode),
        )
    if isinstance(item, LTAnno):
        return item.get_text()
    if is_path(item):
        return "path"
    if isinstance(item, LTContainer):
        kind = next(base.__name__ for base in type(item).__mro__ if base.__module__ == "pdfminer.layout")
        return (kind, getattr(item, "index", None), item.bbox, item.width, item.height, [described(child) for child in item])
    return (type(item).__name__, item.bbox)


def page_of(characters, box, page_class=LTPage):
    """A page with these characters, not yet laid out."""
    page = page_class(1, box)
    for character in characters:
        page.add(character)
    return page
