"""NumPy's functions of each element, and those that choose some, of sparse arrays."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparray.errors import SettingError, ShapeError, UnsupportedError
from sparray.functions import elementwise
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.manipulation.shapes import reshape
from sparray.functions.nan_values import nan_to_num
from sparray.functions.searching import nonzero
from sparray.functions.sets import unique_all, unique_values
from sparray.sparse_array import SparseArray

__all__ = ["ELEMENTS"]


def _of_elements(function: Callable[..., Any], place: int = 0) -> Callable[..., Any]:
    """Return NumPy's function of each element, applied to what is stored and the fill.

    Parameters
    ----------
    function : callable
        Of arrays of any shape, element by element.
    place : int
        Which argument is sparse.
    """

    def applied(*args: Any, **options: Any) -> SparseArray:
        if len(args) <= place or not isinstance(args[place], SparseArray):
            raise UnsupportedError(
                f"{function.__name__}: expected a sparse array as argument {place}"
            )
        array = args[place]
        if not array.format.unique:
            array = array.to_format("csr" if array.ndim == 2 else "csf")
        rest = list(args)
        rest[place] = array.values
        values = np.asarray(function(*rest, **options))
        rest[place] = np.asarray(array.fill_value)[None]
        fill = np.asarray(function(*rest, **options))[0]
        return SparseArray._from_trusted(
            array.format, array.shape, array._levels, values, values.dtype.type(fill)
        )

    return applied


def _round(a: Any, decimals: int = 0, out: None = None) -> Any:
    if out is not None:
        raise UnsupportedError("round: out: expected None, got an array")
    return _of_elements(np.round)(a, decimals) if decimals else elementwise.round(a)


def _nan_to_num(
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> SparseArray:
    return nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def _flatnonzero(a: Any) -> Any:
    return nonzero(reshape(asarray(a), -1))[0]


def _argwhere(a: Any) -> Any:
    array = asarray(a)
    if array.ndim:
        return np.stack(nonzero(array), axis=1)
    return np.zeros((int(bool(array)), 0), np.int64)


def _compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    _refuse_out("compress", out)
    array, chosen = asarray(a), np.asarray(condition)
    if axis is None:
        array, axis = reshape(array, -1), 0
    axis = checked_axis(axis, array.shape)
    return array[(slice(None),) * axis + (np.flatnonzero(chosen),)]


def _extract(condition: Any, arr: Any) -> Any:
    chosen = reshape(asarray(condition), -1)
    return reshape(asarray(arr), -1)[nonzero(chosen)[0]]


def _select(
    condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0
) -> Any:
    if len(condlist) != len(choicelist) or not len(condlist):
        raise SettingError(
            f"select: expected a choice for each condition, got {len(condlist)} "
            f"conditions and {len(choicelist)} choices"
        )
    made = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        made = elementwise.where(condition, choice, made)
    return made


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Assign to one place along an axis for each place beside it."""
    if not isinstance(arr, SparseArray):
        raise UnsupportedError(
            "put_along_axis: expected a sparse array to assign to, got a dense one; "
            "of values.todense() it takes dense values"
        )
    if axis is None:
        raise UnsupportedError("put_along_axis: expected an axis, got None")
    axis = checked_axis(axis, arr.shape)
    places = np.asarray(indices)
    if places.ndim != arr.ndim:
        raise ShapeError(
            f"put_along_axis: expected indices of {arr.ndim} dimensions, got shape "
            f"{places.shape}"
        )
    beside = [1 if d == axis else extent for d, extent in enumerate(arr.shape)]
    grid: list[Any] = list(np.ogrid[tuple(slice(extent) for extent in beside)])
    grid[axis] = places
    arr[tuple(grid)] = values


def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    if axis is not None:
        raise UnsupportedError("unique: expected axis None, got one")
    array = asarray(ar)
    if not (return_index or return_inverse or return_counts):
        values = unique_values(array)
        return np.unique(values, equal_nan=equal_nan)
    if equal_nan and array.dtype.kind in "fc" and np.isnan(array.values).any():
        raise UnsupportedError(
            "unique: expected numbers, or equal_nan=False, got NaN, of which "
            "unique_all makes each one of its own"
        )
    found = unique_all(array)
    flags = (True, return_index, return_inverse, return_counts)
    return tuple(x for x, wanted in zip(found, flags, strict=True) if wanted)


def _refuse_out(name: str, out: Any) -> None:
    if out is not None:
        raise UnsupportedError(f"{name}: out: expected None, got an array")


def _array_equiv(a1: Any, a2: Any) -> bool:
    try:
        same = elementwise.equal(a1, a2)
    except ShapeError:
        return False
    return bool(same.all())


def _isreal(x: Any) -> Any:
    return elementwise.equal(elementwise.imag(x), 0)


def _iscomplex(x: Any) -> Any:
    return elementwise.not_equal(elementwise.imag(x), 0)


def _set_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of two sets of different elements."""

    def applied(ar1: Any, ar2: Any, **options: Any) -> Any:
        if options.get("return_indices"):
            raise UnsupportedError(
                f"{function.__name__}: expected return_indices=False"
            )
        return function(*[np.unique(unique_values(asarray(x))) for x in (ar1, ar2)])

    return applied


ELEMENTS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.angle: _of_elements(np.angle),
    np.argwhere: _argwhere,
    np.around: _round,
    np.array_equiv: _array_equiv,
    np.compress: _compress,
    np.digitize: _of_elements(np.digitize),
    np.extract: _extract,
    np.fix: _of_elements(np.fix),
    np.flatnonzero: _flatnonzero,
    np.i0: _of_elements(np.i0),
    np.interp: _of_elements(np.interp),
    np.intersect1d: _set_of(np.intersect1d),
    np.iscomplex: _iscomplex,
    np.isneginf: _of_elements(np.isneginf),
    np.isposinf: _of_elements(np.isposinf),
    np.isreal: _isreal,
    np.nan_to_num: _nan_to_num,
    np.polyval: _of_elements(np.polyval, 1),
    np.put_along_axis: _put_along_axis,
    np.real_if_close: _of_elements(np.real_if_close),
    np.round: _round,
    np.select: _select,
    np.setdiff1d: _set_of(np.setdiff1d),
    np.setxor1d: _set_of(np.setxor1d),
    np.sinc: _of_elements(np.sinc),
    np.union1d: _set_of(np.union1d),
    np.unique: _unique,
}
"""What stands for each of NumPy's functions, with NumPy's parameters."""
