"""Judge loop orders: which of them need no temporary, and what they cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Expr, Literal
from sparray.compiler.index_notation.simplify import (
    accesses,
    substitute,
)
from sparray.compiler.kernel_facts.allotting import allotted_depths
from sparray.compiler.levels import is_walked, n_levels, walked_index
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.assembly import Choice, choose_assembly
from sparray.compiler.scheduler.collecting import (
    Collected,
    collecting_costs,
    is_collected,
)
from sparray.compiler.scheduler.cost_model import (
    COSTS,
    estimate_loops,
    leaf_cost,
    least_cost,
    nest_cost,
)
from sparray.compiler.scheduler.filters import filters
from sparray.compiler.scheduler.loop_order import (
    allowed_orders,
    constraints,
    first_reduction,
)
from sparray.compiler.scheduler.order_refusals import refusal, too_long
from sparray.compiler.scheduler.ordering import takes_any_order
from sparray.compiler.scheduler.overlaps import repeats_of
from sparray.compiler.scheduler.shape import (
    Shape,
    late_indices,
    parallel_index,
    shape_of,
    stored_order,
)
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.tiling import can_tile
from sparray.records import dataclass

__all__ = [
    "Candidate",
    "best_candidate",
    "candidate_in",
    "candidates",
    "judge",
]


_TILE = 8.0
"""Multiply-adds that it takes to clear, add up and store the sums of a tile (TTMc of
two tensors with one entry a fibre: 7.5 and 12 by what their two ways differ)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loop order with the way of assembly that it admits.

    ``collecting`` has the kinds of workspaces that can collect sums whose coordinates
    come in no order, each with what that costs, the cheapest first; its cost is part of
    ``cost``. It is empty where nothing is collected so.
    """

    order: tuple[str, ...]
    choice: Choice
    cost: float
    collecting: tuple[tuple[str, float], ...] = ()


def best_candidate(
    problem: Problem, statistics: Statistics, most: float = inf
) -> Candidate | None:
    """Return the cheapest loop order that needs no temporary, or None.

    Of several that cost the same it is the first one that `candidates` yields. Orders
    whose loops alone cost more than another order, or than ``most``, are not judged.
    """
    shape = shape_of(problem)
    orders = list(_allowed(shape, problem))
    # What collects sums beside other operands may have fewer iterations.
    bounds = [
        least_cost(shape.merged, order, problem, statistics) if shape.copies else 0.0
        for order in orders
    ]
    ranked = sorted(enumerate(bounds), key=lambda pair: pair[1])
    best: Candidate | None = None
    place = 0
    for number, bound in ranked:
        if bound > (most if best is None else best.cost):
            break
        found = judge(orders[number], shape, problem, statistics)
        if isinstance(found, str):
            continue
        if best is None or (found.cost, number) < (best.cost, place):
            best, place = found, number
    return best


def candidates(problem: Problem, statistics: Statistics) -> Iterator[Candidate]:
    """Yield every loop order that the levels allow and that needs no temporary."""
    shape = shape_of(problem)
    for order in _allowed(shape, problem):
        candidate = judge(order, shape, problem, statistics)
        if not isinstance(candidate, str):
            yield candidate


def _allowed(shape: Shape, problem: Problem) -> Iterator[tuple[str, ...]]:
    """Yield every loop order that the levels allow."""
    target = problem.assignment.target
    found = accesses(shape.merged)
    kept = (part for i in target.indices for part in shape.parts.get(i, (i,)))
    indices = [*kept, *shape.reduced]
    if not _walks_loops(shape, indices, problem):
        return
    pairs = frozenset[tuple[str, str]]().union(
        *(
            constraints(access, problem.specs[access.tensor], indices)
            for access in found
        )
    )
    yield from allowed_orders(
        indices, pairs, [stored_order(a, problem) for a in (target, *found)]
    )


def candidate_in(
    order: Sequence[str],
    problem: Problem,
    statistics: Statistics,
    split: Mapping[str, tuple[str, ...]] | None = None,
) -> Candidate | str:
    """Return the candidate with a given loop order, which the levels must allow.

    Parameters
    ----------
    order : sequence of str
        Every loop, outermost first.
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of its operands.
    split : mapping of str to tuple of str, optional
        Indices whose loops are split, though no level stores their parts.

    Returns
    -------
    Candidate or str
        The text says why there is none.
    """
    shape = shape_of(problem, split)
    if not _walks_loops(shape, order, problem):
        return "a level must be walked, and no loop is over what it stores"
    return judge(tuple(order), shape, problem, statistics, split)


def _walks_loops(shape: Shape, loops: Sequence[str], problem: Problem) -> bool:
    """Tell whether each level that must be walked has a loop of its own index.

    A column that follows from a diagonal and a row is known inside the row's loop only:
    there has to be one, and a sum over the rows cannot stand inside the loops of the
    result. Each sum over the columns has loops of its own, so it needs the rows too.
    """
    found = accesses(shape.merged)
    kept = problem.assignment.target.indices
    for index, parts in shape.parts.items():
        part = names.derived(parts[0])
        if not isinstance(part, names.Diagonal):
            continue
        if part.row in shape.reduced and index in kept:
            return False
        sums = [summed for summed in shape.summed if index in summed]
        if any(part.row not in (*kept, *summed) for summed in sums):
            return False
        if part.row not in loops:
            return False
    return all(
        walked_index(problem.specs[access.tensor], access, depth) in loops
        for access in found
        for depth in range(n_levels(problem.specs[access.tensor]))
        if is_walked(problem.specs[access.tensor], access, depth)
    )


def judge(
    order: tuple[str, ...],
    shape: Shape,
    problem: Problem,
    statistics: Statistics,
    split: Mapping[str, tuple[str, ...]] | None = None,
) -> Candidate | str:
    """Return the candidate with a loop order, or why it needs a temporary.

    Parameters
    ----------
    order : tuple of str
        Every loop, outermost first; the levels allow it.
    shape : Shape
        Of the problem.
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of its operands.
    split : mapping of str to tuple of str, optional
        As for `candidate_in`.
    """
    reduced = frozenset(shape.reduced)
    choice = choose_assembly(shape.merged, order, reduced, problem, split)
    if choice.way is None:
        return choice.reason
    if not takes_any_order(order, shape, choice, problem):
        return "the coordinates of an operand come in no order"
    late = late_indices(order, reduced)
    refused = refusal(order, late, shape, choice, problem) if late else None
    if refused is not None:
        return refused
    if late and choice.way is Assembly.APPEND and not shape.copies:
        cost, iterations = _collected(order, late, shape, problem, statistics)
    else:
        cost, iterations = _merged(order, shape, problem, statistics)
    refused = too_long(choice, problem, statistics, iterations)
    if refused is not None:
        return refused
    if choice.way is Assembly.INSERT:
        cost += _held(order, late, iterations, shape, problem, statistics)
        cost += _jumps(order, shape, problem, statistics)
    cost = _assembled(cost, iterations, choice, problem)
    collecting: Mapping[str, float] = {}
    if late and choice.way is Assembly.APPEND:
        sums = _sums(order, late[0], iterations, shape, problem, statistics)
        sums = replace(sums, each=cost / max(1.0, sums.products))
        if is_collected(problem.output.format):
            collecting = collecting_costs(sums, statistics.workspace_bytes)
        cost += min(collecting.values(), default=COSTS["list"] * sums.entries)
    if statistics.parallel and parallel_index(order, shape, choice, problem) is None:
        cost *= COSTS["serial"]
    ranked = tuple(sorted(collecting.items(), key=lambda item: item[1]))
    return Candidate(order, choice, cost, ranked)


def _held(
    order: tuple[str, ...],
    late: list[str],
    products: float,
    shape: Shape,
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return what it costs more to hold sums that a dense result is made of.

    Those of a tile stay in registers, which are cleared before and stored after the
    loops inside. Others are loaded and stored for each product; one number at a time,
    the addition hides it.
    """
    if not late:
        return 0.0
    inner = order[-1]
    if late == [inner] and can_tile(inner, shape.merged, problem):
        first = first_reduction(order, frozenset(shape.reduced))
        loops = estimate_loops(shape.merged, order, problem, statistics)
        return _TILE * loops[first - 1].iterations if first else _TILE
    leaf = leaf_cost(shape.merged, inner, problem)
    if not shape.copies or leaf > COSTS["vector"]:
        return 0.0
    return (COSTS["memory"] - 1.0) * leaf * products


def _jumps(
    order: tuple[str, ...], shape: Shape, problem: Problem, statistics: Statistics
) -> float:
    """Return what it costs that loops pass a dense result in another order.

    Each step of a loop over an outer level, inside one over an inner level, goes
    elsewhere. Where it is the innermost one that is a part of what a leaf costs.
    """
    stored = stored_order(problem.assignment.target, problem)
    places = [stored.index(index) if index in stored else -1 for index in order]
    jumping = [
        number
        for number, place in enumerate(places[:-1])
        if 0 <= place < max(places[:number], default=-1)
    ]
    if not jumping:
        return 0.0
    loops = estimate_loops(shape.merged, order, problem, statistics)
    return COSTS["stride"] * loops[jumping[-1]].iterations


def _sums(
    order: tuple[str, ...],
    index: str,
    products: float,
    shape: Shape,
    problem: Problem,
    statistics: Statistics,
) -> Collected:
    """Return what is known of the sums that products along an index are added up to."""
    if problem.prune:
        products *= COSTS["kept"]
    first = first_reduction(order, frozenset(shape.reduced))
    units = 1.0
    if first:
        loops = estimate_loops(shape.merged, order, problem, statistics)
        units = loops[first - 1].iterations
    entries = products / repeats_of(shape.reduced, statistics)
    extent = statistics.extent(index)
    itemsize = numpy_dtype(problem.output.dtype).itemsize
    around = order[: order.index(index)] if index in order else order[:-1]
    counting = nest_cost(shape.terms[0], around, problem, statistics)
    wanted = tuple(
        (tensor, float(statistics.positions[tensor][-1]))
        for tensor in filters(order, shape, problem)
    )
    return Collected(products, entries, units, extent, itemsize, counting, wanted)


def _assembled(cost: float, products: float, choice: Choice, problem: Problem) -> float:
    """Return the cost of loops, and of how the result comes into being from them."""
    if problem.prune:
        products *= COSTS["kept"]
    if choice.way is Assembly.BLOCKS:
        # The loops run once more to list the blocks.
        cost += cost + COSTS["list"] * products
    if choice.way is Assembly.ALLOT:
        # The loops run once more for each level that is counted.
        rounds = len(allotted_depths(problem.output.format))
        cost += rounds * (cost + COSTS["scatter"] * products)
    if choice.way is Assembly.SCATTER:
        cost += COSTS["scatter"] * products
    return cost


def _merged(
    order: tuple[str, ...], shape: Shape, problem: Problem, statistics: Statistics
) -> tuple[float, float]:
    """Return the cost of loops that compute the whole expression; the products."""
    cost = nest_cost(shape.merged, order, problem, statistics)
    loops = estimate_loops(shape.merged, order, problem, statistics)
    return cost, loops[-1].iterations if loops else 1.0


def _collected(
    order: tuple[str, ...],
    late: list[str],
    shape: Shape,
    problem: Problem,
    statistics: Statistics,
) -> tuple[float, float]:
    """Return the cost of loops that collect sums to merge with the rest; the products.

    What collects them knows nothing of the rest: a product that is sampled at few
    coordinates is computed at all of them. Loops outside of both visit what the whole
    expression does.
    """
    term, first = shape.terms[0], first_reduction(order, frozenset(shape.reduced))
    collecting = estimate_loops(term, order, problem, statistics)
    units, share = 1.0, 1.0
    if first:
        units = estimate_loops(shape.merged, order, problem, statistics)[
            first - 1
        ].iterations
        share = min(1.0, units / max(1.0, collecting[first - 1].iterations))
    products = share * collecting[-1].iterations
    cost = share * nest_cost(term, order, problem, statistics)
    held: Expr = Literal(1)
    workspaces = [a for a in accesses(shape.value) if a.tensor not in problem.specs]
    rest = substitute(shape.value, dict.fromkeys(workspaces, held))
    passed = estimate_loops(rest, (*order[:first], *late), problem, statistics)
    entries = min(products, units * statistics.extent(late[0]))
    return cost + COSTS["loop"] * (entries + passed[-1].iterations), products
