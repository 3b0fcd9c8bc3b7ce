"""Dimensions in another order, added and taken away, turned and shifted."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparray.errors import ShapeError
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axes, checked_axis
from sparray.functions.indexing.getitem import getitem
from sparray.functions.manipulation.repacked import entries, moved_format, repacked
from sparray.functions.manipulation.shapes import reshape
from sparray.sparse_array import SparseArray

__all__ = ["expand_dims", "flip", "moveaxis", "permute_dims", "roll", "squeeze"]


def permute_dims(x: Any, /, axes: Sequence[int] | None = None) -> SparseArray:
    """Return an array with its dimensions in another order; all buffers are shared.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format: a ``csr`` becomes a ``csc``, as only the format's order differs.
    axes : sequence of int, optional
        Dimension ``n`` of the result is ``axes[n]`` of the array; by default they are
        reversed.

    Raises
    ------
    ShapeError
        If they are not each dimension once.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0, 2, 0], [1, 0, 3]], format="csr")
    >>> sp.permute_dims(A, (1, 0)).format.name
    'csc'
    """
    array = asarray(x)
    wanted = reversed(range(array.ndim)) if axes is None else axes
    order = checked_axes(tuple(wanted), array.shape, "axes")
    if len(order) != array.ndim:
        raise ShapeError(
            f"axes: expected each of the {array.ndim} dimensions once, got {axes}"
        )
    return SparseArray._from_trusted(
        array.format.permuted(order),
        tuple(array.shape[d] for d in order),
        array._levels,
        array.values,
        array.fill_value,
    )


def moveaxis(
    x: Any, source: int | Sequence[int], destination: int | Sequence[int], /
) -> SparseArray:
    """Return an array with some dimensions moved; all buffers are shared.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    source, destination : int or sequence of int
        Where they are, and where they are to be; the others stay in order.

    Raises
    ------
    ShapeError
        If there are no such axes, or not as many of one as of the other.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.moveaxis(sp.zeros((2, 3, 4), format="csf"), 0, -1).shape
    (3, 4, 2)
    """
    array = asarray(x)
    given = tuple(source) if isinstance(source, Sequence) else source
    wanted = tuple(destination) if isinstance(destination, Sequence) else destination
    begin = checked_axes(given, array.shape, "source")
    end = checked_axes(wanted, array.shape, "destination")
    if len(begin) != len(end):
        raise ShapeError(
            f"destination: expected {len(begin)} axes, as in source, got {destination}"
        )
    order = [d for d in range(array.ndim) if d not in begin]
    for place, dimension in sorted(zip(end, begin, strict=True)):
        order.insert(place, dimension)
    return permute_dims(array, order)


def expand_dims(x: Any, /, axis: int | tuple[int, ...] = 0) -> SparseArray:
    """Return an array with new dimensions of extent 1.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int
        Where they are in the result.

    Returns
    -------
    SparseArray
        A copy, in the format of ``x[None]``.

    Raises
    ------
    ShapeError
        If the result has no such axis, or one is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.expand_dims(sp.array([1, 0, 2]), axis=1).shape
    (3, 1)
    """
    array = asarray(x)
    more = len(axis) if isinstance(axis, tuple) else 1
    axes = checked_axes(axis, array.shape, more=more)
    index = [None if n in axes else slice(None) for n in range(array.ndim + more)]
    made: SparseArray = getitem(array, tuple(index))
    return made


def squeeze(x: Any, /, axis: int | tuple[int, ...] | None = None) -> SparseArray:
    """Return an array without dimensions of extent 1.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which ones; by default all of extent 1.

    Returns
    -------
    SparseArray
        A copy, in the format of ``x[0]``.

    Raises
    ------
    ShapeError
        If there is no such axis, or its extent is not 1.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.squeeze(sp.array([[1, 0, 2]]), axis=0).shape
    (3,)
    """
    array = asarray(x)
    if axis is None:
        axis = tuple(d for d, extent in enumerate(array.shape) if extent == 1)
    axes = checked_axes(axis, array.shape)
    for one in axes:
        if array.shape[one] != 1:
            raise ShapeError(
                f"axis: expected one of extent 1 of shape {array.shape}, got {one}"
            )
    if len(axes) == array.ndim > 0:
        # An index of integers alone is an element.
        return reshape(array, ())
    index = tuple(0 if d in axes else slice(None) for d in range(array.ndim))
    made: SparseArray = getitem(array, index) if index else array.copy()
    return made


def flip(x: Any, /, axis: int | tuple[int, ...] | None = None) -> SparseArray:
    """Return an array with elements in reverse order along some axes.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all by default.

    Raises
    ------
    ShapeError
        If there is no such axis, or one is given twice.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.flip(sp.array([1, 0, 2])).todense()
    array([2, 0, 1])
    """
    array = asarray(x)
    axes = range(array.ndim) if axis is None else checked_axes(axis, array.shape)
    if array.ndim == 0:
        return array.copy()
    steps = (slice(None, None, -1 if d in axes else 1) for d in range(array.ndim))
    made: SparseArray = getitem(array, tuple(steps))
    return made


def roll(
    x: Any,
    /,
    shift: int | tuple[int, ...],
    axis: int | tuple[int, ...] | None = None,
) -> SparseArray:
    """Return an array with elements moved along axes: those that leave come in again.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    shift : int or tuple of int
        By how many places, for each axis.
    axis : int or tuple of int, optional
        Along which axes; by default along all elements in C order.

    Raises
    ------
    ShapeError
        If there is no such axis, or not one shift for each.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.roll(sp.array([1, 0, 2]), 1).todense()
    array([2, 1, 0])
    """
    array = asarray(x)
    if axis is None:
        flat = reshape(array, (-1,))
        moved = roll(flat, shift, axis=0)
        made = reshape(moved, array.shape)
        return made.to_format(moved_format(array.format, array.ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = [checked_axis(one, array.shape) for one in given]
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"shift: expected one for each axis of {axis}, got {shift}")
    coords, values = entries(array)
    coords = coords.copy()
    for one, places in zip(axes, shifts, strict=True):
        extent = max(1, array.shape[one])
        # In two steps: a sum could pass what int64 holds.
        offset = int(places) % extent
        row, rest = coords[one], extent - offset
        coords[one] = np.where(row >= rest, row - rest, row + offset)
    format = moved_format(array.format, array.ndim)
    return repacked(format, array.shape, coords, values, array.fill_value)
