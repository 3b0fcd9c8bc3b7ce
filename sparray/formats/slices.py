"""Slices with buffers of their own, and the same entries in buffers of all slices.

A format whose outermost levels are `Sliced` has a *joined* one, with dense levels in
their place: there each level has one buffer for all slices, whose positions count
through. What NumPy does level by level, it does to the joined buffers; here are the
ways from and to them.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import InvalidBufferError, KernelMemoryError
from sparray.formats.buffers import INDEX_DTYPES, check_flat, take_buffers
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.level import IntArray, Level, Per
from sparray.records import dataclass

__all__ = [
    "Joined",
    "cut_slices",
    "join_slices",
    "joined_format",
    "one_slice",
    "slice_format",
    "slice_lengths",
]

Counts = npt.NDArray[np.int64]
Buffers = Mapping[str, IntArray]

_INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Joined:
    """The buffers of all slices as those of one array.

    Attributes
    ----------
    format : Format
        With dense levels in place of the batch levels.
    levels : tuple of dict of str to ndarray
        Buffers by role. Those whose slices have no unused end are shared.
    values : dtype[positions]
        The values that slices use.
    """

    format: Format
    levels: tuple[dict[str, IntArray], ...]
    values: npt.NDArray[Any]


@lru_cache(maxsize=256)
def joined_format(format: Format) -> Format:
    """Return the format with dense levels in place of the batch levels."""
    n = format.batch_ndim
    return Format([*[Dense()] * n, *format.levels[n:]], None, format.expressions)


@lru_cache(maxsize=256)
def slice_format(format: Format) -> Format:
    """Return the format of one slice: the levels below the batch levels.

    Its dimensions are those that remain, in their order.
    """
    n = format.batch_ndim
    batched = {part.dimension for part in format.expressions[:n]}
    left = [d for d in range(format.ndim) if d not in batched]
    numbers = [left.index(d) if d in left else -1 for d in range(format.ndim)]
    parts = [part.renumbered(numbers) for part in format.expressions[n:]]
    return Format(format.levels[n:], None, parts)


def slice_lengths(
    format: Format,
    shape: Sequence[int],
    levels: Sequence[Buffers],
    values: npt.NDArray[Any],
) -> tuple[int, ...]:
    """Return how long a slice's part is of each buffer below the batch levels.

    In the order in which kernels take buffers, ``values`` last; nothing for a format
    without slices.
    """
    n = format.batch_ndim
    if n == 0:
        return ()
    n_slices = _n_slices(format, shape)
    buffers = [
        given[role]
        for level, given in zip(format.levels[n:], levels[n:], strict=True)
        for role in level.roles
    ]
    return tuple(len(buffer) // max(1, n_slices) for buffer in (*buffers, values))


def join_slices(
    format: Format,
    shape: Sequence[int],
    levels: Sequence[Buffers],
    values: npt.NDArray[Any],
) -> Joined:
    """Return the buffers of all slices as those of one array.

    Raises
    ------
    InvalidBufferError
        If the buffers cannot be taken apart into slices. All else is left to the
        checks of the joined buffers.

    Notes
    -----
    O(positions), none of it in Python loops over slices.
    """
    n = format.batch_ndim
    n_slices = _n_slices(format, shape)
    extents = format.level_extents(shape)
    counts = _ones(n_slices)
    joined: list[dict[str, IntArray]] = []
    for number in range(n, format.n_levels):
        level = format.levels[number]
        try:
            tables = _tables(level, levels[number], n_slices)
            made, counts = _join_level(level, tables, counts, extents[number])
        except InvalidBufferError as error:
            raise InvalidBufferError(
                f"levels[{number}] ({level}) of {format}: {error}"
            ) from None
        joined.append(made)
    used = _used(_table("values", values, n_slices), counts, "values")
    if len(used) > _INT32_MAX or any(
        len(b) > _INT32_MAX for made in joined for b in made.values()
    ):
        joined = [_widened(made) for made in joined]
    before: list[dict[str, IntArray]] = [{} for _ in range(n)]
    return Joined(joined_format(format), (*before, *joined), used)


def cut_slices(
    format: Format,
    shape: Sequence[int],
    levels: Sequence[Buffers],
    values: npt.NDArray[Any],
    fill_value: Any = 0,
) -> tuple[tuple[dict[str, IntArray], ...], npt.NDArray[Any]]:
    """Return the buffers of a format with slices, from joined ones.

    The parts of all slices get the length that the longest one needs. What is unused
    holds 0 and the fill value.

    Raises
    ------
    KernelMemoryError
        If that does not fit in memory.
    """
    try:
        return _cut_slices(format, shape, levels, values, fill_value)
    except (MemoryError, ValueError):
        raise KernelMemoryError(
            f"format {format}: expected slices as long as the longest one that fit "
            f"in memory, got shape {tuple(shape)}"
        ) from None


def _cut_slices(
    format: Format,
    shape: Sequence[int],
    levels: Sequence[Buffers],
    values: npt.NDArray[Any],
    fill_value: Any,
) -> tuple[tuple[dict[str, IntArray], ...], npt.NDArray[Any]]:
    n = format.batch_ndim
    n_slices = _n_slices(format, shape)
    extents = format.level_extents(shape)
    counts = _ones(n_slices)
    cut: list[dict[str, IntArray]] = [{} for _ in range(n)]
    for number in range(n, format.n_levels):
        level, buffers = format.levels[number], levels[number]
        below = _counts_below_joined(level, buffers, counts, extents[number])
        made = {}
        for role, buffer in buffers.items():
            per = level.buffer_per[role]
            if per is Per.EDGE:
                made[role] = _cut_edges(buffer, counts)
            elif per is Per.ARRAY:
                made[role] = np.tile(buffer, n_slices)
            else:
                made[role] = _spread(buffer, counts if per is Per.PARENT else below, 0)
        cut.append(made)
        counts = below
    return tuple(cut), _spread(values, counts, fill_value)


def one_slice(
    format: Format,
    shape: Sequence[int],
    levels: Sequence[Buffers],
    values: npt.NDArray[Any],
    number: int,
) -> tuple[tuple[dict[str, IntArray], ...], npt.NDArray[Any]]:
    """Return the buffers of one slice as views, trusting them."""
    n = format.batch_ndim
    n_slices = _n_slices(format, shape)
    extents = format.level_extents(shape)
    counts = np.ones(1, dtype=np.int64)
    made = []
    for depth in range(n, format.n_levels):
        level = format.levels[depth]
        tables = {
            role: buffer.reshape(n_slices, -1)[number : number + 1]
            for role, buffer in levels[depth].items()
        }
        one, counts = _join_level(level, tables, counts, extents[depth])
        made.append(one)
    table = values.reshape(n_slices, -1)[number : number + 1]
    return tuple(made), _used(table, counts, "values")


def _ones(n: int) -> Counts:
    try:
        return np.ones(n, dtype=np.int64)
    except (MemoryError, ValueError):
        raise KernelMemoryError(
            f"expected as many slices as fit in memory, got {n}"
        ) from None


def _n_slices(format: Format, shape: Sequence[int]) -> int:
    extents = format.level_extents(shape)
    return math.prod(extents[: format.batch_ndim])


def _tables(level: Level, buffers: Any, n_slices: int) -> dict[str, IntArray]:
    """Return each buffer of a level with one row for each slice."""
    if not isinstance(buffers, Mapping):
        raise InvalidBufferError(
            f"expected a mapping of buffers, got {type(buffers).__name__}"
        )
    taken = take_buffers(level, buffers)
    tables = {}
    for role, buffer in zip(level.roles, taken, strict=True):
        tables[role] = _table(role, buffer, n_slices)
        if buffer.dtype.kind not in "biu":
            raise InvalidBufferError(f"{role}: expected integers, got {buffer.dtype}")
    return tables


def _table(name: str, buffer: Any, n_slices: int) -> npt.NDArray[Any]:
    check_flat(name, buffer)
    if n_slices == 0 and len(buffer) == 0:
        return np.asarray(buffer.reshape(0, 0))
    if n_slices == 0 or len(buffer) % n_slices:
        raise InvalidBufferError(
            f"{name}: expected a number of elements that {n_slices} slices share "
            f"evenly, got {len(buffer)}"
        )
    table: npt.NDArray[Any] = buffer.reshape(n_slices, -1)
    return table


def _join_level(
    level: Level, tables: Mapping[str, npt.NDArray[Any]], counts: Counts, extent: int
) -> tuple[dict[str, IntArray], Counts]:
    """Join a level's buffers; ``counts`` are parents, then positions, per slice."""
    below = None
    made: dict[str, IntArray] = {}
    for role, table in tables.items():
        per = level.buffer_per[role]
        if per is Per.EDGE:
            made[role], below = _join_edges(role, table, counts)
        elif per is Per.ARRAY:
            made[role] = _same_in_all(role, table)
    if below is None:
        one = level.count(made, 1, extent)
        below = counts * one
        if len(counts) and not 0 <= one <= 2**58 // max(1, int(counts.max())):
            raise InvalidBufferError(
                f"expected a number of positions per slice, got {one} for each parent"
            )
    for role, table in tables.items():
        per = level.buffer_per[role]
        if per is Per.PARENT:
            made[role] = _used(table, counts, role)
        elif per is Per.POSITION:
            made[role] = _used(table, below, role)
    return {role: made[role] for role in level.roles}, below


def _join_edges(
    role: str, table: npt.NDArray[Any], counts: Counts
) -> tuple[IntArray, Counts]:
    """Join buffers of ends of fibres, which count within a slice."""
    n_slices = len(table)
    if n_slices == 0:
        return np.zeros(1, dtype=table.dtype), counts
    if int(counts.max()) + 1 > table.shape[1]:
        raise InvalidBufferError(
            f"{role}: expected {int(counts.max()) + 1} elements in each slice, "
            f"got {table.shape[1]}"
        )
    wrong = np.flatnonzero(table[:, 0])
    if len(wrong):
        at = int(wrong[0])
        raise InvalidBufferError(
            f"{role}[0]: expected 0 in slice {at}, got {table[at, 0]}"
        )
    below = table[np.arange(n_slices), counts].astype(np.int64)
    if n_slices == 1:
        return table[0, : int(counts[0]) + 1], below
    if below.min() < 0:
        at = int(np.argmin(below))
        raise InvalidBufferError(
            f"{role}[-1]: expected 0 or more in slice {at}, got {below[at]}"
        )
    before = np.cumsum(below) - below
    total = int(before[-1] + below[-1])
    width = table.dtype if total <= _INT32_MAX else np.dtype(np.int64)
    shifted = table[:, :-1].astype(np.int64) + before[:, np.newaxis]
    joined = np.append(_used(shifted, counts, role), total)
    return joined.astype(width), below


def _same_in_all(role: str, table: npt.NDArray[Any]) -> IntArray:
    """Return what all slices have in common."""
    if len(table) == 0:
        return np.zeros(1, dtype=table.dtype)
    if table.shape[1] != 1 or np.any(table != table[0, 0]):
        raise InvalidBufferError(
            f"{role}: expected one element in each slice, the same in all, "
            f"got {table.shape[1]} in each"
            + ("" if table.shape[1] != 1 else " that differ")
        )
    common: IntArray = table[0]
    return common


def _used(table: npt.NDArray[Any], counts: Counts, role: str) -> npt.NDArray[Any]:
    """Return the first elements of each row, as many as a slice uses."""
    if len(table) == 0:
        return table.reshape(-1)
    most = int(counts.max())
    if most > table.shape[1] or counts.min() < 0:
        raise InvalidBufferError(
            f"{role}: expected {most} elements in each slice, got {table.shape[1]}"
        )
    if len(table) == 1:
        return table[0, :most]
    if counts.min() == most:
        return np.ascontiguousarray(table[:, :most]).reshape(-1)
    part: npt.NDArray[Any] = table[np.arange(table.shape[1]) < counts[:, np.newaxis]]
    return part


def _counts_below_joined(
    level: Level, buffers: Buffers, counts: Counts, extent: int
) -> Counts:
    """Return the positions of each slice, of joined buffers."""
    for role, per in level.buffer_per.items():
        if per is Per.EDGE:
            edges = buffers[role]
            ends = np.cumsum(counts)
            below: Counts = edges[ends].astype(np.int64) - edges[ends - counts]
            return below
    return counts * level.count(buffers, 1, extent)


def _cut_edges(edges: IntArray, counts: Counts) -> IntArray:
    """Return ends of fibres that count within a slice; past its parents, the last."""
    if len(counts) == 0:
        return edges[:0]
    starts = (np.cumsum(counts) - counts)[:, np.newaxis]
    steps = np.minimum(np.arange(int(counts.max()) + 1), counts[:, np.newaxis])
    table = edges[starts + steps]
    cut: IntArray = (table - table[:, :1]).reshape(-1)
    return cut


def _spread(buffer: npt.NDArray[Any], counts: Counts, unused: Any) -> npt.NDArray[Any]:
    """Return a buffer in which every slice has as many elements as the longest."""
    if len(counts) == 0:
        return buffer[:0]
    most = int(counts.max())
    if counts.min() == most:
        return buffer
    table = np.full((len(counts), most), unused, dtype=buffer.dtype)
    table[np.arange(most) < counts[:, np.newaxis]] = buffer
    return table.reshape(-1)


def _widened(buffers: Buffers) -> dict[str, IntArray]:
    return {
        role: buffer.astype(np.int64) if buffer.dtype in INDEX_DTYPES else buffer
        for role, buffer in buffers.items()
    }
