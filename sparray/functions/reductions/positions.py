"""Where the smallest and the largest elements are along an axis."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import DTypeError, ShapeError, UnsupportedError
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.reductions.segments import Segments, segments

__all__ = ["argmax", "argmin"]

_LARGEST = 2**63 - 1


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Return where the largest element is along an axis: the first, of equal ones.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int, optional
        Along which axis. By default the number of the element among all of them, in C
        order.
    keepdims : bool
        Whether the axis stays, with extent 1.

    Returns
    -------
    int64, ndarray or SparseArray
        A dense array if at most one dimension is left, else a sparse one. NaN is larger
        than all numbers; an element that is not stored is the fill value.

    Raises
    ------
    ShapeError
        If there is no such axis, or no element along it.
    DTypeError
        If numbers are complex.
    UnsupportedError
        If there are more than 2**63 - 1 elements to number.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.argmax(sp.array([[0, 2], [-3, -1]], format="csr"), axis=0)
    array([0, 0])
    """
    return _position("argmax", x, axis, keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Return where the smallest element is along an axis: the first, of equal ones.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int, optional
        Along which axis. By default the number of the element among all of them, in C
        order.
    keepdims : bool
        Whether the axis stays, with extent 1.

    Returns
    -------
    int64, ndarray or SparseArray
        As `argmax`; NaN is smaller than all numbers.

    Raises
    ------
    ShapeError
        If there is no such axis, or no element along it.
    DTypeError
        If numbers are complex.
    UnsupportedError
        If there are more than 2**63 - 1 elements to number.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.argmin(sp.array([[3, 0], [2, 5]], format="csr"), axis=0)
    array([1, 0])
    """
    return _position("argmin", x, axis, keepdims)


def _position(name: str, x: Any, axis: int | None, keepdims: bool) -> Any:
    array = asarray(x)
    if array.dtype.kind == "c":
        raise DTypeError(f"{name}: expected real numbers, got {array.dtype}")
    axes = tuple(range(array.ndim))
    if axis is not None:
        axes = (checked_axis(axis, array.shape),)
    parts = segments(array, axes, keepdims=keepdims, within=True)
    if parts.n_terms == 0:
        raise ShapeError(
            f"{name}: expected at least one element along axis {axis} of shape "
            f"{array.shape}, got none"
        )
    if parts.n_terms > _LARGEST:
        raise UnsupportedError(
            f"{name}: expected elements that int64 can number, got {parts.n_terms}"
        )
    return parts.result(_found(name, parts, array.fill_value), np.int64(0))


def _found(name: str, parts: Segments, fill: Any) -> npt.NDArray[np.int64]:
    """Return the number of the best element of each segment."""
    if len(parts.values) == 0:
        return np.zeros(0, np.int64)
    numbers = np.zeros(len(parts.values), np.int64)
    for place, axis in enumerate(parts.axes):
        below = math.prod(parts.shape[other] for other in parts.axes[place + 1 :])
        numbers += parts.coords[axis] * below
    ufunc = np.maximum if name == "argmax" else np.minimum
    best = ufunc.reduceat(parts.values, parts.starts)
    first = _first(parts, numbers, _same(parts.values, parts.each(best)))
    ranks = np.arange(len(numbers)) - parts.each(parts.starts)
    gap = _first(parts, ranks, numbers != ranks)
    gap = np.where(gap == _LARGEST, parts.counts, gap)
    filler = np.asarray(fill, parts.values.dtype)
    with_fill = ufunc(best, filler)
    is_filler = (gap < parts.n_terms) & _same(with_fill, filler)
    as_good = is_filler & _same(best, filler)
    return np.where(as_good, np.minimum(first, gap), np.where(is_filler, gap, first))


def _same(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Mark equal numbers; NaN is equal to NaN."""
    same: npt.NDArray[np.bool_] = (left == right) | ((left != left) & (right != right))
    return same


def _first(
    parts: Segments, numbers: npt.NDArray[np.int64], marked: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Return the smallest marked number of each segment; the largest one if none is."""
    found: npt.NDArray[np.int64] = np.minimum.reduceat(
        np.where(marked, numbers, _LARGEST), parts.starts
    )
    return found
