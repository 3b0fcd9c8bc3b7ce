"""Parts of an expression that are computed before the rest, as arrays."""

from dataclasses import replace

from sparray.compiler import names
from sparray.compiler.index_notation.canonical import operand_name
from sparray.compiler.index_notation.nodes import Access, Assignment, Expr
from sparray.compiler.index_notation.simplify import free_indices
from sparray.compiler.index_notation.traversal import rename_tensors
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.draft import Planner, part_of, used_operands
from sparray.compiler.scheduler.nested import inner_reduction, replace_expression
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.planner import compute
from sparray.compiler.scheduler.result_size import result_entries
from sparray.compiler.scheduler.temporaries import temporary_format
from sparray.compiler.scheduler.wide_merges import wide_part

__all__ = ["compute_nested", "compute_wide"]


def compute_nested(planner: Planner) -> None:
    """Compute reductions that stand inside others, the innermost first."""
    while True:
        inner = inner_reduction(planner.problem.assignment.value)
        if inner is None:
            return
        _compute_first(planner, inner, "it is a sum inside another one")


def compute_wide(planner: Planner) -> None:
    """Compute parts first until a few operands meet in each loop."""
    while True:
        part = wide_part(planner.problem)
        if part is None:
            return
        _compute_first(planner, part, "too many operands would meet in one loop")


def _compute_first(planner: Planner, expr: Expr, why: str) -> None:
    """Compute a part of the expression as an array, and read that in its place."""
    problem = planner.problem
    indices = free_indices(expr)
    used = used_operands(problem.operands, expr)
    format = infer_format(Assignment(Access(names.OUTPUT, indices), expr), used)
    part = part_of(problem, expr, indices, format)
    if format.batch_ndim or (format.is_dense and part.has_known_fill):
        format = temporary_format(problem.output.format, len(indices))
        part = part_of(problem, expr, indices, format)
    # No operand has such a name, no workspace, and no variable.
    name = f"inner{len(planner.bindings)}"
    planner.reasons.append(Reason(f"compute {name} first", why))
    _bind_alone(planner, part, name)
    entries = round(result_entries(part, planner.statistics))
    positions = {**planner.statistics.positions, name: [entries] * format.ndim}
    planner.statistics = replace(planner.statistics, positions=positions)
    value = replace_expression(problem.assignment.value, expr, Access(name, indices))
    assignment = Assignment(problem.assignment.target, value)
    operands = (*used_operands(problem.operands, value), (name, part.output))
    planner.problem = replace(problem, assignment=assignment, operands=operands)


def _bind_alone(planner: Planner, part: Problem, name: str) -> None:
    """Append the steps of a part, with names that do not depend on the whole.

    So parts of one kind are computed by one kernel.
    """
    called = {old: operand_name(n) for n, (old, _) in enumerate(part.operands)}
    value = rename_tensors(part.assignment.value, called)
    problem = replace(
        part,
        assignment=Assignment(part.assignment.target, value),
        operands=tuple((called[old], spec) for old, spec in part.operands),
    )
    inner = Planner(
        problem,
        planner.statistics.renamed(called),
        planner.vector_bytes,
        {new: planner.bindings[old] for old, new in called.items()},
        numbers=planner.numbers,
    )
    array = planner.fresh()
    compute(inner, problem, array)
    planner.append(inner)
    planner.cost += inner.cost
    planner.bindings[name] = array
