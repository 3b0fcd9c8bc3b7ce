# cython: language_level=3, binding=False, embedsignature=False
"""Blocks of memory that are kept for the next array when an array is freed.

The first touch of a page that the system has just mapped costs more than what most
kernels do with it. So a block goes back to a list here, not to the system, as long as
the list stays within a limit. The system may still take the pages of a listed block
when it is short of memory.
"""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport uintptr_t

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <sys/mman.h>

    #define SP_PAGE ((size_t)2 << 20)

    /* Whole huge pages, aligned to them; NULL if there is no memory. */
    static void *sp_map(size_t bytes) {
        size_t more = bytes + SP_PAGE;
        char *start, *aligned;
        if (more < bytes) return NULL;
        start = (char *)mmap(NULL, more, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == (char *)MAP_FAILED) return NULL;
        aligned = (char *)(((uintptr_t)start + SP_PAGE - 1) & ~(uintptr_t)(SP_PAGE - 1));
        if (aligned > start) munmap(start, (size_t)(aligned - start));
        if (aligned + bytes < start + more)
            munmap(aligned + bytes, (size_t)(start + more - aligned - bytes));
    #ifdef MADV_HUGEPAGE
        madvise(aligned, bytes, MADV_HUGEPAGE);
    #endif
        return aligned;
    }

    static void sp_unmap(void *start, size_t bytes) { munmap(start, bytes); }

    /* Let the system take the pages if it needs them, and leave them if not. */
    static void sp_offer(void *start, size_t bytes) {
    #ifdef MADV_FREE
        madvise(start, bytes, MADV_FREE);
    #else
        (void)start; (void)bytes;
    #endif
    }
    """
    const size_t SP_PAGE
    void *sp_map(size_t bytes) nogil
    void sp_unmap(void *start, size_t bytes) nogil
    void sp_offer(void *start, size_t bytes) nogil

cdef extern from "Python.h":
    int PyTraceMalloc_Track(unsigned int domain, uintptr_t start, size_t size)
    int PyTraceMalloc_Untrack(unsigned int domain, uintptr_t start)


cdef enum:
    MOST = 32
    # NumPy's own, so that `tracemalloc` counts these blocks with its arrays.
    DOMAIN = 389047

# Free blocks, the one that was freed first first. The GIL guards them.
cdef void *_starts[MOST]
cdef size_t _sizes[MOST]
cdef int _count = 0
cdef size_t _free = 0
cdef size_t _limit = 0


cdef void _forget(int at) noexcept:
    """Take a block off the list."""
    global _count, _free
    _free -= _sizes[at]
    _count -= 1
    for n in range(at, _count):
        _starts[n] = _starts[n + 1]
        _sizes[n] = _sizes[n + 1]


cdef void _return_oldest() noexcept:
    """Give the block that was freed first back to the system."""
    cdef void *start = _starts[0]
    cdef size_t size = _sizes[0]
    _forget(0)
    sp_unmap(start, size)


cdef class Block:
    """Memory for an array; a buffer of ``nbytes`` bytes.

    ``fresh`` says that it is zero.
    """

    cdef void *_start
    cdef size_t _size
    cdef size_t _nbytes
    cdef readonly bint fresh

    def __cinit__(self, size_t nbytes):
        cdef size_t wanted = (nbytes + SP_PAGE - 1) & ~(SP_PAGE - 1)
        cdef int best = -1
        if wanted < nbytes:
            raise MemoryError
        for n in range(_count):
            if wanted <= _sizes[n] <= wanted + wanted // 4:
                if best < 0 or _sizes[n] <= _sizes[best]:
                    best = n
        if best >= 0:
            self._start = _starts[best]
            self._size = _sizes[best]
            _forget(best)
        else:
            self._start = sp_map(wanted)
            if self._start == NULL:
                raise MemoryError
            self._size = wanted
            self.fresh = True
        self._nbytes = nbytes
        PyTraceMalloc_Track(DOMAIN, <uintptr_t>self._start, self._size)

    def __dealloc__(self):
        global _count, _free
        if self._start == NULL:
            return
        PyTraceMalloc_Untrack(DOMAIN, <uintptr_t>self._start)
        if self._size > _limit:
            sp_unmap(self._start, self._size)
            return
        while _count == MOST or _free + self._size > _limit:
            _return_oldest()
        sp_offer(self._start, self._size)
        _starts[_count] = self._start
        _sizes[_count] = self._size
        _count += 1
        _free += self._size

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self._start, self._nbytes, 0, flags)


def free_bytes():
    """Return how many bytes the listed blocks have."""
    return _free


def set_limit(size_t limit):
    """Keep at most that many bytes from now on."""
    global _limit
    _limit = limit
    while _free > limit:
        _return_oldest()
