"""Sorting along an axis: entries around what is not stored."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert import from_coords
from sparray.errors import DTypeError
from sparray.formats.coordinates import equal_neighbours
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.sorted_entries import sorted_entries
from sparray.sparse_array import SparseArray

__all__ = ["sort"]


def sort(
    x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True
) -> SparseArray:
    """Return an array whose elements are sorted along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        At least one dimension.
    axis : int
        Along which.
    descending : bool
        Whether the largest one comes first.
    stable : bool
        Equal elements keep their order in any case.

    Returns
    -------
    SparseArray
        In the same format, with as many entries: the smaller ones than the fill value
        stand before all that is not stored, and the other ones behind it. NaN is last,
        and first if descending.

    Raises
    ------
    ShapeError
        If there is no such axis.
    DTypeError
        If the elements are complex.

    Notes
    -----
    In O(n log n) of the stored entries, whatever the extents.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.sort(sp.array([[3, 0, -1, 0], [0, 0, 2, 1]])).todense()
    array([[-1,  0,  0,  3],
           [ 0,  0,  1,  2]])
    """
    array = asarray(x)
    place = checked_axis(axis, array.shape)
    if array.dtype.kind == "c":
        raise DTypeError("sort: expected real numbers, got complex ones")
    coords, values = sorted_entries(array)
    others = np.delete(coords, place, axis=0)
    # By line first, then by value: lexsort takes the deciding key last.
    order = np.lexsort((*_keys(values, descending), *others[::-1]))
    others, values = others[:, order], values[order]
    starts = np.flatnonzero(~equal_neighbours(list(others), len(values)))
    counts = np.diff(starts, append=len(values))
    rank = np.arange(len(values)) - np.repeat(starts, counts)
    unstored = np.repeat(array.shape[place] - counts, counts)
    places = rank + np.where(_before(values, array.fill_value, descending), 0, unstored)
    made = np.insert(others, place, places, axis=0)
    return from_coords(
        made, values, array.shape, array.format, fill_value=array.fill_value
    )


def _keys(values: npt.NDArray[Any], descending: bool) -> tuple[npt.NDArray[Any], ...]:
    """Return what values are sorted by, with the key that decides last."""
    if not descending:
        return (values,)
    # Ranks, since integers and bools have no negation that turns their order around.
    _, rank = np.unique(values, return_inverse=True)
    return (-rank,)


def _before(
    values: npt.NDArray[Any], fill: Any, descending: bool
) -> npt.NDArray[np.bool_]:
    """Tell which values come before the fill value; NaN counts as the largest."""
    largest = np.isnan(values) if values.dtype.kind == "f" else np.zeros(1, bool)
    fill_is_largest = bool(fill != fill)
    if descending:
        before = (values > fill) | (largest & (not fill_is_largest))
    else:
        before = (values < fill) | (~largest & fill_is_largest)
    return np.asarray(before, np.bool_)
