"""Means, variances and standard deviations over axes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half, widened
from sparray.errors import DTypeError, UnsupportedError
from sparray.formats.coordinates import as_dtype
from sparray.functions.creation import asarray
from sparray.functions.reductions.by_kernel import (
    COMPILE_ERRORS,
    ByKernel,
    by_kernel,
)
from sparray.functions.reductions.folds import reduced_axes
from sparray.functions.reductions.segments import Segments, segments
from sparray.sparse_array import SparseArray

__all__ = ["in_floats", "mean", "squares", "std", "var"]

Elements = npt.NDArray[Any]
Parts = Segments | ByKernel
_COUNTED = 2**62


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

    def moment(parts: Parts) -> tuple[Elements, Any]:
        return _means(parts, array.fill_value)

    return _reduced(array, reduced_axes(axis, array.shape), keepdims, made, moment)


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

    def moment(parts: Parts) -> tuple[Elements, Any]:
        elements, fill = _variances(parts, array.fill_value, correction)
        return of(elements), of(fill)

    return _reduced(array, reduced_axes(axis, array.shape), keepdims, made, moment)


def _reduced(
    array: SparseArray,
    axes: tuple[int, ...],
    keepdims: bool,
    dtype: np.dtype[Any],
    moment: Callable[[Parts], tuple[Elements, Any]],
) -> Any:
    """Return a moment of the entries: of many by kernels, else by sorted segments."""
    several = by_kernel(array, axes, keepdims=keepdims)
    if several is not None:
        try:
            return _as(dtype, several, moment)
        except COMPILE_ERRORS:
            pass
    return _as(dtype, segments(array, axes, keepdims=keepdims), moment)


def _as(
    dtype: np.dtype[Any],
    parts: Parts,
    moment: Callable[[Parts], tuple[Elements, Any]],
) -> Any:
    elements, fill = moment(parts)
    return parts.result(elements.astype(dtype), np.asarray(fill).astype(dtype)[()])


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


def _sums(parts: Parts) -> Elements:
    if isinstance(parts, ByKernel):
        return parts.fold("sum", parts.array.values, 0)
    return parts.combined(np.add, widened(parts.values))


def _missing(parts: Parts, fill: Any) -> Elements:
    """Return how many terms of each element are not stored; 0 where it is no matter."""
    n_terms = parts.n_terms
    if n_terms >= _COUNTED:
        return np.asarray(float(n_terms))
    if fill == 0 and isinstance(parts, ByKernel):
        return np.asarray(0)
    return np.asarray(n_terms - parts.counts)


def _means(parts: Parts, fill: Any) -> tuple[Elements, Any]:
    """Return the mean of each segment, and that of fill values alone."""
    n_terms = parts.n_terms
    sums = _sums(parts)
    if n_terms == 0:
        return sums, np.nan
    missing = _missing(parts, fill)
    with np.errstate(invalid="ignore"):
        rest = np.where(missing > 0, fill * missing.astype(float), 0)
    return (sums + rest) / float(n_terms), fill


def _variances(parts: Parts, fill: Any, correction: float) -> tuple[Elements, Any]:
    """Return the variance of each segment, and that of fill values alone."""
    n_terms = parts.n_terms
    means, _ = _means(parts, fill)
    degrees = float(n_terms) - correction
    missing = np.asarray((n_terms - parts.counts) if n_terms < _COUNTED else n_terms)
    with np.errstate(all="ignore"):
        stored = _square_sums(parts, means)
        beside = squares(np.asarray(fill) - means)
        rest = np.where(missing > 0, beside * missing.astype(float), 0)
        elements = (stored + rest) / np.float64(max(degrees, 0.0))
        alone = squares(np.asarray(fill) - fill) * float(n_terms)
        return elements, alone / np.float64(max(degrees, 0.0))


def _square_sums(parts: Parts, means: Elements) -> Elements:
    """Return the sum of the squares of what entries differ by from their mean."""
    if not isinstance(parts, ByKernel):
        return parts.combined(np.add, squares(parts.values - parts.each(means)))
    kept = parts.kept
    if len(kept) > 1 or parts.array.dtype.kind == "c":
        raise UnsupportedError("expected real numbers, and one mean for each of a row")
    names = [f"i{d}" for d in range(parts.array.ndim)]
    at = ",".join(names)
    mean = f"M[{names[kept[0]]}]" if kept else "M"
    over = ",".join(names[d] for d in parts.axes)
    # The ones are where entries are, so that nothing else has a difference.
    text = f"sum(({over}), P[{at}] * ((A[{at}] - {mean}) * (A[{at}] - {mean})))"
    values = parts.array.values
    ones = parts.over(np.ones(len(values), values.dtype), 0)
    shaped = means.reshape([parts.array.shape[d] for d in kept])
    return parts.compute(text, [ones, parts.over(values, 0), shaped])


def squares(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the squares of the magnitudes of numbers."""
    made: npt.NDArray[Any] = np.real(numbers * np.conj(numbers))
    return made
