"""Choose tiles: a panel of the result in vector registers."""

from collections.abc import Sequence

import numpy as np

from sparray.compiler import names
from sparray.compiler.index_notation.affine import bases, is_unit_step
from sparray.compiler.index_notation.nodes import Access, Expr
from sparray.compiler.index_notation.simplify import accesses, free_indices
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.problem import Problem
from sparray.formats.level import Locatable

__all__ = [
    "PREFETCH_DISTANCE",
    "SCATTER_DISTANCE",
    "SUMS",
    "TILE_BYTES",
    "can_reduce_in_vectors",
    "can_tile",
    "tile_sizes",
]

TILE_BYTES = 256
"""Bytes of the largest tile: 8 accumulators of AVX2 (2 multiply-adds start per cycle
and take 4 cycles, so 8 hide the latency, and fit the 16 registers with their
operands), 4 of AVX-512. Twice as much was slower by 5 to 15 % on gathered rows, on the
reference machine (SpMM, 10,000² and 100,000², 256 columns)."""
PREFETCH_DISTANCE = 8
"""Positions that a gathered row is prefetched ahead: 8 rows of 4 cache lines keep the
32 to 48 line buffers busy; 4, 16 and 32 were within 5 % of it."""
SCATTER_DISTANCE = 16
"""Entries that a place to fill is prefetched ahead; 8 and 32 were within 5 % of it."""
SUMS = 4
"""Sums side by side: an addition can start every half or whole cycle and takes 4."""


def tile_sizes(
    dtype: str, vector_bytes: int, tile_bytes: int = TILE_BYTES
) -> tuple[int, ...]:
    """Return the tiles' sizes: as large as fits, then halves down to a single value."""
    size = max(tile_bytes, vector_bytes) // np.dtype(computed_dtype(dtype)).itemsize
    sizes = []
    while size >= 1:
        sizes.append(size)
        size //= 2
    return tuple(sizes)


def can_tile(index: str, value: Expr, problem: Problem) -> bool:
    """Tell whether the innermost loop over an index may become vectors of a tile.

    Each access with the index must have it on a located last level, so that
    neighbours lie side by side, and every operand must be computed in the result's
    dtype. An operator without a vector instruction is computed lane by lane, as it
    would be in a loop over a row that is not in registers.
    """
    dtype = computed_dtype(problem.output.dtype)
    if np.dtype(dtype).kind != "f":
        return False
    for access in (*accesses(value), problem.assignment.target):
        if computed_dtype(problem.specs[access.tensor].dtype) != dtype:
            return False
        if index in free_indices(access) and not _contiguous(access, index, problem):
            return False
    return True


def can_reduce_in_vectors(
    index: str, order: Sequence[str], value: Expr, problem: Problem
) -> bool:
    """Tell whether the innermost reduction runs along located, contiguous levels."""
    if index != order[-1]:
        return False
    if np.dtype(computed_dtype(problem.output.dtype)).kind != "f":
        return False
    with_index = [a for a in accesses(value) if index in free_indices(a)]
    return bool(with_index) and all(
        _contiguous(access, index, problem) for access in with_index
    )


def _contiguous(access: Access, index: str, problem: Problem) -> bool:
    spec = problem.specs[access.tensor]
    format = spec.format
    if sum(index in bases(coordinate) for coordinate in access.indices) != 1:
        return False
    *above, innermost = (level_index(spec, access, n) for n in range(n_levels(spec)))
    if any(_follows(outer, index) for outer in above):
        # The next coordinate is on another diagonal.
        return False
    leaf = format.levels[-1]
    return is_unit_step(innermost, index) and isinstance(leaf, Locatable) and leaf.full


def _follows(stored: str, index: str) -> bool:
    """Tell whether what a level stores changes with an index: ``j - i`` with ``i``."""
    part = names.derived(stored)
    return isinstance(part, names.Diagonal) and index in (part.row, part.column)
