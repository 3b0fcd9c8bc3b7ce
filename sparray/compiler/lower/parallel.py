"""Split the outermost loop over threads, in chunks of equal stored entries."""

from collections.abc import Iterator
from contextlib import contextmanager

from sparray.compiler import names
from sparray.compiler.cin.effective import effective_value
from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Forall,
    Sequence,
    Stmt,
    Tiles,
    Where,
)
from sparray.compiler.index_notation.simplify import accesses, free_indices
from sparray.compiler.kernel_facts.chunks import WORK_PER_THREAD, chunks_per_thread
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    add,
    equal,
    less,
    literal,
    logical_and,
    minimum,
    mul,
    sub,
)
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.forall import (
    length_of,
    loop_walkers,
    lower_positions,
    lower_range,
)
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.walker import Walker, walker
from sparray.compiler.lower.workspaces import buffered_workspaces, in_memory
from sparray.errors import InternalError
from sparray.formats.level import Locatable, PositionIterable

__all__ = [
    "dense_indices",
    "even_share",
    "lower_parallel",
    "task",
    "tasks_of",
    "team",
    "work_of",
]


@contextmanager
def task(scope: Scope, ctx: Context, lists: Iterator[Where]) -> Iterator[Scope]:
    """Surround the loops that one thread runs with its workspaces."""
    with in_memory(lists, ctx):
        scope = ctx.output.begin(scope, ctx)
        yield scope
        ctx.output.end(ctx)


@contextmanager
def tasks_of(
    statement: Forall, scope: Scope, ctx: Context, *, inner: bool
) -> Iterator[Scope]:
    """Surround a part of a parallel loop with what its task has.

    The tasks of an ``inner`` loop, which stands in a task itself, have workspaces of
    their own; what they assemble is their surroundings'.
    """
    lists = buffered_workspaces(statement)
    if not inner:
        with task(scope, ctx, lists) as inside:
            yield inside
        return
    with in_memory(lists, ctx):
        yield scope


def lower_parallel(
    statement: Forall, scope: Scope, ctx: Context, *, inner: bool
) -> None:
    """Emit a parallel loop over chunks, each a part of the statement's range.

    An ``inner`` one is in a task itself.

    **Rewrite**: ``∀i[parallel] body`` → ``parallel for t in range(chunks): ∀i in
    chunk t: body``. Where the body walks the level below a dense ``i``, chunks hold
    equal numbers of its entries, found by binary search in ``pos``; otherwise, or where
    the statement says by rows, equal parts of the range.
    """
    b = ctx.builder
    walked, points = loop_walkers(statement, scope, ctx)
    if not points:
        return
    if len(walked) > 1 or (walked and frozenset() in points):
        raise InternalError("expected a loop with one range to run in parallel")
    if walked:
        w = walker(walked[0], scope, ctx)
        total = sub(w.end, w.begin)
    else:
        total = length_of(statement)
    driver = None if walked else _entries_below(statement, ctx)
    work = _work(statement, total, driver, ctx)
    if scope.tile is not None:
        work = mul(work, literal(scope.tile.size))
    threads, chunks = team(total, work, ctx)
    if statement.chunks == "rows" or statement.fused:
        driver = None
    with b.parallel("t", chunks, threads) as t:
        ctx.chunk = t
        with tasks_of(statement, scope, ctx, inner=inner) as inside:
            if walked:
                begin, end = _positions(w, total, t, chunks, ctx)
                lower_positions(statement, w, begin, end, inside, ctx)
                return
            _lower_chunk(statement, driver, total, t, chunks, inside, ctx)


def _lower_chunk(
    statement: Forall,
    driver: "_Driver | None",
    total: ir.Expr,
    t: ir.Var,
    chunks: ir.Var,
    scope: Scope,
    ctx: Context,
) -> None:
    """Emit one chunk of a counted loop."""
    if driver is None:
        begin, end = (
            even_share(total, t, chunks),
            even_share(total, add(t, literal(1)), chunks),
        )
    else:
        begin, end = driver.range(t, chunks, total)
    first = ctx.builder.declare("first", begin)
    last = ctx.builder.declare("last", end)
    lower_range(statement, first, last, scope, ctx)


def _positions(
    w: Walker, total: ir.Expr, t: ir.Var, chunks: ir.Var, ctx: Context
) -> tuple[ir.Expr, ir.Expr]:
    """Return the positions of chunk ``t``: all of a coordinate's are in one chunk."""
    bounds = [
        add(w.begin, even_share(total, part, chunks))
        for part in (t, add(t, literal(1)))
    ]
    if w.unique:
        return bounds[0], bounds[1]
    b = ctx.builder
    begin, end = (b.declare("bound", bound) for bound in bounds)
    for bound in (begin, end):
        inside = logical_and(less(w.begin, bound), less(bound, w.end))
        split = b.declare("split", inside)
        with b.loop_while(split):
            before = w.coordinate(sub(bound, literal(1)))
            b.assign(split, equal(w.coordinate(bound), before))
            with b.branch(split):
                b.increment(bound)
                b.assign(split, less(bound, w.end))
    return begin, end


class _Driver:
    """A level below the dense parallel loop, whose ``pos`` counts entries per step.

    A step is a block of ``step`` elements of ``pos``.
    """

    def __init__(self, access: Access, step: int, ctx: Context) -> None:
        self.view = ctx.view(access, 1)
        self.buffer = self.view.buffers["pos"]
        self.size = ctx.view(access, 0).extent
        self.step = literal(step)

    def entries(self) -> ir.Expr:
        """Return the number of entries of all steps."""
        return self.view.load("pos", self.size)

    def range(
        self, t: ir.Expr, chunks: ir.Expr, total: ir.Expr
    ) -> tuple[ir.Expr, ir.Expr]:
        """Return the steps of chunk ``t``; the last chunk takes all that is left."""
        entries = self.entries()
        after = add(t, literal(1))

        def cut(chunk: ir.Expr) -> ir.Expr:
            target = even_share(entries, chunk, chunks)
            found = ir.Search(self.buffer, literal(0), self.size, target)
            if self.step == literal(1):
                return found
            return ir.Binary("floordiv", found, self.step, "int64")

        begin = ir.Select(equal(t, literal(0)), literal(0), cut(t))
        return begin, ir.Select(equal(after, chunks), total, cut(after))


def _entries_below(statement: Forall, ctx: Context) -> _Driver | None:
    for access, step in _dense_along(statement, ctx):
        for second in ctx.spec(access.tensor).format.levels[1:2]:
            if isinstance(second, PositionIterable) and "pos" in second.roles:
                return _Driver(access, step, ctx)
    return None


def _dense_along(statement: Forall, ctx: Context) -> Iterator[tuple[Access, int]]:
    """Yield the operands whose outermost level is dense along a loop.

    Each with how many of the level's coordinates a step of the loop has. Not batches:
    the buffers and sizes of their levels are those of one slice.
    """
    for access in accesses(effective_value(statement.body)):
        if access.tensor not in dict(ctx.problem.operands):
            continue
        spec = ctx.spec(access.tensor)
        levels = spec.format.levels
        if spec.format.batch_ndim or not levels:
            continue
        if not isinstance(levels[0], Locatable) or not levels[0].full:
            continue
        step = _step_of(statement.index, level_index(spec, access, 0))
        if step is not None:
            yield access, step


def _step_of(loop: str, index: str) -> int | None:
    """Return how many values of an index a step of a loop has; None if it has not."""
    if loop == index:
        return 1
    part = names.derived(loop)
    if isinstance(part, names.Block) and not part.is_remainder and part.base == index:
        return part.size
    return None


def work_of(statement: Forall, total: ir.Expr, ctx: Context) -> ir.Expr:
    """Return about how often the innermost statement of a parallel loop runs."""
    return _work(statement, total, _entries_below(statement, ctx), ctx)


def _work(
    statement: Forall, total: ir.Expr, driver: _Driver | None, ctx: Context
) -> ir.Expr:
    """Return about how often the innermost statement runs in all.

    That is once for each entry of the operand whose levels the loops walk, or else for
    each step of the loop, and that for each value of the other indices.
    """
    counted: tuple[str, ...] = ()
    if statement.fused:
        total = extent_of(statement.index)
    work = total
    if driver is not None:
        work = add(driver.entries(), total)
    else:
        stored = _stored_below(statement, ctx)
        if stored is not None:
            counted = free_indices(stored)
            work = add(_n_positions(stored, ctx), total)
    for index in dense_indices(statement.body, ctx):
        if index not in counted:
            work = mul(work, ir.Var(names.extent(index)))
    for index in statement.fused:
        if index not in counted:
            work = mul(work, extent_of(index))
    return work


def _stored_below(statement: Forall, ctx: Context) -> Access | None:
    """Return a sparse operand whose outermost level is dense along the loop."""
    for access, step in _dense_along(statement, ctx):
        levels = ctx.spec(access.tensor).format.levels
        if step == 1 and not all(level.full for level in levels):
            return access
    return None


def _n_positions(access: Access, ctx: Context) -> ir.Expr:
    """Return the number of positions of an operand's innermost level."""
    count: ir.Expr = literal(1)
    for depth in range(n_levels(ctx.spec(access.tensor))):
        level = ctx.level(access.tensor, depth)
        count = level.size(ctx.view(access, depth), count)
    return count


def team(total: ir.Expr, work: ir.Expr, ctx: Context) -> tuple[ir.Var, ir.Var]:
    """Declare how many threads and chunks the loop gets; one of each if it is tiny."""
    b = ctx.builder
    most = add(
        ir.Binary("floordiv", work, literal(WORK_PER_THREAD), "int64"), literal(1)
    )
    threads = b.declare("team", minimum(ir.Var(names.THREADS), most))
    per_thread = 1 if ctx.output.one_chunk else chunks_per_thread(ctx.assembly)
    many = minimum(mul(threads, literal(per_thread)), total)
    chunks = b.declare(
        "chunks", ir.Select(equal(threads, literal(1)), literal(1), many)
    )
    return threads, chunks


def dense_indices(statement: Stmt, ctx: Context) -> list[str]:
    """Return the indices of inner loops that no operand stores sparsely."""
    loops: list[str] = []
    while not isinstance(statement, Assign):
        if isinstance(statement, Where):
            statement = statement.producer
        elif isinstance(statement, Sequence):
            statement = statement.statements[-1]
        elif isinstance(statement, Forall | Tiles):
            loops.append(statement.index)
            statement = statement.body
        else:
            raise InternalError(f"expected a CIN statement, got {statement!r}")
    operands = [a for a in ctx.problem.reads if a.tensor in ctx.problem.specs]
    known = {index for access in operands for index in free_indices(access)}
    sparse = {
        level_index(ctx.spec(access.tensor), access, depth)
        for access in operands
        for depth, level in enumerate(ctx.spec(access.tensor).format.levels)
        if not level.full
    }
    return [index for index in loops if index in known - sparse]


def even_share(total: ir.Expr, t: ir.Expr, chunks: ir.Expr) -> ir.Expr:
    """Return where chunk ``t`` of equal ones begins."""
    return ir.Binary("floordiv", mul(total, t), chunks, "int64")
