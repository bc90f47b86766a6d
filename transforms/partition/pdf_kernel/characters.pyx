# cython: language_level=3, wraparound=False, infer_types=False
"""Characters: from a text operator to the `LTChar`s of its string, with their boxes.

pdfminer.six 20260107 makes a dozen calls and as many tuples a character, in `PDFTextDevice.render_string_horizontal`,
`PDFLayoutAnalyzer.render_char` and `LTChar.__init__`. Here they are one loop over C doubles, and each font looks up a character once.
Every sum is taken in pdfminer's order, without fused operations (-ffp-contract=off), so that the last bit is the same.

What is handed back, a string as a whole: vertical fonts, and states that are not plain numbers.
"""

import logging

from pdfminer.layout import LTChar
from pdfminer.pdffont import PDFFont, PDFUnicodeNotDefined
from pdfminer.utils import mult_matrix

_log = logging.getLogger("pdfminer.pdfdevice")


cdef class Character:
    """The attributes of an `LTChar`, as C numbers."""

    @property
    def bbox(self):
        return (self.x0, self.y0, self.x1, self.y1)

    @bbox.setter
    def bbox(self, box):
        self.x0, self.y0, self.x1, self.y1 = box

    @property
    def matrix(self):
        return (self._matrix[0], self._matrix[1], self._matrix[2], self._matrix[3], self._matrix[4], self._matrix[5])

    @matrix.setter
    def matrix(self, matrix):
        self._matrix[0], self._matrix[1], self._matrix[2], self._matrix[3], self._matrix[4], self._matrix[5] = matrix

    def get_text(self):
        """Equals `LTChar.get_text`."""
        return self._text

    def analyze(self, laparams):
        """Equals `LTItem.analyze`, which does nothing."""


class KernelChar(Character, LTChar):
    """An `LTChar` to everyone who asks, made by `show_text`."""

    __slots__ = ()


cdef class _Glyph:
    """What a font says of one character."""

    cdef str text
    cdef double width       # in text space, before the font's size


cdef str _GLYPHS = "_kernel_glyphs"      # attribute of a font: its glyphs, by character id
cdef object _plain_decode = PDFFont.decode
cdef type _Char = KernelChar


cdef _Glyph _look_up(device, font, character_id):
    """Equals the calls of `PDFLayoutAnalyzer.render_char`, with the same exceptions."""
    cdef _Glyph glyph = _Glyph.__new__(_Glyph)
    try:
        text = font.to_unichr(character_id)
        assert isinstance(text, str), str(type(text))
    except PDFUnicodeNotDefined:
        text = device.handle_undefined_char(font, character_id)
    glyph.width = font.char_width(character_id)
    glyph.text = str(text)
    return glyph


cdef inline double _least(double a, double b, double c, double d) noexcept nogil:
    """Python's `min(a, b, c, d)`: the first of equals, also where one is no number."""
    cdef double least = a
    if b < least: least = b
    if c < least: least = c
    if d < least: least = d
    return least


cdef inline double _greatest(double a, double b, double c, double d) noexcept nogil:
    """Python's `max(a, b, c, d)`."""
    cdef double greatest = a
    if b > greatest: greatest = b
    if c > greatest: greatest = c
    if d > greatest: greatest = d
    return greatest


cpdef bint show_text(interpreter, sequence) except -1:
    """Appends the characters of a text operator to the device's current item, and moves the text position.

    Equals `CustomPDFPageInterpreter.do_TJ` of unstructured (0.27.35: `rendermode` on each character) over pdfminer's `PDFTextDevice.render_string`
    with a `PDFPageAggregator`.

    Args:
      interpreter: a `PDFPageInterpreter`.
      sequence: strings, and numbers that move.
    Returns:
      Whether it was done; False: nothing has happened, and the original must do it.
    """
    state = interpreter.textstate
    font = state.font
    if font is None:
        return True
    device = interpreter.device
    if font.is_vertical() or type(state.fontsize) is not float:
        return False
    cdef double a, b, c, d, e, f, x, y, size, scaling, charspace, wordspace, rise, unit, descent, bottom, top
    try:
        a, b, c, d, e, f = mult_matrix(state.matrix, device.ctm)
        x, y = state.linematrix
        size, rise = state.fontsize, state.rise
        scaling = state.scaling * 0.01
        charspace = state.charspace * scaling
        wordspace = 0.0 if font.is_multibyte() else state.wordspace * scaling
        descent = font.get_descent() * size
    except (TypeError, ValueError, OverflowError):
        return False
    unit = 0.001 * size * scaling
    bottom = descent + rise
    top = descent + rise + size

    cdef bint upright = a * d * scaling > 0 and b * c <= 0
    cdef bint is_simple = type(font).decode is _plain_decode
    cdef bint needs_space = False
    cdef double dx, dy, advance
    cdef Character character
    cdef _Glyph glyph
    cdef dict glyphs = font.__dict__.setdefault(_GLYPHS, {})
    cdef list objects = device.cur_item._objs
    colour_space = interpreter.graphicstate.ncs
    graphic_state = interpreter.graphicstate.copy()
    name = font.fontname
    rendering = state.render
    for item in sequence:
        if isinstance(item, (int, float)):
            x -= (<double> item) * unit
            needs_space = True
        elif isinstance(item, bytes):
            for character_id in (item if is_simple else font.decode(item)):
                if needs_space:
                    x += charspace
                glyph = <_Glyph> glyphs.get(character_id)
                if glyph is None:
                    glyph = glyphs[character_id] = _look_up(device, font, character_id)
                advance = glyph.width * size * scaling
                dx = x * a + y * c + e
                dy = x * b + y * d + f
                character = <Character> _Char.__new__(_Char)
                character._matrix[0] = a
                character._matrix[1] = b
                character._matrix[2] = c
                character._matrix[3] = d
                character._matrix[4] = dx
                character._matrix[5] = dy
                character._text = glyph.text
                character.fontname = name
                character.ncs = colour_space
                character.graphicstate = graphic_state
                character.rendermode = rendering
                character.adv = advance
                character.upright = upright
                _place(character, bottom, top)
                objects.append(character)
                x += advance
                if character_id == 32 and wordspace != 0:
                    x += wordspace
                needs_space = True
        else:
            _log.warning("Cannot render horizontal string because %r is not a valid int, float or bytes.", item)
    state.linematrix = (x, y)
    return True


cdef void _place(Character character, double bottom, double top) noexcept:
    """Sets the box. Equals `apply_matrix_rect` of (0, bottom, adv, top), and `LTComponent.set_bbox`."""
    cdef double a = character._matrix[0], b = character._matrix[1], c = character._matrix[2], d = character._matrix[3]
    cdef double e = character._matrix[4], f = character._matrix[5], right = character.adv
    cdef double left1 = a * 0.0 + c * bottom + e, bottom1 = b * 0.0 + d * bottom + f
    cdef double right1 = a * right + c * bottom + e, bottom2 = b * right + d * bottom + f
    cdef double right2 = a * right + c * top + e, top1 = b * right + d * top + f
    cdef double left2 = a * 0.0 + c * top + e, top2 = b * 0.0 + d * top + f
    cdef double x0 = _least(left1, left2, right1, right2), x1 = _greatest(left1, left2, right1, right2)
    cdef double y0 = _least(bottom1, bottom2, top1, top2), y1 = _greatest(bottom1, bottom2, top1, top2)
    if x1 < x0:
        x0, x1 = x1, x0
    if y1 < y0:
        y0, y1 = y1, y0
    character.x0 = x0
    character.y0 = y0
    character.x1 = x1
    character.y1 = y1
    character.width = x1 - x0
    character.height = y1 - y0
    character.size = character.height
