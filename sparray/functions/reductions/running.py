"""Running sums and products: dense, as every element counts all before it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half, widened
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import only_axis
from sparray.functions.reductions.folds import loop_dtype

__all__ = ["cumulative_prod", "cumulative_sum", "running"]


def cumulative_sum(
    x: Any,
    /,
    axis: int | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> npt.NDArray[Any]:
    """Return the sums of all elements up to each one along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int, optional
        Along which axis; needed unless there is one alone.
    dtype : dtype, optional
        In which values are added up; by default as for `sum`.
    include_initial : bool
        Whether a 0 stands in front.

    Returns
    -------
    ndarray
        Dense: behind its first entry no element is the fill value. As large as
        ``x.todense()``.

    Raises
    ------
    ShapeError
        If there is no such axis, or none is given of several.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.cumulative_sum(sp.array([0, 2, 0, 1]))
    array([0, 2, 2, 3])
    """
    return running(np.add, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any,
    /,
    axis: int | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> npt.NDArray[Any]:
    """Return the products of all elements up to each one along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int, optional
        Along which axis; needed unless there is one alone.
    dtype : dtype, optional
        In which values are multiplied; by default as for `sum`.
    include_initial : bool
        Whether a 1 stands in front.

    Returns
    -------
    ndarray
        As large as ``x.todense()``.

    Raises
    ------
    ShapeError
        If there is no such axis, or none is given of several.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.cumulative_prod(sp.array([1, 2, 3], fill_value=1))
    array([1, 2, 6])
    """
    return running(np.multiply, x, axis, dtype, include_initial)


def running(
    ufunc: np.ufunc,
    x: Any,
    axis: int | None,
    dtype: npt.DTypeLike | None,
    include_initial: bool = False,
) -> npt.NDArray[Any]:
    """Return what a ufunc of two makes of all elements up to each one along an axis.

    Parameters
    ----------
    ufunc : numpy.ufunc
        Of two operands and one result.
    x : SparseArray or array-like
        Any format.
    axis, dtype, include_initial
        As for `cumulative_sum`.
    """
    array = asarray(x)
    along = only_axis(axis, array.shape)
    elements = widened(array.todense())
    half = is_half(array.dtype) and dtype is None
    if not half and dtype is None:
        # Of narrow integers sums and products are wider.
        dtype = loop_dtype(ufunc, array.dtype)
    made: npt.NDArray[Any] = ufunc.accumulate(elements, axis=along, dtype=dtype)
    made = made.astype(array.dtype) if half else made
    if not include_initial:
        return made
    front = list(made.shape)
    front[along] = 1
    initial = np.full(front, ufunc.identity, made.dtype)
    return np.concatenate([initial, made], axis=along)
