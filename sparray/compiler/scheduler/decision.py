"""Schedule one problem that needs no temporary: pick commands, give reasons."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sparray.compiler import names
from sparray.compiler.cin.concretize import concretize, split_reductions
from sparray.compiler.cin.nodes import Stmt
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.nodes import Access, Expr
from sparray.compiler.index_notation.simplify import (
    accesses,
    free_indices,
    is_zero,
    substitute,
)
from sparray.compiler.levels import level_index, loop_parts, n_levels
from sparray.compiler.loop_ir.operators import operator
from sparray.compiler.merge_lattice import absent
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.accumulate import Accumulate
from sparray.compiler.schedule.assemble import Assemble, Assembly
from sparray.compiler.schedule.parallelize import Parallelize
from sparray.compiler.schedule.prefetch import Prefetch
from sparray.compiler.schedule.reorder import Reorder
from sparray.compiler.schedule.split import Split
from sparray.compiler.schedule.tile import Tile
from sparray.compiler.schedule.unroll import Unroll
from sparray.compiler.schedule.vectorize import Vectorize
from sparray.compiler.scheduler.assembly import Choice, choose_assembly, walked_at
from sparray.compiler.scheduler.cost_model import (
    COSTS,
    LoopEstimate,
    estimate_loops,
    nest_cost,
)
from sparray.compiler.scheduler.limits import check_merges, check_reductions
from sparray.compiler.scheduler.loop_order import allowed_orders, constraints
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.tiling import (
    PREFETCH_DISTANCE,
    SUMS,
    can_reduce_in_vectors,
    can_tile,
    tile_sizes,
)
from sparray.errors import UnsupportedError
from sparray.formats.level import Locatable

__all__ = [
    "Candidate",
    "Command",
    "Decision",
    "Reason",
    "best_candidate",
    "candidate_in",
    "decide",
]

_LONGEST_LIST = 2**22
"""Extent up to which a list workspace is always taken: 17 bytes each, per thread."""
_LIST_PER_PRODUCT = 16
"""Beyond it, coordinates per product up to which it is still taken."""

Command = (
    Split | Reorder | Accumulate | Tile | Prefetch | Unroll | Vectorize | Parallelize
)


@dataclass(frozen=True, slots=True)
class Reason:
    """One decision of the scheduler and why it was taken."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A problem with its schedule.

    Attributes
    ----------
    problem : Problem
        What is computed.
    stages : tuple of Stmt
        The CIN at first and after each command.
    commands : tuple of Command
        What was applied.
    assemble : Assemble
        How the result comes into being.
    loops : tuple of LoopEstimate
        Estimated iterations, outermost loop first.
    cost : float
        In units of one multiply-add.
    reasons : tuple of Reason
        One for each decision.
    """

    problem: Problem
    stages: tuple[Stmt, ...]
    commands: tuple[Command, ...]
    assemble: Assemble
    loops: tuple[LoopEstimate, ...]
    cost: float
    reasons: tuple[Reason, ...]

    @property
    def statement(self) -> Stmt:
        """The CIN that is lowered."""
        return self.stages[-1]

    @property
    def schedule(self) -> str:
        """The commands as text."""
        return ".".join(map(str, (*self.commands, self.assemble)))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loop order with the way of assembly that it admits."""

    order: tuple[str, ...]
    choice: Choice
    cost: float


@dataclass(frozen=True, slots=True)
class _Shape:
    """The parts of an assignment that decisions look at."""

    value: Expr
    merged: Expr
    reduced: tuple[str, ...]
    parts: Mapping[str, tuple[str, ...]]
    terms: tuple[Expr, ...]
    ops: tuple[str, ...]
    copies: bool


def _shape(problem: Problem) -> _Shape:
    assignment = problem.assignment
    value, reductions = split_reductions(assignment.value)
    merged = substitute(
        value, {item.workspace: item.reduce.operand for item in reductions}
    )
    reduced = dict.fromkeys(i for item in reductions for i in item.reduce.indices)
    terms = tuple(item.reduce.operand for item in reductions)
    ops = tuple(item.reduce.op for item in reductions)
    parts = loop_parts(accesses(merged), problem.specs)
    loops = tuple(part for i in reduced for part in parts.get(i, (i,)))
    copies = isinstance(value, Access)
    return _Shape(value, merged, loops, parts, terms, ops, copies)


def best_candidate(problem: Problem, statistics: Statistics) -> Candidate | None:
    """Return the cheapest loop order that needs no temporary, or None."""
    shape = _shape(problem)
    target = problem.assignment.target
    found = accesses(shape.merged)
    kept = (part for i in target.indices for part in shape.parts.get(i, (i,)))
    indices = [*kept, *shape.reduced]
    if not _walks_loops(shape, indices, problem):
        return None
    pairs = frozenset[tuple[str, str]]().union(
        *(
            constraints(access, problem.specs[access.tensor], indices)
            for access in found
        )
    )
    orders = allowed_orders(
        indices, pairs, [_stored_order(a, problem) for a in (target, *found)]
    )
    best: Candidate | None = None
    for order in orders:
        candidate = _judge(order, shape, problem, statistics)
        if candidate is not None and (best is None or candidate.cost < best.cost):
            best = candidate
    return best


def candidate_in(
    order: Sequence[str], problem: Problem, statistics: Statistics
) -> Candidate | None:
    """Return the candidate with a given loop order, which the levels must allow."""
    shape = _shape(problem)
    if not _walks_loops(shape, order, problem):
        return None
    return _judge(tuple(order), shape, problem, statistics)


def _walks_loops(shape: _Shape, loops: Sequence[str], problem: Problem) -> bool:
    """Tell whether each level that must be walked has a loop of its own index.

    A column that follows from a diagonal and a row is known inside the row's loop only:
    there has to be one, and a sum over the rows cannot stand inside the loops of the
    result.
    """
    found = accesses(shape.merged)
    for index, parts in shape.parts.items():
        part = names.derived(parts[0])
        if not isinstance(part, names.Diagonal):
            continue
        summed = part.row in shape.reduced
        if summed and index in problem.assignment.target.indices:
            return False
        if part.row not in loops:
            return False
    return all(
        level_index(problem.specs[access.tensor], access, depth) in loops
        for access in found
        for depth, level in enumerate(problem.specs[access.tensor].format.levels)
        if not isinstance(level, Locatable)
    )


def _stored_order(access: Access, problem: Problem) -> list[str]:
    spec = problem.specs[access.tensor]
    return [level_index(spec, access, depth) for depth in range(n_levels(spec))]


def _judge(
    order: tuple[str, ...], shape: _Shape, problem: Problem, statistics: Statistics
) -> Candidate | None:
    reduced = frozenset(shape.reduced)
    choice = choose_assembly(shape.merged, order, reduced, problem)
    if choice.way is None:
        return None
    late = _late(order, reduced)
    if set(late) & set(names.wholes(order[: len(order) - _from_first(order, reduced)])):
        # Some parts of an index stand before a sum and some in it: a workspace over
        # the index would be emptied for each of the former.
        return None
    if late and not _can_be_late(late, shape, choice, problem):
        return None
    cost = nest_cost(shape.merged, order, problem, statistics)
    leaves = estimate_loops(shape.merged, order, problem, statistics)
    iterations = leaves[-1].iterations if leaves else 1.0
    if late and _list_too_long(late, choice, problem, statistics, iterations):
        return None
    if problem.prune:
        iterations *= COSTS["kept"]
    if late and choice.way is Assembly.APPEND:
        cost += COSTS["list"] * iterations
    if choice.way is Assembly.SCATTER:
        cost += COSTS["scatter"] * iterations
    if _parallel_index(order, shape, choice, problem) is None:
        cost *= COSTS["serial"]
    return Candidate(order, choice, cost)


def _late(order: Sequence[str], reduced: frozenset[str]) -> list[str]:
    inside = order[len(order) - _from_first(order, reduced) :]
    return list(names.wholes(i for i in inside if i not in reduced))


def _from_first(order: Sequence[str], reduced: frozenset[str]) -> int:
    """Return how many loops there are from the first reduction's on."""
    first = next((n for n, index in enumerate(order) if index in reduced), len(order))
    return len(order) - first


def _can_be_late(
    late: list[str], shape: _Shape, choice: Choice, problem: Problem
) -> bool:
    """Tell whether loops of the target may stand inside the one reduction's."""
    if len(shape.terms) != 1 or not set(late) <= set(free_indices(shape.terms[0])):
        return False
    if operator(shape.ops[0]).identity != 0:
        # What accumulates in memory starts from zeros.
        return False
    if choice.way is Assembly.INSERT:
        return shape.copies or len(late) == 1
    if not problem.output.format.is_sorted:
        return shape.copies
    return choice.way is Assembly.APPEND and len(late) == 1


def _list_too_long(
    late: list[str],
    choice: Choice,
    problem: Problem,
    statistics: Statistics,
    iterations: float,
) -> bool:
    """Tell whether a list workspace would be far longer than what it collects.

    Its memory grows with the extent of its index. A list of the products, sorted,
    grows with their number alone.
    """
    if choice.way is not Assembly.APPEND or not problem.output.format.is_sorted:
        return False
    extent = statistics.extents[late[0]]
    return extent > _LONGEST_LIST and extent > _LIST_PER_PRODUCT * iterations


def _parallel_index(
    order: Sequence[str], shape: _Shape, choice: Choice, problem: Problem
) -> str | None:
    """Return the outermost index if its loop may run on several threads."""
    if not order or order[0] in shape.reduced:
        return None
    if isinstance(names.derived(order[0]), names.Diagonal):
        return None
    if choice.way is Assembly.SCATTER:
        return None
    walked, points = walked_at(shape.merged, order[0], problem)
    if choice.way is Assembly.APPEND and not problem.output.format.levels[0].full:
        return None
    if not walked:
        return order[0]
    alone = len(walked) == 1 and frozenset() not in points
    outermost = problem.specs[walked[0].tensor].format.levels[0]
    return order[0] if alone and outermost.unique else None


def decide(
    problem: Problem, candidate: Candidate, statistics: Statistics, vector_bytes: int
) -> Decision:
    """Turn a candidate into a schedule.

    Raises
    ------
    UnsupportedError
        If the expression reduces by another operator than addition over an index
        that an operand stores sparsely: its absent entries would count too.
    """
    shape = _shape(problem)
    check_reductions(problem)
    check_merges(problem, shape.merged)
    order, choice = candidate.order, candidate.choice
    if choice.way is None:
        raise UnsupportedError(f"expected a way of assembly, got none: {choice.reason}")
    reasons = [
        Reason(f"loop order {' '.join(order) or '(none)'}", _why_order(problem, order)),
        Reason(f"assemble by {choice.way.value}", choice.reason),
    ]
    stages = [concretize(problem.assignment, partial(_accumulator, problem))]
    commands: list[Command] = []

    def apply(command: Command, why: str) -> None:
        commands.append(command)
        stages.append(command.apply(stages[-1]))
        reasons.append(Reason(str(command), why))

    for index, parts in shape.parts.items():
        apply(
            Split(index, parts),
            f"an operand stores {' and '.join(parts)} in place of {index}",
        )
    if order:
        commands.append(Reorder(order))
        stages.append(commands[-1].apply(stages[-1]))
    late = _late(order, frozenset(shape.reduced))
    tiled = False
    if len(shape.terms) == 1 and late:
        tiled = _late_workspace(
            order, late, choice, shape, problem, vector_bytes, apply
        )
    elif len(shape.terms) == 1:
        inner = order[-1]
        if shape.ops == ("add",) and can_reduce_in_vectors(
            inner, order, shape.merged, problem
        ):
            apply(
                Vectorize(inner), f"the sum over {inner} runs along contiguous memory"
            )
        elif _walks_one(inner, shape, problem):
            apply(
                Unroll(inner, SUMS),
                f"each step over {inner} would wait for the sum of the one before",
            )
    parallel = _parallel_index(order, shape, choice, problem)
    if parallel is not None:
        apply(
            Parallelize(parallel),
            f"each {parallel} writes its own part of the result; chunks are balanced "
            "by stored entries",
        )
    zeroed = _needs_zero(order, late, choice, shape, problem, tiled)
    return Decision(
        problem,
        tuple(stages),
        tuple(commands),
        Assemble(choice.way, choice.source, zeroed),
        estimate_loops(shape.merged, order, problem, statistics),
        candidate.cost,
        tuple(reasons),
    )


def _walks_one(index: str, shape: _Shape, problem: Problem) -> bool:
    """Tell whether a loop walks one operand, each of its coordinates once."""
    walked, points = walked_at(shape.merged, index, problem)
    if len(walked) != 1 or points != (frozenset(walked),):
        return False
    spec = problem.specs[walked[0].tensor]
    return all(level.unique for level in spec.format.levels)


def _late_workspace(
    order: Sequence[str],
    late: list[str],
    choice: Choice,
    shape: _Shape,
    problem: Problem,
    vector_bytes: int,
    apply: Callable[[Command, str], None],
) -> bool:
    """Decide what holds sums whose loop stands around a loop of the target."""
    if choice.way is Assembly.APPEND:
        if not problem.output.format.is_sorted:
            apply(Accumulate(), "the result takes coordinates more than once")
        # Otherwise it is the list workspace that `reorder` made.
        return False
    inner = order[-1]
    if late == [inner] and can_tile(inner, shape.merged, problem):
        apply(
            Tile(inner, tile_sizes(problem.output.dtype, vector_bytes)),
            f"{inner} is contiguous in every operand that has it: sums of a tile stay "
            "in vector registers",
        )
        gathered = order[-2]
        walked, _ = walked_at(shape.merged, gathered, problem)
        if len(walked) == 1:
            apply(
                Prefetch(gathered, PREFETCH_DISTANCE),
                f"{walked[0].tensor} selects rows along {gathered} that the processor "
                "cannot foresee",
            )
            apply(
                Unroll(gathered, SUMS),
                "a tile of fewer vectors would wait for each sum before the next",
            )
        return True
    if shape.copies:
        apply(
            Accumulate(),
            "the result is dense, so products are added where they belong",
        )
    return False


def _needs_zero(
    order: Sequence[str],
    late: list[str],
    choice: Choice,
    shape: _Shape,
    problem: Problem,
    tiled: bool,
) -> bool:
    """Tell whether the result's values must be zero before the kernel runs."""
    if choice.way is Assembly.INHERIT:
        # A block's padding, outside the shape, is never written, nor is a slot of a
        # level that holds nothing there.
        levels = problem.output.format.levels
        holes = any(isinstance(x, Locatable) and not x.full for x in levels)
        return holes or not problem.output.format.is_plain
    if choice.way is not Assembly.INSERT:
        return False
    if late and not tiled:
        return True
    # Every value is written if there is work even where all operands that the
    # target's loops walk are absent.
    walked = [
        access
        for index in problem.assignment.target.indices
        for loop in shape.parts.get(index, (index,))
        for access in walked_at(shape.merged, loop, problem)[0]
    ]
    # A located level may hold nothing at a coordinate, unless it is full.
    walked += [
        access
        for access in accesses(shape.merged)
        if not all(
            level.full or not isinstance(level, Locatable)
            for level in problem.specs[access.tensor].format.levels
        )
    ]
    return is_zero(absent(shape.merged, walked))


def _accumulator(problem: Problem, reduce: Expr) -> str:
    """Return the dtype in which a sum is kept: its own, 16-bit floats widened."""
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    dtype = result_dtype(reduce, dtypes)
    return "float32" if dtype == "float16" else dtype


def _why_order(problem: Problem, order: Sequence[str]) -> str:
    fixed = [
        f"{access.tensor} is stored along {' '.join(_stored_order(access, problem))}"
        for access in accesses(problem.assignment.value)
        if constraints(access, problem.specs[access.tensor], order)
    ]
    if not fixed:
        return "the cheapest of all orders: it runs along contiguous memory"
    return "the cheapest order that the levels allow: " + "; ".join(fixed)
