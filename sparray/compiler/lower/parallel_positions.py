"""Split a loop over positions over threads, in chunks of equal stored entries."""

from sparray.compiler.cin.nodes import Forall
from sparray.compiler.kernel_facts.positions import kept_loops
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.parallel import dense_indices, even_share, tasks_of, team
from sparray.compiler.lower.positions import Positions
from sparray.compiler.lower.scope import Scope

__all__ = ["lower_parallel_positions"]


def lower_parallel_positions(
    statement: Forall, scope: Scope, ctx: Context, *, inner: bool
) -> None:
    """Emit a parallel loop over chunks of an operand's positions.

    An ``inner`` one is in a task itself.

    **Rewrite**: ``∀i,j[pos A; parallel] s`` → ``parallel for t in range(chunks): for p
    in chunk t: s`` of the coordinates at ``p``. Where the result has not all of the
    indices, chunks end where those change that it has.
    """
    b = ctx.builder
    walk = Positions(statement, ctx)
    total = b.declare("entries", walk.total)
    work: ir.Expr = total
    for index in dense_indices(statement.body, ctx):
        work = mul(work, extent_of(index))
    threads, chunks = team(total, work, ctx)
    kept = kept_loops(statement)
    if statement.block:
        chunks = b.declare("blocks", walk.blocks(total))
    with b.parallel("t", chunks, threads) as t:
        ctx.chunk = t
        with tasks_of(statement, scope, ctx, inner=inner) as inside:
            if statement.block:
                first, last = walk.block(t, total)
            else:
                first = b.declare("first", even_share(total, t, chunks))
                after = even_share(total, add(t, literal(1)), chunks)
                last = b.declare("last", after)
            if kept is not None and kept < len(walk.loops):
                first, last = (walk.cut(end, total, kept) for end in (first, last))
            walk.run(first, last, inside)
