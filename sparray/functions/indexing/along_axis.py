"""Elements at places along an axis, one place for each element of the result."""

from typing import Any

import numpy as np

from sparray.array_operators import broadcast_shape
from sparray.errors import CoordinateError, DTypeError, ShapeError, WouldDensifyError
from sparray.functions.creation import asarray
from sparray.functions.einsum import as_operand
from sparray.functions.indexing.axes import checked_axis
from sparray.sparse_array import SparseArray

__all__ = ["take_along_axis"]


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> SparseArray:
    """Return elements at places along an axis, as `numpy.take_along_axis` does.

    Parameters
    ----------
    x : SparseArray or array-like
        At least one dimension.
    indices : int array-like
        Places, of as many dimensions as ``x``; the other ones are broadcast. Each
        element of it has a place of its own, so it is dense.
    axis : int
        Along which.

    Returns
    -------
    SparseArray
        Of the shape of the places.

    Raises
    ------
    ShapeError
        If there is no such axis, or the shapes do not fit.
    DTypeError
        If the places are not integers.
    CoordinateError
        If a place is outside of the axis.
    WouldDensifyError
        If the places are a sparse array.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0, 2, 0], [1, 0, 3]])
    >>> sp.take_along_axis(A, [[1, 0], [2, 2]]).todense()
    array([[2, 0],
           [3, 3]])
    """
    array, places = asarray(x), as_operand("indices", indices)
    place = checked_axis(axis, array.shape)
    if isinstance(places, SparseArray):
        raise WouldDensifyError(
            "indices: expected a dense array, got a sparse one; todense() makes one of "
            f"{places.size * places.dtype.itemsize} bytes"
        )
    if places.dtype.kind not in "iu":
        raise DTypeError(f"indices: expected integers, got {places.dtype}")
    if places.ndim != array.ndim:
        raise ShapeError(
            f"indices: expected {array.ndim} dimensions, got shape {places.shape}"
        )
    extent = array.shape[place]
    if places.size and not -extent <= int(places.min()) <= int(places.max()) < extent:
        raise CoordinateError(
            f"indices: expected places along axis {place} of extent {extent}, got "
            f"{int(places.min())} to {int(places.max())}"
        )
    beside = [1 if n == place else extent for n, extent in enumerate(array.shape)]
    rest = [1 if n == place else extent for n, extent in enumerate(places.shape)]
    shape = list(broadcast_shape("take_along_axis", [tuple(beside), tuple(rest)]))
    shape[place] = places.shape[place]
    grid: list[Any] = list(np.ogrid[tuple(slice(extent) for extent in shape)])
    for n, own in enumerate(array.shape):
        if own == 1 and n != place:
            grid[n] = np.zeros_like(grid[n])
    grid[place] = places
    made: SparseArray = array[tuple(np.broadcast_arrays(*grid))]
    return made
