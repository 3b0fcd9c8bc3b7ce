"""Conversions between formats as problems of their own: which there are, their cost."""

from functools import lru_cache

from sparray.compiler import names
from sparray.compiler.index_notation.canonical import index_name
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.levels import n_levels
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.cost_model import COSTS
from sparray.compiler.scheduler.result_size import result_entries
from sparray.compiler.scheduler.statistics import Statistics
from sparray.records import dataclass

__all__ = [
    "Sizes",
    "conversion",
    "conversion_cost",
    "is_direct",
    "least_conversion_cost",
    "operand_sizes",
    "result_sizes",
]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of an array that is converted.

    Attributes
    ----------
    extents : tuple of int
        Of its dimensions.
    positions : tuple of int
        How many each of its levels has.
    """

    extents: tuple[int, ...]
    positions: tuple[int, ...]

    def statistics(self, problem: Problem, like: Statistics) -> Statistics:
        """Return the statistics of the conversion's problem.

        ``like`` has what is known of threads and memory.
        """
        indices = problem.assignment.target.indices
        # An array without dimensions has no level, and one number.
        entries = self.positions[-1] if self.positions else 1
        return Statistics(
            dict(zip(indices, self.extents, strict=True)),
            {
                "A": self.positions,
                names.OUTPUT: [entries] * n_levels(problem.output),
            },
            workspace_bytes=like.workspace_bytes,
            parallel=like.parallel,
            known=like.known,
        )


def conversion(spec: TensorSpec, wanted: TensorSpec) -> Problem:
    """Return the problem ``out = A`` of a conversion."""
    letters = tuple(map(index_name, range(spec.format.ndim)))
    assignment = Assignment(Access(names.OUTPUT, letters), Access("A", letters))
    return Problem(assignment, (("A", spec),), wanted)


def operand_sizes(name: str, problem: Problem, statistics: Statistics) -> Sizes:
    """Return the sizes of an operand of a problem, which is converted.

    The extents of dimensions that it is read at in part are not known: the largest one
    stands for them.
    """
    read = accesses(problem.assignment.value)
    access = next(access for access in read if access.tensor == name)
    most, _ = _largest(statistics)
    extents = [statistics.extents.get(index, most) for index in access.indices]
    return Sizes(tuple(extents), tuple(statistics.positions[name]))


def result_sizes(problem: Problem, spec: TensorSpec, statistics: Statistics) -> Sizes:
    """Return the sizes of a problem's result, which is made in a spec and converted."""
    indices = problem.assignment.target.indices
    entries = result_entries(problem, statistics)
    counts = statistics.positions_in(spec.format, indices, entries)
    return Sizes(tuple(statistics.extents[i] for i in indices), tuple(counts))


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
