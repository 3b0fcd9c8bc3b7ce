"""How often operands have entries at the same coordinates.

It is counted when an expression is planned. Means would say how many products two
matrices have if their entries were spread evenly; where both have most entries at the
same coordinates, there are many more.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.scheduler.statistics import bucket
from sparray.evaluation.stored import Operand
from sparray.formats.level import Level, Per
from sparray.formats.unevenness import FEW_ENTRIES

__all__ = ["coordinate_counts", "overlap_factors", "position_counts"]

Counts = npt.NDArray[np.float64]

_SAMPLED = 2**18
"""Positions of a level up to which all are counted; of more, as many, evenly spread."""
_LONGEST = 2**22
"""Extent up to which the entries at each coordinate are counted."""
_LEAST = 1 / 16
"""Below it operands that never meet would be estimated to take no time at all."""


def overlap_factors(
    operands: Mapping[str, tuple[Sequence[str], Operand]],
) -> dict[tuple[str, frozenset[str]], float]:
    """Return how much more often operands agree at an index than at random.

    Parameters
    ----------
    operands : mapping of str to (sequence of str, Operand)
        The index of each of an operand's dimensions, and the operand.

    Returns
    -------
    dict
        By an index and two operands: the pairs of entries with the same value of it,
        in units of the pairs that there would be if entries were spread evenly, to a
        power of 2. Only for sparse operands with many entries.

    Notes
    -----
    O(fibres + entries), of at most 2**18 positions of each level, and O(extent).
    """
    counted: dict[tuple[str, str], Counts] = {}
    by_index: dict[str, list[str]] = {}
    for name, (indices, operand) in operands.items():
        if operand.format.is_dense or len(operand.values) <= FEW_ENTRIES:
            continue
        for index in dict.fromkeys(indices):
            if indices.count(index) == 1:
                by_index.setdefault(index, []).append(name)
    factors = {}
    for index, pair in _pairs(by_index):
        for name in pair:
            if (index, name) not in counted:
                indices, operand = operands[name]
                made = coordinate_counts(operand, indices.index(index))
                counted[index, name] = np.zeros(0) if made is None else made
        one, other = (counted[index, name] for name in pair)
        factor = _overlap(one, other)
        if factor is not None:
            factors[index, frozenset(pair)] = factor
    return factors


def _pairs(
    by_index: Mapping[str, Sequence[str]],
) -> Iterator[tuple[str, tuple[str, str]]]:
    for index, tensors in by_index.items():
        for pair in combinations(tensors, 2):
            yield index, pair


def _overlap(one: Counts, other: Counts) -> float | None:
    if len(one) != len(other) or not len(one):
        return None
    expected = float(one.sum()) * float(other.sum()) / len(one)
    if expected <= 0:
        return None
    factor = max(_LEAST, float(np.multiply(one, other).sum()) / expected)
    rounded = bucket(round(factor / _LEAST)) * _LEAST
    return None if rounded == 1.0 else rounded


def position_counts(operand: Operand) -> list[int]:
    """Return the number of positions of each level of an operand."""
    counts, parents = [], 1
    extents = operand.format.level_extents(operand.shape)
    for level, buffers, extent in zip(
        operand.format.levels, operand._levels, extents, strict=True
    ):
        parents = level.count(buffers, parents, extent)
        counts.append(parents)
    return counts


def coordinate_counts(operand: Operand, dimension: int) -> Counts | None:
    """Return how many entries an operand has at each coordinate of a dimension.

    None where its levels do not tell that quickly. Of many positions some are counted,
    and stand for the others.
    """
    format, extent = operand.format, operand.shape[dimension]
    if not format.is_plain or format.batch_ndim or not 0 < extent <= _LONGEST:
        return None
    depth = format.order.index(dimension)
    extents = format.level_extents(operand.shape)
    n_positions = position_counts(operand)[depth]
    step = max(1, -(-n_positions // _SAMPLED))
    positions = np.arange(0, n_positions, step)
    level, buffers = format.levels[depth], operand._levels[depth]
    if level.full:
        coordinates: npt.NDArray[Any] = positions % extent
    elif level.buffer_per.get("crd") is Per.POSITION and not level.hides:
        coordinates = buffers["crd"][::step]
    else:
        return None
    begins = _entries_below(operand, depth, positions, extents)
    ends = _entries_below(operand, depth, positions + 1, extents)
    if begins is None or ends is None:
        return None
    weights = (ends - begins) * float(step)
    return np.bincount(coordinates, weights, minlength=extent).astype(np.float64)


def _entries_below(
    operand: Operand,
    depth: int,
    positions: npt.NDArray[Any],
    extents: Sequence[int],
) -> npt.NDArray[np.int64] | None:
    """Return how many entries stand before each position of a level."""
    for below in range(depth + 1, len(extents)):
        level: Level = operand.format.levels[below]
        if level.buffer_per.get("pos") is Per.EDGE and not level.hides:
            positions = operand._levels[below]["pos"][positions]
        elif level.full:
            positions = positions * extents[below]
        elif not level.branchless:
            return None
    return positions.astype(np.int64, copy=False)
