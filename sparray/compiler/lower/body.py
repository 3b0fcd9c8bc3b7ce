"""Lower the body of a loop once a coordinate of its index is known."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sparray.compiler.cin.effective import (
    effective_value,
    reads,
    restrict,
)
from sparray.compiler.cin.nodes import Access, Stmt
from sparray.compiler.index_notation.traversal import marks
from sparray.compiler.levels import n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.lower.access import advance
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.coordinates import bind
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lower_statement

__all__ = ["lower_body", "lower_tested"]


def lower_body(
    index: str, body: Stmt, coordinate: ir.Expr, scope: Scope, ctx: Context
) -> None:
    """Emit the body of a loop for one coordinate of its index."""
    scope, inside = bind(index, coordinate, scope, ctx)
    if inside is None:
        _lower_bound(index, body, scope, ctx)
        return
    with ctx.builder.branch(inside):
        _lower_bound(index, body, scope, ctx)


def _lower_bound(index: str, body: Stmt, scope: Scope, ctx: Context) -> None:
    scope = advance(scope, ctx)
    tests, scope = scope.tests, replace(scope, tests=())
    known = _settled(body, scope, ctx, [access for access, _ in tests])
    if known is None:
        return
    for surrounded in ctx.output.bound(index, scope, ctx):
        lower_tested(known, tests, surrounded, ctx, lower_statement)


def _settled(
    body: Stmt, scope: Scope, ctx: Context, unsure: Sequence[Access]
) -> Stmt | None:
    """Return what is left of a body where masks are known to store an entry.

    Those are followed to their last level, and not among those that are yet to be
    tested. None if nothing is left.
    """
    present = [
        access
        for access in marks(effective_value(body))
        if access not in unsure
        and access in scope.places
        and scope.places[access].depth == n_levels(ctx.spec(access.tensor))
    ]
    return restrict(body, (), ctx.absence, present) if present else body


def lower_tested(
    body: Stmt,
    tests: tuple[tuple[Access, ir.Expr], ...],
    scope: Scope,
    ctx: Context,
    lower: Callable[[Stmt, Scope, Context], None],
) -> None:
    """Emit a body in which located operands may hold nothing.

    **Rewrite**: ``s`` with ``A`` found or not → ``if found: s else: s without A``.
    """
    if not tests:
        lower(body, scope, ctx)
        return
    (access, found), *others = tests
    with ctx.builder.branch(found):
        below = advance(scope, ctx, access)
        tests, below = (*others, *below.tests), replace(below, tests=())
        known = _settled(body, below, ctx, [other for other, _ in tests])
        if known is not None:
            lower_tested(known, tests, below, ctx, lower)
    without = restrict(body, [access], ctx.absence)
    if without is None:
        return
    left = reads(without)
    with ctx.builder.otherwise():
        remaining = tuple(test for test in others if test[0] in left)
        inside = scope.keep(ctx.followed_by(without))
        lower_tested(without, remaining, inside, ctx, lower)
