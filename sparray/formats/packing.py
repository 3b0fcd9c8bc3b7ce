"""Coordinates to buffers and back, level by level, in NumPy.

This is the road between any two formats that needs no compiler. The entries are
walked once per level; coordinates are never combined to one number, so a shape of
64 dimensions, or one whose product passes 2**63, works.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import (
    FormatError,
    InternalError,
    InvalidBufferError,
    KernelMemoryError,
    PatternError,
)
from sparray.formats.buffers import (
    INDEX_DTYPES,
    check_apart,
    check_flat,
    take_buffers,
)
from sparray.formats.coordinates import as_dtype, differs, equal_neighbours, sort_order
from sparray.formats.format import Format
from sparray.formats.level import (
    Arrangeable,
    Arranging,
    IntArray,
    Level,
    Packed,
    Preparable,
)
from sparray.formats.moving_entries import MovingEntries
from sparray.formats.remapping import loses_nothing
from sparray.formats.slices import cut_slices, join_slices, joined_format

__all__ = [
    "LevelBuffers",
    "check_buffers",
    "count_entries",
    "count_positions",
    "narrowest_index_dtype",
    "pack_coordinates",
    "prepare_levels",
    "unpack_coordinates",
]

LevelBuffers = tuple[dict[str, IntArray], ...]
Coordinates = npt.NDArray[np.int64]

_INT32_MAX = 2**31 - 1
_MOST_POSITIONS = 2**58
"""More cannot be addressed; NumPy would raise an error that says less."""


def narrowest_index_dtype(shape: Sequence[int], n_entries: int) -> np.dtype[Any]:
    """Return int32 where every coordinate, extent and position fits it, else int64."""
    fits = n_entries <= _INT32_MAX and max(shape, default=0) <= _INT32_MAX
    return np.dtype(np.int32 if fits else np.int64)


def pack_coordinates(
    format: Format,
    shape: tuple[int, ...],
    coords: Coordinates,
    values: npt.NDArray[Any],
    fill_value: Any = 0,
    index_dtype: npt.DTypeLike | None = None,
) -> tuple[LevelBuffers, npt.NDArray[Any]]:
    """Make the buffers of a format from entries in any order.

    Parameters
    ----------
    format : Format
        What to make.
    shape : tuple of int
        Extent of each dimension.
    coords : int64[ndim, n]
        Coordinates inside the shape.
    values : dtype[n]
        One per column of ``coords``.
    fill_value : scalar
        The value of padding: positions of dense levels without an entry.
    index_dtype : int32 or int64, optional
        By default the narrowest one that is sure to fit.

    Returns
    -------
    levels : tuple of dict of str to ndarray
        Buffers by role, outermost level first.
    values : dtype[positions]
        Values in the order of the innermost level's positions. It may be the
        array that was given.

    Raises
    ------
    FormatError
        If the format cannot hold these entries: two with the same coordinates
        where a level is unique, not exactly one below a singleton's parent.
    KernelMemoryError
        If the positions of dense levels do not fit in memory.

    Notes
    -----
    O(ndim * n log n), or O(ndim * n) for entries in the order of the levels.
    """
    if format.batch_ndim:
        joined = pack_coordinates(
            joined_format(format), shape, coords, values, fill_value, index_dtype
        )
        return cut_slices(format, shape, *joined, fill_value)
    extents = format.level_extents(shape)
    if any(level.bounded for level in format.levels):
        # What such a level makes up is fill too: only the others need a place.
        kept = differs(values, fill_value)
        coords, values = coords[:, kept], values[kept]
    rows = format.level_coordinates(coords, shape)
    entries = MovingEntries.sorted(coords, rows, values)
    if index_dtype is None:
        slots = max((level.slots_per_entry for level in format.levels), default=1)
        index_dtype = narrowest_index_dtype(extents, len(values) * slots)
    levels: list[dict[str, IntArray]] = []
    n_positions = 1
    try:
        for number, (level, extent) in enumerate(
            zip(format.levels, extents, strict=True)
        ):
            if n_positions > _MOST_POSITIONS:
                raise MemoryError
            row = entries.rows[number]
            packed = _pack_level(
                format, number, entries, n_positions, extent, index_dtype
            )
            entries.enter(level, row, packed.positions)
            n_positions = packed.n_positions
            levels.append(packed.buffers)
            _check_claim(format, level, entries)
        _check_last(format, entries)
        if n_positions == len(entries.values):
            # As many as entries, each with its own: they are in order already.
            return tuple(levels), entries.values
        if n_positions > _MOST_POSITIONS:
            raise MemoryError
        padded = np.full(n_positions, fill_value, dtype=values.dtype)
    except MemoryError:
        raise _too_many(format, shape) from None
    padded[entries.positions] = entries.values
    return tuple(levels), padded


def prepare_levels(
    format: Format, shape: tuple[int, ...], index_dtype: npt.DTypeLike
) -> tuple[LevelBuffers, int]:
    """Make a format's levels with nothing stored; return them and their positions.

    Raises
    ------
    KernelMemoryError
        If they do not fit in memory.
    """
    levels: list[dict[str, IntArray]] = []
    n_positions = 1
    try:
        for level, extent in zip(
            format.levels, format.level_extents(shape), strict=True
        ):
            if not isinstance(level, Preparable):
                raise InternalError(f"expected a level to prepare, got {level.name}")
            made = level.prepare(n_positions, extent, index_dtype)
            levels.append(made.buffers)
            n_positions = made.n_positions
        if n_positions > _MOST_POSITIONS:
            raise MemoryError
    except MemoryError:
        raise _too_many(format, shape) from None
    return tuple(levels), n_positions


def _too_many(format: Format, shape: tuple[int, ...]) -> KernelMemoryError:
    return KernelMemoryError(
        f"format {format}: expected dense levels that fit in memory, got shape {shape}"
    )


def unpack_coordinates(
    format: Format,
    shape: tuple[int, ...],
    levels: Sequence[Mapping[str, IntArray]],
    values: npt.NDArray[Any],
    fill_value: Any = 0,
) -> tuple[Coordinates, npt.NDArray[Any]]:
    """List the entries of an array in the order in which they are stored.

    Where every level is dense, the entries are the values that differ from the
    fill value. In any other format every stored value inside the shape is an entry,
    the padding of a dense level below a sparse one included: nothing is dropped.

    Returns
    -------
    coords : int64[ndim, n]
        A new array.
    values : dtype[n]
        A new array, or the one that was given.

    Notes
    -----
    O(ndim * positions).
    """
    if format.batch_ndim:
        joined = join_slices(format, shape, levels, values)
        return unpack_coordinates(
            joined.format, shape, joined.levels, joined.values, fill_value
        )
    if format.is_dense:
        stored = values.reshape([shape[dimension] for dimension in format.order])
        kept = differs(stored, fill_value)
        coords = np.empty((format.ndim, np.count_nonzero(kept)), dtype=np.int64)
        if format.ndim:
            coords[list(format.order)] = np.nonzero(kept)
        return coords, stored[kept]
    if len(values) == 0:
        # Also where a dense level of any extent stands above one of extent 0.
        return np.empty((format.ndim, 0), dtype=np.int64), values
    coords, visible = _unpack_positions(format, shape, levels)
    if format.is_full:
        is_entry = differs(values, fill_value)
        visible = is_entry if visible is None else visible & is_entry
    if visible is None:
        return coords, values
    return coords[:, visible], values[visible]


def _unpack_positions(
    format: Format, shape: tuple[int, ...], levels: Sequence[Mapping[str, IntArray]]
) -> tuple[Coordinates, npt.NDArray[np.bool_] | None]:
    """Return the coordinates of every position, and which positions are visible.

    Those that are not have no coordinate in a level, or one outside the shape. None
    where all are.
    """
    extents = format.level_extents(shape)
    unpacked = []
    n_positions = 1
    for level, extent, buffers in zip(format.levels, extents, levels, strict=True):
        unpacked.append(level.unpack(buffers, n_positions, extent))
        n_positions = level.count(buffers, n_positions, extent)
    rows: list[npt.NDArray[np.int64]] = []
    visible: npt.NDArray[np.bool_] | None = None
    # From the innermost level outwards: one lookup per level and entry.
    ancestors: npt.NDArray[np.int64] | None = None
    for entries in reversed(unpacked):
        parents, row, present = entries.parents, entries.coordinates, entries.present
        if ancestors is not None:
            parents, row = parents[ancestors], row[ancestors]
            present = None if present is None else present[ancestors]
        rows.append(row)
        ancestors = parents
        visible = _both(visible, present)
    coords, inside = format.dimension_coordinates(rows[::-1], shape)
    return coords, _both(visible, inside)


def _both(
    first: npt.NDArray[np.bool_] | None, second: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.bool_] | None:
    """Return where both masks are true; None is true everywhere."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def count_entries(
    format: Format,
    shape: tuple[int, ...],
    levels: Sequence[Mapping[str, IntArray]],
    values: npt.NDArray[Any],
    fill_value: Any = 0,
) -> int:
    """Return the number of entries that `unpack_coordinates` lists.

    Notes
    -----
    O(1) where every position is an entry, else O(positions).
    """
    if format.batch_ndim:
        joined = join_slices(format, shape, levels, values)
        return count_entries(
            joined.format, shape, joined.levels, joined.values, fill_value
        )
    if not format.is_full and not format.hides:
        if loses_nothing(format.expressions, shape):
            return len(values)
    if len(values) == 0:
        return 0
    if format.is_dense:
        return int(np.count_nonzero(differs(values, fill_value)))
    _, visible = _unpack_positions(format, shape, levels)
    if format.is_full:
        visible = _both(visible, differs(values, fill_value))
    return len(values) if visible is None else int(np.count_nonzero(visible))


def count_positions(
    format: Format, shape: tuple[int, ...], levels: Sequence[Mapping[str, IntArray]]
) -> int:
    """Return the number of positions of the innermost level, trusting the buffers."""
    n_positions = 1
    extents = format.level_extents(shape)
    for level, extent, buffers in zip(format.levels, extents, levels, strict=True):
        n_positions = level.count(buffers, n_positions, extent)
    return n_positions


def check_buffers(
    format: Format,
    shape: tuple[int, ...],
    levels: Sequence[Mapping[str, IntArray]],
    values: Any,
) -> None:
    """Check raw buffers against everything that their format claims.

    All index buffers of one array have one dtype, int32 or int64, but for those to
    which a level gives a dtype of their own: a kernel is compiled for one width.

    Raises
    ------
    InvalidBufferError
        If an invariant does not hold; the message names level and buffer.
    DTypeError
        If the values have a dtype that arrays cannot have.

    Notes
    -----
    O(positions) in ordered formats; no element outside a buffer is read.
    """
    if len(levels) != format.n_levels:
        raise InvalidBufferError(
            f"levels: expected {format.n_levels} of them for {format}, "
            f"got {len(levels)}"
        )
    if format.batch_ndim:
        check_flat("values", values)
        for level, buffers in zip(
            format.levels, levels[: format.batch_ndim], strict=False
        ):
            take_buffers(level, buffers)
        joined = join_slices(format, shape, levels, values)
        _check_one_width(format, levels)
        check_buffers(joined.format, shape, joined.levels, joined.values)
        check_apart(levels, values)
        return
    extents = format.level_extents(shape)
    n_positions = 1
    groups: npt.NDArray[np.int64] | None = None
    for number, (level, buffers) in enumerate(zip(format.levels, levels, strict=True)):
        if not isinstance(buffers, Mapping):
            raise InvalidBufferError(
                f"levels[{number}]: expected a mapping of buffers, "
                f"got {type(buffers).__name__}"
            )
        extent = extents[number]
        try:
            below = level.check(buffers, n_positions, extent, groups)
        except InvalidBufferError as error:
            raise InvalidBufferError(
                f"levels[{number}] ({level}) of {format}: {error}"
            ) from None
        is_last = number == format.n_levels - 1
        groups = (
            None
            if level.unique or is_last
            else _groups(level, buffers, n_positions, extent, groups)
        )
        n_positions = below
    _check_one_width(format, levels)
    check_flat("values", values, n_positions)
    as_dtype(values.dtype, "values")
    check_apart(levels, values)


def _pack_level(
    format: Format,
    number: int,
    entries: MovingEntries,
    n_parents: int,
    extent: int,
    index_dtype: npt.DTypeLike,
) -> Packed:
    """Make one level, in the order that the level below it asks for, if that does."""
    level, row, parents = format.levels[number], entries.rows[number], entries.positions
    below = format.levels[number + 1] if number + 1 < format.n_levels else None
    try:
        if isinstance(level, Arrangeable) and isinstance(below, Arranging):
            inner = entries.rows[number + 1]
            order = below.arrange(parents, row, inner, n_parents, extent)
            return level.pack_arranged(order, parents, row, index_dtype)
        return level.pack(parents, row, n_parents, extent, index_dtype)
    except PatternError as error:
        if error.entry is None:
            raise
        where = tuple(entries.coords[:, error.entry].tolist())
        outer = ", ".join(
            f"{expression.text(format.dimension_names)} = {rows[error.entry]}"
            for expression, rows in zip(
                format.expressions[:number], entries.rows, strict=False
            )
        )
        raise PatternError(
            f"format {format}: {error}, at {outer or 'the start'} with the entry "
            f"{where}",
            error.entry,
        ) from None


def _check_claim(format: Format, level: Level, entries: MovingEntries) -> None:
    """Check that a unique level has one position for each coordinate of a fibre."""
    if not level.unique:
        return
    moved = entries.positions[1:] != entries.positions[:-1]
    split = np.flatnonzero(entries.same_prefix[1:] & moved)
    if len(split):
        _refuse_repeat(format, entries.coords, int(split[0]))


def _check_last(format: Format, entries: MovingEntries) -> None:
    """Check that every entry has its own position."""
    shared = np.flatnonzero(entries.positions[1:] == entries.positions[:-1])
    if len(shared):
        _refuse_repeat(format, entries.coords, int(shared[0]))


def _refuse_repeat(format: Format, coords: Coordinates, at: int) -> None:
    """Raise for two entries that a unique level cannot tell apart."""
    first, second = (tuple(coords[:, n].tolist()) for n in (at, at + 1))
    raise FormatError(
        f"format {format}: expected entries that its unique levels can hold, got "
        f"{first} and {second} (sum duplicates, or make the level nonunique)"
    )


def _groups(
    level: Level,
    buffers: Mapping[str, IntArray],
    n_parents: int,
    extent: int,
    parent_groups: npt.NDArray[np.int64] | None,
) -> npt.NDArray[np.int64]:
    """Give positions with the same outer coordinates the same number."""
    entries = level.unpack(buffers, n_parents, extent)
    parents = entries.parents
    if parent_groups is not None:
        parents = parent_groups[parents]
    keys = [parents, entries.coordinates]
    by_keys = sort_order(keys)
    if by_keys is None:
        first = ~equal_neighbours(keys, len(parents))
        # Freed before the numbers are made: this is the most that checking takes.
        del keys, parents, entries
        return np.cumsum(first)
    ordered = [key[by_keys] for key in keys]
    groups = np.empty(len(parents), dtype=np.int64)
    groups[by_keys] = np.cumsum(~equal_neighbours(ordered, len(parents)))
    return groups


def _check_one_width(format: Format, levels: Sequence[Mapping[str, IntArray]]) -> None:
    """Check that all buffers whose dtype is not the level's own have the same."""
    dtypes = {
        f"levels[{number}][{role!r}]": buffer.dtype
        for number, buffers in enumerate(levels)
        for role, buffer in buffers.items()
        if buffer.dtype in INDEX_DTYPES
    }
    if len(set(dtypes.values())) > 1:
        listed = ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items())
        raise InvalidBufferError(
            f"levels: expected one index dtype for all buffers, got {listed}"
        )
