"""Where elements are: those that are not zero, and where a number belongs."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sparray.errors import SettingError, ShapeError
from sparray.functions.creation import asarray
from sparray.functions.einsum import as_operand
from sparray.functions.sorted_entries import refuse_fill, sorted_entries
from sparray.sparse_array import SparseArray

__all__ = ["nonzero", "searchsorted"]


def nonzero(x: Any, /) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the coordinates of all elements that are not zero.

    Parameters
    ----------
    x : SparseArray or array-like
        At least one dimension.

    Returns
    -------
    tuple of int64[n]
        One array for each dimension, in the order of the elements. Zeros that are
        stored are left out.

    Raises
    ------
    ShapeError
        If there are no dimensions.
    WouldDensifyError
        If the fill value is not 0.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.nonzero(sp.array([[0, 2], [3, 0]], format="csc"))
    (array([0, 1]), array([1, 0]))
    """
    array = asarray(x)
    if not array.ndim:
        raise ShapeError("nonzero: expected 1 dimension or more, got a number")
    if array.fill_value != 0:
        refuse_fill("nonzero", array, "fill value 0")
    coords, values = sorted_entries(array)
    return tuple(coords[:, values != 0])


def searchsorted(
    x1: Any,
    x2: Any,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Any = None,
) -> SparseArray | npt.NDArray[np.int64]:
    """Return where numbers belong in a sorted vector.

    Parameters
    ----------
    x1 : SparseArray or array-like
        A vector in ascending order: that is not checked. Its fill value stands between
        smaller entries and larger ones.
    x2 : SparseArray, array-like or number
        What is searched.
    side : {"left", "right"}
        Before equal elements, or after them.
    sorter : int[n], optional
        An order in which a dense ``x1`` is sorted.

    Returns
    -------
    SparseArray or ndarray
        Places in ``x1``: sparse for a sparse ``x2``, with the place of its fill value
        as fill value.

    Raises
    ------
    ShapeError
        If ``x1`` is no vector.
    SettingError
        If the side is none, or a sparse vector comes with an order.

    Examples
    --------
    >>> import sparray as sp
    >>> v = sp.array([-2, 0, 0, 0, 5])
    >>> sp.searchsorted(v, [-1, 0, 7])
    array([1, 1, 5])
    """
    vector, wanted = as_operand("x1", x1), as_operand("x2", x2)
    if vector.ndim != 1:
        raise ShapeError(f"searchsorted: expected a vector, got shape {vector.shape}")
    if side not in ("left", "right"):
        raise SettingError(f"side: expected 'left' or 'right', got {side!r}")
    if sorter is not None:
        if isinstance(vector, SparseArray):
            raise SettingError(
                "sorter: expected None for a sparse vector, got an order"
            )
        vector = vector[as_operand("sorter", sorter)]
    if isinstance(wanted, SparseArray):
        return SparseArray._from_trusted(
            wanted.format,
            wanted.shape,
            wanted._levels,
            _places(vector, wanted.values, side),
            _places(vector, np.asarray(wanted.fill_value), side)[()],
        )
    return _places(vector, wanted, side)


def _places(
    vector: SparseArray | npt.NDArray[Any],
    wanted: npt.NDArray[Any],
    side: Literal["left", "right"],
) -> npt.NDArray[np.int64]:
    if not isinstance(vector, SparseArray):
        return np.asarray(np.searchsorted(vector, wanted, side), np.int64)
    _, values = sorted_entries(vector)
    unstored = vector.shape[0] - len(values)
    found = np.searchsorted(values, wanted, side)
    fill = np.asarray([vector.fill_value])
    # All elements that are not stored stand before it, or none does.
    return np.asarray(found + unstored * np.searchsorted(fill, wanted, side), np.int64)
