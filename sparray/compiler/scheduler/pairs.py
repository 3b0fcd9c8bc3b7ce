"""Products of many factors, multiplied two at a time."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Reduce,
)
from sparray.compiler.index_notation.simplify import (
    free_indices,
)
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.contraction import (
    contraction_factors,
    contraction_path,
    occupied,
)
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.draft import (
    Compute,
    Planner,
    bind,
    part_of,
    used_operands,
)
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.result_size import result_entries
from sparray.errors import UnsupportedError
from sparray.formats.named import named_format

__all__ = ["PAIRS_SHARE", "try_pairs"]

PAIRS_SHARE = 0.75
"""Share of the cost of one kernel below which factors are multiplied in pairs: what the
estimates leave out is memory for the products, and that they are written and read."""


def try_pairs(
    planner: Planner, problem: Problem, result: str, compute: Compute
) -> Planner | None:
    """Return a planner that multiplies many factors pair by pair, if that may be."""
    factors = contraction_factors(problem)
    if not factors or planner.direct_only:
        return None
    path = contraction_path(factors, problem, planner.statistics)
    pairs = planner.branch()
    try:
        done = bool(path) and _multiply(
            pairs, problem, list(factors), path, result, compute
        )
    except UnsupportedError:
        return None
    return pairs if done else None


def _multiply(
    planner: Planner,
    problem: Problem,
    factors: list[Access],
    path: Sequence[Sequence[int]],
    result: str,
    compute: Compute,
) -> bool:
    """Append the steps of a contraction path; False where a temporary cannot be."""
    target = problem.assignment.target
    along = dict.fromkeys(i for access in factors for i in access.indices)
    order: list[str] = []
    for step in path[:-1]:
        pair = [factors[place] for place in sorted(step)]
        left = [f for place, f in enumerate(factors) if place not in step]
        outside = {i for access in (target, *left) for i in access.indices}
        found = [i for i in along if any(i in access.indices for access in pair)]
        indices = tuple(i for i in found if i in outside)
        if len(step) != 2 or not indices:
            # A number cannot say that nothing was added up.
            return False
        value = _summed(pair, indices)
        part = _pair_part(problem, value, indices)
        # No operand has such a name, no workspace, and no variable.
        made = Access(f"pair{len(order) + 1}", indices)
        bind(planner, part, made.tensor, compute)
        order.append(f"{made.tensor} = {pair[0].tensor} * {pair[1].tensor}")
        _note_entries(planner, part, made)
        operands = (*problem.operands, (made.tensor, part.output))
        problem = replace(problem, operands=operands)
        factors = [*left, made]
    order.append(f"then {factors[0].tensor} * {factors[1].tensor}")
    planner.reasons.append(
        Reason(
            f"multiply in pairs: {', '.join(order)}",
            "far fewer products than one kernel over all indices has",
        )
    )
    last = _summed(factors, target.indices)
    final = replace(
        problem,
        assignment=Assignment(target, last),
        operands=used_operands(problem.operands, last),
    )
    compute(planner, final, result)
    return True


def _summed(factors: Sequence[Access], kept: Sequence[str]) -> Expr:
    """Return the sum of a product over every index that is not kept."""
    product: Expr = Apply("mul", tuple(factors))
    summed = tuple(i for i in free_indices(product) if i not in kept)
    return Reduce("add", summed, product) if summed else product


def _pair_part(problem: Problem, value: Expr, indices: tuple[str, ...]) -> Problem:
    """Return the problem of a product, sparse where the whole result is.

    A dense one would have entries where the whole has none.
    """
    used = used_operands(problem.operands, value)
    format = infer_format(Assignment(Access(names.OUTPUT, indices), value), used)
    has_sparse = any(not spec.format.is_dense for _, spec in used)
    if format.is_dense and has_sparse and not problem.output.format.is_dense:
        format = named_format("csf", len(indices))
    return part_of(problem, value, indices, format)


def _note_entries(planner: Planner, part: Problem, made: Access) -> None:
    """Add what is expected of a product to what is known of operands."""
    places = prod(planner.statistics.extent(index) for index in made.indices)
    entries = occupied(result_entries(part, planner.statistics), places)
    positions = planner.statistics.positions_in(
        part.output.format, part.assignment.target.indices, entries
    )
    known = {**planner.statistics.positions, made.tensor: positions}
    planner.statistics = replace(planner.statistics, positions=known)
