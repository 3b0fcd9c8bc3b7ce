"""Lower iterations that run side by side: one loop sums up for several of them.

**Rewrite**: ``∀j[unroll 2] (s where ∀k[vector] w += t)`` → ``for two positions: j_1,
j_2; for k: w_1 += t of j_1, w_2 += t of j_2; s of j_1; s of j_2``. What the iterations
share is loaded once for all of them, and no sum waits for another.
"""

from collections.abc import Callable, Sequence

from sparray.compiler.cin.effective import effective_value, target_access
from sparray.compiler.cin.nodes import Forall
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal
from sparray.compiler.loop_ir.traversal import free_names, walk
from sparray.compiler.lower.access import is_walked
from sparray.compiler.lower.body import lower_body
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.narrowing import narrowed
from sparray.compiler.lower.scope import Scope
from sparray.compiler.schedule.unroll import sums_in_vectors
from sparray.records import dataclass

__all__ = ["lower_side_by_side"]


@dataclass(frozen=True, slots=True)
class _Iteration:
    """One of the iterations: what stands around its sum, and where that is summed."""

    before: tuple[ir.Stmt, ...]
    after: tuple[ir.Stmt, ...]
    loop: Forall
    scope: Scope
    sum: tuple[ir.Var | None, ir.Var | None]


def lower_side_by_side(
    statement: Forall,
    hint: str,
    begin: ir.Expr,
    end: ir.Expr,
    lower: Callable[[ir.Expr], None],
    ctx: Context,
) -> tuple[ir.Expr, ir.Expr]:
    """Emit as many whole groups of iterations as there are; return what is left.

    Parameters
    ----------
    statement : Forall
        The loop, ``unroll`` iterations of which belong together.
    hint : str
        Of the name of a position, or of a coordinate.
    begin, end : ir.Expr
        Positions, or coordinates.
    lower : callable
        Emits one iteration, at a position or coordinate.
    ctx : Context
        Of the kernel.

    Returns
    -------
    begin, end : ir.Expr
        Those that are still to be visited: all of them where iterations cannot run
        side by side, as one may have nothing to sum up.
    """
    if ctx.instead is not None or ctx.counting or not sums_in_vectors(statement):
        return begin, end
    b, n = ctx.builder, statement.unroll
    with b.capture() as emitted:
        with b.loop_by_groups(hint, begin, end, n) as (p, rest, last):
            possible = _lower_group([add(p, literal(k)) for k in range(n)], lower, ctx)
    if not possible:
        return begin, end
    b.emit(*emitted)
    return rest, last


def _lower_group(
    positions: list[ir.Expr], lower: Callable[[ir.Expr], None], ctx: Context
) -> bool:
    """Emit one group; tell whether that was possible."""
    b = ctx.builder
    iterations = []
    for position in positions:
        found = _iteration(position, lower, ctx)
        if found is None:
            return False
        iterations.append(found)
    if not _independent(iterations):
        return False
    b.emit(*(s for each in iterations for s in each.before))
    loop = iterations[0].loop
    bounds = [narrowed(each.loop, each.scope, ctx) for each in iterations]
    if any(bound != bounds[0] for bound in bounds):
        return False
    name = target_access(loop.body).tensor
    with b.loop(loop.index, *bounds[0]) as v:
        for each in iterations:
            ctx.scalars[name] = each.sum
            lower_body(loop.index, loop.body, v, each.scope, ctx)
    b.emit(*(s for each in iterations for s in each.after))
    return True


def _iteration(
    position: ir.Expr, lower: Callable[[ir.Expr], None], ctx: Context
) -> _Iteration | None:
    """Return an iteration without its loop; None if it has none that can be shared."""
    b = ctx.builder
    held: list[tuple[Forall, Scope, tuple[ir.Var | None, ir.Var | None], int]] = []
    with b.capture() as emitted:
        depth = b.depth

        def hold(loop: Forall, scope: Scope) -> bool:
            if held or b.depth != depth or not loop.vector:
                return False
            # All sums run over the same coordinates.
            read = accesses(effective_value(loop.body))
            if any(is_walked(access, loop.index, scope, ctx) for access in read):
                return False
            name = target_access(loop.body).tensor
            held.append((loop, scope, ctx.scalars[name], len(emitted)))
            return True

        with ctx.asked_first(hold):
            lower(position)
    if not held:
        return None
    loop, scope, variables, place = held[0]
    return _Iteration(
        tuple(emitted[:place]), tuple(emitted[place:]), loop, scope, variables
    )


def _independent(iterations: Sequence[_Iteration]) -> bool:
    """Tell whether what stands before sums may move ahead of what stands after any.

    It only names values, none of which a later part changes.
    """
    before = [s for each in iterations for s in each.before]
    if not all(isinstance(s, ir.Declare | ir.Prefetch | ir.Comment) for s in before):
        return False
    after = ir.Block(tuple(s for each in iterations for s in each.after))
    changed = {node.var.name for node in walk(after) if isinstance(node, ir.Assign)}
    changed |= {node.buffer.name for node in walk(after) if isinstance(node, ir.Store)}
    return changed.isdisjoint(free_names(ir.Block(tuple(before))))
