"""Conversions between formats as problems of their own: which there are, their cost."""

from functools import lru_cache

from sparray.compiler import names
from sparray.compiler.index_notation.canonical import index_name
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.levels import n_levels
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.cost_model import COSTS
from sparray.compiler.scheduler.statistics import Statistics

__all__ = [
    "conversion",
    "conversion_cost",
    "conversion_statistics",
    "is_direct",
    "least_conversion_cost",
]


def conversion(spec: TensorSpec, wanted: TensorSpec) -> Problem:
    """Return the problem ``out = A`` of a conversion."""
    letters = tuple(map(index_name, range(spec.format.ndim)))
    assignment = Assignment(Access(names.OUTPUT, letters), Access("A", letters))
    return Problem(assignment, (("A", spec),), wanted)


def conversion_statistics(statistics: Statistics, problem: Problem) -> Statistics:
    """Return sizes for a conversion: those of the largest operand."""
    return _sized(problem, *_largest(statistics))


def _largest(statistics: Statistics) -> tuple[int, int]:
    """Return the largest extent and the most stored entries."""
    extent = max(statistics.extents.values(), default=1)
    stored = max((c[-1] for c in statistics.positions.values() if c), default=1)
    return extent, stored


def _sized(problem: Problem, extent: int, stored: int) -> Statistics:
    return Statistics(
        dict.fromkeys(problem.assignment.target.indices, extent),
        {name: [stored] * n_levels(spec) for name, spec in problem.specs.items()},
    )


def is_direct(statistics: Statistics, spec: TensorSpec, wanted: TensorSpec) -> bool:
    """Tell whether one kernel converts a spec to another."""
    return _is_direct(spec, wanted, *_largest(statistics))


@lru_cache(maxsize=4096)
def _is_direct(spec: TensorSpec, wanted: TensorSpec, extent: int, stored: int) -> bool:
    problem = conversion(spec, wanted)
    return best_candidate(problem, _sized(problem, extent, stored)) is not None


def least_conversion_cost(entries: float) -> float:
    """Return what no conversion of some entries costs less than."""
    return COSTS["step"] + COSTS["convert"] * entries


def conversion_cost(
    statistics: Statistics, spec: TensorSpec, wanted: TensorSpec, entries: float
) -> float:
    """Return the cost of a conversion of some entries."""
    if is_direct(statistics, spec, wanted):
        return least_conversion_cost(entries)
    # Listed, sorted, and taken from there.
    return 3 * COSTS["step"] + (COSTS["convert"] + COSTS["sort"]) * entries
