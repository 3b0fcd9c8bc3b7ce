"""Reductions that pass over NaN, as NumPy's of these names do.

Not a number is what neither counts nor has a value; a fill value of NaN is none either.
Of integers and bools they are the reductions themselves.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import ShapeError
from sparray.functions.creation import asarray
from sparray.functions.nan_values import (
    has_nan,
    replaced,
    unique_entries,
    with_values,
)
from sparray.functions.reductions.folds import reduced_axes
from sparray.functions.reductions.moments import in_floats, mean, squares, var
from sparray.functions.reductions.positions import argmax, argmin
from sparray.functions.reductions.segments import Segments, segments
from sparray.functions.reductions.totals import max, min, prod, sum
from sparray.records import dataclass

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]

Axis = int | tuple[int, ...] | None
Elements = npt.NDArray[Any]


def nansum(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
) -> Any:
    """Sum the elements that are numbers over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, dtype, keepdims
        As for `sparray.sum`.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sparray.sum`; 0 of no numbers.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.nansum(sp.array([[0.0, 2.0], [float("nan"), 1.0]], format="csr"), axis=1)
    array([2., 1.])
    """
    return sum(replaced(x, 0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
) -> Any:
    """Multiply the elements that are numbers over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, dtype, keepdims
        As for `sparray.prod`.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sparray.prod`; 1 of no numbers.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.
    """
    return prod(replaced(x, 1), axis=axis, dtype=dtype, keepdims=keepdims)


def nanmin(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Return the smallest number over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, keepdims
        As for `sparray.min`.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sparray.min`; NaN where no element is a number.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice, or has extent 0.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.nanmin(sp.array([[4.0, 2.0], [float("nan"), 1.0]], format="csr"), axis=0)
    array([4., 1.])
    """
    return _extreme(x, axis, keepdims, np.fmin)


def nanmax(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Return the largest number over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, keepdims
        As for `sparray.max`.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sparray.max`; NaN where no element is a number.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice, or has extent 0.
    """
    return _extreme(x, axis, keepdims, np.fmax)


def nanmean(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: npt.DTypeLike | None = None,
    keepdims: bool = False,
) -> Any:
    """Return the mean of the elements that are numbers over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, dtype, keepdims
        As for `sparray.mean`.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sparray.mean`; NaN of no numbers.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.nanmean(sp.array([[4.0, 2.0], [float("nan"), 1.0]], format="csr"), axis=0)
    array([4. , 1.5])
    """
    if not has_nan(asarray(x)):
        return mean(x, axis, dtype=dtype, keepdims=keepdims)
    array, made = in_floats(x, dtype)
    parts = segments(array, reduced_axes(axis, array.shape), keepdims=keepdims)
    numbers = _Numbers.of(parts, array.fill_value)
    fill = numbers.fill if numbers.counts_fill else np.nan
    return parts.result(numbers.means.astype(made), np.asarray(fill).astype(made)[()])


def nanvar(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: npt.DTypeLike | None = None,
    correction: float = 0.0,
    ddof: float = 0.0,
    keepdims: bool = False,
) -> Any:
    """Return the variance of the elements that are numbers over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default.
    dtype : dtype, optional
        What is computed in.
    correction, ddof : float
        What is subtracted from the number of numbers; the second is NumPy's name of it.
    keepdims : bool
        Whether the axes stay, with extent 1.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `sparray.var`; NaN where there are not more numbers than ``correction``.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.
    """
    return _spread(x, axis, dtype, correction or ddof, keepdims, np.positive)


def nanstd(
    x: Any,
    /,
    axis: Axis = None,
    *,
    dtype: npt.DTypeLike | None = None,
    correction: float = 0.0,
    ddof: float = 0.0,
    keepdims: bool = False,
) -> Any:
    """Return the standard deviation of the elements that are numbers over some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, dtype, correction, ddof, keepdims
        As for `nanvar`.

    Returns
    -------
    scalar, ndarray or SparseArray
        As `nanvar`, of which it is the square root.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.
    """
    return _spread(x, axis, dtype, correction or ddof, keepdims, np.sqrt)


def nanargmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Return where the smallest number is along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, keepdims
        As for `sparray.argmin`.

    Returns
    -------
    int64, ndarray or SparseArray
        As `sparray.argmin`.

    Raises
    ------
    ShapeError
        If there is no such axis, or no number along it.
    """
    _check_numbers("nanargmin", x, axis)
    return argmin(replaced(x, np.inf), axis=axis, keepdims=keepdims)


def nanargmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Return where the largest number is along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis, keepdims
        As for `sparray.argmax`.

    Returns
    -------
    int64, ndarray or SparseArray
        As `sparray.argmax`.

    Raises
    ------
    ShapeError
        If there is no such axis, or no number along it.
    """
    _check_numbers("nanargmax", x, axis)
    return argmax(replaced(x, -np.inf), axis=axis, keepdims=keepdims)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The elements of segments that are numbers.

    Attributes
    ----------
    parts : Segments
        Whose elements they are.
    values : dtype[n]
        Of the entries; 0 for NaN.
    is_number : bool[n]
        Which of them are numbers.
    fill : scalar
        The fill value; 0 for NaN.
    counts_fill : bool
        Whether it is a number.
    missing : float64[segments]
        How many elements of each segment are the fill value, if it is a number.
    counts : float64[segments]
        How many numbers there are in each segment.
    """

    parts: Segments
    values: Elements
    is_number: npt.NDArray[np.bool_]
    fill: Any
    counts_fill: bool
    missing: Elements
    counts: Elements

    @classmethod
    def of(cls, parts: Segments, fill: Any) -> "_Numbers":
        """Return those of some segments."""
        is_number = ~np.isnan(parts.values)
        values = np.where(is_number, parts.values, parts.values.dtype.type(0))
        counts_fill = parts.n_terms > 0 and not np.isnan(fill)
        n_terms = float(parts.n_terms)
        missing = n_terms - parts.counts if counts_fill else np.zeros(len(parts.starts))
        stored = parts.combined(np.add, is_number.astype(np.float64))
        filler = fill if counts_fill else values.dtype.type(0)
        return cls(
            parts, values, is_number, filler, counts_fill, missing, stored + missing
        )

    @property
    def means(self) -> Elements:
        """The mean of the numbers of each segment."""
        with np.errstate(all="ignore"):
            # No elements add nothing, not even those of an infinite fill value.
            rest = np.where(self.missing > 0, self.fill * self.missing, 0)
            stored = self.parts.combined(np.add, self.values)
            made: Elements = (stored + rest) / self.counts
        return made

    def variances(self, correction: float) -> Elements:
        """Return the variance of the numbers of each segment."""
        means = self.means
        with np.errstate(all="ignore"):
            apart = squares(self.values - self.parts.each(means))
            stored = self.parts.combined(np.add, np.where(self.is_number, apart, 0))
            beside = squares(np.asarray(self.fill) - means) * self.missing
            rest = np.where(self.missing > 0, beside, 0)
            degrees = self.counts - correction
            made: Elements = (stored + rest) / np.where(degrees > 0, degrees, np.nan)
        return made


def _spread(
    x: Any,
    axis: Axis,
    dtype: npt.DTypeLike | None,
    correction: float,
    keepdims: bool,
    of: np.ufunc,
) -> Any:
    if dtype is not None:
        x = asarray(x).astype(np.dtype(dtype))
    if not has_nan(asarray(x)):
        made = var(x, axis, correction=correction, keepdims=keepdims)
        return made if of is np.positive else of(made)
    array, wide = in_floats(x, None)
    real = np.empty(0, wide).real.dtype
    parts = segments(array, reduced_axes(axis, array.shape), keepdims=keepdims)
    numbers = _Numbers.of(parts, array.fill_value)
    elements = of(numbers.variances(correction))
    there = numbers.counts_fill and parts.n_terms > correction
    fill = np.asarray(0.0 if there else np.nan).astype(real)[()]
    return parts.result(elements.astype(real), fill)


def _extreme(x: Any, axis: Axis, keepdims: bool, ufunc: np.ufunc) -> Any:
    """Reduce by `fmin` or `fmax`, of which a number is better than NaN."""
    array = asarray(x)
    name = "nanmin" if ufunc is np.fmin else "nanmax"
    if not has_nan(array):
        return (min if name == "nanmin" else max)(array, axis, keepdims=keepdims)
    parts = segments(array, reduced_axes(axis, array.shape), keepdims=keepdims)
    if parts.n_terms == 0:
        raise ShapeError(
            f"{name}: expected at least one element along axis {axis} of shape "
            f"{array.shape}, got none"
        )
    values = parts.combined(ufunc, parts.values)
    filled = parts.counts < parts.n_terms
    values = np.where(filled, ufunc(values, array.fill_value), values)
    return parts.result(values.astype(array.dtype, copy=False), array.fill_value)


def _check_numbers(name: str, x: Any, axis: int | None) -> None:
    array = asarray(x)
    if not has_nan(array):
        return
    marks = np.isnan(unique_entries(array).values)
    nans = with_values(unique_entries(array), marks, np.isnan(array.fill_value))
    found = nans.all(axis=axis)
    if bool(np.any(found) if isinstance(found, np.ndarray) else found.any()):
        raise ShapeError(
            f"{name}: expected a number along axis {axis} everywhere, got NaN alone "
            f"somewhere in an array of shape {array.shape}"
        )
