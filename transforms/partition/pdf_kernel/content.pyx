# cython: language_level=3, wraparound=False, infer_types=False
"""Content streams: from the decoded bytes of a page to pdfminer's operands and operators, and the loop that runs them.

pdfminer.six 20260107 pulls one object after the other through `PDFContentParser`. Here all streams of a page are parsed first, which takes
6 bytes of memory a byte of content; only then the first operator runs. So whatever is odd is handed back before anything has happened.

What is handed back, for the page or form as a whole: a token over the end of a stream, a dictionary of odd length, an octal escape over
255, an inline image inside of an array or over the end of a stream, streams that cannot be decoded, and everything when pdfminer is strict.
"""

import re

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from pdfminer.pdftypes import LITERALS_ASCII85_DECODE, PDFStream, resolve1
from pdfminer.psparser import KWD, PSKeyword, PSLiteral, literal_name

from transforms.partition.pdf_kernel.characters cimport show_text
from transforms.partition.pdf_kernel.tokens cimport END, Tokenizer, is_space

from transforms.partition.pdf_kernel.tokens import HandBack

cdef type _Keyword = PSKeyword
cdef object _ARRAY_BEGIN = KWD(b"["), _ARRAY_END = KWD(b"]")
cdef object _DICT_BEGIN = KWD(b"<<"), _DICT_END = KWD(b">>")
cdef object _PROCEDURE_BEGIN = KWD(b"{"), _PROCEDURE_END = KWD(b"}")
cdef object _IMAGE_BEGIN = KWD(b"BI"), _IMAGE_DATA = KWD(b"ID"), _IMAGE_END = KWD(b"EI")
cdef object _LINE_END = re.compile(rb"(\x0d\x0a|[\x0d\x0a])$")
cdef object _HUGE = 10**18
cdef bytes _EI = b"EI"
cdef bytes _ASCII85_END = b"~>"


cdef class _Stack:
    """The arrays, dictionaries and procedures that are open: `curtype`, `curstack` and `context` of `PSStackParser`."""

    cdef list found         # finished objects outside of everything
    cdef list objects       # those of the innermost open one
    cdef object kind
    cdef list outer

    def __cinit__(self):
        self.found = []
        self.objects = self.found
        self.kind = None
        self.outer = []

    cdef int begin(self, str kind) except -1:
        self.outer.append((self.kind, self.objects))
        self.kind = kind
        self.objects = []
        return 0

    cdef list end(self, str kind):
        """The objects of the innermost open one, which is closed; None: it is of another kind, and stays open."""
        cdef list objects = self.objects
        if self.kind != kind:
            return None
        self.kind, self.objects = self.outer.pop()
        return objects


cpdef list parse_content(list streams):
    """Parses the decoded streams of one page or form.

    Equals what `PDFContentParser.nextobject` gives until it raises `PSEOF`, without the positions.

    Raises:
      HandBack: see the module.
    """
    cdef _Stack stack = _Stack()
    cdef Tokenizer tokenizer
    cdef Py_ssize_t i, last = len(streams) - 1
    cdef list objects
    for i in range(len(streams)):
        tokenizer = Tokenizer(streams[i], i == last)
        while True:
            token = tokenizer.next()
            if token is END:
                break
            if type(token) is not _Keyword:
                stack.objects.append(token)
            elif token is _ARRAY_BEGIN:
                stack.begin("a")
            elif token is _ARRAY_END:
                objects = stack.end("a")
                if objects is not None:
                    stack.objects.append(objects)
            elif token is _DICT_BEGIN:
                stack.begin("d")
            elif token is _DICT_END:
                objects = stack.end("d")
                if objects is not None:
                    stack.objects.append(_dictionary(objects))
            elif token is _PROCEDURE_BEGIN:
                stack.begin("p")
            elif token is _PROCEDURE_END:
                objects = stack.end("p")
                if objects is not None:
                    stack.objects.append(objects)
            elif token is _IMAGE_BEGIN:
                stack.begin("inline")
            elif token is _IMAGE_DATA:
                objects = stack.end("inline")
                if objects is not None and len(objects) % 2 == 0:    # pdfminer forgets an image of odd length
                    if stack.outer:
                        raise HandBack("an inline image inside of something")
                    _read_inline_image(tokenizer, objects, stack.objects)
            else:
                stack.objects.append(token)
    return stack.found


cdef dict _dictionary(list objects):
    cdef Py_ssize_t i
    cdef dict found = {}
    if len(objects) % 2 != 0:
        raise HandBack("a dictionary of odd length")
    for i in range(0, len(objects), 2):
        if objects[i + 1] is not None:
            found[literal_name(objects[i])] = objects[i + 1]
    return found


cdef int _read_inline_image(Tokenizer tokenizer, list objects, list found) except -1:
    """Appends the image behind `ID`, and `EI`. Equals the branch of `PDFContentParser.do_keyword`."""
    cdef dict attributes = {}
    cdef Py_ssize_t i
    cdef bytes end = _EI, data
    for i in range(0, len(objects), 2):
        attributes[literal_name(objects[i])] = resolve1(objects[i + 1])
    filters = attributes.get("F")
    if filters is not None:
        if isinstance(filters, PSLiteral):
            filters = [filters]
        if filters[0] in LITERALS_ASCII85_DECODE:
            end = _ASCII85_END
    data = _inline_data(tokenizer, end)
    if end is _ASCII85_END:                 # its decoder may want it; `EI` is still in the stream
        found.append(PDFStream(attributes, data + end))
    else:
        found.append(PDFStream(attributes, data))
        found.append(_IMAGE_END)
    return 0


cdef bytes _inline_data(Tokenizer tokenizer, bytes end):
    """The bytes from behind `ID ` to before `end` and a space. Equals `PDFContentParser.get_inline_data`, which seeks, and so begins a block.

    `end` is looked for as pdfminer does: in "EEI " the second E is no new beginning.
    """
    cdef const unsigned char* s = tokenizer.characters
    cdef const unsigned char* wanted = <const unsigned char*> PyBytes_AS_STRING(end)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(end), start = tokenizer.token_position + 3, i = start, matched = 0
    while matched <= length:
        if i >= tokenizer.size:
            raise HandBack("an inline image over the end of the stream")
        if matched == length:
            matched = matched + 1 if is_space(s[i]) else 0
        elif s[i] == wanted[matched]:
            matched += 1
        else:
            matched = 0
        i += 1
    tokenizer.position = i
    tokenizer.block_origin = start
    return _LINE_END.sub(b"", tokenizer.buffer[start:i - length - 1])


# --- operators ---------------------------------------------------------------------------------------------------------------------------

cdef object _SHOW = KWD(b"Tj"), _SHOW_AND_MOVE = KWD(b"TJ")
# What a path operator adds to the path. Only the letters are ever looked at: by `KernelDevice.paint_path`, which counts the subpaths of figures.
cdef dict _PATH_OPERATORS = {
    KWD(b"m"): [("m",)],
    KWD(b"l"): [("l",)],
    KWD(b"c"): [("c",)],
    KWD(b"v"): [("v",)],
    KWD(b"y"): [("y",)],
    KWD(b"re"): [("m",), ("l",), ("l",), ("l",), ("h",)],
}
cdef dict _operators = {}       # class of interpreter -> keyword -> (method or None, number of operands)


cpdef int run_operators(interpreter, list objects) except -1:
    """Runs the parsed objects of a page or form. Equals the loop of `PDFPageInterpreter.execute`.

    Args:
      interpreter: a `KernelInterpreter`.
      objects: of `parse_content`.
    """
    cdef dict operators = _operators.setdefault(type(interpreter), {})
    cdef tuple operator
    cdef list operands, stack
    cdef Py_ssize_t wanted, there
    for item in objects:
        if type(item) is not _Keyword:
            interpreter.argstack.append(item)
            continue
        operator = operators.get(item)
        if operator is None:
            operator = operators[item] = _find_operator(type(interpreter), item)
        method = operator[0]
        if method is None:
            continue
        wanted = operator[1]
        if wanted == 0:
            method(interpreter)
            continue
        stack = interpreter.argstack
        there = len(stack)
        if there < wanted:
            interpreter.argstack = []       # pdfminer takes what there is, and runs nothing
            continue
        if there == wanted:
            operands = stack
            interpreter.argstack = []
        else:
            operands = stack[there - wanted:]
            del stack[there - wanted:]
        if item in _PATH_OPERATORS:
            if _are_numbers(operands):
                interpreter.curpath.extend(_PATH_OPERATORS[item])
                continue
        elif item is _SHOW_AND_MOVE:
            if show_text(interpreter, operands[0]):
                continue
        elif item is _SHOW:
            if show_text(interpreter, operands):
                continue
        method(interpreter, *operands)
    return 0


cdef bint _are_numbers(list operands) except -1:
    """Whether `safe_float` gives a number for each: any float, and an int that is not huge. Others go to the original, which warns of them."""
    for operand in operands:
        if type(operand) is float:
            continue
        if type(operand) is not int or not -_HUGE < operand < _HUGE:
            return False
    return True


cdef tuple _find_operator(type interpreter, keyword):
    """The method of an operator, and how many operands it takes."""
    name = keyword.name.decode("utf-8", "ignore").replace("*", "_a").replace('"', "_w").replace("'", "_q")
    method = getattr(interpreter, "do_" + name, None)
    return (None, 0) if method is None else (method, method.__code__.co_argcount - 1)
