# Digits to numbers: a part of compiled.pyx, so that the C compiler sees both at once.
#
# Source: Lemire 2021, "Number parsing at a gigabyte per second", Software: Practice
# and Experience 51(8), sections 5 to 8, for decimal to binary64; Clinger 1990 for numbers
# that one multiplication gives exactly.

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
    LEAST_POWER = -342
    GREATEST_POWER = 308

cdef uint64_t[651] power_high
cdef uint64_t[651] power_low
cdef double[23] exact_power
cdef uint64_t[9] whole_power


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
