"""What two operands have in common: entries at one coordinate, products that meet.

A mean says how long a fibre is. Where an index is visited as often as another operand
has entries there, and both have most of their entries at the same values of it, most of
the fibres that a loop meets are the long ones: a graph times itself has far more
products than the mean length of its rows says. And products may share coordinates:
those of a band with itself fall on few entries, those of a random pattern on as many.
"""

from collections.abc import Iterable, Sequence

from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import is_walked, level_index, n_levels, walked_index
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.statistics import Statistics

__all__ = ["overlap_below", "repeats_of"]


def repeats_of(reduced: Iterable[str], statistics: Statistics) -> float:
    """Return how many products of a sum have the same coordinates, in the mean.

    The most that is known of two operands is taken for all of them.
    """
    summed = frozenset(reduced)
    found = (n for (index, _), n in statistics.repeats.items() if index in summed)
    return max(found, default=1.0)


def overlap_below(
    access: Access,
    depth: int,
    order: Sequence[str],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return the mean length of the fibres that a loop meets, in units of their mean.

    Parameters
    ----------
    access : Access
        What is walked.
    depth : int
        Of the level whose fibres those are.
    order : sequence of str
        Every loop, outermost first.
    problem : Problem
        Formats.
    statistics : Statistics
        With the overlaps of operands.

    Notes
    -----
    A loop over an index of the levels above meets each of its values as often as
    another operand has entries there if that operand is walked below another of its
    levels, outside the loop, and not along with the access. The largest overlap of any
    such operand is taken: how three of them agree is not known.
    """
    spec = problem.specs[access.tensor]
    loop = walked_index(spec, access, depth)
    outer = list(order)
    if loop in outer:
        outer = outer[: outer.index(loop)]
    own = _walked_below(access, problem)
    above = {level_index(spec, access, upper) for upper in range(depth)}
    found = []
    for other in problem.reads:
        pair = frozenset((access.tensor, other.tensor))
        walked = _walked_below(other, problem)
        if len(pair) < 2 or not any(i in outer and i not in own for i in walked):
            continue
        found += [
            statistics.overlaps[index, pair]
            for index in above
            if index in outer and (index, pair) in statistics.overlaps
        ]
    return max(found, default=1.0)


@cached_by_identity(1024)
def _walked_below(access: Access, problem: Problem) -> tuple[str, ...]:
    """Return the indices of the levels that are walked below another one."""
    spec = problem.specs[access.tensor]
    return tuple(
        level_index(spec, access, depth)
        for depth in range(1, n_levels(spec))
        if is_walked(spec, access, depth)
    )
