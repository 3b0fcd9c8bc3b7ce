"""Follow accesses into their levels, and read their values."""

from collections.abc import Iterable
from dataclasses import replace

from sparray.compiler import levels, names
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.index_notation.traversal import free_indices
from sparray.compiler.levels import level_index, n_levels, walked_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, cast, literal, mul
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.lower.context import Context, slice_lengths
from sparray.compiler.lower.coordinates import coordinate
from sparray.compiler.lower.scope import Place, Scope
from sparray.errors import InternalError, UnsupportedError
from sparray.formats.level import Locatable, Located, PositionIterable, Searchable

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
    spec = ctx.spec(access.tensor)
    if walked_index(spec, access, place.depth) != index:
        return False
    return levels.is_walked(spec, access, place.depth)


def advance(scope: Scope, ctx: Context, only: Access | None = None) -> Scope:
    """Locate every access, or a single one, as deep as the bound indices allow.

    Raises
    ------
    InternalError
        If an access has a level that must be walked, and its loop has passed.
    """
    for access in list(scope.places):
        if access.tensor in ctx.lists or only not in (None, access):
            continue
        scope = _advance_one(access, scope, ctx)
    return scope


def _advance_one(access: Access, scope: Scope, ctx: Context) -> Scope:
    spec = ctx.spec(access.tensor)
    first = place = scope.places[access]
    while place.depth < n_levels(spec):
        here = coordinate(level_index(spec, access, place.depth), scope)
        if here is None:
            break
        located = _find(access, place, here, ctx)
        if located is None:
            break
        found, end = located
        ctx.builder.emit(*found.setup)
        if found.found is not None:
            scope = replace(scope, tests=(*scope.tests, (access, found.found)))
        place = Place(place.depth + 1, found.position, end, place.slices)
        if found.found is not None:
            # What lies below is looked for where it is known that there is something.
            break
        if place.depth == spec.format.batch_ndim:
            slices = _open_slice(access.tensor, found.position, ctx)
            place = Place(place.depth, literal(0), slices=slices)
    if place is first:
        return scope
    if not isinstance(place.begin, ir.Var | ir.Literal):
        hint = names.position(access.tensor, place.depth - 1)
        place = replace(place, begin=ctx.builder.declare(hint, place.begin))
    return scope.place(access, place)


def _find(
    access: Access, place: Place, coordinate: ir.Expr, ctx: Context
) -> tuple[Located, ir.Expr | None] | None:
    """Find a coordinate in the level below a place; None in one that is appended to.

    Returns
    -------
    found : Located
        Where it is.
    end : ir.Expr or None
        The end of the positions that have it; None where there is only one.
    """
    spec, depth = ctx.spec(access.tensor), place.depth
    level = ctx.level(access.tensor, depth)
    if levels.is_known_above(spec, access, depth):
        return _search(access, depth, place, coordinate, ctx)
    if not isinstance(level, Locatable):
        if access.tensor == names.OUTPUT:
            return None
        raise InternalError(
            f"expected the loop over {level_index(spec, access, depth)} to walk level "
            f"{depth + 1} of {access.tensor} ({spec.format}), got a loop order that "
            "passed it"
        )
    if place.end is not None:
        raise UnsupportedError(
            f"expected unique levels above a {level.name} level, got {spec.format}"
        )
    view = ctx.view(access, depth, place.slices)
    return level.locate(view, place.begin, coordinate), None


def _search(
    access: Access, depth: int, place: Place, coordinate: ir.Expr, ctx: Context
) -> tuple[Located, ir.Expr | None]:
    """Search a level for a coordinate that is bound already, below a place.

    Returns
    -------
    found : Located
        Where it is.
    end : ir.Expr or None
        The end of the positions that have it; None where there is only one.
    """
    level, view = ctx.level(access.tensor, depth), ctx.view(access, depth, place.slices)
    if isinstance(level, Locatable):
        return level.locate(view, place.begin, coordinate), None
    if not isinstance(level, Searchable) or not isinstance(level, PositionIterable):
        raise InternalError(f"expected a level to search, got {level.name}")
    last = place.end if place.end is not None else add(place.begin, literal(1))
    bounds = level.positions(view, place.begin, last)
    ctx.builder.emit(*bounds.setup)
    found = level.search(view, bounds.begin, bounds.end, coordinate)
    if level.unique:
        return found, None
    ctx.builder.emit(*found.setup)
    after = level.search(view, found.position, bounds.end, add(coordinate, literal(1)))
    ctx.builder.emit(*after.setup)
    return Located(found.position, found.found), after.position


def _open_slice(tensor: str, number: ir.Expr, ctx: Context) -> tuple[ir.Expr, ...]:
    """Declare where a slice begins in each buffer, given its number."""
    begins = []
    for length in slice_lengths(tensor, ctx.spec(tensor)):
        hint = names.slice_begin(length)
        begins.append(ctx.builder.declare(hint, mul(number, ir.Var(length))))
    return tuple(begins)


def load_value(access: Access, scope: Scope, ctx: Context) -> ir.Expr:
    """Return the value of a fully resolved access; duplicates are summed.

    It has the dtype in which the access's values are computed. In a vector loop it has
    lanes if the access runs along the loop's index (its last level then has stride 1),
    and is a scalar otherwise.
    """
    place = scope.places[access]
    if place.depth != n_levels(ctx.spec(access.tensor)):
        raise InternalError(
            f"expected {access.tensor} to be resolved, got {place.depth} levels"
        )
    buffer = ctx.values(access.tensor)
    if place.end is not None:
        end = add(place.slices[-1], place.end) if place.slices else place.end
        return _sum_duplicates(buffer, place.element, end, ctx)
    element = ctx.element(access, place)
    if scope.lanes > 1 and scope.tile is not None:
        if scope.tile.index in free_indices(access):
            return _load(buffer, element, scope.lanes)
    return _load(buffer, element)


def _load(buffer: ir.Buffer, index: ir.Expr, lanes: int = 1) -> ir.Expr:
    return cast(ir.Load(buffer, index, lanes), computed_dtype(buffer.dtype))


def _sum_duplicates(
    buffer: ir.Buffer, begin: ir.Expr, end: ir.Expr, ctx: Context
) -> ir.Var:
    b = ctx.builder
    total = b.declare("total", _load(buffer, begin))
    op = "or" if buffer.dtype == "bool" else "add"
    with b.loop("q", ir.Binary("add", begin, literal(1), "int64"), end) as q:
        b.assign(total, ir.Binary(op, total, _load(buffer, q), total.dtype))
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
