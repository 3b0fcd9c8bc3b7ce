"""The entries that selectors take, found level by level.

Below each position that is still taken only its own fibre is looked at: the cost is in
the entries that are touched, not in extents, but for those of dense levels.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.evaluation.stored import Operand
from sparray.formats.coordinates import combine_duplicates, differs
from sparray.formats.format import Format
from sparray.formats.level import IntArray, Level, Searchable
from sparray.formats.packing import unpack_coordinates
from sparray.functions.indexing.selectors import Selector

__all__ = ["is_array_of_positions", "is_walkable", "ranges", "taken_entries"]

Positions = npt.NDArray[np.int64]
Taken = tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]

_WORTH_A_SEARCH = 4
"""Entries per fibre and step of a search from which on searching is the quicker."""


def is_array_of_positions(level: Level) -> bool:
    """Tell whether a level has a position for each coordinate, and no buffers."""
    return level.full and not level.roles


def is_walkable(format: Format) -> bool:
    """Tell whether fibres of the format's levels can be looked at one by one."""
    return (
        format.is_plain
        and format.unique
        and format.batch_ndim == 0
        and all(
            is_array_of_positions(level) or isinstance(level, Searchable)
            for level in format.levels
        )
    )


def taken_entries(operand: Operand, selectors: Sequence[Selector]) -> Taken:
    """Return the entries that a selector of each dimension takes.

    Parameters
    ----------
    operand : SparseArray or Stored
        Any format; what cannot be walked fibre by fibre is listed first.
    selectors : sequence of Selector
        One for each dimension.

    Returns
    -------
    rows : list of int[n]
        What the coordinates become, by dimension.
    values : dtype[n]
        New; entries are in the order of the levels where the selectors keep it.
    """
    if not is_walkable(operand.format):
        return _listed(operand, selectors)
    format = operand.format
    rows: dict[int, npt.NDArray[Any]] = {}
    positions = np.zeros(1, np.int64)
    parts = zip(
        format.levels,
        operand._levels,
        format.order,
        format.level_extents(operand.shape),
        strict=True,
    )
    for level, buffers, dimension, extent in parts:
        selector = selectors[dimension]
        origins: Positions | None
        if is_array_of_positions(level):
            origins, positions, labels = _from_array(positions, extent, selector)
        else:
            found = _from_fibres(level, buffers, positions, selector)
            origins, positions, labels = found
        if origins is not None:
            rows = {known: row[origins] for known, row in rows.items()}
        rows[dimension] = labels
    values = operand.values[positions]
    listed = [rows[dimension] for dimension in range(format.ndim)]
    if not format.is_full:
        return listed, values
    kept = differs(values, operand.fill_value)
    return [row[kept] for row in listed], values[kept]


def _listed(operand: Operand, selectors: Sequence[Selector]) -> Taken:
    """Take from the list of all entries."""
    coords, values = unpack_coordinates(
        operand.format,
        operand.shape,
        operand._levels,
        operand.values,
        operand.fill_value,
    )
    if not operand.format.unique:
        order = operand.format.dimension_order
        coords, values = combine_duplicates(coords, values, order)
    rows: list[npt.NDArray[Any]] = list(coords)
    for dimension, selector in enumerate(selectors):
        matched = selector.match(rows[dimension])
        if matched.taken is not None:
            rows = [row[matched.taken] for row in rows]
            values = values[matched.taken]
        rows[dimension] = matched.labels
    return rows, values.copy() if values is operand.values else values


def _from_array(
    parents: Positions, extent: int, selector: Selector
) -> tuple[Positions, Positions, npt.NDArray[Any]]:
    """Return origins, positions and labels below parents, without any buffers."""
    chosen, labels = selector.chosen()
    origins = np.repeat(np.arange(len(parents)), len(chosen))
    positions = (parents[:, np.newaxis] * extent + chosen).reshape(-1)
    return origins, positions, np.tile(labels, len(parents))


def _from_fibres(
    level: Level,
    buffers: Mapping[str, IntArray],
    parents: Positions,
    selector: Selector,
) -> tuple[Positions | None, Positions, npt.NDArray[Any]]:
    """Return origins, positions and labels below parents, of a level with fibres."""
    crd: npt.NDArray[Any] = buffers["crd"]
    origins = None
    positions = parents
    if not level.branchless:
        pos = buffers["pos"]
        begin = pos[parents].astype(np.int64)
        end = pos[parents + 1].astype(np.int64)
        if level.ordered:
            begin, end = _narrowed(crd, begin, end, selector.bounds)
        origins = np.repeat(np.arange(len(parents)), end - begin)
        positions = ranges(begin, end)
    matched = selector.match(crd[positions])
    if matched.taken is None:
        return origins, positions, matched.labels
    if origins is None:
        origins = np.arange(len(parents))
    return origins[matched.taken], positions[matched.taken], matched.labels


def _narrowed(
    crd: npt.NDArray[Any],
    begin: Positions,
    end: Positions,
    bounds: tuple[int, int] | None,
) -> tuple[Positions, Positions]:
    """Search fibres for the ends of a window, where that is quicker than passing it."""
    if bounds is None or len(begin) == 0:
        return begin, end
    low, high = bounds
    if len(begin) == 1:
        fibre = crd[begin[0] : end[0]]
        first, last = np.searchsorted(fibre, [low, high + 1])
        return begin + first, begin + last
    longest = int((end - begin).max())
    steps = _WORTH_A_SEARCH * longest.bit_length() * len(begin)
    if int((end - begin).sum()) <= steps:
        return begin, end
    first_positions = lower_bound(crd, begin, end, low)
    return first_positions, lower_bound(crd, first_positions, end, high + 1)


def lower_bound(
    crd: npt.NDArray[Any], begin: Positions, end: Positions, value: int
) -> Positions:
    """Return, for each range, the first position whose coordinate is not smaller."""
    low, high = begin.copy(), end.copy()
    open_ones = np.flatnonzero(low < high)
    while len(open_ones):
        middle = (low[open_ones] + high[open_ones]) // 2
        smaller = crd[middle] < value
        low[open_ones[smaller]] = middle[smaller] + 1
        high[open_ones[~smaller]] = middle[~smaller]
        open_ones = open_ones[low[open_ones] < high[open_ones]]
    return low


def ranges(begin: Positions, end: Positions) -> Positions:
    """Return the numbers of all ranges, one range after the other."""
    lengths = end - begin
    total = int(lengths.sum())
    if len(begin) and total == int(end[-1] - begin[0]):
        if np.array_equal(begin[1:], end[:-1]):
            return np.arange(int(begin[0]), int(end[-1]))
    before = np.cumsum(lengths) - lengths
    numbers: Positions = np.arange(total) + np.repeat(begin - before, lengths)
    return numbers
