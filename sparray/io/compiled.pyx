# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: binding=False, embedsignature=False
# distutils: extra_compile_args = -O3 -g0
"""What reading text spends its time on: parsing lines of numbers.

It does not hold the lock of the interpreter.

Source: Lemire 2021, "Number parsing at a gigabyte per second", Software: Practice
and Experience 51(8), sections 5 to 8, for decimal to binary64; Clinger 1990 for numbers
that one multiplication gives exactly.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport HUGE_VAL, NAN, isinf
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    typedef unsigned __int128 sparray_uint128;
    static inline int sparray_leading_zeros(unsigned long long x)
    { return __builtin_clzll(x); }

    /* How many of 8 characters are digits before the first that is none, and their
       number: two digits, then four, then eight at a time, after those that are there
       were moved to the end and zeros put before them. */
    static inline int sparray_eight_digits(const unsigned char *p,
                                           unsigned long long *number)
    {
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        unsigned long long x, others;
        int count = 8;
        memcpy(&x, p, 8);
        x ^= 0x3030303030303030ULL;
        others = ((x & 0x7F7F7F7F7F7F7F7FULL) + 0x7676767676767676ULL) | x;
        others &= 0x8080808080808080ULL;
        if (others) {
            count = __builtin_ctzll(others) >> 3;
            if (count == 0)
                return 0;
            x <<= 8 * (8 - count);
        }
        x = (x * (10 * 256 + 1)) >> 8;
        x = ((x & 0x00FF00FF00FF00FFULL) * (100 * 65536ULL + 1)) >> 16;
        *number = ((x & 0x0000FFFF0000FFFFULL) * (10000 * 4294967296ULL + 1)) >> 32;
        return count;
    #else
        int count = 0;
        *number = 0;
        while (count < 8 && p[count] >= '0' && p[count] <= '9')
            *number = 10 * *number + (p[count++] - '0');
        return count;
    #endif
    }
    """
    ctypedef unsigned long long uint128 "sparray_uint128"
    int leading_zeros "sparray_leading_zeros"(unsigned long long) nogil
    int eight_digits "sparray_eight_digits"(
        const unsigned char *, unsigned long long *
    ) nogil

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *, char **, object) except? -1.0

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

cdef enum:
    LEAST_POWER = -342
    GREATEST_POWER = 308

cdef uint64_t[651] power_high
cdef uint64_t[651] power_low
cdef double[23] exact_power
cdef uint64_t[9] whole_power

ctypedef fused Index:
    int32_t
    int64_t


def _fill_tables():
    """Tabulate the leading 128 bits of 5**q, rounded up for negative q."""
    for q in range(LEAST_POWER, GREATEST_POWER + 1):
        if q >= 0:
            power = 5**q
            shift = power.bit_length() - 128
            bits = power >> shift if shift > 0 else power << -shift
        else:
            power = 5**-q
            bits = (1 << (power.bit_length() + 127)) // power + 1
            if bits.bit_length() > 128:
                bits >>= bits.bit_length() - 128
        power_high[q - LEAST_POWER] = bits >> 64
        power_low[q - LEAST_POWER] = bits & 0xFFFFFFFFFFFFFFFF
    for q in range(23):
        exact_power[q] = 10.0**q
    for q in range(9):
        whole_power[q] = 10**q


_fill_tables()


cdef inline bint is_digit(unsigned char c) noexcept nogil:
    return 48 <= c <= 57


cdef inline bint is_blank(unsigned char c) noexcept nogil:
    return c == 32 or c == 9


cdef double slow_double(const unsigned char *p, Py_ssize_t length) noexcept nogil:
    """Parse a token whose shape is known to be right: hundreds of digits, or a tie."""
    cdef double value = 0.0
    cdef char *text
    with gil:
        text = <char *>PyMem_Malloc(length + 1)
        if text == NULL:
            return NAN
        memcpy(text, p, length)
        text[length] = 0
        try:
            value = PyOS_string_to_double(text, NULL, None)
        finally:
            PyMem_Free(text)
    return value


cdef bint nearest_double(uint64_t w, int64_t q, double *out) noexcept nogil:
    """Set ``out`` to the binary64 nearest to w * 10**q; 0 where that is not certain."""
    cdef uint128 product, second
    cdef uint64_t high, low, mantissa
    cdef int zeros, upper
    cdef int64_t power2
    if w == 0 or q < LEAST_POWER:
        # 19 digits times 10**-343 are below half the smallest subnormal number.
        out[0] = 0.0
        return True
    if q > GREATEST_POWER:
        out[0] = HUGE_VAL
        return True
    zeros = leading_zeros(w)
    w <<= zeros
    product = <uint128>w * power_high[q - LEAST_POWER]
    high = <uint64_t>(product >> 64)
    low = <uint64_t>product
    if (high & 0x1FF) == 0x1FF:
        second = <uint128>w * power_low[q - LEAST_POWER]
        low += <uint64_t>(second >> 64)
        if low < <uint64_t>(second >> 64):
            high += 1
        if low == <uint64_t>0xFFFFFFFFFFFFFFFF and (q < -27 or q > 55):
            return False
    upper = <int>(high >> 63)
    mantissa = high >> (upper + 9)
    power2 = ((217706 * q) >> 16) + 63 + upper - zeros + 1023
    if power2 <= 0:
        return False  # subnormal: rare, and rounded at another bit
    if low <= 1 and -4 <= q <= 23 and (mantissa & 3) == 1:
        if (mantissa << (upper + 9)) == high:
            mantissa &= ~<uint64_t>1  # half way between two numbers: to the even one
    mantissa += mantissa & 1
    mantissa >>= 1
    if mantissa >= (<uint64_t>1 << 53):
        mantissa = <uint64_t>1 << 52
        power2 += 1
    if power2 >= 2047:
        out[0] = HUGE_VAL
        return True
    mantissa &= (<uint64_t>1 << 52) - 1
    mantissa |= <uint64_t>power2 << 52
    memcpy(out, &mantissa, 8)
    return True


cdef inline bint word(
    const unsigned char *p, const unsigned char *end, const char *lower, int length
) noexcept nogil:
    """Whether the text goes on with a word, in either case."""
    cdef int n
    if end - p < length:
        return False
    for n in range(length):
        if (p[n] | 32) != <unsigned char>lower[n]:
            return False
    return True


cdef inline const unsigned char *parse_digits(
    const unsigned char *p, const unsigned char *end, unsigned long long *w
) noexcept nogil:
    """Append digits to a number, modulo 2**64, and return where they end."""
    cdef unsigned long long part = 0
    cdef int count
    while end - p >= 8:
        count = eight_digits(p, &part)
        p += count
        if count < 8:
            if count > 0:
                w[0] = whole_power[count] * w[0] + part
            return p
        w[0] = 100000000 * w[0] + part
    while p < end and is_digit(p[0]):
        w[0] = 10 * w[0] + (p[0] - 48)
        p += 1
    return p


cdef bint leading_digits(
    const unsigned char *p,
    const unsigned char *end,
    unsigned long long *w,
    int64_t *q,
) noexcept nogil:
    """Take the first 19 digits of many as ``w``; return whether others are not zero."""
    cdef int kept = 0
    cdef bint after_point = False, truncated = False
    w[0] = 0
    q[0] = 0
    while p < end:
        if p[0] == 46:
            after_point = True
        elif kept < 19:
            w[0] = 10 * w[0] + (p[0] - 48)
            kept += w[0] != 0
            q[0] -= after_point
        else:
            truncated |= p[0] != 48
            q[0] += not after_point
        p += 1
    return truncated


cdef int parse_real(
    const unsigned char **cursor,
    const unsigned char *end,
    double *out,
) noexcept nogil:
    """Parse one real number and step behind it."""
    cdef const unsigned char *p = cursor[0]
    cdef const unsigned char *begin
    cdef const unsigned char *point
    cdef unsigned long long w = 0
    cdef int64_t q = 0, exponent = 0, n_digits
    cdef bint negative = False, any_digit, truncated = False
    cdef bint negative_exponent = False
    cdef double value = 0.0, above = 0.0
    if p < end and (p[0] == 43 or p[0] == 45):
        negative = p[0] == 45
        p += 1
    begin = p
    p = parse_digits(p, end, &w)
    n_digits = p - begin
    if p < end and p[0] == 46:
        p += 1
        point = p
        p = parse_digits(p, end, &w)
        q = point - p
        n_digits -= q
    any_digit = n_digits > 0
    if n_digits > 19:
        truncated = leading_digits(begin, p, &w, &q)
    if not any_digit:
        if p != begin:
            return BAD_VALUE
        if word(p, end, b"nan", 3):
            cursor[0] = p + 3
            out[0] = NAN
            return OK
        if word(p, end, b"infinity", 8):
            cursor[0] = p + 8
        elif word(p, end, b"inf", 3):
            cursor[0] = p + 3
        else:
            return BAD_VALUE
        out[0] = -HUGE_VAL if negative else HUGE_VAL
        return OK
    if p < end and (p[0] | 32) == 101:
        p += 1
        if p < end and (p[0] == 43 or p[0] == 45):
            negative_exponent = p[0] == 45
            p += 1
        if p == end or not is_digit(p[0]):
            return BAD_VALUE
        while p < end and is_digit(p[0]):
            if exponent < 1000000:
                exponent = 10 * exponent + (p[0] - 48)
            p += 1
        q += -exponent if negative_exponent else exponent
    if not truncated and w <= (<uint64_t>1 << 53) and -22 <= q <= 22:
        value = <double>w
        value = value / exact_power[-q] if q < 0 else value * exact_power[q]
    elif not nearest_double(w, q, &value):
        value = slow_double(begin, p - begin)
    elif truncated and not (
        nearest_double(w + 1, q, &above) and above == value
    ):
        value = slow_double(begin, p - begin)
    cursor[0] = p
    out[0] = -value if negative else value
    return VALUE_OVERFLOW if isinf(value) else OK


cdef int parse_integer(
    const unsigned char **cursor,
    const unsigned char *end,
    bint is_unsigned,
    int64_t *out,
) noexcept nogil:
    """Parse an int64, or the bits of a uint64, and step behind it."""
    cdef const unsigned char *p = cursor[0]
    cdef const unsigned char *begin
    cdef uint64_t value = 0, digit, limit
    cdef bint negative = False, overflow = False
    if p < end and (p[0] == 43 or p[0] == 45):
        negative = p[0] == 45
        p += 1
    if is_unsigned:
        limit = 0 if negative else <uint64_t>0xFFFFFFFFFFFFFFFF
    else:
        limit = (<uint64_t>1 << 63) - (not negative)
    begin = p
    while p < end and is_digit(p[0]):
        digit = p[0] - 48
        if value > (limit - digit) // 10 or digit > limit:
            overflow = True
            value = 0
        value = 10 * value + digit
        p += 1
    if p == begin:
        return BAD_VALUE
    cursor[0] = p
    out[0] = <int64_t>(0 - value if negative else value)
    return VALUE_OVERFLOW if overflow else OK


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
