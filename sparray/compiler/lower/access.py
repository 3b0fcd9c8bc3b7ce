"""Follow accesses into their levels, and read their values."""

from collections.abc import Iterable
from dataclasses import replace

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import literal
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.coordinates import coordinate
from sparray.compiler.lower.scope import Place, Scope
from sparray.errors import InternalError, UnsupportedError
from sparray.formats.level import Locatable, PositionIterable

__all__ = ["advance", "is_walked", "load_value", "start"]

_ROOT = Place(0, literal(0))


def start(accesses: Iterable[Access], scope: Scope) -> Scope:
    """Return the scope with every access before its first level."""
    for access in accesses:
        scope = scope.place(access, _ROOT)
    return scope


def is_walked(access: Access, index: str, scope: Scope, ctx: Context) -> bool:
    """Tell whether a loop over the index walks the access's next level."""
    place = scope.places.get(access)
    if place is None or place.depth == n_levels(ctx.spec(access.tensor)):
        return False
    level = ctx.level(access.tensor, place.depth)
    if level_index(ctx.spec(access.tensor), access, place.depth) != index:
        return False
    return not isinstance(level, Locatable)


def advance(scope: Scope, ctx: Context) -> Scope:
    """Locate every access as deep as the bound indices allow.

    Raises
    ------
    InternalError
        If an access has a level that must be walked, and its loop has passed.
    """
    for access in list(scope.places):
        if access.tensor in ctx.lists:
            continue
        scope = _advance_one(access, scope, ctx)
    return scope


def _advance_one(access: Access, scope: Scope, ctx: Context) -> Scope:
    spec = ctx.spec(access.tensor)
    place = scope.places[access]
    depth, position, moved = place.depth, place.begin, False
    while depth < n_levels(spec):
        index = level_index(spec, access, depth)
        level = ctx.level(access.tensor, depth)
        here = coordinate(index, scope)
        if here is None:
            break
        if not isinstance(level, Locatable):
            if access.tensor == names.OUTPUT:
                break
            raise InternalError(
                f"expected the loop over {index} to walk level {depth + 1} of "
                f"{access.tensor} ({spec.format}), got a loop order that passed it"
            )
        if place.end is not None:
            raise UnsupportedError(
                f"expected unique levels above a {level.name} level, got {spec.format}"
            )
        found = level.locate(ctx.view(access, depth), position, here)
        ctx.builder.emit(*found.setup)
        if found.found is not None:
            scope = replace(scope, tests=(*scope.tests, (access, found.found)))
        position, depth, moved = found.position, depth + 1, True
    if not moved:
        return scope
    if not isinstance(position, ir.Var | ir.Literal):
        hint = names.position(access.tensor, depth - 1)
        position = ctx.builder.declare(hint, position)
    return scope.place(access, Place(depth, position))


def load_value(access: Access, scope: Scope, ctx: Context) -> ir.Expr:
    """Return the value of a fully resolved access; duplicates are summed.

    In a vector loop the value has lanes if the access runs along the loop's index
    (its last level then has stride 1), and is a scalar otherwise.
    """
    place = scope.places[access]
    if place.depth != n_levels(ctx.spec(access.tensor)):
        raise InternalError(
            f"expected {access.tensor} to be resolved, got {place.depth} levels"
        )
    buffer = ctx.values(access.tensor)
    if place.end is not None:
        return _sum_duplicates(buffer, place.begin, place.end, ctx)
    if scope.lanes > 1 and scope.tile is not None:
        if scope.tile.index in access.indices:
            return ir.Load(buffer, place.begin, scope.lanes)
    return ir.Load(buffer, place.begin)


def _sum_duplicates(
    buffer: ir.Buffer, begin: ir.Expr, end: ir.Expr, ctx: Context
) -> ir.Var:
    b = ctx.builder
    total = b.declare("total", ir.Load(buffer, begin))
    op = "or" if buffer.dtype == "bool" else "add"
    with b.loop("q", ir.Binary("add", begin, literal(1), "int64"), end) as q:
        b.assign(total, ir.Binary(op, total, ir.Load(buffer, q), buffer.dtype))
    return total


def walked_level(access: Access, scope: Scope, ctx: Context) -> PositionIterable:
    """Return the level that a loop walks, which must have positions."""
    level = ctx.level(access.tensor, scope.places[access].depth)
    if not isinstance(level, PositionIterable):
        raise UnsupportedError(
            f"expected a level whose positions can be walked, got {level.name} in "
            f"{ctx.spec(access.tensor).format}"
        )
    return level
