"""What the size of gathered rows decides: whether a panel is packed, or prefetched.

Rows of a tile that are a few kilobytes apart fall on few cache sets, each on a page of
its own; side by side, a panel of them stays in the second-level cache. Packing reads
and writes every element once, which pays where each is read often enough.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.cost_model import COSTS, estimate_loops
from sparray.compiler.scheduler.shape import Shape
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.walks import walked_at
from sparray.records import dataclass

__all__ = ["Packing", "is_near", "packing"]

_PANEL_BYTES = 2**20
"""Largest panel: half of the 2 MB second-level cache of the reference machine, so that
what else is read does not drive it out."""
_NARROWEST = 128
"""Bytes of a row from which on it is packed: two cache lines."""
_COPIED = 0.7
"""Cost of packing an element, in units of a multiply-add (measured on the reference
machine: 0.15 ns in cache and 0.28 out of it, where one in vectors takes 0.04)."""
_SAVED_FAR = 0.5
"""Share of the multiply-adds' time that is saved where the operand is larger than a
panel may be: 21.7 → 40.8 GF/s (weights of 768 × 3072, 20 % stored, 128 columns)."""
_SAVED_FAR_ALIGNED = 0.33
"""The same where rows begin at cache lines: 28.9 → 43.4 GF/s (256 × 2304, 30 % stored,
256 columns)."""
_SAVED_NEAR = 0.35
"""The same where all of it fits, but rows begin anywhere, so that two lines are read
for a vector: 20.5 → 32.2 GF/s (2048 × 512, 5 % stored, 64 columns). Where they begin at
lines nothing is saved: 46 to 52 GF/s either way."""


@dataclass(frozen=True, slots=True)
class Packing:
    """What is packed before which loop, and how much less the kernel costs then.

    ``saving`` is negative where packing costs more than it saves.
    """

    tensor: str
    index: str
    dtype: str
    reads: float
    saving: float


def packing(
    order: Sequence[str],
    shape: Shape,
    problem: Problem,
    statistics: Statistics,
    tile_bytes: int,
) -> Packing | None:
    """Return the packing that a kernel with tiles of its innermost loop may have.

    Parameters
    ----------
    order : sequence of str
        Every loop, outermost first; sums of tiles of the last one are in registers.
    shape : Shape
        Of the problem.
    problem : Problem
        What is computed.
    statistics : Statistics
        Sizes. Where none are known nothing is packed.
    tile_bytes : int
        Of the largest tile.

    Returns
    -------
    Packing or None
        None unless rows of a single dense operand are selected by a sparse one, in the
        loop around the tile, again in each step of the outermost loop; or where its
        panel is larger than the cache, or its rows are narrow.
    """
    if not statistics.known or len(order) < 3:
        return None
    inner, gathered, outer = order[-1], order[-2], order[0]
    found = [a for a in dict.fromkeys(accesses(shape.merged)) if inner in a.indices]
    if len(found) != 1 or len(walked_at(shape.merged, gathered, problem)[0]) != 1:
        return None
    (access,) = found
    if not _can_pack(access, gathered, outer, problem):
        return None
    dtype = computed_dtype(problem.specs[access.tensor].dtype)
    itemsize = np.dtype(dtype).itemsize
    row = statistics.extent(inner)
    elements = prod(statistics.extent(index) for index in access.indices)
    panel = elements / max(1.0, row) * min(tile_bytes, row * itemsize)
    if row * itemsize < _NARROWEST or panel > _PANEL_BYTES:
        return None
    leaves = estimate_loops(shape.merged, order, problem, statistics)[-1].iterations
    far = elements * itemsize > _PANEL_BYTES
    saved = _saved_share(far, access.tensor in statistics.aligned)
    saving = leaves * COSTS["vector"] * saved - elements * _COPIED
    return Packing(access.tensor, outer, dtype, leaves / max(1.0, elements), saving)


def _saved_share(far: bool, aligned: bool) -> float:
    if aligned:
        return _SAVED_FAR_ALIGNED if far else 0.0
    return _SAVED_FAR if far else _SAVED_NEAR


def is_near(
    order: Sequence[str], shape: Shape, problem: Problem, statistics: Statistics
) -> bool:
    """Tell whether all rows that the loop around the tile selects stay in the cache.

    Then the processor waits for none of them, and prefetching costs instructions only.
    """
    gathered = order[-2]
    found = [
        access
        for access in dict.fromkeys(accesses(shape.merged))
        if gathered in access.indices and problem.specs[access.tensor].format.is_dense
    ]
    sizes = [
        prod(statistics.extent(index) for index in access.indices)
        * np.dtype(computed_dtype(problem.specs[access.tensor].dtype)).itemsize
        for access in found
        if not any(map(is_affine, access.indices))
    ]
    return len(sizes) == len(found) > 0 and sum(sizes) <= _PANEL_BYTES


def _can_pack(access: Access, gathered: str, outer: str, problem: Problem) -> bool:
    plain = len(set(access.indices)) == len(access.indices)
    plain = plain and not any(map(is_affine, access.indices))
    dense = problem.specs[access.tensor].format.is_dense
    return (
        plain and dense and gathered in access.indices and outer not in access.indices
    )
