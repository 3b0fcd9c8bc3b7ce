"""Coordinates of a grid from those along its dimensions."""

from typing import Any, Literal

from sparray.errors import SettingError, ShapeError
from sparray.functions.creation import asarray
from sparray.functions.manipulation.shapes import broadcast_to
from sparray.sparse_array import SparseArray

__all__ = ["meshgrid"]


def meshgrid(
    *arrays: Any, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[SparseArray, ...]:
    """Return arrays of a grid's shape, each of which varies along one dimension.

    Parameters
    ----------
    *arrays : SparseArray or array-like
        The numbers along each dimension: vectors, or single numbers.
    indexing : {"xy", "ij"}
        Whether the first vector is along the second dimension, or along the first.

    Returns
    -------
    tuple of SparseArray
        One for each vector. A line stores entries where the vector does.

    Raises
    ------
    ShapeError
        If an array has more than one dimension.
    SettingError
        If there is no such indexing.

    Examples
    --------
    >>> import sparray as sp
    >>> x, y = sp.meshgrid([0, 1, 2], [5, 7])
    >>> x.todense(), y.todense()
    (array([[0, 1, 2],
           [0, 1, 2]]), array([[5, 5, 5],
           [7, 7, 7]]))
    """
    if indexing not in ("xy", "ij"):
        raise SettingError(f"indexing: expected 'xy' or 'ij', got {indexing!r}")
    vectors = [asarray(x) for x in arrays]
    for vector in vectors:
        if vector.ndim > 1:
            raise ShapeError(f"meshgrid: expected vectors, got shape {vector.shape}")
    order = list(range(len(vectors)))
    if indexing == "xy":
        order[:2] = reversed(order[:2])
    extents = [1 if not vector.ndim else vector.shape[0] for vector in vectors]
    shape = tuple(extents[n] for n in order)
    made = []
    for number, vector in enumerate(vectors):
        index = [slice(None) if n == number else None for n in order]
        if not vector.ndim:
            index = [None] * len(order)
        made.append(broadcast_to(vector[tuple(index)], shape))
    return tuple(made)
