"""How many products of two operands fall on the same coordinates.

It is counted when an expression is planned, for some fibres of the one that is walked
first: what a workspace costs depends on how many coordinates it lists, and no length of
a row says that. Products of a band with itself fall on few coordinates, those of a
random pattern on nearly as many as there are.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from sparray.compiler.scheduler.statistics import bucket
from sparray.evaluation.stored import Operand
from sparray.formats.level import IntArray, Level, Per
from sparray.formats.unevenness import FEW_ENTRIES

__all__ = ["product_repeats"]

_SAMPLED_FIBRES = 48
_MOST_PRODUCTS = 2**16


def product_repeats(
    operands: Mapping[str, tuple[Sequence[str], Operand]],
) -> dict[tuple[str, frozenset[str]], float]:
    """Return how many products of two operands have the same coordinates, in the mean.

    Parameters
    ----------
    operands : mapping of str to (sequence of str, Operand)
        The index of each of an operand's dimensions, and the operand.

    Returns
    -------
    dict
        By an index and two operands with many entries, to a power of 2, where it is not
        1. The first operand stores the index last, the second one outermost of two, as
        the rows of two matrices do that are multiplied.

    Notes
    -----
    O(48 fibres of the first operand, and 2**16 products).
    """
    sparse = {
        name: (tuple(indices), operand)
        for name, (indices, operand) in operands.items()
        if not operand.format.is_dense
        and operand.format.is_plain
        and not operand.format.batch_ndim
        and len(operand.values) > FEW_ENTRIES
    }
    found: dict[tuple[str, frozenset[str]], float] = {}
    for one, other in permutations(sparse, 2):
        (left, first), (right, second) = sparse[one], sparse[other]
        index = left[first.format.order[-1]]
        if len(right) != 2 or right[second.format.order[0]] != index:
            continue
        if len(left) < 2 or len({*left, *right}) != len(left) + 1:
            continue
        repeats = _repeats(first, second)
        if repeats is not None:
            key = index, frozenset((one, other))
            found[key] = max(repeats, found.get(key, 1.0))
    return found


def _repeats(first: Operand, second: Operand) -> float | None:
    """Return the products of some fibres for each coordinate that these have."""
    leaf = _listed(first, -1)
    rows, columns = second._levels[0], _listed(second, -1)
    if leaf is None or columns is None:
        return None
    outer: Level = second.format.levels[0]
    if not outer.full and _listed(second, 0) is None:
        return None
    n_fibres = len(leaf["pos"]) - 1
    products, distinct = 0, 0
    for fibre in range(0, n_fibres, max(1, n_fibres // _SAMPLED_FIBRES)):
        along = leaf["crd"][leaf["pos"][fibre] : leaf["pos"][fibre + 1]]
        if not outer.full:
            along = _found(along, rows["crd"])
        met = _gathered(columns, along)
        products += len(met)
        distinct += len(np.unique(met))
        if products > _MOST_PRODUCTS:
            break
    if not distinct:
        return None
    repeats = bucket(round(products / distinct))
    return float(repeats) if repeats > 1 else None


def _listed(operand: Operand, depth: int) -> Mapping[str, IntArray] | None:
    """Return a level's buffers, if they are a list of coordinates for each parent."""
    level = operand.format.levels[depth]
    per = level.buffer_per
    listed = per.get("pos") is Per.EDGE and per.get("crd") is Per.POSITION
    if not listed or level.hides or not (level.ordered and level.unique):
        return None
    return operand._levels[depth]


def _found(wanted: IntArray, coordinates: IntArray) -> IntArray:
    """Return where wanted coordinates stand in an ascending list, of those in it."""
    if not len(coordinates):
        return np.zeros(0, np.int64)
    places = np.searchsorted(coordinates, wanted)
    places = np.minimum(places, len(coordinates) - 1)
    found: IntArray = places[coordinates[places] == wanted]
    return found


def _gathered(level: Mapping[str, IntArray], parents: IntArray) -> IntArray:
    """Return the coordinates below some positions, about `_MOST_PRODUCTS` at most."""
    begins = level["pos"][parents].astype(np.int64)
    lengths = level["pos"][parents + 1].astype(np.int64) - begins
    ends = np.cumsum(lengths)
    kept = int(np.searchsorted(ends, _MOST_PRODUCTS)) + 1
    begins, lengths, ends = begins[:kept], lengths[:kept], ends[:kept]
    if not len(ends):
        return level["crd"][:0]
    at = np.arange(ends[-1]) + np.repeat(begins - (ends - lengths), lengths)
    met: IntArray = level["crd"][at]
    return met
