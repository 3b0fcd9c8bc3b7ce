"""What a loop over an index walks, whatever stands around it."""

from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.nodes import Access, Expr
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.levels import (
    is_walked,
    n_levels,
    walked_index,
)
from sparray.compiler.merge_lattice import lattice
from sparray.compiler.problem import Problem

__all__ = ["walked_at", "walking"]


def walked_at(
    value: Expr, index: str, problem: Problem
) -> tuple[list[Access], tuple[frozenset[Access], ...]]:
    """Return what a loop over an index walks, and its lattice.

    Here every access stands before its level of that index, as it does in each
    order that the levels allow.
    """
    walked, points = _walked_at(value, index, problem)
    return list(walked), points


@cached_by_identity(1024)
def _walked_at(
    value: Expr, index: str, problem: Problem
) -> tuple[tuple[Access, ...], tuple[frozenset[Access], ...]]:
    walked = walking(value, index, problem)
    points = lattice(value, walked, problem.absence)
    return tuple(a for a in walked if any(a in p for p in points)), points


def walking(value: Expr, index: str, problem: Problem) -> list[Access]:
    """Return the accesses one of whose levels a loop over an index would walk.

    Those that decide nothing included, which are in no point of the lattice.
    """
    return [
        access
        for access in dict.fromkeys(accesses(value))
        if any(
            walked_index(problem.specs[access.tensor], access, depth) == index
            and is_walked(problem.specs[access.tensor], access, depth)
            for depth in range(n_levels(problem.specs[access.tensor]))
        )
    ]
