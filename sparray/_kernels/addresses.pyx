# cython: language_level=3, binding=False, embedsignature=False
"""The address of an array's memory, in a tenth of the time that ctypes takes."""

from cpython.buffer cimport (
    PyBUF_SIMPLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.stdint cimport uintptr_t


def address(array):
    """Return the address of the first element of a contiguous array."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    cdef uintptr_t first = <uintptr_t>view.buf
    PyBuffer_Release(&view)
    return first
