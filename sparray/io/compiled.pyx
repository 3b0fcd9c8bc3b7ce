# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: binding=False, embedsignature=False
# distutils: extra_compile_args = -O3 -g0
"""What reading text spends its time on: parsing lines of numbers.

It does not hold the lock of the interpreter.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport HUGE_VAL, NAN, isinf
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    OK = 0
    BAD_INDEX = 1
    INDEX_OVERFLOW = 2
    INDEX_OUTSIDE = 3
    BAD_VALUE = 4
    VALUE_OVERFLOW = 5
    EXTRA = 6
    TOO_MANY = 7

cdef enum:
    PATTERN = 0
    REAL = 1
    COMPLEX = 2
    INTEGER = 3
    UNSIGNED = 4

ctypedef fused Index:
    int32_t
    int64_t


include "numbers.pxi"


cdef inline const unsigned char *parse_index(
    const unsigned char *p,
    const unsigned char *end,
    int64_t base,
    int64_t extent,
    int64_t *out,
    int *status,
) noexcept nogil:
    """Parse one index, check it against its extent, and return where it ends."""
    cdef const unsigned char *start = p
    cdef const unsigned char *begin
    cdef unsigned long long value = 0
    while p < end and p[0] == 48:
        p += 1
    begin = p
    p = parse_digits(p, end, &value)
    if p == start or (
        p < end and not is_blank(p[0]) and p[0] != 10 and p[0] != 13
    ):
        status[0] = BAD_INDEX
    elif p - begin > 19 or value > <uint64_t>0x7FFFFFFFFFFFFFFF:
        status[0] = INDEX_OVERFLOW
    else:
        out[0] = <int64_t>value - base
        if out[0] < 0 or out[0] >= extent:
            status[0] = INDEX_OUTSIDE
    return p


cdef inline int parse_line(
    const unsigned char **cursor,
    const unsigned char *end,
    Index *coords,
    Py_ssize_t stride,
    int n_coords,
    int kind,
    double *reals,
    int64_t *integers,
    const int64_t *extents,
    int64_t base,
    bint lenient,
) noexcept nogil:
    """Parse an entry; on an error the cursor is at the token that is wrong."""
    cdef int axis, status = OK
    cdef int64_t index = 0
    cdef const unsigned char *p = cursor[0]
    cdef const unsigned char *token
    for axis in range(n_coords):
        while p < end and is_blank(p[0]):
            p += 1
        token = p
        p = parse_index(p, end, base, extents[axis], &index, &status)
        if status != OK:
            cursor[0] = token
            return status
        coords[axis * stride] = <Index>index
    for axis in range(0 if kind == PATTERN else 2 if kind == COMPLEX else 1):
        while p < end and is_blank(p[0]):
            p += 1
        token = p
        if kind == REAL or kind == COMPLEX:
            status = parse_real(&p, end, reals + axis)
            if status == VALUE_OVERFLOW and lenient:
                status = OK
        else:
            status = parse_integer(&p, end, kind == UNSIGNED, integers)
        if status == OK and (
            p < end and not is_blank(p[0]) and p[0] != 10 and p[0] != 13
        ):
            status = BAD_VALUE
        if status != OK:
            cursor[0] = token
            return status
    if kind == PATTERN and lenient:
        while p < end and p[0] != 10:
            p += 1
    while p < end and is_blank(p[0]):
        p += 1
    if p + 1 < end and p[0] == 13 and p[1] == 10:
        p += 1
    cursor[0] = p
    return OK if p == end or p[0] == 10 else EXTRA


cdef int parse_all(
    const unsigned char **cursor,
    const unsigned char *end,
    Index *coords,
    Py_ssize_t stride,
    int n_coords,
    int kind,
    double *reals,
    int64_t *integers,
    Py_ssize_t capacity,
    const int64_t *extents,
    int64_t base,
    int comment,
    bint lenient,
    Py_ssize_t *n_entries,
    Py_ssize_t *n_lines,
) noexcept nogil:
    """Parse lines up to the end, or to the first that is wrong."""
    cdef const unsigned char *p
    cdef int status
    while cursor[0] < end:
        p = cursor[0]
        while p < end and is_blank(p[0]):
            p += 1
        if p + 1 < end and p[0] == 13 and p[1] == 10:
            p += 1
        if p < end and p[0] == comment:
            while p < end and p[0] != 10:
                p += 1
        elif p < end and p[0] != 10:
            if n_entries[0] == capacity:
                cursor[0] = p
                return TOO_MANY
            status = parse_line(
                &p, end, coords + n_entries[0], stride, n_coords, kind,
                reals + (2 if kind == COMPLEX else 1) * n_entries[0],
                integers + n_entries[0], extents, base, lenient,
            )
            if status != OK:
                cursor[0] = p
                return status
            n_entries[0] += 1
        if p < end:
            n_lines[0] += 1
            p += 1
        cursor[0] = p
    return OK


def parse_lines(
    const unsigned char[::1] text,
    Index[:, ::1] coords,
    double[::1] reals,
    int64_t[::1] integers,
    const int64_t[::1] extents,
    int kind,
    Py_ssize_t capacity,
    int64_t base,
    int comment,
    bint lenient,
):
    """Parse lines into arrays: see `sparray.io.interpreted_lines.parse_lines`."""
    cdef const unsigned char *begin
    cdef const unsigned char *cursor
    cdef Py_ssize_t n_entries = 0, n_lines = 0
    cdef int status
    cdef Index *first = NULL
    cdef double *first_real = NULL
    cdef int64_t *first_integer = NULL
    cdef const int64_t *first_extent = NULL
    if text.shape[0] == 0:
        return 0, 0, OK, 0
    if coords.shape[0] and coords.shape[1]:
        first = &coords[0, 0]
    if reals.shape[0]:
        first_real = &reals[0]
    if integers.shape[0]:
        first_integer = &integers[0]
    if extents.shape[0]:
        first_extent = &extents[0]
    begin = cursor = &text[0]
    with nogil:
        status = parse_all(
            &cursor, begin + text.shape[0], first, coords.shape[1],
            <int>coords.shape[0], kind, first_real, first_integer, capacity,
            first_extent, base, comment, lenient, &n_entries, &n_lines,
        )
    return n_entries, n_lines, status, cursor - begin
