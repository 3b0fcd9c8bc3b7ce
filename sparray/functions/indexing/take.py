"""Slices at integers along one axis."""

from typing import Any

import numpy as np

from sparray.errors import CoordinateError
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import only_axis
from sparray.functions.indexing.getitem import getitem
from sparray.sparse_array import SparseArray

__all__ = ["take"]


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> SparseArray:
    """Return the slices of an array at integers along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        Any format.
    indices : array_like of int
        Negative ones count from the end. In the result their dimensions are in place
        of the axis.
    axis : int, optional
        Along which axis; needed unless there is one alone.

    Returns
    -------
    SparseArray
        A copy, in the format that `A[indices]` would have.

    Raises
    ------
    CoordinateError
        If an integer is outside of the axis's extent, or indices are a mask.
    ShapeError
        If there is no such axis, or none is given of several.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0, 2, 0], [1, 0, 3]], format="csr")
    >>> sp.take(A, [2, 2, 0], axis=1).todense()
    array([[0, 0, 0],
           [3, 3, 1]])
    """
    x = asarray(x)
    along = only_axis(axis, x.shape)
    if isinstance(indices, SparseArray) and indices.format.is_dense:
        indices = indices.todense()
    wanted = np.asarray(indices) if not isinstance(indices, SparseArray) else indices
    if wanted.size == 0 and not hasattr(indices, "dtype"):
        wanted = wanted.astype(np.int64)
    if wanted.dtype.kind not in "iu":
        raise CoordinateError(
            f"indices: expected an array of integers, got one of {wanted.dtype}"
        )
    made: SparseArray = getitem(x, (*[slice(None)] * along, wanted))
    return made
