"""Narrow a counted loop to the coordinates that its operands may have."""

from dataclasses import replace

from sparray.compiler.cin.effective import effective_value, restrict
from sparray.compiler.cin.nodes import Access, Forall
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import literal, minimum
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.coordinates import coordinate
from sparray.compiler.lower.scope import Scope
from sparray.formats.level import Bounds, CoordinateIterable

__all__ = ["narrowed"]


def narrowed(statement: Forall, scope: Scope, ctx: Context) -> tuple[ir.Expr, ir.Expr]:
    """Return the range of a counted loop, where nothing is done outside it.

    **Rewrite**: ``for i in 0 .. n`` → ``for i in begin .. end``, where ``[begin, end)``
    are the coordinates of an operand without which the body does nothing. Those of
    several are intersected. A result is the same as after a loop that walks an operand:
    what no iteration wrote is the fill value, or counted as empty, before the kernel
    runs.
    """
    begin: ir.Expr = literal(0)
    end = extent_of(statement.index)
    for access in dict.fromkeys(accesses(effective_value(statement.body))):
        bounds = _bounds(access, statement, scope, ctx)
        if bounds is None:
            continue
        ctx.builder.emit(*bounds.setup)
        if bounds.begin != literal(0):
            begin = (
                bounds.begin if begin == literal(0) else _larger(begin, bounds.begin)
            )
        if bounds.end != extent_of(statement.index):
            whole = end == extent_of(statement.index)
            end = bounds.end if whole else minimum(end, bounds.end)
    return begin, end


def _bounds(
    access: Access, statement: Forall, scope: Scope, ctx: Context
) -> Bounds | None:
    """Return the coordinates of an operand that the body needs, if it knows them."""
    place = scope.places.get(access)
    if place is None or place.end is not None or access.tensor in ctx.lists:
        return None
    spec, depth = ctx.spec(access.tensor), place.depth
    if depth == n_levels(spec) or level_index(spec, access, depth) != statement.index:
        return None
    level = ctx.level(access.tensor, depth)
    if level.full or not isinstance(level, CoordinateIterable):
        return None
    if restrict(statement.body, [access], ctx.absence) is not None:
        return None
    view = ctx.view(access, depth)
    if depth:
        above = level_index(spec, access, depth - 1)
        view = replace(
            view, above=coordinate(above, scope), above_extent=extent_of(above)
        )
    return level.coordinates(view, place.begin)


def _larger(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Binary("max", a, b, "int64")
