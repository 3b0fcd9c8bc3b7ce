"""The same elements in another shape, and in a larger one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_operators import broadcast_shape
from sparray.errors import ShapeError, UnsupportedError
from sparray.formats.coordinates import as_shape
from sparray.functions.creation import asarray
from sparray.functions.manipulation.repacked import (
    broadcast_entries,
    entries,
    moved_format,
    repacked,
)
from sparray.sparse_array import SparseArray

__all__ = ["broadcast_arrays", "broadcast_shapes", "broadcast_to", "reshape"]

_NUMBERED = 2**63
Coordinates = npt.NDArray[np.int64]


def reshape(
    x: Any, /, shape: int | tuple[int, ...], *, copy: bool | None = None
) -> SparseArray:
    """Return an array of the same elements, in C order, in another shape.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    shape : int or tuple of int
        With the same number of elements; one extent may be -1, and is what is left.
    copy : bool, optional
        False refuses what takes new buffers, which is every other shape.

    Returns
    -------
    SparseArray
        In the array's format if the number of dimensions is the same; ``dense`` of
        ``dense``, ``csf`` of ``csf``, else ``coo``.

    Raises
    ------
    ShapeError
        If the number of elements differs.
    UnsupportedError
        If a copy is needed and refused.

    Notes
    -----
    O(stored entries), and to sort them where the format has another order than C's.
    Elements are numbered within the dimensions that change alone.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.reshape(sp.array([0, 2, 0, 1]), (2, -1)).todense()
    array([[0, 2],
           [0, 1]])
    """
    array = asarray(x)
    wanted = _wanted(shape, array.shape)
    if copy is False and wanted != array.shape:
        raise UnsupportedError(
            f"copy: expected None or True for shape {wanted}, which takes new buffers, "
            "got False"
        )
    if wanted == array.shape:
        return array if copy is False else array.copy()
    format = moved_format(array.format, len(wanted))
    if array.format.is_dense:
        values = array.todense().reshape(-1)
        return SparseArray._from_trusted(
            format, wanted, ({},) * len(wanted), values, array.fill_value
        )
    coords, values = entries(array)
    moved = _renumbered(coords, array.shape, wanted)
    return repacked(format, wanted, moved, values, array.fill_value)


def _wanted(shape: Any, given: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with what is left in place of -1."""
    parts = list(shape) if isinstance(shape, Sequence) else [shape]
    size = math.prod(given)
    if parts.count(-1) == 1:
        rest = math.prod(part for part in parts if part != -1)
        if rest == 0 or size % rest:
            raise ShapeError(
                f"shape: expected {size} elements, as in {given}, got {tuple(parts)}"
            )
        parts[parts.index(-1)] = size // rest
    wanted = as_shape(parts)
    if math.prod(wanted) != size:
        raise ShapeError(
            f"shape: expected {size} elements, as in {given}, got {wanted}"
        )
    return wanted


def _renumbered(
    coords: Coordinates, old: tuple[int, ...], new: tuple[int, ...]
) -> Coordinates:
    """Return the coordinates of elements in another shape of the same size."""
    made = np.zeros((len(new), coords.shape[1]), np.int64)
    if coords.shape[1] == 0:
        return made
    for before, after in _blocks(old, new):
        numbers: Any = np.zeros(coords.shape[1], np.int64)
        if math.prod(old[d] for d in before) >= _NUMBERED:
            # As Python integers, which have no largest one.
            numbers = numbers.astype(object)
        for dimension in before:
            numbers = numbers * old[dimension] + coords[dimension]
        for dimension in reversed(after):
            made[dimension] = (numbers % new[dimension]).astype(np.int64)
            numbers = numbers // new[dimension]
    return made


def _blocks(
    old: tuple[int, ...], new: tuple[int, ...]
) -> list[tuple[list[int], list[int]]]:
    """Return the smallest groups of dimensions that have as many elements as others."""
    blocks = []
    i = j = 0
    while i < len(old) or j < len(new):
        before: list[int] = []
        after: list[int] = []
        left = right = 1
        while not (before and after and left == right):
            if i < len(old) and (left <= right or j == len(new)):
                before.append(i)
                left *= old[i]
                i += 1
            elif j < len(new):
                after.append(j)
                right *= new[j]
                j += 1
            else:
                break
        blocks.append((before, after))
    return blocks


def broadcast_to(x: Any, /, shape: tuple[int, ...]) -> SparseArray:
    """Return an array repeated along new dimensions, and along those of extent 1.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    shape : tuple of int
        To which the array's broadcasts.

    Returns
    -------
    SparseArray
        It stores every repetition of an entry. Its format is as for `reshape`.

    Raises
    ------
    ShapeError
        If the shape is no such shape.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.broadcast_to(sp.array([0, 2]), (2, 2)).todense()
    array([[0, 2],
           [0, 2]])
    """
    array = asarray(x)
    wanted = as_shape(shape)
    if broadcast_shape("broadcast_to", [array.shape, wanted]) != wanted:
        raise ShapeError(
            f"shape: expected one to which {array.shape} broadcasts, got {wanted}"
        )
    format = moved_format(array.format, len(wanted))
    if array.format.is_dense:
        elements = np.broadcast_to(array.todense(), wanted)
        values = elements.transpose(format.order).reshape(-1).copy()
        return SparseArray._from_trusted(
            format, wanted, ({},) * len(wanted), values, array.fill_value
        )
    coords, values = broadcast_entries(*entries(array), array.shape, wanted)
    return repacked(format, wanted, coords, values, array.fill_value)


def broadcast_arrays(*arrays: Any) -> tuple[SparseArray, ...]:
    """Return arrays broadcast to one shape.

    Parameters
    ----------
    *arrays : SparseArray or array-like
        Any formats.

    Raises
    ------
    ShapeError
        If their shapes do not broadcast together.

    Examples
    --------
    >>> import sparray as sp
    >>> [x.shape for x in sp.broadcast_arrays(sp.array([1, 0]), sp.array([[3], [0]]))]
    [(2, 2), (2, 2)]
    """
    given = [asarray(x) for x in arrays]
    shape = broadcast_shape("broadcast_arrays", [x.shape for x in given])
    return tuple(broadcast_to(x, shape) for x in given)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast.

    Parameters
    ----------
    *shapes : tuple of int
        Any number of them.

    Raises
    ------
    ShapeError
        If they do not broadcast together.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return broadcast_shape("broadcast_shapes", [as_shape(shape) for shape in shapes])
