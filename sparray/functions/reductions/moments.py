"""Means, variances and standard deviations over axes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half, widened
from sparray.errors import DTypeError
from sparray.formats.coordinates import as_dtype
from sparray.functions.creation import asarray
from sparray.functions.reductions.folds import reduced_axes
from sparray.functions.reductions.segments import Segments, segments
from sparray.sparse_array import SparseArray

__all__ = ["in_floats", "mean", "squares", "std", "var"]


def mean(
    x: Any,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
) -> Any:
    """Return the mean of the elements of an array over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    dtype : dtype, optional
        Of the result; by default that of the values, but float64 for integers.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        A dense array if at most one dimension is left, else a sparse one. It is NaN of
        no elements.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.mean(sp.array([[0, 2], [3, 1]], format="csr"), axis=1)
    array([1., 2.])
    """
    array, made = in_floats(x, dtype)
    parts = segments(array, reduced_axes(axis, array.shape), keepdims=keepdims)
    elements, fill = _means(parts, array.fill_value)
    return parts.result(elements.astype(made), np.asarray(fill).astype(made)[()])


def var(
    x: Any,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Any:
    """Return the variance of the elements of an array over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    correction : float
        What is subtracted from the number of elements: 1 for the sample variance.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `mean`. Elements that are not stored count in the mean and in the squares.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.var(sp.array([[0.0, 2.0], [3.0, 1.0]], format="csr"), axis=1)
    array([1., 1.])
    """
    return _spread(x, axis, correction, keepdims, np.positive)


def std(
    x: Any,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Any:
    """Return the standard deviation of the elements of an array over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    correction : float
        What is subtracted from the number of elements: 1 for the sample's.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `mean`: the square root of `var`.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.std(sp.array([[0.0, 2.0], [3.0, 1.0]], format="csr"), axis=1)
    array([1., 1.])
    """
    return _spread(x, axis, correction, keepdims, np.sqrt)


def _spread(
    x: Any,
    axis: int | tuple[int, ...] | None,
    correction: float,
    keepdims: bool,
    of: np.ufunc,
) -> Any:
    """Return a function of the variance over some axes."""
    array, made = in_floats(x, None)
    made = np.empty(0, made).real.dtype
    parts = segments(array, reduced_axes(axis, array.shape), keepdims=keepdims)
    elements, fill = map(of, _variances(parts, array.fill_value, correction))
    return parts.result(elements.astype(made), np.asarray(fill).astype(made)[()])


def in_floats(x: Any, dtype: npt.DTypeLike | None) -> tuple[SparseArray, np.dtype[Any]]:
    """Return an array of floats, halves as float32, and the dtype of the result.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    dtype : dtype or None
        What is asked for.
    """
    array = asarray(x)
    made = array.dtype if dtype is None else as_dtype(dtype)
    if not is_half(made) and made.kind not in "fc":
        if dtype is not None:
            raise DTypeError(f"dtype: expected a float or a complex one, got {made}")
        made = np.dtype(np.float64)
    wide = np.dtype(np.float32) if is_half(made) else made
    return array if array.dtype == wide else array.astype(wide), made


def _sums(parts: Segments, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if len(values) == 0:
        return values
    sums: npt.NDArray[Any] = np.add.reduceat(values, parts.starts)
    return sums


def _means(parts: Segments, fill: Any) -> tuple[npt.NDArray[Any], Any]:
    """Return the mean of each segment, and that of fill values alone."""
    n_terms = parts.n_terms
    sums = _sums(parts, widened(parts.values))
    if n_terms == 0:
        return sums, np.nan
    missing = (n_terms - parts.counts) if n_terms < 2**62 else float(n_terms)
    with np.errstate(invalid="ignore"):
        rest = np.where(np.asarray(missing) > 0, fill * np.asarray(missing, float), 0)
    return (sums + rest) / float(n_terms), fill


def _variances(
    parts: Segments, fill: Any, correction: float
) -> tuple[npt.NDArray[Any], Any]:
    """Return the variance of each segment, and that of fill values alone."""
    n_terms = parts.n_terms
    means, _ = _means(parts, fill)
    degrees = float(n_terms) - correction
    missing = np.asarray((n_terms - parts.counts) if n_terms < 2**62 else n_terms)
    with np.errstate(all="ignore"):
        stored = _sums(parts, squares(parts.values - parts.each(means)))
        beside = squares(np.asarray(fill) - means)
        rest = np.where(missing > 0, beside * missing.astype(float), 0)
        elements = (stored + rest) / np.float64(max(degrees, 0.0))
        alone = squares(np.asarray(fill) - fill) * float(n_terms)
        return elements, alone / np.float64(max(degrees, 0.0))


def squares(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the squares of the magnitudes of numbers."""
    made: npt.NDArray[Any] = np.real(numbers * np.conj(numbers))
    return made
