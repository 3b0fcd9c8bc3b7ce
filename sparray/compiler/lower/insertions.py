"""How many coordinates a workspace can get from its producer, before that runs."""

from sparray.compiler import names
from sparray.compiler.cin.nodes import Forall, Where
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, minimum, mul, sub
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.forall import loop_walkers
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lower_statement
from sparray.compiler.lower.walker import Walker, walker

__all__ = ["most_insertions"]


def most_insertions(statement: Where, scope: Scope, ctx: Context) -> ir.Expr:
    """Emit loops that count what comes at most; return that, an int64.

    **Rewrite**: of the producer ``∀k ∀j w[j] += A[i,k] * B[k,j]``: ``∀k most += (the
    number of positions that the loop over j has)``. It is never more than the index
    has values.

    Parameters
    ----------
    statement : Where
        Its workspace has one index.
    scope : Scope
        That of the producer.
    ctx : Context
        Statements are emitted here.
    """
    (index,) = statement.workspace.indices
    most = ctx.builder.declare("most", literal(0))

    def measure(loop: Forall, inside: Scope) -> bool:
        loops = (loop.index, *loop.fused)
        if index not in map(names.whole, loops):
            return False
        ctx.builder.assign(most, add(most, _steps(loop, index, inside, ctx)))
        return True

    with ctx.asked_first(measure):
        lower_statement(statement.producer, scope, ctx)
    return minimum(most, extent_of(index))


def _steps(loop: Forall, index: str, scope: Scope, ctx: Context) -> ir.Expr:
    """Return how many values of an index a loop over it, or its blocks, brings at most.

    All of them where the loop alone does not say.
    """
    part = names.derived(loop.index)
    is_outer = isinstance(part, names.Block) and not part.is_remainder
    if loop.fused or loop.pos or (part is not None and not is_outer):
        return extent_of(index)
    walked, points = loop_walkers(loop, scope, ctx)
    if not points:
        return literal(0)
    if not walked or frozenset() in points:
        return extent_of(index)
    lengths = [_length(walker(access, scope, ctx)) for access in walked]
    steps = lengths[0]
    for length in lengths[1:]:
        both = points == (frozenset(walked),)
        steps = minimum(steps, length) if both else add(steps, length)
    if isinstance(part, names.Block):
        steps = mul(steps, literal(part.size))
    return steps


def _length(w: Walker) -> ir.Expr:
    """Return the number of positions: 0 where a clamped range ends before it starts."""
    return ir.Binary("max", sub(w.end, w.begin), literal(0), "int64")
