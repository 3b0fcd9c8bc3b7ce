"""Sums as arrays of their own, before the rest of an expression."""

from dataclasses import replace

from sparray.compiler.cin.concretize import Reduction, split_reductions
from sparray.compiler.index_notation.nodes import (
    Access,
    Assignment,
    Expr,
)
from sparray.compiler.index_notation.simplify import (
    accesses,
    free_indices,
    substitute,
)
from sparray.compiler.index_notation.traversal import marks
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.draft import (
    Compute,
    Planner,
    bind,
    part_of,
    used_operands,
)
from sparray.compiler.scheduler.result_size import result_entries
from sparray.compiler.scheduler.temporaries import temporary_format
from sparray.errors import UnsupportedError
from sparray.formats.named import named_format

__all__ = ["sums_first", "try_sums_first"]


def try_sums_first(
    planner: Planner, problem: Problem, result: str, compute: Compute, *, needed: bool
) -> Planner | None:
    """Return a planner with each sum computed for itself, if that is possible."""
    value, reductions = split_reductions(problem.assignment.value)
    if not _may_split(problem, value, reductions):
        return None
    split = planner.branch()
    try:
        sums_first(split, problem, result, compute)
    except UnsupportedError:
        # A part may walk an operand in no order beside a temporary: as a whole the
        # problem needed no order.
        if needed:
            raise
        return None
    return split


def sums_first(
    planner: Planner, problem: Problem, result: str, compute: Compute
) -> None:
    """Compute each reduction as a temporary, then the rest of the expression."""
    value, reductions = split_reductions(problem.assignment.value)
    planner.reasons.append(
        Reason(
            "compute the sums first",
            "they need other loops than the rest of the expression",
        )
    )
    specs, terms = dict(problem.operands), {}
    positions = dict(planner.statistics.positions)
    for item in reductions:
        kept = free_indices(item.reduce)
        indices = [i for i in problem.assignment.target.indices if i in kept]
        format = temporary_format(problem.output.format, len(indices))
        part = part_of(problem, item.reduce, indices, format)
        if not part.has_known_fill:
            # Every entry is stored, so it may as well be dense.
            dense = named_format("dense", len(indices))
            part = part_of(problem, item.reduce, indices, dense)
        name = item.workspace.tensor
        bind(planner, part, name, compute)
        specs[name] = part.output
        terms[item.workspace] = Access(name, part.assignment.target.indices)
        entries = round(result_entries(part, planner.statistics))
        positions[name] = [entries] * part.output.format.ndim
    planner.statistics = replace(planner.statistics, positions=positions)
    rest = substitute(value, terms)
    final = replace(
        problem,
        assignment=Assignment(problem.assignment.target, rest),
        operands=used_operands(tuple(specs.items()), rest),
    )
    compute(planner, final, result)


def _may_split(
    problem: Problem, value: Expr, reductions: tuple[Reduction, ...]
) -> bool:
    """Tell whether each reduction can be an array of its own.

    A temporary without dimensions cannot say that nothing was added up, on which the
    pattern of a sparse result may depend. Nor may it be part of what a mask lets
    through: it would pass for the constant that the result is elsewhere.
    """
    if not reductions or isinstance(value, Access):
        return False
    if marks(value) and not all(free_indices(item.reduce) for item in reductions):
        return False
    return problem.output.format.is_dense or not any(
        not free_indices(item.reduce)
        and any(
            not problem.specs[a.tensor].format.is_dense for a in accesses(item.reduce)
        )
        for item in reductions
    )
