"""Blocks of dense arrays that lie in different orders: whole cache lines of each."""

from collections.abc import Sequence

import numpy as np

from sparray.compiler import names
from sparray.compiler.index_notation.simplify import accesses, free_indices
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.shape import Shape
from sparray.compiler.scheduler.statistics import Statistics

__all__ = ["Blocks", "line_blocks"]

Blocks = tuple[tuple[str, ...], dict[str, tuple[str, str]]]
"""An order of loops, and the parts of each index that it has in place of it."""

_LINE_BYTES = 64
_LEAST, _MOST = 4, 16
"""Elements of a block along each index: on the reference machine a copy of 128 × 3072
float32 values took 1.32 ms element by element, and in blocks of 8², 16² and 32² 0.42,
0.28 and 0.50 ms."""


def line_blocks(
    order: Sequence[str], shape: Shape, problem: Problem, statistics: Statistics
) -> Blocks | None:
    """Return the loops over blocks of two indices, along each of which an array lies.

    A loop along one of two arrays jumps from line to line in the other one, and comes
    back to a line when it has left the cache. In a block of as many lines as a line has
    elements each line is used up.

    Parameters
    ----------
    order : sequence of str
        Every loop, outermost first.
    shape : Shape
        Of the problem.
    problem : Problem
        What is computed.
    statistics : Statistics
        Sizes: there is no use in blocks of what is hardly larger.

    Returns
    -------
    (tuple of str, dict) or None
        None unless all arrays are dense, nothing is summed up, and two of them have
        different dimensions innermost.
    """
    if shape.reduced or shape.parts or len(order) < 2:
        return None
    inner = order[-1]
    across = _across(inner, shape, problem)
    if across is None:
        return None
    itemsize = np.dtype(problem.output.dtype).itemsize
    size = min(_MOST, max(_LEAST, _LINE_BYTES // itemsize))
    if min(statistics.extent(inner), statistics.extent(across)) < 2 * size:
        return None
    split = {
        index: (names.quotient(index, size), names.remainder(index, size))
        for index in (across, inner)
    }
    outer = [split[index][0] if index in split else index for index in order]
    return (*outer, split[across][1], split[inner][1]), split


def _across(inner: str, shape: Shape, problem: Problem) -> str | None:
    """Return the index along which an array lies that jumps in the innermost loop."""
    found = None
    for access in (problem.assignment.target, *accesses(shape.merged)):
        spec = problem.specs[access.tensor]
        plain = set(access.indices) == set(free_indices(access))
        if not spec.format.is_dense or not plain:
            return None
        if len(set(access.indices)) != len(access.indices):
            return None
        if inner not in access.indices:
            continue
        last = access.indices[spec.format.order[-1]]
        if last != inner:
            found = found or last
    return found
