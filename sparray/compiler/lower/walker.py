"""What a loop walks: the positions of a level, or the list of a workspace."""

from sparray.compiler import names
from sparray.compiler.index_notation.affine import affine
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, equal, less, literal, minimum
from sparray.compiler.lower.access import walked_level
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.scope import Place, Scope
from sparray.compiler.lower.window import LevelRange, WindowWalker, window_walker
from sparray.records import dataclass

__all__ = ["LevelWalker", "ListWalker", "Walker", "segment_end", "walker"]


class EveryPosition:
    """Walks positions that all have a coordinate of the loop."""

    __slots__ = ()

    def coordinate(self, position: ir.Expr) -> ir.Expr:
        """Return the coordinate at a position."""
        raise NotImplementedError

    @property
    def skips(self) -> bool:
        """Every position has a coordinate of the loop."""
        return False

    def hit(self, position: ir.Expr) -> ir.Expr:
        """Return whether a position has a coordinate of the loop."""
        return literal(True)

    def key(self, position: ir.Expr) -> ir.Expr:
        """Return what tells the positions of different coordinates apart."""
        return self.coordinate(position)


@dataclass(frozen=True, slots=True)
class LevelWalker(LevelRange, EveryPosition):
    """The positions ``[begin, end)`` of one level, below where its access is.

    Accesses with the same pattern, ``along``, are always at the same position.
    """

    along: tuple[Access, ...] = ()

    def coordinate(self, position: ir.Expr) -> ir.Expr:
        """Return the coordinate at a position."""
        return self.level.coordinate(self.view, position)

    def size(self, ctx: Context) -> ir.Expr:
        """Return the number of positions of the whole level, or of its slice."""
        count: ir.Expr = literal(1)
        first = ctx.spec(self.access.tensor).format.batch_ndim
        for depth in range(first, self.place.depth + 1):
            level = ctx.level(self.access.tensor, depth)
            view = ctx.view(self.access, depth, self.place.slices)
            count = level.size(view, count)
        return count

    def enter(
        self, scope: Scope, coordinate: ir.Expr, begin: ir.Expr, end: ir.Expr | None
    ) -> Scope:
        """Return the scope in which the access stands at a position or a range."""
        depth, slices = self.place.depth + 1, self.place.slices
        place = Place(depth, begin, end, slices)
        for access in self.along:
            if access in scope.places:
                scope = scope.place(access, place)
        return scope.place(self.access, place)


@dataclass(frozen=True, slots=True)
class ListWalker(EveryPosition):
    """The coordinates in a workspace's list, each once and in order."""

    access: Access
    begin: ir.Expr
    end: ir.Expr
    coordinates: ir.Buffer

    @property
    def hint(self) -> str:
        """Hint for the variable that walks."""
        return names.position(self.access.tensor, 0)

    @property
    def unique(self) -> bool:
        """A list holds each coordinate once."""
        return True

    def coordinate(self, position: ir.Expr) -> ir.Expr:
        """Return the coordinate at a place of the list."""
        return ir.Load(self.coordinates, position)

    def enter(
        self, scope: Scope, coordinate: ir.Expr, begin: ir.Expr, end: ir.Expr | None
    ) -> Scope:
        """Return the scope in which the workspace's element is the current one."""
        return scope.place(self.access, Place(1, coordinate))


Walker = LevelWalker | ListWalker | WindowWalker


def walker(access: Access, scope: Scope, ctx: Context) -> Walker:
    """Return the walker of an access that a loop walks; its bounds are declared."""
    if access.tensor in ctx.lists:
        workspace = ctx.lists[access.tensor]
        return ListWalker(access, literal(0), workspace.count, workspace.coordinates)
    place = scope.places[access]
    level = walked_level(access, scope, ctx)
    view = ctx.view(access, place.depth, place.slices)
    end = place.end if place.end is not None else add(place.begin, literal(1))
    bounds = level.positions(view, place.begin, end)
    ctx.builder.emit(*bounds.setup)
    stored = level_index(ctx.spec(access.tensor), access, place.depth)
    made = affine(stored)
    if made is not None:
        return window_walker(access, stored, made, bounds, place, level, view, ctx)
    first, last = bounds.begin, bounds.end
    if access in ctx.clamped and place.depth == 1:
        lowest, highest = ctx.clamped[access]
        first = ir.Binary("max", first, lowest, "int64")
        last = last if highest is None else minimum(last, highest)
    along = tuple(
        other
        for other in scope.places
        if other != access and ctx.absence.pattern(other) == ctx.absence.pattern(access)
    )
    return LevelWalker(access, first, last, place, level, view, along)


def segment_end(w: Walker, p: ir.Var, end: ir.Expr, v: ir.Expr, ctx: Context) -> ir.Var:
    """Emit the search for the end of the positions that have coordinate ``v``."""
    b = ctx.builder
    if w.skips:
        # Rounded to the steps of a window, different coordinates are equal.
        v = b.declare("key", w.key(p))
    segment = b.declare("segment", add(p, literal(1)))
    same = b.declare("same", less(segment, end))
    with b.loop_while(same):
        b.assign(same, equal(w.key(segment), v))
        with b.branch(same):
            b.assign(segment, add(segment, literal(1)))
            b.assign(same, less(segment, end))
    return segment
