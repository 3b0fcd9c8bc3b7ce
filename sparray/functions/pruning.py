"""Arrays without entries that say what the fill value says already."""

from typing import Any

from sparray.formats.coordinates import differs
from sparray.functions.creation import asarray
from sparray.functions.manipulation.repacked import entries, repacked
from sparray.sparse_array import SparseArray

__all__ = ["prune"]


def prune(x: Any, /) -> SparseArray:
    """Return an array without the entries that are equal to its fill value.

    Parameters
    ----------
    x : SparseArray or array-like
        The array; its buffers are shared if there are no such entries.

    Returns
    -------
    SparseArray
        In the same format, each coordinate once. What a format has to store (blocks,
        padding, dense levels) it still does.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.from_coords([[0, 1]], [0.0, 2.0], (3,), format="coo")
    >>> A.nnz, sp.prune(A).nnz
    (2, 1)
    """
    array = asarray(x)
    if array.format.is_full:
        return array
    coords, values = entries(array)
    kept = differs(values, array.fill_value)
    if kept.all() and array.format.unique:
        return array
    format, fill = array.format, array.fill_value
    return repacked(format, array.shape, coords[:, kept], values[kept], fill)
