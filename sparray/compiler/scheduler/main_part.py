"""What is left to compute of a problem by the levels of its result, and what follows.

Kernels make some results level by level. Others are made of rows, of a list of
coordinates, or of one piece that is cut.
"""

from collections.abc import Callable
from dataclasses import replace

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.conversions import is_direct
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.draft import Planner
from sparray.compiler.scheduler.format_facts import can_assemble, has_blocks
from sparray.compiler.scheduler.planner import convert_result
from sparray.compiler.scheduler.steps import (
    CutStep,
    PackStep,
)
from sparray.compiler.scheduler.temporaries import without_blocks
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.formats.slices import joined_format
from sparray.records import dataclass

__all__ = ["MainPart", "main_part"]


@dataclass(frozen=True, slots=True)
class MainPart:
    """What is left to compute, as what, whether by one kernel, and what follows."""

    problem: Problem
    result: str
    alone: bool = False
    finish: Callable[[], None] = lambda: None


def main_part(planner: Planner) -> MainPart:
    """Return what is left to compute: the result, or what it is made of."""
    return _part(planner, planner.problem, names.OUTPUT)


def _part(planner: Planner, problem: Problem, result: str) -> MainPart:
    """Return what is left to compute of a problem, whose result gets a name.

    A result whose levels no kernel makes has an operand's pattern, and so that
    operand's levels, or its entries are put one by one where there is room for them;
    or it is computed in another format, of which it is made then.
    """
    if can_assemble(problem.output.format):
        return MainPart(problem, result)
    if best_candidate(problem, planner.statistics) is not None:
        return MainPart(problem, result, alone=True)
    if problem.output.format.batch_ndim:
        return _in_one_piece(planner, problem, result)
    rows = _rows_for_blocks(planner, problem)
    if rows is not None:
        return _by_rows(planner, problem, rows, result)
    return _as_a_list(planner, problem, result)


def _in_one_piece(planner: Planner, problem: Problem, result: str) -> MainPart:
    """Return the result with all slices in the same buffers, to be cut."""
    made = planner.fresh()
    format = joined_format(problem.output.format)
    joined = replace(problem, output=replace(problem.output, format=format))
    planner.reasons.append(
        Reason(
            f"cut {format} into slices",
            "how long each slice's buffers have to be is known once all are made",
        )
    )
    whole = _part(planner, joined, made)

    def cut() -> None:
        whole.finish()
        planner.steps.append(CutStep(made, result, problem.output))

    return replace(whole, finish=cut)


def _by_rows(
    planner: Planner, problem: Problem, rows: TensorSpec, result: str
) -> MainPart:
    """Return the result as rows of entries, whose blocks are filled then."""
    made = planner.fresh()
    planner.reasons.append(
        Reason(
            "compute the entries first, then their blocks",
            "the operands are not stored along rows of blocks",
        )
    )

    def fill() -> None:
        convert_result(planner, problem, made, rows, result)

    return MainPart(replace(problem, output=rows), made, finish=fill)


def _as_a_list(planner: Planner, problem: Problem, result: str) -> MainPart:
    """Return the result as a list of coordinates, of which its levels are made."""
    made = planner.fresh()
    listed = replace(
        problem.output, format=named_format("coo", problem.output.format.ndim)
    )
    planner.reasons.append(
        Reason(
            f"pack the entries as {problem.output.format}",
            "its levels are made of all entries at once",
        )
    )

    def pack() -> None:
        if is_direct(planner.statistics, listed, problem.output):
            convert_result(planner, problem, made, listed, result)
            return
        planner.steps.append(PackStep(made, result, problem.output))

    return MainPart(replace(problem, output=listed), made, finish=pack)


def _rows_for_blocks(planner: Planner, problem: Problem) -> TensorSpec | None:
    """Return the rows of entries of which a kernel makes a result with blocks.

    Those of a copy stand as its operand's entries do, if there is a kernel for them.
    """
    if not has_blocks(problem.output.format):
        return None
    rows = without_blocks(problem.output)
    found, value, target = [rows], problem.assignment.value, problem.assignment.target
    if isinstance(value, Access) and set(value.indices) == set(target.indices):
        order = problem.specs[value.tensor].format.dimension_order
        kept = [target.indices.index(value.indices[d]) for d in order]
        found.insert(0, replace(rows, format=Format(rows.format.levels, kept)))
    for spec in found:
        if is_direct(planner.statistics, spec, problem.output):
            return spec
    return None
