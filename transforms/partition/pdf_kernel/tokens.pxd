# What tokens.pyx offers to the other extension modules of the kernel.

cdef object END

cdef inline bint is_space(unsigned char character) noexcept nogil:
    r"""\s of a bytes pattern: space, \t, \n, \v, \f, \r."""
    return character == 32 or 9 <= character <= 13

cdef class Tokenizer:
    cdef bytes buffer
    cdef const unsigned char* characters
    cdef Py_ssize_t size
    cdef Py_ssize_t position
    cdef Py_ssize_t token_position
    cdef Py_ssize_t block_origin
    cdef bint is_last
    cdef unsigned char* scratch
    cdef Py_ssize_t scratch_size

    cdef object next(self)
    cdef object read_number(self)
    cdef object read_fraction(self, Py_ssize_t start, Py_ssize_t after)
    cdef object read_keyword(self)
    cdef object read_string(self)
    cdef object read_string_with_escapes(self)
    cdef object read_hex_string(self)
    cdef object read_name(self)
    cdef object read_escaped_name(self, Py_ssize_t hash_at)
    cdef object unfinished(self)
    cdef int reserve(self, Py_ssize_t size) except -1
