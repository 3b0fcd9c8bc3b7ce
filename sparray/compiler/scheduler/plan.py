"""Plan a problem: one kernel, or several with temporaries between them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sparray.compiler import names
from sparray.compiler.index_notation.dtypes import accumulated_dtype, settle_literals
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.printer import print_access
from sparray.compiler.index_notation.simplify import (
    accesses,
    free_indices,
    simplify_typed,
)
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.by_hand import ByHand
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.conversions import is_direct
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.factor import factor_invariants
from sparray.compiler.scheduler.gathering import gather_operands
from sparray.compiler.scheduler.nested import inner_reduction, replace_expression
from sparray.compiler.scheduler.options import result_entries
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.planner import (
    Planner,
    bind,
    compute,
    compute_alone,
    convert,
    converted,
    follow,
    follow_by_hand,
    part_of,
    used_operands,
    ways_of,
)
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.steps import (
    CutStep,
    PackStep,
    Plan,
    sort_step,
)
from sparray.compiler.scheduler.temporaries import (
    can_assemble,
    coordinate_list,
    has_blocks,
    is_coordinate_list,
    may_be_unwalkable,
    searched_spec,
    sorted_spec,
    temporary_format,
    without_blocks,
)
from sparray.compiler.scheduler.unsorted import walked_unsorted
from sparray.compiler.scheduler.ways import Way
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.formats.slices import joined_format

__all__ = ["plan", "plan_ways"]


def plan(
    problem: Problem,
    statistics: Statistics,
    vector_bytes: int,
    way: Way | ByHand | None = None,
) -> Plan:
    """Return the cheapest plan that the cost model finds.

    Parameters
    ----------
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of the operands.
    vector_bytes : int
        Width of the target's vector registers.
    way : Way or ByHand, optional
        One of `plan_ways`, to be taken instead; or a schedule that a user wrote for the
        one kernel.

    Returns
    -------
    Plan
        Steps and reasons.

    Raises
    ------
    UnsupportedError
        If no sequence of steps that sparray knows computes the problem.
    ScheduleError
        If the user's schedule does not fit it.

    Notes
    -----
    Considered: a single kernel; an operand converted first; the result in another
    order of levels, then converted; the result's entries collected as a list of
    coordinates, sorted, then packed; each sum as a temporary of its own. All by the
    cost model, conversions included.
    """
    if isinstance(way, ByHand):
        return _plan_by_hand(problem, statistics, vector_bytes, way)
    planner = _prepared(problem, statistics, vector_bytes)
    main = _main_part(planner)
    if way is not None:
        follow(planner, main.problem, way, main.result)
        planner.reasons.append(Reason(str(way), "measured as the best, or asked for"))
    elif main.alone:
        compute_alone(planner, main.problem, main.result)
    else:
        compute(planner, main.problem, main.result)
    main.finish()
    return Plan(
        problem,
        tuple(planner.steps),
        tuple(planner.reasons),
        tuple(planner.weighed),
    )


def _plan_by_hand(
    problem: Problem, statistics: Statistics, vector_bytes: int, by_hand: ByHand
) -> Plan:
    planner = _arranged(problem, statistics, vector_bytes)
    follow_by_hand(planner, planner.problem, by_hand, names.OUTPUT)
    return Plan(problem, tuple(planner.steps), tuple(planner.reasons))


def plan_ways(
    problem: Problem, statistics: Statistics, vector_bytes: int
) -> tuple[Way, ...]:
    """Return every legal decision for a problem, the cheapest first.

    Parameters
    ----------
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of the operands.
    vector_bytes : int
        Width of the target's vector registers.

    Returns
    -------
    tuple of Way
        Loop orders × ways of assembly × conversions × workspaces × tiles × unrolling ×
        prefetching × threads; always in the same order.

    Notes
    -----
    What comes before the main part (operands that must be sorted, sums inside others)
    and conversions on the way are planned as always; estimates leave the former out.
    """
    planner = _prepared(problem, statistics, vector_bytes)
    main = _main_part(planner)
    return ways_of(planner, main.problem, alone=main.alone)


def _prepared(problem: Problem, statistics: Statistics, vector_bytes: int) -> Planner:
    """Return a plan up to its main part, with which every way begins."""
    planner = _arranged(problem, statistics, vector_bytes)
    _compute_nested(planner)
    return planner


def _arranged(problem: Problem, statistics: Statistics, vector_bytes: int) -> Planner:
    """Return a plan with the operands as kernels take them, and nothing computed."""
    bindings = {name: name for name, _ in problem.operands}
    planner = Planner(problem, statistics, vector_bytes, bindings)
    _rewrite(planner)
    _list_entries(planner)
    _prepare_searches(planner)
    gather_operands(planner)
    _sort_operands(planner)
    return planner


@dataclass(frozen=True, slots=True)
class _MainPart:
    """What is left to compute, as what, whether by one kernel, and what follows."""

    problem: Problem
    result: str
    alone: bool = False
    finish: Callable[[], None] = lambda: None


def _main_part(planner: Planner) -> _MainPart:
    """Return what is left to compute: the result, or what it is made of."""
    return _part(planner, planner.problem, names.OUTPUT)


def _part(planner: Planner, problem: Problem, result: str) -> _MainPart:
    """Return what is left to compute of a problem, whose result gets a name.

    A result whose levels no kernel makes has an operand's pattern, and so that
    operand's levels, or its entries are put one by one where there is room for them;
    or it is computed in another format, of which it is made then.
    """
    if can_assemble(problem.output.format):
        return _MainPart(problem, result)
    if best_candidate(problem, planner.statistics) is not None:
        return _MainPart(problem, result, alone=True)
    if problem.output.format.batch_ndim:
        return _in_one_piece(planner, problem, result)
    rows = _rows_for_blocks(planner, problem)
    if rows is not None:
        return _by_rows(planner, problem, rows, result)
    return _as_a_list(planner, problem, result)


def _in_one_piece(planner: Planner, problem: Problem, result: str) -> _MainPart:
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
) -> _MainPart:
    """Return the result as rows of entries, whose blocks are filled then."""
    made = planner.fresh()
    planner.reasons.append(
        Reason(
            "compute the entries first, then their blocks",
            "the operands are not stored along rows of blocks",
        )
    )

    def fill() -> None:
        convert(planner, made, rows, problem.output, result)

    return _MainPart(replace(problem, output=rows), made, finish=fill)


def _as_a_list(planner: Planner, problem: Problem, result: str) -> _MainPart:
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
            convert(planner, made, listed, problem.output, result)
            return
        planner.steps.append(PackStep(made, result, problem.output))

    return _MainPart(replace(problem, output=listed), made, finish=pack)


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
        made = converted(planner, source, spec, wanted)
        planner.reasons.append(
            Reason(
                f"convert {name} to {wanted.format}",
                f"it is read as {print_access(access)}, for which its levels cannot "
                "be searched",
            )
        )
        planner.replace_operand(name, made, wanted)


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
    walked = walked_unsorted(problem, unsorted, planner.statistics)
    for name, spec in unsorted.items():
        if name in walked:
            continue
        source = planner.bindings[name]
        if not is_coordinate_list(spec.format):
            listed = coordinate_list(spec, unique=spec.format.unique)
            source, spec = converted(planner, source, spec, listed), listed
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


def _compute_nested(planner: Planner) -> None:
    """Compute reductions that stand inside others, the innermost first."""
    while True:
        problem = planner.problem
        inner = inner_reduction(problem.assignment.value)
        if inner is None:
            return
        indices = free_indices(inner)
        used = used_operands(problem.operands, inner)
        format = infer_format(Assignment(Access(names.OUTPUT, indices), inner), used)
        part = part_of(problem, inner, indices, format)
        if format.is_dense and part.has_known_fill:
            format = temporary_format(problem.output.format, len(indices))
            part = part_of(problem, inner, indices, format)
        # No operand has such a name, no workspace, and no variable.
        name = f"inner{len(problem.operands)}"
        planner.reasons.append(
            Reason(f"compute {name} first", "it is a sum inside another one")
        )
        bind(planner, part, name)
        entries = round(result_entries(part, planner.statistics))
        positions = {**planner.statistics.positions, name: [entries] * format.ndim}
        planner.statistics = replace(planner.statistics, positions=positions)
        value = replace_expression(
            problem.assignment.value, inner, Access(name, indices)
        )
        assignment = Assignment(problem.assignment.target, value)
        operands = (*problem.operands, (name, part.output))
        planner.problem = replace(problem, assignment=assignment, operands=operands)
