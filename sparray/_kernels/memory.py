"""Memory for results: large arrays take what earlier ones have left.

A page that the system has just mapped costs more to touch for the first time than most
kernels need to fill it. So the memory of large results is kept when they are freed, up
to a limit, and the system may take it back when it is short of memory.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.available import available_bytes
from sparray._kernels.sizes import size_setting
from sparray.errors import KernelMemoryError

__all__ = ["empty", "release_memory", "zeros"]

_LEAST_BYTES = 2**22
"""Smaller arrays are NumPy's: the C library keeps their memory itself."""
_LARGE_BYTES = 2**28
"""From here on it is asked whether there is so much memory: what the system promises
beyond that ends in the process being killed."""
_DEFAULT_LIMIT = 2**29

try:
    from sparray._kernels import blocks  # type: ignore[attr-defined]
except ImportError:
    # A source tree that was not built: right, and slower where results are large.
    blocks = None


class _Setting:
    """Whether the limit has been set; the environment is read when it is needed."""

    is_set = False


def empty(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of a result: one-dimensional, its elements not initialised.

    Raises
    ------
    KernelMemoryError
        If it does not fit in memory.
    SettingError
        If ``SPARRAY_REUSE_SIZE`` is not a size.
    """
    return _array(size, np.dtype(dtype), zeroed=False)


def zeros(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of a result: one-dimensional, all zero.

    Raises
    ------
    KernelMemoryError
        If it does not fit in memory.
    SettingError
        If ``SPARRAY_REUSE_SIZE`` is not a size.
    """
    return _array(size, np.dtype(dtype), zeroed=True)


def release_memory() -> int:
    """Give the memory that is kept for later results back to the system.

    Returns
    -------
    int
        Number of bytes.

    Notes
    -----
    Memory of large results (4 MiB or more) is kept when they are freed, up to
    ``SPARRAY_REUSE_SIZE`` bytes; arrays that are alive are never touched.
    """
    if blocks is None:
        return 0
    released: int = blocks.free_bytes()
    blocks.set_limit(0)
    _Setting.is_set = False
    return released


def _array(size: int, dtype: np.dtype[Any], *, zeroed: bool) -> npt.NDArray[Any]:
    n_bytes = size * dtype.itemsize
    is_large = blocks is not None and n_bytes >= _LEAST_BYTES
    if is_large and not _Setting.is_set:
        blocks.set_limit(size_setting("SPARRAY_REUSE_SIZE", _DEFAULT_LIMIT))
        _Setting.is_set = True
    if n_bytes >= _LARGE_BYTES and n_bytes > available_bytes():
        raise _error(size, dtype)
    try:
        if not is_large:
            return np.zeros(size, dtype) if zeroed else np.empty(size, dtype)
        block = blocks.Block(n_bytes)
    except (MemoryError, ValueError, OverflowError) as error:
        raise _error(size, dtype) from error
    array: npt.NDArray[Any] = np.frombuffer(block, dtype)
    if zeroed and not block.fresh:
        array.fill(0)
    return array


def _error(size: int, dtype: np.dtype[Any]) -> KernelMemoryError:
    return KernelMemoryError(
        f"result: expected {size} elements of {dtype} to fit in memory"
    )
