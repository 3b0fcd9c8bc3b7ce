# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: binding=False, embedsignature=False
# distutils: extra_compile_args = -O3 -g0
"""Sort what text lists, by radix, in the memory of two arrays.

The generated sort (`sparray/sorting.py`) is as quick; it takes the memory of a third one.
None of it holds the lock of the interpreter.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    FEW = 24
    MANY = 1 << 14


def partition_keys(
    const uint64_t[::1] keys,
    uint64_t[::1] other_keys,
    uint32_t[::1] other_order,
    int64_t[::1] starts,
    int shift,
):
    """Distribute keys, stably, to buckets by their highest bits.

    ``other_keys`` gets the keys bucket by bucket, ``other_order`` where each of them
    was, and ``starts[b]`` where bucket ``b`` begins; the bits are those from ``shift``
    on, of which there are as many as ``starts`` has room for.
    """
    cdef Py_ssize_t n = keys.shape[0], n_buckets = starts.shape[0] - 1, i, bucket
    cdef int64_t at
    with nogil:
        for i in range(n_buckets + 1):
            starts[i] = 0
        for i in range(n):
            starts[(keys[i] >> shift) + 1] += 1
        for i in range(n_buckets):
            starts[i + 1] += starts[i]
        for i in range(n):
            bucket = keys[i] >> shift
            at = starts[bucket]
            starts[bucket] = at + 1
            other_keys[at] = keys[i]
            other_order[at] = <uint32_t>i
        # Each start has moved to the next bucket's.
        for i in range(n_buckets, 0, -1):
            starts[i] = starts[i - 1]
        starts[0] = 0


def sort_buckets(
    uint64_t[::1] keys,
    uint32_t[::1] order,
    uint64_t[::1] other_keys,
    uint32_t[::1] other_order,
    const int64_t[::1] starts,
    int shift,
    Py_ssize_t begin,
    Py_ssize_t end,
):
    """Sort the keys of buckets ``begin`` to ``end`` by their lowest ``shift`` bits.

    Stable, and O(n * shift / 8): by radix from the lowest digit on. The other two
    arrays are scratch memory, in the same places.
    """
    cdef Py_ssize_t bucket, first, count
    if keys.shape[0] == 0:
        return
    with nogil:
        for bucket in range(begin, end):
            first = starts[bucket]
            count = starts[bucket + 1] - first
            if count <= FEW:
                insert_each(&keys[0] + first, &order[0] + first, count)
            elif count <= MANY:
                sort_by_digits(
                    &keys[0] + first, &order[0] + first, &other_keys[0] + first,
                    &other_order[0] + first, count, shift, 8,
                )
            else:
                sort_by_digits(
                    &keys[0] + first, &order[0] + first, &other_keys[0] + first,
                    &other_order[0] + first, count, shift, 11,
                )


cdef void insert_each(uint64_t *keys, uint32_t *order, Py_ssize_t n) noexcept nogil:
    """Sort a few keys by insertion."""
    cdef Py_ssize_t i, at
    cdef uint64_t key
    cdef uint32_t number
    for i in range(1, n):
        key, number = keys[i], order[i]
        at = i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            order[at] = order[at - 1]
            at -= 1
        keys[at] = key
        order[at] = number


cdef void sort_by_digits(
    uint64_t *keys,
    uint32_t *order,
    uint64_t *other_keys,
    uint32_t *other_order,
    Py_ssize_t n,
    int n_bits,
    int digit_bits,
) noexcept nogil:
    """Sort keys by radix, from the lowest digit on; the result is where they were."""
    cdef uint64_t *source = keys
    cdef uint64_t *target = other_keys
    cdef uint32_t *source_order = order
    cdef uint32_t *target_order = other_order
    cdef Py_ssize_t[2048] starts
    cdef Py_ssize_t i, at, total
    cdef Py_ssize_t n_digits = 1 << digit_bits
    cdef uint64_t mask = n_digits - 1, digit
    cdef int shift = 0
    while shift < n_bits:
        memset(starts, 0, n_digits * sizeof(Py_ssize_t))
        for i in range(n):
            starts[(source[i] >> shift) & mask] += 1
        if starts[(source[0] >> shift) & mask] != n:
            total = 0
            for i in range(n_digits):
                at = starts[i]
                starts[i] = total
                total += at
            for i in range(n):
                digit = (source[i] >> shift) & mask
                at = starts[digit]
                starts[digit] = at + 1
                target[at] = source[i]
                target_order[at] = source_order[i]
            source, target = target, source
            source_order, target_order = target_order, source_order
        shift += digit_bits
    if source != keys:
        memcpy(keys, source, n * sizeof(uint64_t))
        memcpy(order, source_order, n * sizeof(uint32_t))


ctypedef fused Bits:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


def gather(
    const Bits[:, ::1] values,
    const uint32_t[::1] order,
    Bits[:, ::1] gathered,
    Py_ssize_t begin,
    Py_ssize_t end,
):
    """Set rows ``begin`` to ``end`` of ``gathered`` to those that ``order`` numbers."""
    cdef Py_ssize_t i, column, n_columns = values.shape[1]
    with nogil:
        if n_columns == 1:
            for i in range(begin, end):
                gathered[i, 0] = values[order[i], 0]
        else:
            for i in range(begin, end):
                for column in range(n_columns):
                    gathered[i, column] = values[order[i], column]
