"""Lower the prefetching of what a walked operand selects: rows, or places to fill."""

from sparray.compiler.cin.nodes import Forall
from sparray.compiler.levels import n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, minimum, sub
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.lower.access import advance
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.pieces import lanes_of
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.walker import LevelWalker, Walker

__all__ = ["lower_prefetch"]

_LINE_BYTES = 64


def lower_prefetch(
    statement: Forall, w: Walker, position: ir.Expr, scope: Scope, ctx: Context
) -> None:
    """Emit the prefetch of what is needed some positions ahead.

    That is what a tile reads, or where an entry will be written. Past the operand's
    last position the last one stands in: its coordinate may be read, and prefetching
    it again costs nothing. Tiles of a single vector get no prefetch: there it costs as
    much as it saves.
    """
    tile = scope.tile
    if not statement.prefetch or not isinstance(w, LevelWalker):
        return
    if tile is None:
        ctx.output.prefetch(_ahead(statement, w, position, scope, ctx), ctx)
        return
    dtype = ctx.problem.output.dtype
    if tile.size == lanes_of(tile.size, dtype, ctx):
        return
    b = ctx.builder
    both = {statement.index, tile.index}
    selected = [a for a in scope.places if both <= set(a.indices) and a != w.access]
    ahead = _ahead(statement, w, position, scope, ctx)
    there = ahead.bind(tile.index, tile.start)
    for access, place in advance(there.keep(selected), ctx).places.items():
        if place.depth != n_levels(ctx.spec(access.tensor)):
            continue
        buffer = ctx.values(access.tensor)
        step = max(1, _LINE_BYTES // numpy_dtype(buffer.dtype).itemsize)
        for offset in range(0, tile.size, step):
            b.emit(ir.Prefetch(buffer, add(place.element, literal(offset))))


def _ahead(
    statement: Forall, w: LevelWalker, position: ir.Expr, scope: Scope, ctx: Context
) -> Scope:
    """Return the scope in which the loop's index is what stands ahead."""
    b = ctx.builder
    last = sub(w.size(ctx), literal(1))
    ahead = b.declare(
        "ahead", minimum(add(position, literal(statement.prefetch)), last)
    )
    coordinate = b.declare(f"{statement.index}_ahead", w.coordinate(ahead))
    return scope.bind(statement.index, coordinate)
