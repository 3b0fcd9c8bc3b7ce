"""Turn a loop order into a schedule: pick commands, give reasons."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sparray.compiler import names
from sparray.compiler.cin.concretize import concretize
from sparray.compiler.cin.nodes import Stmt
from sparray.compiler.cin.traversal import written
from sparray.compiler.index_notation.dtypes import accumulated_dtype
from sparray.compiler.index_notation.nodes import Expr
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.index_notation.traversal import marks
from sparray.compiler.kernel_facts.appending import located_prefix
from sparray.compiler.levels import level_index, may_miss
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.problem import Problem
from sparray.compiler.schedule.accumulate import Accumulate
from sparray.compiler.schedule.assemble import Assemble, Assembly
from sparray.compiler.schedule.collect import Collect
from sparray.compiler.schedule.fuse import Fuse
from sparray.compiler.schedule.join import Join
from sparray.compiler.schedule.pack import Pack
from sparray.compiler.schedule.parallelize import Parallelize
from sparray.compiler.schedule.pos import Pos
from sparray.compiler.schedule.precompute import Precompute
from sparray.compiler.schedule.prefetch import Prefetch
from sparray.compiler.schedule.reorder import Reorder
from sparray.compiler.schedule.split import Split
from sparray.compiler.schedule.split_positions import SplitPositions
from sparray.compiler.schedule.tile import Tile
from sparray.compiler.schedule.unroll import Unroll
from sparray.compiler.schedule.vectorize import Vectorize
from sparray.compiler.scheduler.assembly import Choice
from sparray.compiler.scheduler.candidates import Candidate
from sparray.compiler.scheduler.cost_model import (
    LoopEstimate,
    estimate_loops,
)
from sparray.compiler.scheduler.format_facts import has_blocks
from sparray.compiler.scheduler.knobs import (
    Knobs,
    cost_with,
    packing_of,
    sums_side_by_side,
    walks_one,
)
from sparray.compiler.scheduler.limits import check_merges
from sparray.compiler.scheduler.line_blocks import line_blocks
from sparray.compiler.scheduler.packing import Packing
from sparray.compiler.scheduler.reasons import (
    Reason,
    why_collected,
    why_order,
    why_serial,
    why_workspaces,
)
from sparray.compiler.scheduler.shape import (
    Shape,
    late_indices,
    parallel_index,
    shape_of,
)
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.tiling import (
    SCATTER_DISTANCE,
    can_reduce_in_vectors,
    tile_sizes,
)
from sparray.compiler.scheduler.walks import walked_at
from sparray.compiler.scheduler.workspace_kinds import usual_workspace, workspace_kinds
from sparray.errors import UnsupportedError
from sparray.formats.level import Locatable
from sparray.records import dataclass

__all__ = [
    "Command",
    "Decision",
    "Reason",
    "decide",
    "decide_widely",
    "needs_zero",
    "start",
    "wide_problem",
]

Command = (
    Split
    | Reorder
    | Accumulate
    | Collect
    | Tile
    | Precompute
    | Pack
    | Fuse
    | Pos
    | SplitPositions
    | Prefetch
    | Unroll
    | Vectorize
    | Parallelize
    | Join
)


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
    statistics : Statistics
        The sizes that it was taken by.
    """

    problem: Problem
    stages: tuple[Stmt, ...]
    commands: tuple[Command, ...]
    assemble: Assemble
    loops: tuple[LoopEstimate, ...]
    cost: float
    reasons: tuple[Reason, ...]
    statistics: Statistics

    @property
    def statement(self) -> Stmt:
        """The CIN that is lowered."""
        return self.stages[-1]

    @property
    def schedule(self) -> str:
        """The commands as text."""
        return ".".join(map(str, (*self.commands, self.assemble)))


_USUAL = Knobs()


def start(problem: Problem) -> Stmt:
    """Return the statement that schedules begin with."""
    return concretize(problem.assignment, partial(_accumulator, problem))


def decide(
    problem: Problem,
    candidate: Candidate,
    statistics: Statistics,
    vector_bytes: int,
    knobs: Knobs = _USUAL,
) -> Decision:
    """Turn a candidate into a schedule, with settings of `knob_settings`.

    Raises
    ------
    UnsupportedError
        If more operands meet than a compiler takes.
    """
    shape = shape_of(problem)
    check_merges(problem, shape.merged)
    order, choice = candidate.order, candidate.choice
    if choice.way is None:
        raise UnsupportedError(f"expected a way of assembly, got none: {choice.reason}")
    reasons = [
        Reason(f"loop order {' '.join(order) or '(none)'}", why_order(problem, order)),
        Reason(f"assemble by {choice.way.value}", choice.reason),
    ]
    stages = [start(problem)]
    commands: list[Command] = []

    def apply(command: Command, why: str) -> None:
        commands.append(command)
        stages.append(command.apply(stages[-1]))
        reasons.append(Reason(str(command), why))

    order, shape = _arrange(order, shape, problem, statistics, knobs, apply)
    if order:
        commands.append(Reorder(order))
        stages.append(commands[-1].apply(stages[-1]))
    late = late_indices(order, frozenset(shape.reduced))
    kinds = workspace_kinds(order, choice, shape, problem)
    usual = usual_workspace(candidate, kinds)
    kind = knobs.workspace or usual
    if kind == "registers":
        packed = packing_of(candidate, problem, statistics)
        _tile(order, shape, problem, vector_bytes, knobs, packed, apply)
    elif kind:
        _hold_sums(kind, usual, candidate, problem, apply)
    elif len(shape.terms) == 1 and not late:
        _sum_inside(order, shape, problem, knobs, apply)
    reasons += why_workspaces(stages[-1])
    _prefetch_places(order, choice, shape, problem, apply)
    parallel = parallel_index(order, shape, choice, problem)
    if parallel is None:
        reasons.append(Reason("one thread", why_serial(order, shape, problem)))
    elif knobs.parallel:
        apply(
            Parallelize(parallel),
            f"each {parallel} writes its own part of the result; chunks are balanced "
            "by stored entries",
        )
    zeroed = needs_zero(late, choice, shape, problem, kind == "registers")
    return Decision(
        problem,
        tuple(stages),
        tuple(commands),
        Assemble(choice.way, choice.source, zeroed),
        estimate_loops(shape.merged, order, problem, statistics),
        cost_with(knobs, candidate, problem, statistics, vector_bytes),
        tuple(reasons),
        statistics,
    )


def _arrange(
    order: tuple[str, ...],
    shape: Shape,
    problem: Problem,
    statistics: Statistics,
    knobs: Knobs,
    apply: Callable[[Command, str], None],
) -> tuple[tuple[str, ...], Shape]:
    """Split loops into parts; return the order and the shape that they have then."""
    for index, parts in shape.parts.items():
        stored = f"{' and '.join(parts)} are stored in place of {index}"
        apply(Split(index, parts), stored)
    blocks = line_blocks(order, shape, problem, statistics) if knobs.blocks else None
    if blocks is None:
        return order, shape
    order, split = blocks
    for index, parts in split.items():
        apply(
            Split(index, parts),
            "arrays lie along different indices: blocks are whole cache lines of each",
        )
    return order, shape_of(problem, split)


def decide_widely(
    problem: Problem,
    candidate: Candidate,
    statistics: Statistics,
    vector_bytes: int,
    knobs: Knobs = _USUAL,
) -> Decision:
    """Turn a candidate into a schedule that rounds each 16-bit float once.

    A result that is added up in place, or is a list of what is to be added up, is of
    float32: the decision's problem says so, and its caller converts it.
    """
    decision = decide(problem, candidate, statistics, vector_bytes, knobs)
    wide = wide_problem(decision)
    if wide is None:
        return decision
    return decide(wide, candidate, statistics, vector_bytes, knobs)


def wide_problem(decision: Decision) -> Problem | None:
    """Return the problem with a result of float32, if one of 16 bits is updated."""
    problem = decision.problem
    dtype = computed_dtype(problem.output.dtype)
    updated = any(
        assignment.op is not None and assignment.target.tensor == names.OUTPUT
        for assignment in written(decision.statement)
    )
    if dtype == problem.output.dtype or not updated:
        return None
    return replace(problem, output=replace(problem.output, dtype=dtype))


def _prefetch_places(
    order: Sequence[str],
    choice: Choice,
    shape: Shape,
    problem: Problem,
    apply: Callable[[Command, str], None],
) -> None:
    """Prefetch where entries go, if the innermost loop leads from fibre to fibre."""
    if choice.way is not Assembly.SCATTER or has_blocks(problem.output.format):
        return
    inner = order[-1]
    spec, target = problem.output, problem.assignment.target
    fibres = [level_index(spec, target, depth) for depth in range(located_prefix(spec))]
    walked, points = walked_at(shape.merged, inner, problem)
    alone = len(walked) == 1 and points == (frozenset(walked),)
    if inner in fibres and alone:
        apply(
            Prefetch(inner, SCATTER_DISTANCE),
            f"each entry along {inner} goes to another fibre, which the processor "
            "cannot foresee",
        )


def _hold_sums(
    kind: str,
    usual: str,
    candidate: Candidate,
    problem: Problem,
    apply: Callable[[Command, str], None],
) -> None:
    """Hold sums in the result itself, in a table, or in a list: without a command."""
    if kind == "memory":
        apply(Accumulate(), _why_accumulate(candidate.choice, problem))
        return
    collect = Collect.named(kind)
    if collect is not None and (kind != "list" or kind != usual):
        apply(collect, why_collected(kind, candidate.collecting))


def _sum_inside(
    order: Sequence[str],
    shape: Shape,
    problem: Problem,
    knobs: Knobs,
    apply: Callable[[Command, str], None],
) -> None:
    """Decide how a sum of one number runs that has the innermost loop."""
    inner = order[-1]
    if shape.ops == ("add",) and can_reduce_in_vectors(
        inner, order, shape.merged, problem
    ):
        if knobs.vector:
            apply(
                Vectorize(inner), f"the sum over {inner} runs along contiguous memory"
            )
        if knobs.sums > 1 and sums_side_by_side(order, shape, problem):
            apply(
                Unroll(order[-2], knobs.sums),
                f"sums of {knobs.sums} {order[-2]} run side by side: what they share "
                "is loaded once, and none waits for another",
            )
    elif knobs.sums > 1 and walks_one(inner, shape, problem):
        apply(
            Unroll(inner, knobs.sums),
            f"each step over {inner} would wait for the sum of the one before",
        )


def _tile(
    order: Sequence[str],
    shape: Shape,
    problem: Problem,
    vector_bytes: int,
    knobs: Knobs,
    packed: Packing | None,
    apply: Callable[[Command, str], None],
) -> None:
    """Keep the sums of a tile of the innermost loop in registers."""
    inner, gathered = order[-1], order[-2]
    sizes = tile_sizes(problem.output.dtype, vector_bytes, knobs.tile_bytes)
    apply(
        Tile(inner, sizes),
        f"{inner} is contiguous in every operand that has it: sums of a tile stay "
        "in vector registers",
    )
    if knobs.pack and packed is not None:
        apply(
            Pack(packed.tensor, packed.index, packed.dtype),
            f"each element of {packed.tensor} is read about {packed.reads:.0f} times: "
            "a panel as wide as a tile stays in the cache, its rows side by side",
        )
    walked, _ = walked_at(shape.merged, gathered, problem)
    if len(walked) != 1:
        return
    if knobs.prefetch > 0:
        apply(
            Prefetch(gathered, knobs.prefetch),
            f"{walked[0].tensor} selects rows along {gathered} that the processor "
            "cannot foresee",
        )
    if knobs.sums > 1:
        apply(
            Unroll(gathered, knobs.sums),
            "a tile of fewer vectors would wait for each sum before the next",
        )


def _why_accumulate(choice: Choice, problem: Problem) -> str:
    if choice.way is Assembly.BLOCKS:
        return "each product is added where it belongs in its block"
    if choice.way in (Assembly.PLACE, Assembly.ALLOT):
        return "each product is added where the result has room for it"
    if choice.way is Assembly.APPEND and not problem.output.format.is_sorted:
        return "the result takes coordinates more than once"
    return "the result is dense, so products are added where they belong"


def needs_zero(
    late: list[str],
    choice: Choice,
    shape: Shape,
    problem: Problem,
    tiled: bool,
) -> bool:
    """Tell whether values must be the result's fill value before the kernel runs."""
    if choice.way is Assembly.INHERIT:
        # A block's padding, outside the shape, is never written, nor is a slot of a
        # level that holds nothing there, nor the end of a slice.
        format = problem.output.format
        holes = any(isinstance(x, Locatable) and not x.full for x in format.levels)
        return holes or not format.is_plain or format.batch_ndim > 0
    if choice.way is not Assembly.INSERT:
        return False
    if marks(shape.merged):
        # Nothing is written where a mask is or, for a complement, where it is not.
        return True
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
    absence = problem.absence
    walked += [
        access
        for access in accesses(shape.merged)
        if may_miss(problem.specs[access.tensor], access)
        and access.tensor in absence.fills
    ]
    return absence.is_constant(absence.without(shape.merged, dict.fromkeys(walked)))


def _accumulator(problem: Problem, reduce: Expr) -> str:
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    return accumulated_dtype(reduce, dtypes)
