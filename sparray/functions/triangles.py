"""Triangles of matrices: of the last two dimensions of arrays."""

import operator
from typing import Any

import numpy as np

from sparray.convert import from_coords
from sparray.errors import ShapeError, WouldDensifyError
from sparray.functions.creation import asarray
from sparray.sparse_array import SparseArray

__all__ = ["tril", "triu"]


def tril(x: Any, /, k: int = 0) -> SparseArray:
    """Return what is on a diagonal and below it.

    Parameters
    ----------
    x : SparseArray or array-like
        A matrix, or an array whose last two dimensions are matrices.
    k : int
        Which diagonal: positive ones are above the main one.

    Returns
    -------
    SparseArray
        In the same format, with the stored entries of that part.

    Raises
    ------
    ShapeError
        If there are fewer than two dimensions.
    WouldDensifyError
        If the fill value is not 0, which the other part is.

    Notes
    -----
    In time proportional to the number of stored entries, whatever the extents.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.tril(sp.array([[1, 2], [3, 4]])).todense()
    array([[1, 0],
           [3, 4]])
    """
    return _triangle("tril", x, k)


def triu(x: Any, /, k: int = 0) -> SparseArray:
    """Return what is on a diagonal and above it.

    Parameters
    ----------
    x : SparseArray or array-like
        A matrix, or an array whose last two dimensions are matrices.
    k : int
        Which diagonal: positive ones are above the main one.

    Returns
    -------
    SparseArray
        In the same format, with the stored entries of that part.

    Raises
    ------
    ShapeError
        If there are fewer than two dimensions.
    WouldDensifyError
        If the fill value is not 0, which the other part is.
    """
    return _triangle("triu", x, k)


def _triangle(name: str, x: Any, k: int) -> SparseArray:
    array = asarray(x)
    try:
        k = operator.index(k)
    except TypeError:
        raise ShapeError(f"{name}: expected an integer k, got {k!r}") from None
    if array.ndim < 2:
        raise ShapeError(
            f"{name}: expected 2 dimensions or more, got an array of shape "
            f"{array.shape}"
        )
    if array.fill_value != 0:
        raise WouldDensifyError(
            f"{name}: expected fill value 0, got {array.fill_value}: one part of the "
            f"result would be {array.fill_value} and the other 0, so that it stores up "
            f"to {array.size * array.dtype.itemsize} bytes; numpy.{name}(x.todense()) "
            "makes a dense array"
        )
    coords, values = array.to_coords()
    above = coords[-1] - coords[-2]
    kept = above <= k if name == "tril" else above >= k
    duplicates = "sum" if array.format.unique else "keep"
    return from_coords(
        np.ascontiguousarray(coords[:, kept]),
        values[kept],
        array.shape,
        array.format,
        duplicates,  # type: ignore[arg-type]
    )
