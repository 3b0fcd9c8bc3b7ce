"""A plan in the making, and the problems of its parts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sparray.compiler import names
from sparray.compiler.index_notation.dtypes import accumulated_dtype
from sparray.compiler.index_notation.nodes import (
    Access,
    Assignment,
    Expr,
)
from sparray.compiler.index_notation.simplify import (
    accesses,
)
from sparray.compiler.problem import Problem, TensorSpec, result_spec
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.steps import Step, Weighed
from sparray.formats.format import Format

__all__ = ["Compute", "Planner", "bind", "part_of", "used_operands"]


@dataclass(slots=True)
class Planner:
    """A plan in the making.

    ``bindings`` has the array of each operand of ``problem``, ``converted`` what is
    known of them in other specs; ``cost`` is that of the steps so far.
    """

    problem: Problem
    statistics: Statistics
    vector_bytes: int
    bindings: dict[str, str]
    steps: list[Step] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    weighed: list[Weighed] = field(default_factory=list)
    converted: dict[tuple[str, TensorSpec], str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    cost: float = 0.0
    direct_only: bool = False

    def fresh(self) -> str:
        """Return the name of a new temporary."""
        return f"T{next(self.numbers)}"

    def replace_operand(self, name: str, array: str, spec: TensorSpec) -> None:
        """Read another array, which is something else, as an operand."""
        self.bindings[name] = array
        operands = tuple(
            (other, spec if other == name else old)
            for other, old in self.problem.operands
        )
        self.problem = replace(self.problem, operands=operands)

    def branch(self) -> "Planner":
        """Return a planner that goes on from here without changing this one."""
        return replace(
            self,
            bindings=dict(self.bindings),
            steps=list(self.steps),
            reasons=list(self.reasons),
            weighed=list(self.weighed),
            converted=dict(self.converted),
        )

    def append(self, other: "Planner") -> None:
        """Append the steps of a planner that computes a problem of its own."""
        self.steps.extend(other.steps)
        self.reasons.extend(other.reasons)
        self.weighed.extend(other.weighed)

    def take(self, other: "Planner") -> None:
        """Go on from where another planner is."""
        self.statistics, self.bindings = other.statistics, other.bindings
        self.steps, self.reasons = other.steps, other.reasons
        self.weighed = other.weighed
        self.converted, self.cost = other.converted, other.cost


Compute = Callable[[Planner, Problem, str], None]
"""Appends the cheapest steps that compute a problem under a name."""


def bind(planner: Planner, part: Problem, name: str, compute: Compute) -> None:
    """Append the steps of a part, whose result is an operand of that name."""
    array = planner.fresh()
    compute(planner, part, array)
    planner.bindings[name] = array


def part_of(
    problem: Problem, reduce: Expr, indices: Sequence[str], format: Format
) -> Problem:
    """Return the problem of one reduction, or of another part of an expression."""
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    dtype = accumulated_dtype(reduce, dtypes)
    used = used_operands(problem.operands, reduce)
    output = TensorSpec(format, dtype, problem.output.index_dtype)
    return Problem(
        Assignment(Access(names.OUTPUT, tuple(indices)), reduce),
        used,
        result_spec(reduce, used, output),
    )


def used_operands(
    operands: Sequence[tuple[str, TensorSpec]], expr: Expr
) -> tuple[tuple[str, TensorSpec], ...]:
    """Return the operands that an expression reads."""
    read = {access.tensor for access in accesses(expr)}
    return tuple((name, spec) for name, spec in operands if name in read)
