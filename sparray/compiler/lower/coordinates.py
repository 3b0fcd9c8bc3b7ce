"""Coordinates of indices and of their parts: each follows from the others."""

from sparray.compiler import names
from sparray.compiler.index_notation.affine import Affine, affine
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, less, literal, mul, sub
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.scope import Scope

__all__ = ["bind", "coordinate"]


def coordinate(index: str, scope: Scope) -> ir.Expr | None:
    """Return the coordinate of an index, or None if it is not known yet.

    A part of a bound index follows from it, and so does a sum of bound indices.
    """
    bound = scope.coordinates.get(index)
    if bound is not None:
        return bound
    made = affine(index)
    if made is not None:
        return _sum_of(index, made, scope)
    part = names.derived(index)
    if isinstance(part, names.Block) and part.base in scope.coordinates:
        op = "mod" if part.is_remainder else "floordiv"
        base = scope.coordinates[part.base]
        return ir.Binary(op, base, literal(part.size), "int64")
    if isinstance(part, names.Diagonal) and {part.column, part.row} <= set(
        scope.coordinates
    ):
        rows = ir.Var(names.extent(part.row))
        row, column = scope.coordinates[part.row], scope.coordinates[part.column]
        return sub(add(sub(column, row), rows), literal(1))
    return None


def _sum_of(index: str, made: Affine, scope: Scope) -> ir.Expr | None:
    """Return an affine coordinate: its first one is a parameter of the kernel."""
    total: ir.Expr = ir.Var(names.extent(names.first(index)))
    for base, step in made.terms:
        value = coordinate(base, scope)
        if value is None:
            return None
        scaled = value if abs(step) == 1 else mul(value, literal(abs(step)))
        total = sub(total, scaled) if step < 0 else add(total, scaled)
    return total


def bind(
    index: str, value: ir.Expr, scope: Scope, ctx: Context
) -> tuple[Scope, ir.Expr | None]:
    """Bind an index, and what follows from it and the indices that are bound.

    Returns
    -------
    scope : Scope
        With the index bound; with the last part of an index, the index too.
    inside : ir.Expr or None
        Whether that index is inside its extent: a block or a diagonal may reach
        beyond the shape, where there is only padding. None where it always is.
    """
    scope = scope.bind(index, value)
    part = names.derived(index)
    if isinstance(part, names.Block):
        return _bind_block(part, scope, ctx)
    for other in list(scope.coordinates):
        diagonal = names.derived(other)
        if isinstance(diagonal, names.Diagonal) and index in (other, diagonal.row):
            return _bind_diagonal(other, diagonal, scope, ctx)
    return scope, None


def _bind_block(
    part: names.Block, scope: Scope, ctx: Context
) -> tuple[Scope, ir.Expr | None]:
    outer = scope.coordinates.get(names.quotient(part.base, part.size))
    inner = scope.coordinates.get(names.remainder(part.base, part.size))
    if outer is None or inner is None or part.base in scope.coordinates:
        return scope, None
    whole = ctx.builder.declare(part.base, add(mul(outer, literal(part.size)), inner))
    inside = less(whole, ir.Var(names.extent(part.base)))
    return scope.bind(part.base, whole), inside


def _bind_diagonal(
    name: str, part: names.Diagonal, scope: Scope, ctx: Context
) -> tuple[Scope, ir.Expr | None]:
    if part.row not in scope.coordinates or part.column in scope.coordinates:
        return scope, None
    lowest = sub(ir.Var(names.extent(part.row)), literal(1))
    moved = add(scope.coordinates[name], scope.coordinates[part.row])
    column = ctx.builder.declare(part.column, sub(moved, lowest))
    below = less(column, ir.Var(names.extent(part.column)))
    inside = ir.Binary("and", less(literal(-1), column), below, "bool")
    return scope.bind(part.column, column), inside
