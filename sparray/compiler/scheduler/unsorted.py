"""Which operands without an order a kernel walks as they are."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.nested import inner_reduction
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.temporaries import sorted_spec

__all__ = ["walked_unsorted"]


def walked_unsorted(
    problem: Problem, unsorted: Mapping[str, TensorSpec], statistics: Statistics
) -> frozenset[str]:
    """Return the operands that need not be sorted, the others being sorted.

    Those are operands with which a single kernel computes the problem, each for itself
    and all together.

    Parameters
    ----------
    problem : Problem
        What to compute.
    unsorted : mapping of str to TensorSpec
        Its operands whose coordinates are in no order.
    statistics : Statistics
        Sizes of the operands.
    """
    if inner_reduction(problem.assignment.value) is not None:
        return frozenset()

    def fits(walked: Collection[str]) -> bool:
        operands = tuple(
            (
                name,
                sorted_spec(spec) if name in unsorted and name not in walked else spec,
            )
            for name, spec in problem.operands
        )
        changed = replace(problem, operands=operands)
        return best_candidate(changed, statistics) is not None

    found = [
        name
        for name, spec in unsorted.items()
        if spec.format.is_walkable and fits([name])
    ]
    return frozenset(found if len(found) < 2 or fits(found) else ())
