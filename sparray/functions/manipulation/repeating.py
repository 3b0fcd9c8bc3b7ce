"""Elements repeated: one after the other, as tiles, around."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparray.errors import ShapeError, UnsupportedError, WouldDensifyError
from sparray.formats.coordinates import differs
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.indexing.take import take
from sparray.functions.manipulation.dimensions import expand_dims
from sparray.functions.manipulation.repacked import entries, moved_format, repacked
from sparray.functions.manipulation.shapes import reshape
from sparray.sparse_array import SparseArray

__all__ = ["pad", "repeat", "tile"]


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> SparseArray:
    """Repeat each element, or each slice along an axis, one after the other.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    repeats : int or array_like of int
        How often; one number for each slice, or one for all.
    axis : int, optional
        Along which axis; by default all elements in C order.

    Raises
    ------
    ShapeError
        If there is no such axis, or not one number for each slice, none negative.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.repeat(sp.array([0, 2]), 2).todense()
    array([0, 0, 2, 2])
    """
    array = asarray(x)
    if axis is None:
        array, axis = reshape(array, (-1,)), 0
    along = checked_axis(axis, array.shape)
    extent = array.shape[along]
    times = np.asarray(asarray(repeats).todense())
    if (
        times.dtype.kind not in "iu"
        or (times < 0).any()
        or times.size not in (1, extent)
    ):
        raise ShapeError(
            f"repeats: expected an integer from 0 on, or one for each of {extent} "
            f"slices, got {repeats!r}"
        )
    flat = np.broadcast_to(times.reshape(-1), extent)
    return take(array, np.repeat(np.arange(extent), flat), axis=along)


def tile(x: Any, repetitions: int | tuple[int, ...], /) -> SparseArray:
    """Repeat an array as a whole along its axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    repetitions : int or tuple of int
        How often along each axis; missing ones in front are 1.

    Raises
    ------
    ShapeError
        If a number is no integer from 0 on.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.tile(sp.array([0, 2]), (2, 2)).todense()
    array([[0, 2, 0, 2],
           [0, 2, 0, 2]])
    """
    array = asarray(x)
    given = tuple(repetitions) if isinstance(repetitions, Sequence) else (repetitions,)
    if any(not hasattr(n, "__index__") or n < 0 for n in given):
        raise ShapeError(
            f"repetitions: expected integers from 0 on, got {repetitions!r}"
        )
    times = (1,) * (array.ndim - len(given)) + given
    new = len(times) - array.ndim
    made = expand_dims(array, axis=tuple(range(new))) if new else array
    for axis, n in enumerate(times):
        if n != 1:
            made = take(made, np.tile(np.arange(made.shape[axis]), n), axis=axis)
    return made.copy() if made is array else made


def pad(
    x: Any, /, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0
) -> SparseArray:
    """Return an array with more elements in front of and behind its own.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    pad_width : int, (int, int) or sequence of (int, int)
        How many, in front and behind: for all axes, or for each.
    mode : {"constant"}
        What they are.
    constant_values : number
        The array's fill value.

    Raises
    ------
    ShapeError
        If widths are not one pair for each axis, from 0 on.
    UnsupportedError
        If there is no such mode.
    WouldDensifyError
        If the value is not the fill value: each of them would be stored.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.pad(sp.array([3, 0]), (1, 2)).todense()
    array([0, 3, 0, 0, 0])
    """
    array = asarray(x)
    if mode != "constant":
        raise UnsupportedError(f"mode: expected 'constant', got {mode!r}")
    widths = np.asarray(pad_width)
    fits = widths.dtype.kind in "iu" and widths.ndim < 3 and not (widths < 0).any()
    try:
        pairs = np.broadcast_to(widths, (array.ndim, 2)).tolist() if fits else None
    except ValueError:
        pairs = None
    if pairs is None:
        raise ShapeError(
            f"pad_width: expected a pair of integers from 0 on for each of "
            f"{array.ndim} axes, got {pad_width!r}"
        )
    if bool(differs(np.asarray(constant_values).astype(array.dtype), array.fill_value)):
        raise WouldDensifyError(
            f"constant_values: expected the fill value {array.fill_value}, which is "
            f"not stored, got {constant_values!r}"
        )
    shape = tuple(n + sum(pair) for n, pair in zip(array.shape, pairs, strict=True))
    coords, values = entries(array)
    front = np.array([pair[0] for pair in pairs], np.int64)
    moved = coords + front[:, np.newaxis]
    format = moved_format(array.format, array.ndim)
    return repacked(format, shape, moved, values, array.fill_value)
