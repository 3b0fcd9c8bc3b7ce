"""``A[...] = B``: what an index selects becomes something else."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_protocols import dense_view
from sparray.convert import array as as_array
from sparray.errors import DTypeError, ShapeError, WouldDensifyError
from sparray.formats.coordinates import differs
from sparray.formats.packing import pack_coordinates
from sparray.functions.indexing.selection import Selection, select
from sparray.functions.indexing.targets import is_selected, targets
from sparray.functions.manipulation.repacked import broadcast_entries, entries
from sparray.sparse_array import SparseArray

__all__ = ["every_element", "setitem"]

Entries = tuple[npt.NDArray[np.int64], npt.NDArray[Any]]


def setitem(array: SparseArray, index: Any, value: Any) -> None:
    """Assign to the elements that an index selects.

    Parameters
    ----------
    array : SparseArray
        Any format; it keeps its format, its dtype and its fill value.
    index : int, slice, Ellipsis, None, array-like, mask, or a tuple of them
        As for `getitem`. Of what is assigned to one place several times the last one
        stays.
    value : SparseArray, SciPy array, array_like or number
        It is broadcast to what is selected, and converted to the array's dtype.

    Raises
    ------
    CoordinateError
        If the index does not fit the shape.
    ShapeError
        If the value does not broadcast to what is selected.
    DTypeError
        If complex numbers are assigned to an array of real ones.
    WouldDensifyError
        If an element of a huge selection is to be stored each.
    PatternError
        If the format has no room for an entry; the array is as it was.

    Notes
    -----
    Stored is what the value stores, if it is sparse and has the array's fill value, and
    else what differs from the fill value; nothing else stays stored in the selection.
    O(stored entries), but O(selected elements) for ``dense``. An array of another
    format gets new buffers: nothing that shared the old ones changes.
    """
    selection = select(index, array.shape)
    given = _right_side(array, value)
    _check_shape(given.shape, selection.shape)
    if array.format.is_dense:
        _assign_dense(array, selection, given)
        return
    if isinstance(given, SparseArray):
        coords, values = _broadcast_entries(given, selection.shape)
    else:
        coords, values = every_element(given, selection.shape)
    places, last = targets(coords, selection)
    if not isinstance(given, SparseArray):
        last &= differs(values, array.fill_value)
    old_coords, old_values = array.to_coords()
    kept = ~is_selected(old_coords, selection)
    coords = np.concatenate([old_coords[:, kept], places[:, last]], axis=1)
    values = np.concatenate([old_values[kept], values[last]])
    levels, packed = pack_coordinates(
        array.format, array.shape, coords, values, array.fill_value
    )
    array._replace_buffers(levels, packed)


def _right_side(array: SparseArray, value: Any) -> SparseArray | npt.NDArray[Any]:
    """Return what is assigned, in the array's dtype: sparse, or as an ndarray."""
    given = value
    if type(value).__module__.startswith(("scipy.sparse", "torch")):
        given = as_array(value, copy=False)
    if isinstance(given, SparseArray):
        _check_dtype(given.dtype, array.dtype)
        if given.format.is_dense:
            return dense_view(given).astype(array.dtype)
        made = given.astype(array.dtype)
        same = not differs(np.asarray(made.fill_value), array.fill_value)
        return made if same else made.todense()
    try:
        dense = np.asarray(given)
    except ValueError:
        raise ShapeError(
            "value: expected nested lists of equal lengths, got lists that differ"
        ) from None
    _check_dtype(dense.dtype, array.dtype)
    return dense.astype(array.dtype)


def _check_dtype(given: np.dtype[Any], wanted: np.dtype[Any]) -> None:
    if given.kind not in "biufcV" or (given.kind == "c" and wanted.kind != "c"):
        raise DTypeError(
            f"value: expected numbers that convert to {wanted}, got {given}"
        )


def _check_shape(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    # As in NumPy, dimensions of extent 1 in front are none.
    front = len(given) - len(wanted)
    own = given[max(0, front) :]
    fits = all(extent == 1 for extent in given[: max(0, front)]) and all(
        extent in (1, other)
        for extent, other in zip(own, wanted[len(wanted) - len(own) :], strict=True)
    )
    if not fits:
        raise ShapeError(
            f"value: expected a shape that broadcasts to {wanted}, which is selected, "
            f"got {given}"
        )


def _assign_dense(
    array: SparseArray, selection: Selection, given: SparseArray | npt.NDArray[Any]
) -> None:
    """Write elements where they are: only the selected ones are touched."""
    elements = given.todense() if isinstance(given, SparseArray) else given
    wanted = np.broadcast_to(_without_front(elements, selection.shape), selection.shape)
    coords, values = every_element(wanted, selection.shape)
    places, last = targets(coords, selection)
    view = dense_view(array)
    if array.ndim:
        view[tuple(places[:, last])] = values[last]
    elif last.any():
        view[()] = values[last][-1]


def _without_front(
    elements: npt.NDArray[Any], shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    return elements.reshape(elements.shape[max(0, elements.ndim - len(shape)) :])


def every_element(given: npt.NDArray[Any], shape: tuple[int, ...]) -> Entries:
    """Return every element of a value that is broadcast to a shape, as entries.

    Raises
    ------
    WouldDensifyError
        If there are more than fit in memory.
    """
    try:
        values = np.broadcast_to(_without_front(given, shape), shape).reshape(-1)
        coords = np.indices(shape, np.int64).reshape(len(shape), values.size)
    except (MemoryError, ValueError):
        size = math.prod(shape)
        raise WouldDensifyError(
            f"value: expected few elements, or a sparse array, to assign to {shape}, "
            f"which is selected, got {size} elements that are stored each: "
            f"{size * given.itemsize} bytes"
        ) from None
    return coords, values


def _broadcast_entries(given: SparseArray, shape: tuple[int, ...]) -> Entries:
    """Return the entries of a sparse value that is broadcast to a shape."""
    coords, values = entries(given)
    front = max(0, given.ndim - len(shape))
    return broadcast_entries(coords[front:], values, given.shape[front:], shape)
