"""What comes before a plan's main part: operands in the way that kernels take them.

Each step is a step of the plan, with a reason, and leaves a problem that is simpler.
"""

from dataclasses import replace

import numpy as np

from sparray.compiler.index_notation.dtypes import accumulated_dtype, settle_literals
from sparray.compiler.index_notation.nodes import Assignment
from sparray.compiler.index_notation.printer import print_access
from sparray.compiler.index_notation.simplify import (
    accesses,
    simplify_typed,
)
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.conversions import is_direct, operand_sizes
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.draft import Planner
from sparray.compiler.scheduler.factor import factor_invariants
from sparray.compiler.scheduler.format_facts import (
    is_coordinate_list,
    may_be_unwalkable,
)
from sparray.compiler.scheduler.parts_first import compute_nested, compute_wide
from sparray.compiler.scheduler.planner import converted
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.steps import (
    PackStep,
    sort_step,
)
from sparray.compiler.scheduler.temporaries import (
    coordinate_list,
    searched_spec,
    sorted_spec,
)

__all__ = ["arranged", "prepared"]


def prepared(problem: Problem, statistics: Statistics, vector_bytes: int) -> Planner:
    """Return a plan up to its main part, with which every way begins."""
    planner = arranged(problem, statistics, vector_bytes)
    compute_nested(planner)
    compute_wide(planner)
    return planner


def arranged(problem: Problem, statistics: Statistics, vector_bytes: int) -> Planner:
    """Return a plan with the operands as kernels take them, and nothing computed."""
    bindings = {name: name for name, _ in problem.operands}
    planner = Planner(problem, statistics, vector_bytes, bindings)
    _rewrite(planner)
    _list_entries(planner)
    _prepare_searches(planner)
    _order_operands(planner)
    return planner


def _rewrite(planner: Planner) -> None:
    """Simplify, and move invariant factors out of sums: decisions see the result."""
    problem = planner.problem
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    target = problem.assignment.target
    settled = settle_literals(problem.assignment.value, dtypes)
    value = simplify_typed(settled, dtypes)
    # inf * (a + b) is not inf * a + inf * b: no sum of numbers, but maybe of fills.
    if all(np.isfinite(spec.fill.value) for _, spec in problem.operands):
        value = factor_invariants(value, lambda expr: accumulated_dtype(expr, dtypes))
    planner.problem = replace(problem, assignment=Assignment(target, value))


def _list_entries(planner: Planner) -> None:
    """List the entries of operands that no loops follow.

    Loops over ``j - i`` and ``i`` give ``j``; those over ``j - i`` and ``j`` nothing.
    Nor are there any over coordinates that come again out of order.
    """
    for access in accesses(planner.problem.assignment.value):
        name, spec = access.tensor, planner.problem.specs[access.tensor]
        listed = sorted_spec(spec)
        if not may_be_unwalkable(spec.format) or is_direct(
            planner.statistics, spec, coordinate_list(spec, unique=spec.format.unique)
        ):
            continue
        result = planner.fresh()
        planner.steps.append(PackStep(planner.bindings[name], result, listed))
        planner.reasons.append(
            Reason(f"list the entries of {name}", "no loops follow its levels")
        )
        planner.replace_operand(name, result, listed)


def _prepare_searches(planner: Planner) -> None:
    """Convert operands that are read along diagonals or windows to be searched."""
    for access in accesses(planner.problem.assignment.value):
        name, spec = access.tensor, planner.problem.specs[access.tensor]
        wanted = searched_spec(access, spec)
        if wanted == spec:
            continue
        source = planner.bindings[name]
        sizes = operand_sizes(name, planner.problem, planner.statistics)
        made = converted(planner, source, spec, wanted, sizes)
        planner.reasons.append(
            Reason(
                f"convert {name} to {wanted.format}",
                f"it is read as {print_access(access)}, for which its levels cannot "
                "be searched",
            )
        )
        planner.replace_operand(name, made, wanted)


def _order_operands(planner: Planner) -> None:
    """Give operands that are in no order one, or one entry for each coordinate."""
    if all(spec.format.is_sorted for _, spec in planner.problem.operands):
        return
    # Imported for those: the first call of others is to be quick.
    from sparray.compiler.scheduler.gathering import gather_operands

    gather_operands(planner)
    _sort_operands(planner)


def _sort_operands(planner: Planner) -> None:
    """Replace operands whose levels are not ordered by sorted ones.

    Not those that a single kernel walks as they are.
    """
    problem = planner.problem
    read = {access.tensor for access in accesses(problem.assignment.value)}
    unsorted = {
        name: spec
        for name, spec in problem.operands
        if not spec.format.is_sorted and name in read
    }
    from sparray.compiler.scheduler.unsorted import walked_unsorted

    walked = walked_unsorted(problem, unsorted, planner.statistics)
    for name, spec in unsorted.items():
        if name in walked:
            continue
        source = planner.bindings[name]
        if not is_coordinate_list(spec.format):
            listed = coordinate_list(spec, unique=spec.format.unique)
            sizes = operand_sizes(name, problem, planner.statistics)
            source, spec = converted(planner, source, spec, listed, sizes), listed
        result = planner.fresh()
        ordered = replace(
            sorted_spec(spec), index_dtype=_width_once_sorted(name, spec, problem)
        )
        planner.steps.append(sort_step(source, result, spec, ordered))
        planner.reasons.append(
            Reason(f"sort {name}", "its coordinates are not in the order of its levels")
        )
        planner.replace_operand(name, result, ordered)


def _width_once_sorted(name: str, spec: TensorSpec, problem: Problem) -> str:
    """Return the index dtype of a sorted operand: the result's, if that holds it.

    A result with every index of the operand has extents that hold its coordinates.
    """
    kept = set(problem.assignment.target.indices)
    held = all(
        set(access.indices) <= kept
        for access in accesses(problem.assignment.value)
        if access.tensor == name
    )
    return problem.output.index_dtype if held else spec.index_dtype
