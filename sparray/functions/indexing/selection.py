"""What an index means, by NumPy's rules."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import CoordinateError, WouldDensifyError
from sparray.formats.coordinates import combine_duplicates, sort_order
from sparray.functions.indexing.groups import Group, MaskGroup, Points
from sparray.functions.indexing.selectors import Among, Every, Pick, Selector, Window
from sparray.records import dataclass
from sparray.sparse_array import SparseArray

__all__ = ["Axis", "Selection", "checked_point", "checked_points", "select", "window"]


_MANY_POINTS = 2**12
"""Points from which on it takes longer to list their coordinates than to find that an
entry is at none of them."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Where one dimension of a result comes from.

    Attributes
    ----------
    extent : int
        Number of coordinates.
    source : int or None
        The operand's dimension; -1 for a new one, None for one that a group makes.
    below : int
        Of a dimension that a group makes: how many points there are for each of its
        coordinates.
    """

    extent: int
    source: int | None
    below: int = 1


@dataclass(slots=True)
class Selection:
    """A selector for each dimension, a group of dimensions, and the result's axes."""

    selectors: list[Selector]
    axes: list[Axis]
    group: Group | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the result."""
        return tuple(axis.extent for axis in self.axes)

    @property
    def sources(self) -> tuple[int | None, ...]:
        """Where each dimension comes from, as `selected_format` takes it."""
        return tuple(axis.source for axis in self.axes)


@dataclass(slots=True)
class _Item:
    """One part of an index: what it is, and which dimensions it is about.

    ``value`` is an int, a slice, None (a new axis), an integer array, or a mask.
    """

    value: Any
    dimensions: tuple[int, ...]

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray | SparseArray)


def select(index: Any, shape: tuple[int, ...]) -> Selection:
    """Return what an index selects of an array of a shape.

    Parameters
    ----------
    index : int, slice, Ellipsis, None, array-like, mask, or a tuple of them
        As NumPy takes it; a mask may be a SparseArray of bools.
    shape : tuple of int
        The array's.

    Raises
    ------
    CoordinateError
        If there are more indices than dimensions, an integer is outside of its extent,
        or a mask has other extents; it is an IndexError.
    WouldDensifyError
        If a sparse mask is True where it stores nothing.
    """
    items = _assigned(index if isinstance(index, tuple) else (index,), shape)
    arrays = [n for n, item in enumerate(items) if item.is_array]
    if not arrays:
        return _basic(items, shape)
    return _advanced(items, shape)


def _basic(items: Sequence[_Item], shape: tuple[int, ...]) -> Selection:
    selectors: list[Selector] = [Every(extent) for extent in shape]
    axes = []
    for item in items:
        axis = _basic_item(item, shape, selectors)
        if axis is not None:
            axes.append(axis)
    return Selection(selectors, axes)


def _basic_item(
    item: _Item, shape: tuple[int, ...], selectors: list[Selector]
) -> Axis | None:
    """Enter the selector of an integer, a slice or a new axis; return its axis."""
    if item.value is None:
        return Axis(1, -1)
    (dimension,) = item.dimensions
    if isinstance(item.value, slice):
        chosen = window(item.value, dimension, shape)
        selectors[dimension] = chosen
        extent = chosen.extent if isinstance(chosen, Every) else chosen.length
        return Axis(extent, dimension)
    selectors[dimension] = Window(item.value, 1, 1, point=True)
    return None


def window(given: slice, dimension: int, shape: tuple[int, ...]) -> Every | Window:
    """Return the selector of a slice along a dimension.

    Raises
    ------
    CoordinateError
        If the slice's numbers are no integers, or the step is 0.
    """
    extent = shape[dimension]
    try:
        start, stop, step = given.indices(extent)
    except (TypeError, ValueError) as error:
        raise CoordinateError(
            f"index: expected a slice of integers along axis {dimension} of shape "
            f"{shape}, got {given}: {error}"
        ) from None
    length = len(range(start, stop, step))
    if length == extent and step == 1:
        return Every(extent)
    return Window(start, step, length)


def _advanced(items: Sequence[_Item], shape: tuple[int, ...]) -> Selection:
    """Return the selection of an index with arrays, as NumPy orders its axes."""
    members = [
        n
        for n, item in enumerate(items)
        if item.is_array or (item.value is not None and not _is_slice(item))
    ]
    selectors: list[Selector] = [Every(extent) for extent in shape]
    group, made = _grouped([items[n] for n in members], shape, selectors)
    adjacent = members[-1] - members[0] == len(members) - 1
    axes = [] if adjacent else list(made)
    for number, item in enumerate(items):
        if adjacent and number == members[0]:
            axes += made
        if number not in members:
            axis = _basic_item(item, shape, selectors)
            axes += [] if axis is None else [axis]
    return Selection(selectors, axes, group)


def _is_slice(item: _Item) -> bool:
    return isinstance(item.value, slice)


def _grouped(
    items: Sequence[_Item], shape: tuple[int, ...], selectors: list[Selector]
) -> tuple[Group | None, list[Axis]]:
    """Return the group that arrays are, if they are one, and the axes they make."""
    if len(items) == 1 and len(items[0].dimensions) > 1:
        group = _mask_group(items[0])
        _enter(group, selectors)
        return group, [Axis(group.shape[0], None)]
    arrays: list[tuple[int, npt.NDArray[np.int64]]] = []
    for item in items:
        arrays += _integer_arrays(item, shape)
    try:
        full = np.broadcast_shapes(*(array.shape for _, array in arrays))
    except ValueError:
        shapes = " and ".join(str(array.shape) for _, array in arrays)
        raise CoordinateError(
            f"index: expected integer arrays whose shapes broadcast together, got "
            f"{shapes} for an array of shape {shape}"
        ) from None
    varying = [_varying_axes(array.shape, len(full)) for _, array in arrays]
    alone = sum(map(len, varying)) == len(set().union(*varying))
    if alone and max(map(len, varying)) <= 1:
        return None, _apart(arrays, varying, full, selectors)
    dimensions = tuple(dimension for dimension, _ in arrays)
    table = [np.broadcast_to(array, full).reshape(-1) for _, array in arrays]
    extents = tuple(shape[dimension] for dimension in dimensions)
    points = Points(dimensions, np.array(table, np.int64), full, extents)
    _enter(points, selectors)
    below = [math.prod(full[n + 1 :]) for n in range(len(full))]
    return points, [Axis(n, None, b) for n, b in zip(full, below, strict=True)]


def _enter(group: Group, selectors: list[Selector]) -> None:
    """Take the coordinates of a group's points alone, if those are few."""
    if group.n_points > _MANY_POINTS:
        return
    # Kernels that follow the points themselves need no list of their coordinates.
    among = cache(group.among)
    for place, dimension in enumerate(group.dimensions):
        selectors[dimension] = Among(partial(_row, among, place))


def _row(
    rows: Callable[[], list[npt.NDArray[np.int64]]], place: int
) -> npt.NDArray[np.int64]:
    return rows()[place]


def _varying_axes(shape: tuple[int, ...], ndim: int) -> set[int]:
    """Return the axes, of those that arrays broadcast to, along which one varies."""
    before = ndim - len(shape)
    return {before + axis for axis, extent in enumerate(shape) if extent != 1}


def _apart(
    arrays: Sequence[tuple[int, npt.NDArray[np.int64]]],
    varying: Sequence[set[int]],
    full: tuple[int, ...],
    selectors: list[Selector],
) -> list[Axis]:
    """Return axes without a group: each array varies along an axis of its own."""
    axes = [Axis(extent, -1) for extent in full]
    for (dimension, array), own in zip(arrays, varying, strict=True):
        flat = array.reshape(-1)
        if not own:
            selectors[dimension] = Window(int(flat[0]), 1, 1, point=True)
        for axis in own:
            selectors[dimension] = Pick(flat)
            axes[axis] = Axis(full[axis], dimension)
    return axes


def _mask_group(item: _Item) -> Group:
    """Return the group of a mask of several dimensions that stands alone."""
    mask = item.value
    if isinstance(mask, np.ndarray):
        return MaskGroup(item.dimensions, mask)
    table = _true_coordinates(mask)
    return Points(item.dimensions, table, (table.shape[1],), mask.shape)


def _true_coordinates(mask: SparseArray) -> npt.NDArray[np.int64]:
    """Return where a sparse mask is true, in C order."""
    if mask.fill_value:
        raise WouldDensifyError(
            f"index: expected a sparse mask with fill value False, got one of shape "
            f"{mask.shape} that is True where it stores nothing; its todense() takes "
            f"{mask.size} bytes"
        )
    coords, values = mask.to_coords()
    if not mask.format.unique:
        coords, values = combine_duplicates(coords, values, range(mask.ndim))
    coords = coords[:, values]
    order = sort_order(list(coords))
    return coords if order is None else coords[:, order]


def _integer_arrays(
    item: _Item, shape: tuple[int, ...]
) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Return what an item indexes its dimensions with, as integer arrays."""
    value = item.value
    if not item.is_array:
        return [(item.dimensions[0], np.array(value, np.int64))]
    if isinstance(value, SparseArray):
        return list(zip(item.dimensions, _true_coordinates(value), strict=True))
    if value.dtype == np.bool_:
        return list(zip(item.dimensions, np.nonzero(value), strict=True))
    (dimension,) = item.dimensions
    return [(dimension, checked_points(value, dimension, shape))]


def checked_points(
    given: npt.NDArray[Any], dimension: int, shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """Return coordinates inside an extent; negative ones count from the end.

    Raises
    ------
    CoordinateError
        If one is outside.
    """
    extent = shape[dimension]
    if given.size and (given.min() < -extent or given.max() >= extent):
        wrong = given[(given < -extent) | (given >= extent)].reshape(-1)[0]
        raise _outside(int(wrong), dimension, shape)
    wide = given.astype(np.int64)
    return np.where(wide < 0, wide + extent, wide)


def checked_point(given: int, dimension: int, shape: tuple[int, ...]) -> int:
    """Return a coordinate inside an extent; a negative one counts from the end.

    Raises
    ------
    CoordinateError
        If it is outside.
    """
    extent = shape[dimension]
    if not -extent <= given < extent:
        raise _outside(given, dimension, shape)
    return given + extent if given < 0 else given


def _outside(given: int, dimension: int, shape: tuple[int, ...]) -> CoordinateError:
    extent = shape[dimension]
    wanted = f"from {-extent} to {extent - 1}" if extent else "none, as it is empty"
    return CoordinateError(
        f"index: expected coordinates along axis {dimension} of shape {shape}, "
        f"{wanted}, got {given}"
    )


def _assigned(parts: tuple[Any, ...], shape: tuple[int, ...]) -> list[_Item]:
    """Give each part of an index its dimensions; what is left over is taken whole."""
    items: list[_Item] = []
    ellipsis = None
    dimension = 0
    known = [_known(part) for part in parts]
    needed = sum(_n_dimensions(part) for part in known)
    if needed > len(shape):
        raise CoordinateError(
            f"index: expected at most {len(shape)} indices for shape {shape}, got "
            f"{needed}"
        )
    for part in known:
        if part is Ellipsis:
            if ellipsis is not None:
                raise CoordinateError("index: expected one ellipsis, got several")
            ellipsis = len(items)
            left = len(shape) - needed
            items += _whole(range(dimension, dimension + left))
            dimension += left
            continue
        taken = _n_dimensions(part)
        own = tuple(range(dimension, dimension + taken))
        dimension += taken
        if isinstance(part, int):
            part = checked_point(part, own[0], shape)
        elif isinstance(part, np.ndarray | SparseArray):
            _check_mask(part, own, shape)
        items.append(_Item(part, own))
    return items + _whole(range(dimension, len(shape)))


def _whole(dimensions: range) -> list[_Item]:
    return [_Item(slice(None), (dimension,)) for dimension in dimensions]


def _n_dimensions(part: Any) -> int:
    """Return the number of dimensions that a part of an index is about."""
    if part is None or part is Ellipsis:
        return 0
    is_mask = isinstance(part, np.ndarray | SparseArray) and part.dtype == np.bool_
    return part.ndim if is_mask else 1


def _check_mask(part: Any, own: tuple[int, ...], shape: tuple[int, ...]) -> None:
    extents = tuple(shape[dimension] for dimension in own)
    if part.dtype == np.bool_ and part.shape != extents:
        raise CoordinateError(
            f"index: expected a mask of shape {extents} for the axes {own} of shape "
            f"{shape}, got one of shape {part.shape}"
        )


def _known(part: Any) -> Any:
    """Return a part of an index as an int, slice, None, Ellipsis, array or mask."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, SparseArray):
        return _known_sparse(part)
    if isinstance(part, bool | np.bool_):
        raise _unusable(f"the truth value {part}")
    try:
        return operator.index(part)
    except TypeError:
        pass
    if isinstance(part, str | bytes | float | complex):
        raise _unusable(repr(part))
    try:
        array = np.asarray(part)
    except ValueError:
        raise _unusable("nested lists of different lengths") from None
    if array.size == 0 and not isinstance(part, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu" or (array.ndim == 0 and array.dtype.kind == "b"):
        raise _unusable(f"an array of {array.dtype}")
    return int(array) if array.ndim == 0 else array


def _known_sparse(part: SparseArray) -> Any:
    if part.dtype == np.bool_ and part.ndim:
        return part
    if part.dtype.kind in "iu" and part.format.is_dense:
        return _known(part.todense())
    raise _unusable(
        f"a SparseArray of {part.dtype} and shape {part.shape}; integers are taken of "
        "its todense() alone"
    )


def _unusable(got: str) -> CoordinateError:
    return CoordinateError(
        "index: expected integers, slices, ..., None, arrays of integers and masks of "
        f"bools, got {got}"
    )
