# cython: language_level=3, wraparound=False, cdivision=True, infer_types=False
"""Texts of layout objects as unstructured 0.27.35 reads them: without the second of two characters that were printed twice to look bold.

What is handed back, a text as a whole: one with characters that are not the kernel's (of a vertical font).
"""

from libc.math cimport fabs

from pdfminer.layout import LTChar, LTContainer, LTTextLine
from unstructured.partition.pdf_image.pdfminer_processing import get_words_from_obj
from unstructured.partition.pdf_image.pdfminer_utils import get_text_with_deduplication
from unstructured.partition.utils.config import env_config

from transforms.partition.pdf_kernel.characters cimport Character

from transforms.partition.pdf_kernel.tokens import HandBack


cdef bint _is_printed_twice(Character first, Character second, double threshold) except -1:
    """Equals `_is_duplicate_char`. Its second threshold is asked for rarely: reading it from the environment costs a microsecond."""
    cdef double start, end, overlap, width
    if first._text != second._text:
        return False
    if fabs(first.x0 - second.x0) >= threshold or fabs(first.y0 - second.y0) >= threshold:
        return False
    start = second.x0 if second.x0 > first.x0 else first.x0
    end = second.x1 if second.x1 < first.x1 else first.x1
    overlap = end - start if end - start > 0 else 0
    width = ((first.x1 - first.x0) + (second.x1 - second.x0)) / 2
    return (overlap / width if width > 0 else 0) > env_config.PDF_CHAR_OVERLAP_RATIO_THRESHOLD


def text_of(item, double threshold) -> str:
    """The text of a line or box. Equals `get_text_with_deduplication`."""
    cdef list parts = []
    if threshold > 0 and isinstance(item, LTContainer):
        try:
            if isinstance(item, LTTextLine):
                _add_line(parts, item, threshold)
            else:
                for child in item._objs:
                    if isinstance(child, LTTextLine):
                        _add_line(parts, child, threshold)
                    elif hasattr(child, "get_text"):
                        parts.append(child.get_text())
            return "".join(parts)
        except HandBack:
            pass
    return get_text_with_deduplication(item, threshold)


cdef int _add_line(list parts, line, double threshold) except -1:
    """Equals `deduplicate_chars_in_text_line`."""
    cdef Character last = None, character
    for item in line._objs:
        if isinstance(item, Character):
            character = <Character> item
            if last is not None and _is_printed_twice(last, character, threshold):
                continue
            last = character
            parts.append(character._text)
        elif isinstance(item, LTChar):
            raise HandBack("a character of pdfminer's")
        elif hasattr(item, "get_text"):
            parts.append(item.get_text())
    return 0


def text_inside(item) -> str:
    """The text of a figure, with a line feed for each path and image. Equals `_extract_text`."""
    cdef list parts = []
    _add_text_inside(parts, item)
    return "".join(parts)


cdef int _add_text_inside(list parts, item) except -1:
    if isinstance(item, Character):
        parts.append((<Character> item)._text)
    elif hasattr(item, "get_text"):
        parts.append(item.get_text())
    elif isinstance(item, LTContainer):
        for child in item._objs:
            _add_text_inside(parts, child)
    else:
        parts.append("\n")
    return 0


def words_of(box, height) -> list:
    """The words of a box with their places, for links. Equals the second list of `get_words_from_obj`."""
    cdef list words = []
    cdef double threshold = env_config.PDF_CHAR_DUPLICATE_THRESHOLD
    cdef Py_ssize_t before = 0, index
    cdef Character last, character
    cdef str word, text
    cdef bint is_alphanumeric = False
    for line in box._objs:
        word = ""
        x1 = y1 = x2 = y2 = None
        start = 0
        last = None
        for index, item in enumerate(line._objs):
            if not isinstance(item, Character):
                if isinstance(item, LTChar):
                    return get_words_from_obj(box, height)[1]
                words.append({"text": word, "bbox": (x1, y1, x2, y2), "start_index": start})
                word = ""
                continue
            character = <Character> item
            if threshold > 0 and last is not None and _is_printed_twice(last, character, threshold):
                continue
            last = character
            text = character._text
            if word and not text.strip():
                words.append({"text": word, "bbox": (x1, y1, x2, y2), "start_index": start})
                word = ""
                continue
            if not word:
                is_alphanumeric = text.isalnum()
            elif text.isalnum() != is_alphanumeric:
                is_alphanumeric = text.isalnum()
                words.append({"text": word, "bbox": (x1, y1, x2, y2), "start_index": start})
                word = ""
            if not word:
                start = before + index
                x1 = character.x0
                y1 = height - character.y1
            x2 = character.x1
            y2 = height - character.y0
            word += text
        before += len(line._objs)
    return words
