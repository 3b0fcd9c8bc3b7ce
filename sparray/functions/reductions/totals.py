"""Sums and products, smallest and largest elements, truths, over axes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half
from sparray.dispatch import evaluate_expression
from sparray.evaluation.expression import assignment_expression
from sparray.formats.coordinates import as_dtype
from sparray.functions.creation import asarray
from sparray.functions.reductions.folds import FOLDS, by_segments, fold, reduced_axes
from sparray.functions.reductions.segments import segments
from sparray.results import wrap_result
from sparray.sparse_array import SparseArray

__all__ = ["all", "any", "count_nonzero", "max", "min", "prod", "sum"]


def sum(
    x: Any,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
) -> Any:
    """Sum an array over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default. Negative ones count from the end.
    dtype : dtype, optional
        In which values are added up. By default their own, but int64 or uint64 for
        bools and narrower integers, as NumPy does.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        A dense array if at most one dimension is left, else a sparse one. What is not
        stored counts as the fill value.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0, 2, 0], [1, 0, 3]], format="csr")
    >>> sp.sum(A), sp.sum(A, axis=1)
    (np.int64(6), array([2, 4]))
    """
    if hasattr(x, "__sparray_function__"):
        return x.__sparray_function__("sum", x, axis=axis, dtype=dtype)
    array = asarray(x)
    axes = reduced_axes(axis, array.shape)
    sparse_result = array.ndim - len(axes) > 1 and not array.format.is_dense
    if keepdims or (sparse_result and array.fill_value != 0):
        wide = _sum_dtype(array, dtype, np.add)
        return fold("sum", array, axes, wide, keepdims=keepdims)
    return _summed(array, axes, dtype)


def _summed(
    array: SparseArray, axes: tuple[int, ...], dtype: npt.DTypeLike | None
) -> Any:
    """Sum an array over axes by a kernel."""
    indices = [f"i{n}" for n in range(array.ndim)]
    kept = ",".join(name for n, name in enumerate(indices) if n not in axes)
    target = f"C[{kept}]" if kept else "C"
    expression = assignment_expression(f"{target} = A[{','.join(indices)}]")
    asked = None if dtype is None else as_dtype(dtype)
    wide = np.zeros(0, array.dtype).sum(dtype=asked).dtype
    operand = array if wide == array.dtype else array.astype(wide)
    result = wrap_result(evaluate_expression(expression, [operand]), array)
    return result[()] if isinstance(result, np.ndarray) and not kept else result


def prod(
    x: Any,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
) -> Any:
    """Multiply the elements of an array over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    dtype : dtype, optional
        In which values are multiplied; by default as for `sum`.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sum`. What is not stored counts as the fill value.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0, 2, 0], [1, 5, 3]], format="csr")
    >>> sp.prod(A, axis=1)
    array([ 0, 15])
    """
    if hasattr(x, "__sparray_function__"):
        return fold("prod", x, axis, None, keepdims=keepdims)
    array = asarray(x)
    wide = _sum_dtype(array, dtype, np.multiply)
    return fold("prod", array, axis, wide, keepdims=keepdims)


def _sum_dtype(
    array: SparseArray, dtype: npt.DTypeLike | None, ufunc: np.ufunc
) -> np.dtype[Any]:
    """Return the dtype that NumPy adds up in."""
    if dtype is None and is_half(array.dtype):
        return array.dtype
    made: np.dtype[Any] = ufunc.reduce(np.zeros(0, array.dtype), dtype=dtype).dtype
    return made


def min(
    x: Any, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
) -> Any:
    """Return the smallest elements of an array over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sum`, in the array's dtype. NaN is smaller than all numbers, as in NumPy;
        the fill value counts where an element is not stored.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice, or has extent 0.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.min(sp.array([[0, 2], [4, 3]], format="csr"), axis=1)
    array([0, 3])
    """
    return fold("min", x, axis, None, keepdims=keepdims)


def max(
    x: Any, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
) -> Any:
    """Return the largest elements of an array over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sum`, in the array's dtype. NaN is larger than all numbers, as in NumPy; the
        fill value counts where an element is not stored.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice, or has extent 0.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.max(sp.array([[0, -2], [4, 3]], format="csr"), axis=0)
    array([4, 3])
    """
    return fold("max", x, axis, None, keepdims=keepdims)


def any(
    x: Any, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
) -> Any:
    """Tell whether any element is not zero, over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    bool, ndarray or SparseArray
        As `sum`, of bools; False of no elements.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.any(sp.array([[0, 2], [0, 0]], format="csr"), axis=1)
    array([ True, False])
    """
    return fold("any", x, axis, None, keepdims=keepdims)


def all(
    x: Any, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
) -> Any:
    """Tell whether all elements are not zero, over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    bool, ndarray or SparseArray
        As `sum`, of bools; True of no elements.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.all(sp.array([[0, 2], [3, 1]], format="csr"), axis=1)
    array([False,  True])
    """
    return fold("all", x, axis, None, keepdims=keepdims)


def count_nonzero(
    x: Any, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False
) -> Any:
    """Count the elements that are not zero, over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    int64, ndarray or SparseArray
        As `sum`. Stored zeros are none of them; what is not stored is, if the fill
        value is not 0.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.count_nonzero(sp.array([[0, 2], [3, 1]], format="csr"), axis=1)
    array([1, 2])
    """
    array = asarray(x)
    parts = segments(array, reduced_axes(axis, array.shape), keepdims=keepdims)
    parts.values = (parts.values != 0).astype(np.int64)
    return by_segments(FOLDS["sum"], parts, np.int64(array.fill_value != 0))
