"""NumPy's functions that join, part and turn arrays, of sparse ones."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparray.errors import ShapeError, UnsupportedError
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.indexing.diagonals import diag
from sparray.functions.manipulation.dimensions import (
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
)
from sparray.functions.manipulation.joining import concat
from sparray.functions.manipulation.repeating import tile
from sparray.functions.manipulation.shapes import broadcast_to, reshape
from sparray.sparse_array import SparseArray

__all__ = ["SHAPES"]


def _at_least(ndim: int) -> Callable[..., Any]:
    def function(*arrays: Any) -> Any:
        made = tuple(_with_dimensions(asarray(x), ndim) for x in arrays)
        return made[0] if len(made) == 1 else made

    return function


def _with_dimensions(array: SparseArray, ndim: int) -> SparseArray:
    """Put dimensions of extent 1 where NumPy does: in front, and the third behind."""
    if ndim == 3 and array.ndim == 2:
        return expand_dims(array, axis=2)
    while array.ndim < ndim:
        array = expand_dims(array, axis=1 if ndim == 3 and array.ndim == 2 else 0)
        if ndim == 3 and array.ndim == 2:
            return expand_dims(array, axis=2)
    return array


def _stacked(ndim: int, axis: int) -> Callable[..., SparseArray]:
    def function(
        tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind"
    ) -> SparseArray:
        parts = [_with_dimensions(asarray(x), ndim) for x in tup]
        along = 0 if axis == 1 and all(part.ndim == 1 for part in parts) else axis
        return _joined(parts, along, dtype)

    return function


def _joined(parts: Sequence[SparseArray], axis: int | None, dtype: Any) -> SparseArray:
    made = concat(parts, axis=axis)
    return made if dtype is None else made.astype(np.dtype(dtype))


def _concatenate(
    arrays: Sequence[Any],
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> SparseArray:
    if out is not None:
        raise UnsupportedError("concatenate: out: expected None, got an array")
    return _joined([asarray(x) for x in arrays], axis, dtype)


def _column_stack(tup: Sequence[Any]) -> SparseArray:
    parts = [asarray(x) for x in tup]
    wide = [x if x.ndim > 1 else reshape(x, (x.size, 1)) for x in parts]
    return concat(wide, axis=1)


def _append(arr: Any, values: Any, axis: int | None = None) -> SparseArray:
    return concat([asarray(arr), asarray(values)], axis=axis)


def _delete(arr: Any, obj: Any, axis: int | None = None) -> SparseArray:
    array = asarray(arr)
    if axis is None:
        array, axis = reshape(array, -1), 0
    axis = checked_axis(axis, array.shape)
    kept = np.delete(np.arange(array.shape[axis]), obj)
    made: SparseArray = array[(slice(None),) * axis + (kept,)]
    return made


def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> SparseArray:
    array = asarray(arr)
    if axis is None:
        array, axis = reshape(array, -1), 0
    axis = checked_axis(axis, array.shape)
    # Where in the result the old slices are, by inserting a mark among their numbers.
    numbers = np.insert(np.arange(array.shape[axis]), obj, -1)
    shape = list(array.shape)
    shape[axis] = int((numbers < 0).sum())
    given = asarray(values)
    if np.ndim(obj) == 0 and given.ndim:
        # One index: the values are one slice, or several behind one another.
        apart = given.ndim == array.ndim
        given = given if apart else expand_dims(given, axis=axis)
        between = given.shape[axis]
        at = operator.index(obj)
        numbers = np.insert(np.arange(array.shape[axis]), [at] * between, -1)
        shape[axis] = between
    there = broadcast_to(given.astype(array.dtype), tuple(shape))
    joined = concat([array, there], axis=axis)
    taken = numbers.copy()
    taken[numbers < 0] = array.shape[axis] + np.arange(shape[axis])
    made: SparseArray = joined[(slice(None),) * axis + (taken,)]
    return made


def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    array = asarray(ary)
    axis = checked_axis(axis, array.shape)
    extent = array.shape[axis]
    if np.ndim(indices_or_sections):
        ends = [int(n) for n in indices_or_sections]
    else:
        sections = operator.index(indices_or_sections)
        if sections < 1:
            raise ShapeError(f"split: expected at least one section, got {sections}")
        each, more = divmod(extent, sections)
        sizes = [each + 1] * more + [each] * (sections - more)
        ends = [int(n) for n in np.cumsum(sizes)[:-1]]
    front = (slice(None),) * axis
    bounds = zip([None, *ends], [*ends, None], strict=True)
    return [array[(*front, slice(*each))] for each in bounds]


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    array = asarray(ary)
    axis = checked_axis(axis, array.shape)
    if np.ndim(indices_or_sections) == 0:
        sections = operator.index(indices_or_sections)
        if sections < 1 or array.shape[axis] % sections:
            raise ShapeError(
                f"split: expected an extent of equal sections, got {array.shape[axis]} "
                f"of shape {array.shape} along axis {axis} and {sections} sections"
            )
    return _array_split(array, indices_or_sections, axis)


def _split_along(axis: int) -> Callable[..., list[Any]]:
    def function(ary: Any, indices_or_sections: Any) -> list[Any]:
        along = 0 if axis == 1 and asarray(ary).ndim == 1 else axis
        return _split(ary, indices_or_sections, along)

    return function


def _fliplr(m: Any) -> SparseArray:
    return flip(m, axis=1)


def _flipud(m: Any) -> SparseArray:
    return flip(m, axis=0)


def _rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> SparseArray:
    array = asarray(m)
    first, second = (checked_axis(axis, array.shape) for axis in axes)
    if first == second:
        raise ShapeError(f"rot90: expected two axes, got {tuple(axes)}")
    turns = k % 4
    if turns == 0:
        return array.copy()
    if turns == 2:
        return flip(array, axis=(first, second))
    if turns == 1:
        return _swapaxes(flip(array, axis=second), first, second)
    return flip(_swapaxes(array, first, second), axis=second)


def _swapaxes(a: Any, axis1: int, axis2: int) -> SparseArray:
    array = asarray(a)
    order = list(range(array.ndim))
    one, other = (checked_axis(axis, array.shape) for axis in (axis1, axis2))
    order[one], order[other] = order[other], order[one]
    return permute_dims(array, order)


def _rollaxis(a: Any, axis: int, start: int = 0) -> SparseArray:
    array = asarray(a)
    axis = checked_axis(axis, array.shape)
    start = start + array.ndim if start < 0 else start
    return moveaxis(array, axis, start - 1 if axis < start else start)


def _ravel(a: Any, order: str = "C") -> SparseArray:
    array = asarray(a)
    return reshape(array.T if order == "F" else array, -1)


def _reshape(
    a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None
) -> SparseArray:
    if order in ("C", "A"):
        return reshape(a, shape, copy=copy)
    array = asarray(a)
    wanted = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    return reshape(array.T, wanted[::-1]).T


def _resize(a: Any, new_shape: Any) -> SparseArray:
    shape = (new_shape,) if np.ndim(new_shape) == 0 else tuple(new_shape)
    wanted = int(np.prod(shape, dtype=object))
    flat = reshape(asarray(a), -1)
    if not flat.size:
        raise ShapeError("resize: expected an array that has elements, got none")
    return reshape(tile(flat, -(-wanted // flat.size))[:wanted], shape)


def _diagflat(v: Any, k: int = 0) -> SparseArray:
    return diag(reshape(asarray(v), -1), k)


SHAPES: dict[Callable[..., Any], Callable[..., Any]] = {
    np.append: _append,
    np.array_split: _array_split,
    np.atleast_1d: _at_least(1),
    np.atleast_2d: _at_least(2),
    np.atleast_3d: _at_least(3),
    np.column_stack: _column_stack,
    np.concatenate: _concatenate,
    np.delete: _delete,
    np.diagflat: _diagflat,
    np.dsplit: _split_along(2),
    np.dstack: _stacked(3, 2),
    np.fliplr: _fliplr,
    np.flipud: _flipud,
    np.hsplit: _split_along(1),
    np.hstack: _stacked(1, 1),
    np.insert: _insert,
    np.ravel: _ravel,
    np.reshape: _reshape,
    np.resize: _resize,
    np.rollaxis: _rollaxis,
    np.rot90: _rot90,
    np.split: _split,
    np.swapaxes: _swapaxes,
    np.vsplit: _split_along(0),
    np.vstack: _stacked(2, 0),
}
"""What stands for each of NumPy's functions, with NumPy's parameters."""
