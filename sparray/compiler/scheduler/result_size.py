"""How many entries a result is estimated to have."""

from sparray.compiler.cin.concretize import merged_value, split_reductions
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.cost_model import estimate_loops
from sparray.compiler.scheduler.overlaps import repeats_of
from sparray.compiler.scheduler.statistics import Statistics

__all__ = ["result_entries", "result_products"]


def result_entries(problem: Problem, statistics: Statistics) -> float:
    """Return the estimated number of entries of a problem's result.

    It is that of its products, where it is not known how many meet at one coordinate.
    """
    products = result_products(problem, statistics)
    _, reductions = split_reductions(problem.assignment.value)
    summed = (index for item in reductions for index in item.reduce.indices)
    return products / repeats_of(summed, statistics)


def result_products(problem: Problem, statistics: Statistics) -> float:
    """Return the estimated number of products of which a problem's result is made."""
    value, reductions = split_reductions(problem.assignment.value)
    order = [
        *problem.assignment.target.indices,
        *dict.fromkeys(i for item in reductions for i in item.reduce.indices),
    ]
    loops = estimate_loops(merged_value(value, reductions), order, problem, statistics)
    return loops[-1].iterations if loops else 1.0
