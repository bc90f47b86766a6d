# What characters.pyx offers to the other extension modules of the kernel.

cdef class Character:
    cdef public double x0, y0, x1, y1, width, height, size, adv
    cdef public object ncs, graphicstate, fontname, rendermode
    cdef public bint upright
    cdef public str _text
    cdef double[6] _matrix

cpdef bint show_text(interpreter, sequence) except -1
