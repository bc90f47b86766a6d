# cython: language_level=3, wraparound=False, cdivision=True, infer_types=False
"""Tokens of PDF and PostScript text: what pdfminer's `PSBaseParser` finds, from a buffer that is all in memory.

pdfminer.six 20260107 reads buffers of 4,096 bytes through a state machine of Python methods, one call and one regular expression a state.
Here one pass over the characters makes the same objects: ints, floats, bools, bytes, and pdfminer's own interned `PSLiteral` and `PSKeyword`.

What is handed back (`HandBack`): a token that goes on behind the end of the buffer, and an octal escape over 255, over which pdfminer fails.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from pdfminer.psparser import KWD, LIT, PSKeywordTable, PSLiteralTable


class HandBack(Exception):
    """The kernel leaves this to pdfminer, which starts over from the same state."""


cdef object END = object()      # there is no further token in the buffer

cdef enum:
    BLOCK = 4096                # PSBaseParser.BUFSIZ
    EXACT_DIGITS = 15           # a double holds every integer of so many digits, and every power of ten up to 10**22
    LONG_DIGITS = 18            # what a 64-bit integer holds

    SPACE = 1                   # classes of characters
    DELIMITER = 2               # ends a name or a keyword: [#/%\[\]()<>{}\s]
    HEXADECIMAL = 4
    DIGIT = 8
    LETTER = 16

cdef dict _keywords = PSKeywordTable.dict
cdef dict _names = PSLiteralTable.dict
cdef object _DICT_BEGIN = KWD(b"<<")
cdef object _DICT_END = KWD(b">>")

cdef unsigned char[256] _CLASS
cdef int[256] _HEX_VALUE
cdef int[256] _ESCAPED          # the byte that \n, \t, ... stand for; -1: no such escape
cdef double[EXACT_DIGITS + 1] _POWER_OF_TEN


cdef _fill_tables():
    cdef int code
    for code in range(256):
        _CLASS[code] = 0
        _HEX_VALUE[code] = -1
        _ESCAPED[code] = -1
    for code in b" \t\n\r\x0b\x0c":
        _CLASS[code] |= SPACE | DELIMITER
    for code in b"#/%[]()<>{}":
        _CLASS[code] |= DELIMITER
    for code in b"0123456789abcdefABCDEF":
        _CLASS[code] |= HEXADECIMAL
        _HEX_VALUE[code] = int(chr(code), 16)
    for code in b"0123456789":
        _CLASS[code] |= DIGIT
    for code in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ":
        _CLASS[code] |= LETTER
    for name, code in ((b"b", 8), (b"t", 9), (b"n", 10), (b"f", 12), (b"r", 13), (b"(", 40), (b")", 41), (b"\\", 92)):
        _ESCAPED[<int> name[0]] = code
    for code in range(EXACT_DIGITS + 1):
        _POWER_OF_TEN[code] = float(f"1e{code}")


_fill_tables()


cdef class Tokenizer:
    """The tokens of one buffer, as `PSBaseParser.nexttoken` gives them.

    Args:
      buffer: the bytes.
      is_last: whether nothing follows the buffer; if something does, a token that may go on behind the end is handed back.
    """

    def __cinit__(self, bytes buffer not None, bint is_last):
        self.buffer = buffer
        self.characters = <const unsigned char*> PyBytes_AS_STRING(buffer)
        self.size = PyBytes_GET_SIZE(buffer)
        self.position = 0           # of the next character to be read
        self.token_position = 0     # of the first character of the last token
        self.block_origin = 0       # where pdfminer would have begun to read blocks of 4,096 bytes
        self.is_last = is_last
        self.scratch = NULL
        self.scratch_size = 0

    def __dealloc__(self):
        PyMem_Free(self.scratch)

    cdef object next(self):
        """The next token, or END. Equals `PSBaseParser.nexttoken` with `_parse_main`, `_parse_comment` and `_parse_wclose`."""
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t size = self.size, i = self.position
        cdef unsigned char c, kind
        cdef object token
        while True:
            while i < size and _CLASS[s[i]] & SPACE:
                i += 1
            self.position = i
            if i >= size:
                return END
            c = s[i]
            kind = _CLASS[c]
            self.token_position = i
            if kind & DIGIT or c == c'-' or c == c'+':
                token = self.read_number()
                if token is not None:
                    return token
                i = self.position   # a lone sign is no token
            elif kind & LETTER:
                return self.read_keyword()
            elif c == c'(':
                return self.read_string()
            elif c == c'/':
                return self.read_name()
            elif c == c'.':
                token = self.read_fraction(i, i + 1)
                if token is not None:
                    return token
                i = self.position
            elif c == c'<':
                return self.read_hex_string()
            elif c == c'>':
                if i + 1 >= size:
                    return self.unfinished()
                if s[i + 1] == c'>':
                    self.position = i + 2
                    return _DICT_END
                i += 1
            elif c == c'%':
                while i < size and s[i] != c'\r' and s[i] != c'\n':
                    i += 1
            elif c == 0:
                i += 1
            else:
                self.position = i + 1
                return _keyword(s + i, 1)

    cdef object read_number(self):
        """An int or a float; None for a sign without digits. Equals `_parse_number`, and `_parse_float` after a point."""
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t start = self.position, i = start + 1, k
        cdef long long value = 0
        while i < self.size and _CLASS[s[i]] & DIGIT:
            i += 1
        if i < self.size and s[i] == c'.':
            return self.read_fraction(start, i + 1)
        self.position = i
        k = start + 1 if s[start] == c'-' or s[start] == c'+' else start
        if i - k > LONG_DIGITS:
            try:
                return int(self.buffer[start:i])
            except ValueError:      # over 4,300 digits
                return None
        if k == i:
            return None
        while k < i:
            value = value * 10 + (s[k] - c'0')
            k += 1
        return -value if s[start] == c'-' else value

    cdef object read_fraction(self, Py_ssize_t start, Py_ssize_t after):
        """The float from `start`, the point of which stands before `after`; None without any digit. Equals `_parse_float`.

        Up to 15 digits are an exact integer divided by an exact power of ten, which rounds once, as `float()` does.
        """
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t i = after, k
        cdef long long digits = 0
        cdef double value
        while i < self.size and _CLASS[s[i]] & DIGIT:
            i += 1
        self.position = i
        k = start + 1 if s[start] == c'-' or s[start] == c'+' else start
        if i - k - 1 > EXACT_DIGITS:
            return float(self.buffer[start:i])
        if i - k == 1:
            return None
        while k < i:
            if s[k] != c'.':
                digits = digits * 10 + (s[k] - c'0')
            k += 1
        value = (<double> digits) / _POWER_OF_TEN[i - after]
        return -value if s[start] == c'-' else value

    cdef object read_keyword(self):
        """A keyword, True or False. Equals `_parse_keyword`."""
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t start = self.position, i = start + 1
        cdef bytes word
        while i < self.size and not _CLASS[s[i]] & DELIMITER:
            i += 1
        self.position = i
        if i - start == 4 or i - start == 5:
            word = PyBytes_FromStringAndSize(<const char*> s + start, i - start)
            if word == b"true":
                return True
            if word == b"false":
                return False
        return _keyword(s + start, i - start)

    cdef object read_string(self):
        """A string in parentheses. Equals `_parse_string` and `_parse_string_1`."""
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t start = self.position + 1, i = start
        while i < self.size and s[i] != c'(' and s[i] != c')' and s[i] != c'\\':
            i += 1
        if i < self.size and s[i] == c')':
            self.position = i + 1
            return PyBytes_FromStringAndSize(<const char*> s + start, i - start)
        return self.read_string_with_escapes()

    cdef object read_string_with_escapes(self):
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t size = self.size, i = self.position + 1, length = 0
        cdef int depth = 1, octal, digits
        cdef unsigned char c
        while i < size:
            self.reserve(length + 1)
            c = s[i]
            i += 1
            if c == c'(':
                depth += 1
            elif c == c')':
                depth -= 1
                if depth == 0:
                    self.position = i
                    return PyBytes_FromStringAndSize(<const char*> self.scratch, length)
            elif c == c'\\':
                if i >= size:
                    break
                c = s[i]
                if c'0' <= c <= c'7':
                    octal = 0
                    digits = 0
                    while i < size and digits < 3 and c'0' <= s[i] <= c'7':
                        octal = octal * 8 + (s[i] - c'0')
                        digits += 1
                        i += 1
                    if octal > 255:
                        raise HandBack("octal escape over 255")
                    if i >= size:
                        break
                    c = <unsigned char> octal
                elif _ESCAPED[c] >= 0:
                    c = <unsigned char> _ESCAPED[c]
                    i += 1
                else:
                    # pdfminer drops the line feed of an escaped \r\n, but not where a block of its file ends between the two.
                    if c == c'\r' and i + 1 < size and s[i + 1] == c'\n' and (i + 1 - self.block_origin) % BLOCK != 0:
                        i += 1
                    i += 1
                    continue
            self.scratch[length] = c
            length += 1
        return self.unfinished()

    cdef object read_hex_string(self):
        """A string in angle brackets, or `<<`. Equals `_parse_wopen` and `_parse_hexstring`: the closing bracket is left for `_parse_wclose`."""
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t i = self.position + 1, length = 0
        cdef int high = -1
        if i < self.size and s[i] == c'<':
            self.position = i + 1
            return _DICT_BEGIN
        while i < self.size:
            if _CLASS[s[i]] & HEXADECIMAL:
                if high < 0:
                    high = _HEX_VALUE[s[i]]
                else:
                    self.reserve(length + 2)
                    self.scratch[length] = <unsigned char> (high * 16 + _HEX_VALUE[s[i]])
                    length += 1
                    high = -1
            elif not _CLASS[s[i]] & SPACE:
                break
            i += 1
        else:
            return self.unfinished()
        if high >= 0:               # a last single digit counts as it is, not as the standard's high half
            self.reserve(length + 1)
            self.scratch[length] = <unsigned char> high
            length += 1
        self.position = i
        return PyBytes_FromStringAndSize(<const char*> self.scratch, length)

    cdef object read_name(self):
        """A name. Equals `_parse_literal` and `_parse_literal_hex`."""
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t start = self.position + 1, i = start
        while i < self.size and not _CLASS[s[i]] & DELIMITER:
            i += 1
        if i >= self.size and i == start and not self.is_last:
            raise HandBack("a name that may go on")
        if i < self.size and s[i] == c'#':
            return self.read_escaped_name(i)
        self.position = i
        return _name(PyBytes_FromStringAndSize(<const char*> s + start, i - start))

    cdef object read_escaped_name(self, Py_ssize_t hash_at):
        cdef const unsigned char* s = self.characters
        cdef Py_ssize_t size = self.size, i = hash_at, plain
        cdef int code, digits
        cdef bytearray name = bytearray(self.buffer[self.position + 1:hash_at])
        while i < size and s[i] == c'#':
            i += 1
            code = 0
            digits = 0
            while i < size and digits < 2 and _CLASS[s[i]] & HEXADECIMAL:
                code = code * 16 + _HEX_VALUE[s[i]]
                digits += 1
                i += 1
            if i >= size:           # pdfminer waits for the character after the digits
                return self.unfinished()
            if digits:
                name.append(code)
            plain = i
            while i < size and not _CLASS[s[i]] & DELIMITER:
                i += 1
            name += self.buffer[plain:i]
        if i >= size and not self.is_last and not name:
            raise HandBack("a name that may go on")
        self.position = i
        return _name(bytes(name))

    cdef object unfinished(self):
        """What to answer for a token that the buffer's end cuts off: pdfminer drops it at the end of everything."""
        if not self.is_last:
            raise HandBack("a token over the end of the buffer")
        self.position = self.size
        return END

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Makes room for `size` bytes in `scratch`, which keeps its content."""
        cdef unsigned char* larger
        if size > self.scratch_size:
            larger = <unsigned char*> PyMem_Realloc(self.scratch, size * 2 + 256)
            if larger is NULL:
                raise MemoryError
            self.scratch = larger
            self.scratch_size = size * 2 + 256
        return 0


cdef object _keyword(const unsigned char* start, Py_ssize_t size):
    cdef bytes word = PyBytes_FromStringAndSize(<const char*> start, size)
    keyword = _keywords.get(word)
    return KWD(word) if keyword is None else keyword


cdef object _name(bytes raw):
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        name = raw
    literal = _names.get(name)
    return LIT(name) if literal is None else literal


def tokens_of(bytes data not None) -> list:
    """All tokens of a text with their positions, for tests.

    Equals calling `PSBaseParser.nexttoken` until it raises `PSEOF`. Raises `HandBack` for an octal escape over 255.
    """
    cdef Tokenizer tokenizer = Tokenizer(data, True)
    cdef list found = []
    while True:
        token = tokenizer.next()
        if token is END:
            return found
        found.append((tokenizer.token_position, token))
