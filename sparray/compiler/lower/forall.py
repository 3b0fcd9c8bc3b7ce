"""Lower a loop over an index: dense, along one operand, or merging several."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial, reduce

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.effective import (
    effective_value,
    target_access,
)
from sparray.compiler.cin.nodes import Access, Forall
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    add,
    less,
    literal,
    mul,
    sub,
)
from sparray.compiler.lower.access import advance, is_walked
from sparray.compiler.lower.body import lower_body
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.merge import Merge
from sparray.compiler.lower.narrowing import narrowed
from sparray.compiler.lower.positions import lower_pos
from sparray.compiler.lower.prefetch import lower_prefetch
from sparray.compiler.lower.repeat import repeated_update
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.side_by_side import lower_side_by_side
from sparray.compiler.lower.statement import lower_statement
from sparray.compiler.lower.sums import use_sums
from sparray.compiler.lower.walker import Walker, segment_end, walker
from sparray.compiler.merge_lattice import Lattice, lattice

__all__ = [
    "hits_only",
    "length_of",
    "loop_walkers",
    "lower_forall",
    "lower_positions",
    "lower_range",
]


def lower_forall(statement: Forall, scope: Scope, ctx: Context) -> None:
    """Lower ``∀index body``.

    **Rewrite**: no operand to walk, or work at every coordinate → a counted loop, over
    the coordinates that the located operands may have;
    one operand, work where it is → a loop over its positions; otherwise → a merge. One
    constant update at every coordinate where none is → one update for all of these.
    """
    if ctx.instead is not None and ctx.instead(statement, scope):
        return
    if scope.tile is not None and statement.index == scope.tile.inner:
        _lower_inner(statement, scope, ctx)
        return
    if statement.index in ctx.pinned:
        pinned = ctx.pinned[statement.index]
        lower_body(statement.index, statement.body, pinned, scope, ctx)
        return
    if statement.pos:
        lower_pos(statement, scope, ctx)
        return
    if statement.fused:
        lower_range(statement, literal(0), length_of(statement), scope, ctx)
        return
    walked, points = loop_walkers(statement, scope, ctx)
    repeat = None
    if frozenset() in points:
        repeat = repeated_update(statement, walked, scope, ctx)
    if repeat is None:
        _lower_points(statement, walked, points, scope, ctx)
        return
    points = tuple(point for point in points if point)
    walked = [access for access in walked if any(access in point for point in points)]
    visited = _lower_points(statement, walked, points, scope, ctx, counted=True)
    repeat.lower(visited, scope, ctx)


def _lower_points(
    statement: Forall,
    walked: Sequence[Access],
    points: Lattice,
    scope: Scope,
    ctx: Context,
    *,
    counted: bool = False,
) -> ir.Expr:
    """Emit a loop over the points; return at how many coordinates it had work.

    That is told only where it is ``counted``.
    """
    if not points:
        return literal(0)
    if not walked:
        begin, end = narrowed(statement, scope, ctx)
        lower_range(statement, begin, end, scope, ctx)
        return sub(end, begin)
    walkers = [walker(access, scope, ctx) for access in walked]
    alone = points == (frozenset(walked),) and len(walked) == 1
    exact = walkers[0].unique and not walkers[0].skips
    if alone and (exact or not counted):
        w = walkers[0]
        lower_positions(statement, w, w.begin, w.end, scope, ctx)
        return sub(w.end, w.begin)
    visited = ctx.builder.declare("visited", literal(0)) if counted else None
    Merge(statement, walkers, points, scope, ctx, visited).lower()
    return literal(0) if visited is None else visited


def loop_walkers(
    statement: Forall, scope: Scope, ctx: Context
) -> tuple[list[Access], Lattice]:
    """Return what a loop walks, and the points at which its body has work."""
    value = effective_value(statement.body)
    walked = [
        access
        for access in dict.fromkeys(accesses(value))
        if _is_list(access, statement.index, ctx)
        or is_walked(access, statement.index, scope, ctx)
    ]
    target = target_access(statement.body).tensor
    writes = target not in ctx.absence.fills
    points = lattice(value, walked, ctx.absence, writes_constants=writes)
    # Outside a vector loop a dense loop needs no walker where none is in a point.
    used = [a for a in walked if any(a in point for point in points)]
    return used, points


def _is_list(access: Access, index: str, ctx: Context) -> bool:
    return access.tensor in ctx.lists and access.indices == (index,)


def lower_range(
    statement: Forall, begin: ir.Expr, end: ir.Expr, scope: Scope, ctx: Context
) -> None:
    """Emit a counted loop over a range of coordinates, or of pairs of them.

    **Rewrite**: ``∀i,j body`` → ``for v in range(n_i * n_j): body of i = v // n_j, j =
    v % n_j``; more of them likewise.
    """
    if statement.fused:
        _lower_fused(statement, begin, end, scope, ctx)
        return

    def lower(v: ir.Expr) -> None:
        lower_body(statement.index, statement.body, v, scope, ctx)

    if statement.unroll > 1:
        begin, end = lower_side_by_side(
            statement, statement.index, begin, end, lower, ctx
        )
    with ctx.builder.loop(statement.index, begin, end) as v:
        lower(v)


def length_of(statement: Forall) -> ir.Expr:
    """Return the number of steps of a counted loop."""
    return _product([statement.index, *statement.fused])


def _product(indices: Sequence[str]) -> ir.Expr:
    return reduce(mul, map(extent_of, indices))


def _lower_fused(
    statement: Forall, begin: ir.Expr, end: ir.Expr, scope: Scope, ctx: Context
) -> None:
    b, loops = ctx.builder, (statement.index, *statement.fused)
    body = foralls(statement.fused, statement.body)
    with b.loop("pair", begin, end) as v:
        rest: ir.Expr = v
        for n, index in enumerate(loops[:-1]):
            length = _product(loops[n + 1 :])
            ctx.pinned[index] = b.declare(
                index, ir.Binary("floordiv", rest, length, "int64")
            )
            rest = sub(rest, mul(ctx.pinned[index], length))
        ctx.pinned[loops[-1]] = b.declare(loops[-1], rest)
        lower_body(loops[0], body, ctx.pinned.pop(loops[0]), scope, ctx)
        for index in loops[1:]:
            del ctx.pinned[index]


def _lower_inner(statement: Forall, scope: Scope, ctx: Context) -> None:
    tile = scope.tile
    if tile is None:
        return
    # The tile's index is bound to the first value of the tile; `pieces` steps
    # through the rest in vectors.
    inside = advance(scope.bind(tile.index, tile.start), ctx)
    lower_statement(statement.body, inside, ctx)


def lower_positions(
    statement: Forall,
    w: Walker,
    begin: ir.Expr,
    end: ir.Expr,
    scope: Scope,
    ctx: Context,
) -> None:
    """Emit a loop over positions of one operand; equal coordinates run once."""
    b = ctx.builder
    if w.unique:
        sums = len(ctx.sums.get(target_access(statement.body).tensor, ())) + 1
        if statement.unroll > 1 and sums > 1:
            with b.loop_by_groups(w.hint, begin, end, sums) as (p, begin, end):
                for number in use_sums(statement, ctx):
                    here = add(p, literal(number))
                    _lower_position(statement, w, here, scope, ctx)
        elif statement.unroll > 1:
            lower = partial(_lower_position, statement, w, scope=scope, ctx=ctx)
            begin, end = lower_side_by_side(statement, w.hint, begin, end, lower, ctx)
        with b.loop(w.hint, begin, end) as p:
            _lower_position(statement, w, p, scope, ctx)
        return
    p = b.declare(w.hint, begin)
    last = end if isinstance(end, ir.Var | ir.Literal) else b.declare("end", end)
    with b.loop_while(less(p, last)):
        v = b.declare(statement.index, w.coordinate(p))
        segment = segment_end(w, p, last, v, ctx)
        inside = w.enter(scope, v, p, segment)
        with hits_only(w, p, ctx):
            lower_body(statement.index, statement.body, v, inside, ctx)
        b.assign(p, segment)


def _lower_position(
    statement: Forall, w: Walker, p: ir.Expr, scope: Scope, ctx: Context
) -> None:
    lower_prefetch(statement, w, p, scope, ctx)
    with hits_only(w, p, ctx):
        v = ctx.builder.declare(statement.index, w.coordinate(p))
        inside = w.enter(scope, v, p, None)
        lower_body(statement.index, statement.body, v, inside, ctx)


def hits_only(w: Walker, p: ir.Expr, ctx: Context) -> AbstractContextManager[None]:
    """Surround what is done at a position that a walker may have to skip."""
    return ctx.builder.branch(w.hit(p)) if w.skips else nullcontext()


def _quotient(a: ir.Expr, n: int) -> ir.Expr:
    return ir.Binary("floordiv", a, literal(n), "int64")
