"""``A[...]``: the elements that an index selects, as an array of their own."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert import from_dense
from sparray.evaluation.stored import Operand
from sparray.formats.format import Format
from sparray.formats.packing import pack_coordinates
from sparray.functions.indexing.gathers import compiled_pick, compiled_points
from sparray.functions.indexing.groups import Points
from sparray.functions.indexing.leading import cut_leading
from sparray.functions.indexing.of_dense import elements_of_dense
from sparray.functions.indexing.result_format import selected_format
from sparray.functions.indexing.selection import Selection, checked_point, select
from sparray.functions.indexing.selectors import Every, Pick, Selector, Window
from sparray.functions.indexing.walk import (
    is_array_of_positions,
    is_walkable,
    taken_entries,
)
from sparray.functions.indexing.windows import compiled_window
from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = ["getitem", "selected"]


def getitem(array: SparseArray, index: Any) -> Any:
    """Return the elements that an index selects.

    Parameters
    ----------
    array : SparseArray
        Any format.
    index : int, slice, Ellipsis, None, array-like, mask, or a tuple of them
        By NumPy's rules: integer arrays are broadcast together and taken point by
        point; a mask of bools, dense or sparse, stands for the dimensions that it has.

    Returns
    -------
    SparseArray or scalar
        A copy; a NumPy scalar where every dimension has an integer. The fill value is
        the array's, the format that of `selected_format`.

    Raises
    ------
    CoordinateError
        If the index does not fit the shape; it is an IndexError.
    WouldDensifyError
        If a sparse mask is True where it stores nothing.

    Notes
    -----
    O(entries of the fibres that are touched). A range or a point of the outermost
    level's dimension is a slice of the buffers.
    """
    if type(index) is int and array.ndim > 1:
        found = _leading_point(array, index)
        if found is not None:
            return found
    if type(index) is tuple and len(index) == array.ndim:
        if all(type(part) is int for part in index) and _is_searched(array.format):
            return _element(array, index)
    if isinstance(index, SparseArray):
        found = _of_own_pattern(array, index)
        if found is not None:
            return found
    return selected(array, select(index, array.shape))


def _leading_point(array: SparseArray, index: int) -> SparseArray | None:
    """Return a row, where it is a slice of the buffers."""
    if array.format.order[0] != 0:
        return None
    start = checked_point(index, 0, array.shape)
    cut = cut_leading(array, Window(start, 1, 1, point=True))
    return None if cut is None else _wrap(cut, array.fill_value)


@lru_cache(maxsize=1024)
def _is_searched(format: Format) -> bool:
    """Tell whether one element is found level by level, one position below another."""
    return (
        is_walkable(format)
        and not format.is_dense
        and all(level.unique and level.ordered for level in format.levels)
        and not any(level.branchless for level in format.levels)
    )


def _element(array: SparseArray, index: tuple[int, ...]) -> Any:
    """Return one element: a search in one fibre of each level."""
    shape, format = array.shape, array.format
    point = [checked_point(part, d, shape) for d, part in enumerate(index)]
    position = 0
    for level, buffers, d in zip(
        format.levels, array._levels, format.order, strict=True
    ):
        if is_array_of_positions(level):
            position = position * shape[d] + point[d]
            continue
        begin, end = buffers["pos"][position : position + 2].tolist()
        fibre = buffers["crd"][begin:end]
        place = int(fibre.searchsorted(point[d]))
        if place == len(fibre) or fibre[place] != point[d]:
            return array.fill_value
        position = begin + place
    return array.values[position]


def _of_own_pattern(array: SparseArray, mask: SparseArray) -> SparseArray | None:
    """Return what a mask selects that shares the array's buffers, as ``A > 0`` does.

    None where it does not, or entries are not stored in C order.
    """
    format = array.format
    if mask.format != format or mask.shape != array.shape or mask.fill_value:
        return None
    in_order = format.order == tuple(range(array.ndim)) and format.is_sorted
    if mask.dtype != np.bool_ or not in_order or format.is_full:
        return None
    if not is_walkable(format) or mask._addresses[:-1] != array._addresses[:-1]:
        return None
    values = array.values[mask.values]
    made, coords = selected_format(format, (None,)), np.arange(len(values))[np.newaxis]
    levels, packed = pack_coordinates(made, (len(values),), coords, values)
    return SparseArray._from_trusted(
        made, (len(values),), levels, packed, array.fill_value
    )


def selected(array: SparseArray, selection: Selection) -> Any:
    """Return what a selection selects: see `getitem`."""
    if array.format.is_dense:
        elements = elements_of_dense(array, selection)
        if not selection.axes:
            return elements[()]
        made = selected_format(array.format, selection.sources)
        return from_dense(elements, made, None, array.fill_value)
    made = selected_format(array.format, selection.sources)
    if selection.group is None and selection.sources == tuple(range(array.ndim)):
        picked = compiled_pick(array, selection.selectors, made)
        if picked is not None:
            return picked
    part = _Part(array, dict(enumerate(selection.selectors)))
    if selection.axes:
        part = _narrowed(part)
        found = _without_entries(part, selection, made)
        if found is not None:
            return _wrap(found, array.fill_value)
    return _packed(part, selection, array, made)


@dataclass(frozen=True, slots=True)
class _Part:
    """What is left to select: an operand, and selectors by the array's dimensions."""

    operand: Operand
    selectors: dict[int, Selector]


def _narrowed(part: _Part) -> _Part:
    """Cut the range of the outermost level out of the buffers, if it is one."""
    format = part.operand.format
    if not format.is_plain or format.ndim == 0:
        return part
    dimension = format.order[0]
    selector = part.selectors[dimension]
    if not isinstance(selector, Window | Pick):
        return part
    cut = cut_leading(part.operand, selector)
    if cut is None:
        return part
    left = dict(part.selectors)
    if isinstance(selector, Window) and selector.point:
        del left[dimension]
    else:
        left[dimension] = Every(cut.shape[dimension])
    return _Part(cut, left)


def _without_entries(part: _Part, selection: Selection, made: Format) -> Operand | None:
    """Return the result where no entry needs to be looked at here: else None."""
    kept = [axis.source for axis in selection.axes]
    points = [
        dimension
        for dimension, selector in part.selectors.items()
        if isinstance(selector, Window) and selector.point
    ]
    if kept != [dimension for dimension in part.selectors if dimension not in points]:
        return None
    selectors = list(part.selectors.values())
    if all(isinstance(selector, Every) for selector in selectors):
        if part.operand.format == made:
            return _copied(part.operand)
    return compiled_window(part.operand, selectors, made)


def _copied(operand: Operand) -> Operand:
    return operand.copy() if isinstance(operand, SparseArray) else operand


def _packed(part: _Part, selection: Selection, array: SparseArray, made: Format) -> Any:
    """Return the taken entries in a format."""
    group = selection.group
    if isinstance(group, Points) and group.dimensions == tuple(range(array.ndim)):
        found = compiled_points(array, group.coordinates)
        if found is not None:
            numbers, values = found
            return _at_labels({}, values, numbers, selection, array, made)
    listed, values = taken_entries(part.operand, list(part.selectors.values()))
    rows = dict(zip(part.selectors, listed, strict=True))
    labels: npt.NDArray[Any] = np.zeros(0, np.int64)
    if selection.group is not None:
        matched = selection.group.match([rows[d] for d in selection.group.dimensions])
        rows = {dimension: row[matched.taken] for dimension, row in rows.items()}
        values, labels = values[matched.taken], matched.labels
    return _at_labels(rows, values, labels, selection, array, made)


def _at_labels(
    rows: dict[int, npt.NDArray[Any]],
    values: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    selection: Selection,
    array: SparseArray,
    made: Format,
) -> Any:
    """Return entries in a format: by dimension, or by the number of their point."""
    if not selection.axes:
        return values[0] if len(values) else array.fill_value
    coords = np.zeros((len(selection.axes), len(values)), np.int64)
    for place, axis in enumerate(selection.axes):
        if axis.source is None:
            coords[place] = labels // axis.below % max(1, axis.extent)
        elif axis.source >= 0:
            coords[place] = rows[axis.source]
    shape, fill = selection.shape, array.fill_value
    levels, packed = pack_coordinates(made, shape, coords, values, fill)
    return SparseArray._from_trusted(made, shape, levels, packed, fill)


def _wrap(stored: Operand, fill_value: Any) -> SparseArray:
    return SparseArray._from_trusted(
        stored.format, stored.shape, stored._levels, stored.values, fill_value
    )
