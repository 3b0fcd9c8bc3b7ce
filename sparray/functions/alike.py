"""Arrays of another one's shape, dtype and format, all of one number."""

from typing import Any

import numpy.typing as npt

from sparray.formats.coordinates import as_dtype
from sparray.formats.format import Format
from sparray.functions.creation import full
from sparray.functions.einsum import as_operand
from sparray.sparse_array import SparseArray

__all__ = ["empty_like", "full_like", "ones_like", "zeros_like"]


def empty_like(
    x: Any,
    /,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array of any values, as `zeros_like`.

    Parameters
    ----------
    x : SparseArray or array-like
        Whose shape, dtype and format are taken.
    dtype, device, format
        As for `full_like`.

    Returns
    -------
    SparseArray
        Nothing is stored.
    """
    return zeros_like(x, dtype=dtype, device=device, format=format)


def full_like(
    x: Any,
    /,
    fill_value: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array of another one's shape whose elements are all one number.

    Parameters
    ----------
    x : SparseArray or array-like
        Whose shape, dtype and format are taken.
    fill_value : scalar
        The number.
    dtype : dtype, optional
        By default that of ``x``.
    device : {"cpu"}, optional
        Where the array is.
    format : str or Format, optional
        By default that of a sparse ``x``, as `full` for a dense one.

    Returns
    -------
    SparseArray
        Nothing is stored, unless the format stores all.
    """
    like = as_operand("x", x)
    known = like.dtype if dtype is None else as_dtype(dtype)
    if format is None and isinstance(like, SparseArray):
        format = like.format
    return full(like.shape, fill_value, dtype=known, device=device, format=format)


def ones_like(
    x: Any,
    /,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array of ones with another one's shape, dtype and format.

    Parameters
    ----------
    x : SparseArray or array-like
        Whose shape, dtype and format are taken.
    dtype, device, format
        As for `full_like`.

    Returns
    -------
    SparseArray
        Nothing is stored, unless the format stores all.
    """
    return full_like(x, 1, dtype=dtype, device=device, format=format)


def zeros_like(
    x: Any,
    /,
    dtype: npt.DTypeLike | None = None,
    *,
    device: str | None = None,
    format: str | Format | None = None,
) -> SparseArray:
    """Return an array of zeros with another one's shape, dtype and format.

    Parameters
    ----------
    x : SparseArray or array-like
        Whose shape, dtype and format are taken.
    dtype, device, format
        As for `full_like`.

    Returns
    -------
    SparseArray
        Nothing is stored.
    """
    return full_like(x, 0, dtype=dtype, device=device, format=format)
