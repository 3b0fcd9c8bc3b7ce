"""Estimate what a loop order costs: iterations first, then how they touch memory.

The constants stand in `costs.json`; see `sparray.compiler.scheduler.costs`.
"""

from collections.abc import Mapping, Sequence
from math import log2, prod

from sparray.compiler import names
from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.affine import is_unit_step
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.simplify import accesses, contains_reduce
from sparray.compiler.index_notation.traversal import free_indices, walk
from sparray.compiler.levels import is_walked, level_index, walked_index
from sparray.compiler.loop_ir.operators import operator
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.costs import load_costs
from sparray.compiler.scheduler.overlaps import overlap_below
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.walks import walked_at
from sparray.errors import InternalError
from sparray.formats.level import Locatable, Searchable
from sparray.records import dataclass

__all__ = [
    "COSTS",
    "LoopEstimate",
    "estimate_loops",
    "leaf_cost",
    "least_cost",
    "loop_length",
    "nest_cost",
]

COSTS: Mapping[str, float] = load_costs().values
"""The constants, by name; `costs.json` says what each is the cost of, and whence."""

_PER_DOUBLING = 3.0
"""Positions that a walker passes in the time of a doubling of its step when it gallops,
and of the halving later: branches that the processor cannot foresee (measured with two
matrices of 10**5 entries among 10**9 rows)."""
_ANY: tuple[str, ...] = ()
"""An order of loops that nothing depends on."""


@dataclass(frozen=True, slots=True)
class LoopEstimate:
    """One loop of an order: its index, and how often its body runs in all."""

    index: str
    iterations: float


def estimate_loops(
    value: Expr, order: Sequence[str], problem: Problem, statistics: Statistics
) -> tuple[LoopEstimate, ...]:
    """Return the estimated iterations of each loop, outermost first.

    A loop's length is that of its shortest operand under ``*`` and the sum of its
    operands' under ``+``, as the merge lattice visits them; and the extent where a
    reduction counts what is not stored.
    """
    # A tuple stays the object that it is; a list could change.
    return _estimated(value, tuple(order), problem, statistics)


@cached_by_identity(1024)
def _estimated(
    value: Expr, order: tuple[str, ...], problem: Problem, statistics: Statistics
) -> tuple[LoopEstimate, ...]:
    total, loops = 1.0, []
    known = _lengths(value, problem, statistics)
    for index in order:
        length = known.get(index)
        if length is None:
            length = loop_length(value, index, order, problem, statistics)
            if not _depends_on_order(value, problem, statistics):
                known[index] = length
        total *= length
        loops.append(LoopEstimate(index, total))
    return tuple(loops)


def _depends_on_order(value: Expr, problem: Problem, statistics: Statistics) -> bool:
    """Tell whether the length of a loop may depend on the loops around it."""
    return bool(statistics.overlaps) or _counts_absent(value, problem)


@cached_by_identity(256)
def _lengths(value: Expr, problem: Problem, statistics: Statistics) -> dict[str, float]:
    """Return the table of those lengths of loops that are the same in any order.

    Hundreds of orders are judged for one problem, of which each loop is looked up once.
    """
    return {}


def loop_length(
    value: Expr,
    index: str,
    order: Sequence[str],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return how often a loop over an index runs its body, each time that it starts.

    Parameters
    ----------
    value : Expr
        What is computed in the loop.
    index : str
        The loop's.
    order : sequence of str
        Every loop of the nest, outermost first.
    problem : Problem
        Formats.
    statistics : Statistics
        Sizes.
    """
    if _counts_absent(value, problem) and _visits_absent(value, index, order, problem):
        return statistics.extent(index)
    outer = tuple(order) if statistics.overlaps else _ANY
    return _branch(value, index, outer, problem, statistics)


@cached_by_identity(256)
def _counts_absent(value: Expr, problem: Problem) -> bool:
    """Tell whether a reduction may count what is not stored."""
    others = any(isinstance(e, Reduce) and e.op != "add" for e in walk(value))
    filled = any(not spec.fill.is_zero for _, spec in problem.operands)
    return others or (filled and contains_reduce(value))


def _visits_absent(
    value: Expr, index: str, order: Sequence[str], problem: Problem
) -> bool:
    """Tell whether a loop visits coordinates at which nothing is stored.

    An innermost reduction does not: it takes equal terms at once.
    """
    innermost = index == order[-1] and index not in problem.assignment.target.indices
    if innermost and any(
        isinstance(e, Reduce) and problem.absence.constant(e.operand) is not None
        for e in walk(value)
    ):
        return False
    return frozenset() in walked_at(value, index, problem)[1]


@cached_by_identity(4096)
def _branch(
    expr: Expr,
    index: str,
    order: tuple[str, ...],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return how many values of an index an expression has work for."""
    extent = statistics.extent(index)
    if isinstance(expr, Literal):
        return extent
    if isinstance(expr, Access):
        return _stored(expr, index, order, problem, statistics)
    if isinstance(expr, Reduce):
        return _branch(expr.operand, index, order, problem, statistics)
    if not isinstance(expr, Apply):
        raise InternalError(f"expected an expression, got {expr!r}")
    parts = [
        _branch(child, index, order, problem, statistics) for child in expr.operands
    ]
    row = operator(expr.op)
    if row.arity == 1:
        return parts[0]
    defined = row.definition is not None and row.annihilator is not None
    if row.annihilator == 0 or defined:
        return min(parts)
    if row.conditions:
        return _chosen(expr.operands, parts)
    if row.left_annihilator == 0:
        return parts[0]
    present = [
        part
        for part, child in zip(parts, expr.operands, strict=True)
        if any(names.whole(index) in free_indices(access) for access in accesses(child))
    ]
    return min(extent, sum(present)) if present else extent


def _chosen(operands: Sequence[Expr], parts: Sequence[float]) -> float:
    """Return how much work a choice has: none where it is made for a constant."""
    _, then, otherwise = operands
    if isinstance(otherwise, Literal):
        return min(parts[0], parts[1])
    if isinstance(then, Literal):
        return parts[2]
    return max(parts)


@cached_by_identity(4096)
def _stored(
    access: Access,
    index: str,
    order: tuple[str, ...],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return how many coordinates of a level a loop of an order walks each time."""
    extent = statistics.extent(index)
    spec = problem.specs[access.tensor]
    length = extent
    for depth, level in enumerate(spec.format.levels):
        if walked_index(spec, access, depth) != index:
            continue
        if not is_walked(spec, access, depth):
            continue
        share = extent / max(1.0, statistics.extent(level_index(spec, access, depth)))
        if level.branchless or not level.unique:
            # Positions with equal coordinates are one iteration.
            here, above = (
                _distinct(access, spec, depth + n, statistics) for n in (1, 0)
            )
            fibre = here / max(1.0, above)
        else:
            fibre = statistics.fibre(access, depth)
        if order:
            fibre *= overlap_below(access, depth, order, problem, statistics)
        length = min(length, fibre * share)
    return length


def _distinct(
    access: Access, spec: TensorSpec, depth: int, statistics: Statistics
) -> float:
    """Return how many coordinates the outermost levels of an access have at most."""
    if depth == 0:
        return 1.0
    indices = [level_index(spec, access, above) for above in range(depth)]
    possible = prod(statistics.extent(index) for index in indices)
    return min(possible, float(statistics.positions[access.tensor][depth - 1]))


def _merge_steps(
    value: Expr,
    loops: Sequence[LoopEstimate],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return how many positions are passed by loops that walk several operands.

    Under ``*`` such a loop passes all positions of each, however few meet, unless the
    longest of them is so long that it gallops. What meets is rarely two long ones.
    """
    order = tuple(loop.index for loop in loops) if statistics.overlaps else _ANY
    steps, outer = 0.0, 1.0
    for loop in loops:
        steps += outer * _passed(value, loop.index, order, problem, statistics)
        outer = loop.iterations
    return steps


@cached_by_identity(1024)
def _passed(
    value: Expr,
    index: str,
    order: tuple[str, ...],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return how many positions a loop passes if it walks several operands, else 0."""
    walked = [a for a in accesses(value) if _is_walked(a, index, problem)]
    if len(walked) < 2:
        return 0.0
    lengths, means = (
        [_stored(a, index, o, problem, statistics) for a in walked]
        for o in (order, _ANY)
    )
    passed = sum(lengths)
    if _gallops(value, index, problem):
        shortest, longest = min(means), max(lengths)
        doublings = log2(max(1.0, longest / max(1.0, shortest)))
        each = len(walked) * (1.0 + _PER_DOUBLING * doublings)
        passed = min(passed, shortest * each)
    return passed


@cached_by_identity(1024)
def _gallops(value: Expr, index: str, problem: Problem) -> bool:
    """Tell whether a loop passes over what one of its operands lacks in the others."""
    walked, points = walked_at(value, index, problem)
    return points == (frozenset(walked),) and all(
        isinstance(level, Searchable) and level.unique
        for access in walked
        for depth, level in enumerate(problem.specs[access.tensor].format.levels)
        if walked_index(problem.specs[access.tensor], access, depth) == index
    )


@cached_by_identity(4096)
def _is_walked(access: Access, index: str, problem: Problem) -> bool:
    spec = problem.specs[access.tensor]
    return any(
        walked_index(spec, access, depth) == index and is_walked(spec, access, depth)
        for depth in range(len(spec.format.levels))
    )


def least_cost(
    value: Expr,
    order: Sequence[str],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return what an order costs at least by `nest_cost`, in little time."""
    if _depends_on_order(value, problem, statistics):
        return 0.0
    known = _lengths(value, problem, statistics)
    cost, total = 0.0, 1.0
    for index in order:
        cost += total
        length = known.get(index)
        if length is None:
            length = loop_length(value, index, order, problem, statistics)
            known[index] = length
        total *= length
    # Every loop but the innermost one, and not what is around all of them; a little
    # less, since sums are rounded in another order here.
    least = COSTS["loop"] * (cost - 1.0)
    return 0.999999 * (least + min(COSTS["vector"], COSTS["leaf"]) * total)


def nest_cost(
    value: Expr,
    order: Sequence[str],
    problem: Problem,
    statistics: Statistics,
) -> float:
    """Return the cost of running an expression's loops in an order.

    An access that jumps from one innermost iteration to the next costs more than one
    that does not, unless a sparse operand says where it goes: that is a gather in any
    layout.
    """
    loops = estimate_loops(value, order, problem, statistics)
    if not loops:
        return 0.0
    cost = sum(loop.iterations for loop in loops[:-1]) * COSTS["loop"]
    cost += _merge_steps(value, loops, problem, statistics) * COSTS["loop"]
    innermost = loops[-1]
    return cost + innermost.iterations * leaf_cost(value, innermost.index, problem)


@cached_by_identity(1024)
def leaf_cost(value: Expr, index: str, problem: Problem) -> float:
    """Return the cost of an iteration of a loop that is the innermost one."""
    gathers = any(_is_walked(a, index, problem) for a in accesses(value))
    jumps = 0
    contiguous = True
    for access in (*accesses(value), problem.assignment.target):
        if names.whole(index) not in free_indices(access):
            continue
        spec = problem.specs[access.tensor]
        format = spec.format
        last = level_index(spec, access, len(format.levels) - 1)
        if not isinstance(format.levels[-1], Locatable):
            contiguous = False
        elif not is_unit_step(last, index):
            jumps += not gathers
            contiguous = False
    leaf = COSTS["vector"] if contiguous else COSTS["leaf"]
    return leaf + jumps * COSTS["stride"]
