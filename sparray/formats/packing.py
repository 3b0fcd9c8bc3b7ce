"""Coordinates to buffers and back, level by level, in NumPy.

This is the road between any two formats that needs no compiler. The entries are
walked once per level; coordinates are never combined to one number, so a shape of
64 dimensions, or one whose product passes 2**63, works.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import FormatError, InvalidBufferError, KernelMemoryError
from sparray.formats.buffers import check_flat
from sparray.formats.coordinates import as_dtype, differs, equal_neighbours, sort_order
from sparray.formats.format import Format
from sparray.formats.level import IntArray, Level

__all__ = [
    "LevelBuffers",
    "check_buffers",
    "count_positions",
    "narrowest_index_dtype",
    "pack_coordinates",
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
    by_level = sort_order([coords[dimension] for dimension in format.order])
    if by_level is not None:
        coords, values = coords[:, by_level], values[by_level]
    n_entries = len(values)
    if index_dtype is None:
        index_dtype = narrowest_index_dtype(shape, n_entries)
    levels: list[dict[str, IntArray]] = []
    positions = np.zeros(n_entries, dtype=np.int64)
    same_prefix = np.ones(n_entries, dtype=bool)
    same_prefix[:1] = False
    n_positions = 1
    try:
        for level, dimension in zip(format.levels, format.order, strict=True):
            if n_positions > _MOST_POSITIONS:
                raise MemoryError
            row = coords[dimension]
            packed = level.pack(
                positions, row, n_positions, shape[dimension], index_dtype
            )
            positions, n_positions = packed.positions, packed.n_positions
            levels.append(packed.buffers)
            same_prefix &= equal_neighbours([row], n_entries)
            _check_claim(format, level, coords, same_prefix, positions)
        _check_last(format, coords, positions)
        if n_positions == n_entries:
            # As many as entries, each with its own: they are in order already.
            return tuple(levels), values
        if n_positions > _MOST_POSITIONS:
            raise MemoryError
        padded = np.full(n_positions, fill_value, dtype=values.dtype)
    except MemoryError:
        raise KernelMemoryError(
            f"format {format}: expected dense levels that fit in memory, "
            f"got shape {shape}"
        ) from None
    padded[positions] = values
    return tuple(levels), padded


def unpack_coordinates(
    format: Format,
    shape: tuple[int, ...],
    levels: Sequence[Mapping[str, IntArray]],
    values: npt.NDArray[Any],
    fill_value: Any = 0,
) -> tuple[Coordinates, npt.NDArray[Any]]:
    """List the entries of an array in the order in which they are stored.

    Where every level is dense, the entries are the values that differ from the
    fill value. In any other format every stored value is an entry, the padding of
    a dense level below a sparse one included: nothing that is stored is dropped.

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
    unpacked = []
    n_positions = 1
    for level, dimension, buffers in zip(
        format.levels, format.order, levels, strict=True
    ):
        extent = shape[dimension]
        unpacked.append(level.unpack(buffers, n_positions, extent))
        n_positions = level.count(buffers, n_positions, extent)
    coords = np.empty((format.ndim, n_positions), dtype=np.int64)
    # From the innermost level outwards: one lookup per level and entry.
    ancestors: npt.NDArray[np.int64] | None = None
    for dimension, level_entries in zip(
        reversed(format.order), reversed(unpacked), strict=True
    ):
        if ancestors is None:
            coords[dimension] = level_entries.coordinates
            ancestors = level_entries.parents
        else:
            coords[dimension] = level_entries.coordinates[ancestors]
            ancestors = level_entries.parents[ancestors]
    return coords, values


def count_positions(
    format: Format, shape: tuple[int, ...], levels: Sequence[Mapping[str, IntArray]]
) -> int:
    """Return the number of positions of the innermost level, trusting the buffers."""
    n_positions = 1
    for level, dimension, buffers in zip(
        format.levels, format.order, levels, strict=True
    ):
        n_positions = level.count(buffers, n_positions, shape[dimension])
    return n_positions


def check_buffers(
    format: Format,
    shape: tuple[int, ...],
    levels: Sequence[Mapping[str, IntArray]],
    values: Any,
) -> None:
    """Check raw buffers against everything that their format claims.

    All index buffers of one array have one dtype, int32 or int64: a kernel is
    compiled for one width.

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
    if len(levels) != format.ndim:
        raise InvalidBufferError(
            f"levels: expected {format.ndim} of them for {format}, got {len(levels)}"
        )
    n_positions = 1
    groups: npt.NDArray[np.int64] | None = None
    for number, (level, buffers) in enumerate(zip(format.levels, levels, strict=True)):
        if not isinstance(buffers, Mapping):
            raise InvalidBufferError(
                f"levels[{number}]: expected a mapping of buffers, "
                f"got {type(buffers).__name__}"
            )
        extent = shape[format.order[number]]
        try:
            below = level.check(buffers, n_positions, extent, groups)
        except InvalidBufferError as error:
            raise InvalidBufferError(
                f"levels[{number}] ({level}) of {format}: {error}"
            ) from None
        is_last = number == format.ndim - 1
        groups = (
            None
            if level.unique or is_last
            else _groups(level, buffers, n_positions, extent, groups)
        )
        n_positions = below
    _check_one_width(levels)
    check_flat("values", values, n_positions)
    as_dtype(values.dtype, "values")


def _check_claim(
    format: Format,
    level: Level,
    coords: Coordinates,
    same_prefix: npt.NDArray[np.bool_],
    positions: npt.NDArray[np.int64],
) -> None:
    """Check that a unique level has one position for each coordinate of a fibre."""
    if not level.unique:
        return
    split = np.flatnonzero(same_prefix[1:] & (positions[1:] != positions[:-1]))
    if len(split):
        _refuse_repeat(format, coords, int(split[0]))


def _check_last(
    format: Format, coords: Coordinates, positions: npt.NDArray[np.int64]
) -> None:
    """Check that every entry has its own position."""
    shared = np.flatnonzero(positions[1:] == positions[:-1])
    if len(shared):
        _refuse_repeat(format, coords, int(shared[0]))


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
        return np.cumsum(~equal_neighbours(keys, len(parents)))
    ordered = [key[by_keys] for key in keys]
    groups = np.empty(len(parents), dtype=np.int64)
    groups[by_keys] = np.cumsum(~equal_neighbours(ordered, len(parents)))
    return groups


def _check_one_width(levels: Sequence[Mapping[str, IntArray]]) -> None:
    """Check that all index buffers have the same dtype."""
    dtypes = {
        f"levels[{number}][{role!r}]": buffer.dtype
        for number, buffers in enumerate(levels)
        for role, buffer in buffers.items()
    }
    if len(set(dtypes.values())) > 1:
        listed = ", ".join(f"{name}: {dtype}" for name, dtype in dtypes.items())
        raise InvalidBufferError(
            f"levels: expected one index dtype for all buffers, got {listed}"
        )
