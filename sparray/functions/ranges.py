"""Evenly spaced numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert import from_dense
from sparray.errors import DTypeError
from sparray.formats.coordinates import as_dtype
from sparray.formats.format import Format
from sparray.functions.creation import check_device
from sparray.sparse_array import SparseArray

__all__ = ["arange", "linspace"]


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: npt.DTypeLike | None = None,
    device: str | None = None,
    format: str | Format = "dense",
) -> SparseArray:
    """Return evenly spaced numbers, as `numpy.arange` does.

    Parameters
    ----------
    start, stop, step : number
        From ``start`` up to ``stop``, which is left out; from 0 if there is one only.
    dtype : dtype, optional
        By default int64 for integers and float64 for others.
    device : {"cpu"}, optional
        Where the array is.
    format : str or Format
        In a sparse one the number 0 is not stored.

    Returns
    -------
    SparseArray
        One dimension.
    """
    check_device(device)
    known = None if dtype is None else as_dtype(dtype)
    try:
        if stop is None:
            start, stop = 0, start
        numbers = np.arange(start, stop, step, dtype=known)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise DTypeError(
            f"arange: expected numbers, and a step that is not 0, got {start!r}, "
            f"{stop!r} and {step!r} ({error})"
        ) from None
    return from_dense(numbers, format, copy=False)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    *,
    dtype: npt.DTypeLike | None = None,
    device: str | None = None,
    endpoint: bool = True,
    format: str | Format = "dense",
) -> SparseArray:
    """Return a number of evenly spaced numbers between two.

    Parameters
    ----------
    start, stop : number
        The first one, and the last one.
    num : int
        How many.
    dtype : dtype, optional
        By default float64, complex128 for complex numbers.
    device : {"cpu"}, optional
        Where the array is.
    endpoint : bool
        Whether ``stop`` is one of them.
    format : str or Format
        In a sparse one the number 0 is not stored.

    Returns
    -------
    SparseArray
        One dimension.
    """
    check_device(device)
    known = None if dtype is None else as_dtype(dtype)
    try:
        numbers = np.linspace(start, stop, num, dtype=known, endpoint=endpoint)
    except (TypeError, ValueError) as error:
        raise DTypeError(
            "linspace: expected numbers, and how many are wanted, got "
            f"{start!r}, {stop!r} and {num!r} ({error})"
        ) from None
    return from_dense(numbers, format, copy=False)
