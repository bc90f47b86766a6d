# cython: language_level=3, wraparound=False, infer_types=False
"""Objects of a PDF file and of character maps: the reading loop of pdfminer's `PSStackParser`, on the parser's own buffer.

`next_token` and `next_object` are methods: `pdf_kernel.installation` puts them into `PDFParser` (files and object streams) and `CMapParser`
(ToUnicode). What the keywords mean stays in pdfminer's `do_keyword`.

What is handed back, token by token: one that is not finished inside of the buffer of 4,096 bytes, and the end of the file.
"""

from pdfminer import settings
from pdfminer.psparser import KWD, PSBaseParser, PSKeyword, PSSyntaxError, PSTypeError, literal_name

from transforms.partition.pdf_kernel.tokens cimport END, Tokenizer

from transforms.partition.pdf_kernel.tokens import HandBack

cdef type _Keyword = PSKeyword
cdef object _original_next_token = PSBaseParser.nexttoken
cdef object _ARRAY_BEGIN = KWD(b"["), _ARRAY_END = KWD(b"]")
cdef object _DICT_BEGIN = KWD(b"<<"), _DICT_END = KWD(b">>")
cdef object _PROCEDURE_BEGIN = KWD(b"{"), _PROCEDURE_END = KWD(b"}")
cdef str _TOKENIZER = "_kernel_tokenizer"    # attribute of a parser: the tokenizer of its present buffer


def next_token(parser):
    """Equals `PSBaseParser.nexttoken`: the position and the token. Between two tokens pdfminer's state is always `_parse_main`."""
    cdef Tokenizer tokenizer
    cdef dict state
    cdef Py_ssize_t position
    cdef object token
    if parser._tokens or parser.eof:
        return _original_next_token(parser)
    state = parser.__dict__
    tokenizer = <Tokenizer?> state[_TOKENIZER] if _TOKENIZER in state else None
    if tokenizer is None or tokenizer.buffer is not parser.buf:
        tokenizer = Tokenizer(parser.buf, False)
        state[_TOKENIZER] = tokenizer
    position = parser.charpos
    if not 0 <= position < tokenizer.size:
        return _original_next_token(parser)
    tokenizer.position = position
    try:
        token = tokenizer.next()
    except HandBack:
        return _original_next_token(parser)
    if token is END or tokenizer.position >= tokenizer.size:     # what touches the buffer's end may go on behind it
        return _original_next_token(parser)
    parser.charpos = tokenizer.position
    return (parser.bufpos + tokenizer.token_position, token)


def next_object(parser):
    """Equals `PSStackParser.nextobject`: the position and the object."""
    while not parser.results:
        position, token = next_token(parser)
        if type(token) is not _Keyword:
            parser.curstack.append((position, token))
        elif token is _ARRAY_BEGIN:
            parser.start_type(position, "a")
        elif token is _ARRAY_END:
            _close(parser, "a")
        elif token is _DICT_BEGIN:
            parser.start_type(position, "d")
        elif token is _DICT_END:
            _close_dictionary(parser)
        elif token is _PROCEDURE_BEGIN:
            parser.start_type(position, "p")
        elif token is _PROCEDURE_END:
            _close(parser, "p")
        else:
            parser.do_keyword(position, token)
        if not parser.context:
            parser.flush()
    return parser.results.pop(0)


cdef int _close(parser, str kind) except -1:
    """Ends an array or a procedure; one that was not begun is ignored, as pdfminer does unless it is strict."""
    if parser.curtype != kind:
        if settings.STRICT:
            raise PSTypeError(f"Type mismatch: {parser.curtype!r} != {kind!r}")
        return 0
    ended = parser.end_type(kind)       # before `curstack` is asked for: it changes it
    parser.curstack.append(ended)
    return 0


cdef int _close_dictionary(parser) except -1:
    cdef list objects
    cdef dict found = {}
    cdef Py_ssize_t i
    if parser.curtype != "d":
        if settings.STRICT:
            raise PSTypeError(f"Type mismatch: {parser.curtype!r} != 'd'")
        return 0
    position, objects = parser.end_type("d")
    if len(objects) % 2 != 0:
        raise PSSyntaxError(f"Invalid dictionary construct: {objects!r}")
    for i in range(0, len(objects), 2):
        if objects[i + 1] is not None:
            found[literal_name(objects[i])] = objects[i + 1]
    parser.curstack.append((position, found))
    return 0
