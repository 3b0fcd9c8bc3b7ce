"""Which operands say at which coordinates sums are wanted."""

from collections.abc import Sequence

from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.shape import Shape, late_indices
from sparray.compiler.scheduler.walks import walked_at

__all__ = ["filters"]


def filters(order: Sequence[str], shape: Shape, problem: Problem) -> tuple[str, ...]:
    """Return the operands outside of the sum without whose entries there is no work.

    Their rows lie along the one loop of the result that stands inside the sum: a mask,
    or a sparse factor of the result.
    """
    late = late_indices(order, frozenset(shape.reduced))
    if len(late) != 1 or len(shape.terms) != 1:
        return ()
    (index,) = late
    walked, points = walked_at(shape.merged, index, problem)
    summed = {access.tensor for access in accesses(shape.terms[0])}
    found = []
    for access in walked:
        spec = problem.specs[access.tensor]
        last = level_index(spec, access, n_levels(spec) - 1)
        needed = all(access in point for point in points)
        if needed and last == index and access.tensor not in summed:
            found.append(access.tensor)
    return tuple(found)
