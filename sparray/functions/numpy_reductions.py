"""NumPy's reductions of sparse arrays, with the parameters that NumPy's have."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import ShapeError, UnsupportedError
from sparray.functions.creation import asarray
from sparray.functions.indexing.along_axis import take_along_axis
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.manipulation.shapes import reshape
from sparray.functions.nan_values import nan_to_num
from sparray.functions.ordering import sort
from sparray.functions.reductions import nans
from sparray.functions.reductions.moments import mean, std, var
from sparray.functions.reductions.running import running
from sparray.functions.reductions.totals import max, min
from sparray.functions.ufunc_methods import reduced

__all__ = ["REDUCTIONS"]

Axis = int | tuple[int, ...] | None
_NONE: Any = np._NoValue


def _refuse(name: str, **options: Any) -> None:
    """Refuse keywords that have a value."""
    for option, value in options.items():
        if value is not None and value is not True and value is not _NONE:
            raise UnsupportedError(f"{name}: expected no {option}, got one")


def _flag(value: Any) -> bool:
    return False if value is _NONE else bool(value)


def _total(ufunc: np.ufunc) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Axis = None,
        dtype: npt.DTypeLike | None = None,
        out: Any = None,
        keepdims: Any = _NONE,
        initial: Any = _NONE,
        where: Any = True,
    ) -> Any:
        _refuse(ufunc.__name__, out=out)
        chosen = True if where is _NONE else where
        return reduced(ufunc, a, axis, dtype, _flag(keepdims), initial, chosen)

    return function


def _extreme(ufunc: np.ufunc) -> Callable[..., Any]:
    total = _total(ufunc)

    def function(
        a: Any, axis: Axis = None, out: Any = None, *args: Any, **kw: Any
    ) -> Any:
        return total(a, axis, None, out, *args, **kw)

    return function


def _truth(ufunc: np.ufunc) -> Callable[..., Any]:
    total = _total(ufunc)

    def function(
        a: Any,
        axis: Axis = None,
        out: Any = None,
        keepdims: Any = _NONE,
        *,
        where: Any = True,
    ) -> Any:
        return total(a, axis, None, out, keepdims, where=where)

    return function


def _mean(of: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Axis = None,
        dtype: npt.DTypeLike | None = None,
        out: Any = None,
        keepdims: Any = _NONE,
        *,
        where: Any = True,
    ) -> Any:
        _refuse(of.__name__, out=out, where=where)
        return of(a, axis=axis, dtype=dtype, keepdims=_flag(keepdims))

    return function


def _spread(of: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Axis = None,
        dtype: npt.DTypeLike | None = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = _NONE,
        *,
        where: Any = True,
        mean: Any = _NONE,
        correction: Any = _NONE,
    ) -> Any:
        _refuse(of.__name__, out=out, where=where, mean=mean)
        array = asarray(a)
        array = array if dtype is None else array.astype(np.dtype(dtype))
        less = ddof if correction is _NONE else correction
        return of(array, axis=axis, correction=less, keepdims=_flag(keepdims))

    return function


def _nan_total(of: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Axis = None,
        dtype: npt.DTypeLike | None = None,
        out: Any = None,
        keepdims: Any = _NONE,
        initial: Any = _NONE,
        where: Any = True,
    ) -> Any:
        _refuse(of.__name__, out=out, initial=initial, where=where)
        return of(a, axis=axis, dtype=dtype, keepdims=_flag(keepdims))

    return function


def _nan_extreme(of: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Axis = None,
        out: Any = None,
        keepdims: Any = _NONE,
        initial: Any = _NONE,
        where: Any = True,
    ) -> Any:
        _refuse(of.__name__, out=out, initial=initial, where=where)
        return of(a, axis=axis, keepdims=_flag(keepdims))

    return function


def _cumulative(ufunc: np.ufunc, nan: float | None = None) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: int | None = None,
        dtype: npt.DTypeLike | None = None,
        out: Any = None,
    ) -> Any:
        _refuse(ufunc.__name__, out=out)
        array = (
            asarray(a)
            if nan is None
            else nan_to_num(a, nan=nan, posinf=np.inf, neginf=-np.inf)
        )
        if axis is None:
            array, axis = reshape(array, -1), 0
        return running(ufunc, array, axis, dtype)

    return function


def _ptp(a: Any, axis: Axis = None, out: Any = None, keepdims: Any = _NONE) -> Any:
    _refuse("ptp", out=out)
    keep = _flag(keepdims)
    return max(a, axis=axis, keepdims=keep) - min(a, axis=axis, keepdims=keep)


def _average(
    a: Any,
    axis: int | None = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = _NONE,
) -> Any:
    array, keep = asarray(a), _flag(keepdims)
    if weights is None:
        made = mean(array, axis=axis, keepdims=keep)
        scale = np.full(np.shape(made), array.size / (np.size(made) or 1))
        return (made, scale[()]) if returned else made
    given = np.asarray(weights)
    if given.shape != array.shape:
        if axis is None or given.shape != (
            array.shape[checked_axis(axis, array.shape)],
        ):
            raise ShapeError(
                "average: expected weights of the array's shape, or one for each slice "
                f"along an axis, got shapes {array.shape} and {given.shape}"
            )
        place = checked_axis(axis, array.shape)
        given = given.reshape([-1 if d == place else 1 for d in range(array.ndim)])
    total = np.sum(np.broadcast_to(given, array.shape), axis=axis, keepdims=keep)
    if np.any(total == 0):
        raise ZeroDivisionError("average: expected weights whose sum is not 0")
    made = (array * given).sum(axis=axis, keepdims=keep) / total
    return (made, total) if returned else made


def _nanmedian(
    a: Any,
    axis: int | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: Any = _NONE,
) -> Any:
    """Return the middle of the numbers, which are sorted in front of NaN."""
    array = asarray(a)
    keep = _flag(keepdims)
    if array.dtype.kind not in "fc" or not np.isnan(array).any():
        return _median(array, axis, out, keepdims=keep)
    _refuse("nanmedian", out=out)
    shape = tuple(1 if axis is None else n for n in array.shape)
    if axis is None:
        array, axis = reshape(array, -1), 0
    axis = checked_axis(axis, array.shape)
    if array.ndim > 2:
        raise UnsupportedError(
            "nanmedian: expected at most two dimensions where there is NaN, got shape "
            f"{array.shape}"
        )
    numbers = np.asarray(np.logical_not(np.isnan(array)).sum(axis=axis, keepdims=True))
    ordered = sort(array, axis=axis)
    # Of no numbers the place is -1, which is NaN as all elements are.
    places = np.concatenate([(numbers - 1) // 2, numbers // 2], axis=axis)
    places = np.minimum(places, array.shape[axis] - 1)
    made = mean(take_along_axis(ordered, places, axis=axis), axis=axis)
    if keep:
        own = tuple(1 if d == axis else n for d, n in enumerate(array.shape))
        return np.reshape(made, shape if array.ndim < len(shape) else own)
    return made


def _median(
    a: Any,
    axis: int | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the middle of sorted elements, or the mean of the two in the middle."""
    _refuse("median", out=out)
    array = asarray(a)
    ndim = array.ndim
    if axis is None:
        array, axis = reshape(array, -1), 0
        shape: tuple[int, ...] = (1,) * ndim
    else:
        axis = checked_axis(axis, array.shape)
        shape = tuple(1 if d == axis else n for d, n in enumerate(array.shape))
    extent = array.shape[axis]
    if not extent:
        raise ShapeError(f"median: expected an element along axis {axis}, got none")
    ordered = sort(array, axis=axis)
    middle = slice((extent - 1) // 2, extent // 2 + 1)
    # NaN is sorted behind all numbers: one of them makes NaN of the median.
    last = ordered[(slice(None),) * axis + (slice(extent - 1, extent),)]
    made = mean(ordered[(slice(None),) * axis + (middle,)], axis=axis)
    if array.dtype.kind in "fc":
        made = np.where(np.isnan(last).any(axis=axis), np.nan, made)
        made = made[()] if isinstance(made, np.ndarray) else made
    return reshape(asarray(made), shape) if keepdims else made


REDUCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.all: _truth(np.logical_and),
    np.any: _truth(np.logical_or),
    np.average: _average,
    np.cumprod: _cumulative(np.multiply),
    np.cumsum: _cumulative(np.add),
    np.max: _extreme(np.maximum),
    np.mean: _mean(mean),
    np.median: _median,
    np.min: _extreme(np.minimum),
    np.nanargmax: nans.nanargmax,
    np.nanargmin: nans.nanargmin,
    np.nancumprod: _cumulative(np.multiply, 1.0),
    np.nancumsum: _cumulative(np.add, 0.0),
    np.nanmax: _nan_extreme(nans.nanmax),
    np.nanmean: _nan_total(nans.nanmean),
    np.nanmedian: _nanmedian,
    np.nanmin: _nan_extreme(nans.nanmin),
    np.nanprod: _nan_total(nans.nanprod),
    np.nanstd: _spread(nans.nanstd),
    np.nansum: _nan_total(nans.nansum),
    np.nanvar: _spread(nans.nanvar),
    np.prod: _total(np.multiply),
    np.ptp: _ptp,
    np.std: _spread(std),
    np.sum: _total(np.add),
    np.var: _spread(var),
}
"""What stands for each of NumPy's functions, with NumPy's parameters."""
