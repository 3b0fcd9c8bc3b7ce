"""The ordered stages from a problem to the functions of its kernels.

``Problem`` → plan (`scheduler`) → CIN → loop IR; each is verified before and after.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from sparray.compiler.index_notation.verify import verify as verify_assignment
from sparray.compiler.kernel_facts.gather_spec import GatherSpec
from sparray.compiler.kernel_facts.index_order import index_order
from sparray.compiler.kernel_facts.sort_spec import SortSpec
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.decision import Decision
from sparray.compiler.scheduler.plan import plan
from sparray.compiler.scheduler.statistics import Statistics, assumed_statistics
from sparray.compiler.scheduler.steps import (
    GatherStep,
    KernelStep,
    Plan,
    SortStep,
)
from sparray.compiler.scheduler.ways import Way
from sparray.records import dataclass

if TYPE_CHECKING:
    from sparray.compiler.scheduler.by_hand import ByHand

__all__ = ["CompiledPlan", "KernelSpec", "compile_problem"]


@dataclass(frozen=True)
class KernelSpec:
    """One kernel that can be made: its decision, a key, and its functions on demand.

    Attributes
    ----------
    decision : Decision
        Problem and schedule.
    vector_bytes : int
        Width of the target's vector registers.
    """

    decision: Decision
    vector_bytes: int

    @cached_property
    def key(self) -> str:
        """Hash of everything that the kernel's source depends on."""
        text = "\n".join(
            [
                self.decision.problem.describe(),
                self.decision.schedule,
                str(self.vector_bytes),
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @cached_property
    def functions(self) -> tuple[ir.Function, ...]:
        """The kernel's functions in loop IR, verified."""
        # Not needed where the kernel is found in the cache.
        from sparray.compiler.cin.verify import verify as verify_cin
        from sparray.compiler.loop_ir.verify import verify as verify_function
        from sparray.compiler.lower.kernel import lower_kernel
        from sparray.compiler.passes.drop_unused import drop_unused

        decision = self.decision
        for stage in decision.stages:
            verify_cin(stage)
        lowered = lower_kernel(
            decision.problem, decision.statement, decision.assemble, self.vector_bytes
        )
        functions = []
        for function in lowered:
            verify_function(function)
            functions.append(drop_unused(function))
            verify_function(functions[-1])
        return tuple(functions)

    @property
    def header(self) -> tuple[str, ...]:
        """Lines that say what the generated module came from."""
        from sparray.compiler.cin.printer import print_statement
        from sparray.compiler.index_notation.printer import print_assignment

        decision = self.decision
        return (
            print_assignment(decision.problem.assignment),
            *decision.problem.describe().splitlines()[1:],
            *print_statement(decision.statement).splitlines(),
            f"schedule: {decision.schedule}",
        )

    @property
    def loops(self) -> str:
        """The functions as text."""
        from sparray.compiler.loop_ir.printer import print_function

        return "\n\n".join(map(print_function, self.functions))

    @property
    def index_order(self) -> tuple[str, ...]:
        """The indices whose extents the functions take, in order."""
        return index_order(self.decision.problem)


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A plan with a kernel for each of its kernel steps."""

    plan: Plan
    kernels: tuple[KernelSpec | None, ...]
    """One per step; None for a step that no kernel takes alone."""

    @property
    def all_kernels(self) -> Iterator[KernelSpec | SortSpec | GatherSpec]:
        """Every kernel that the steps may load, those that sort included."""
        for step, kernel in zip(self.plan.steps, self.kernels, strict=True):
            if isinstance(step, GatherStep):
                yield step.kernel
            elif isinstance(step, SortStep):
                yield step.kernel
                # For coordinates with more bits than one number has.
                yield replace(step.kernel, joined=False)
            elif kernel is not None:
                yield kernel


def compile_problem(
    problem: Problem,
    vector_bytes: int,
    statistics: Statistics | None = None,
    way: "Way | ByHand | None" = None,
) -> CompiledPlan:
    """Verify and schedule a problem.

    Parameters
    ----------
    problem : Problem
        What to compute.
    vector_bytes : int
        Width of the target's vector registers.
    statistics : Statistics, optional
        Sizes of the operands; assumed where not given.
    way : Way or ByHand, optional
        One of `scheduler.plan.plan_ways`, or the schedule that a user wrote, instead of
        what the cost model prefers.

    Returns
    -------
    CompiledPlan
        Steps and the kernels they need; loop IR is made when first asked for.

    Raises
    ------
    ExpressionError
        If the assignment is not computable.
    UnsupportedError
        If sparray has no way to compute it.
    ScheduleError
        If the user's schedule does not fit it.
    """
    verify_assignment(problem.assignment)
    if statistics is None:
        statistics = assumed_statistics(problem)
    made = plan(problem, statistics, vector_bytes, way)
    kernels = tuple(
        KernelSpec(step.decision, vector_bytes)
        if isinstance(step, KernelStep)
        else None
        for step in made.steps
    )
    return CompiledPlan(made, kernels)
