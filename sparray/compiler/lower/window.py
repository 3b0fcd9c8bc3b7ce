"""Walk the part of a level whose coordinates lie in the window of an index."""

from sparray.compiler import names
from sparray.compiler.index_notation.affine import Affine
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, equal, literal, mul, sub
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.scope import Place, Scope
from sparray.errors import InternalError
from sparray.formats.level import Bounds, LevelView, PositionIterable, Searchable
from sparray.records import dataclass

__all__ = ["LevelRange", "WindowWalker", "window_walker"]


@dataclass(frozen=True, slots=True)
class LevelRange:
    """Positions ``[begin, end)`` of one level, below where an access is."""

    access: Access
    begin: ir.Expr
    end: ir.Expr
    place: Place
    level: PositionIterable
    view: LevelView

    @property
    def hint(self) -> str:
        """Hint for the variable that walks."""
        return names.position(self.access.tensor, self.place.depth)

    @property
    def unique(self) -> bool:
        """True if each coordinate has one position."""
        return self.level.unique


@dataclass(frozen=True, slots=True)
class WindowWalker(LevelRange):
    """Positions of a level with coordinates ``first + step * i`` for some ``i``.

    Both ends are searched, so a loop passes the entries between them alone. With a
    step of more than one it passes some that are of no ``i``, which it has to skip.

    A negative step visits positions downwards: ``position`` is what loops count, which
    stands for the level's position ``-position`` then.
    """

    first: ir.Expr
    step: int

    @property
    def skips(self) -> bool:
        """True if some positions have coordinates that the window leaves out."""
        return abs(self.step) != 1

    def key(self, position: ir.Expr) -> ir.Expr:
        """Return how far a position's coordinate is from the first one."""
        found = self.level.coordinate(self.view, self._real(position))
        return sub(found, self.first) if self.step > 0 else sub(self.first, found)

    def coordinate(self, position: ir.Expr) -> ir.Expr:
        """Return the value of the index at a position that is not to be skipped."""
        return self._scaled("floordiv", position) if self.skips else self.key(position)

    def hit(self, position: ir.Expr) -> ir.Expr:
        """Return whether a position has a coordinate of the window."""
        return equal(self._scaled("mod", position), literal(0))

    def enter(
        self, scope: Scope, coordinate: ir.Expr, begin: ir.Expr, end: ir.Expr | None
    ) -> Scope:
        """Return the scope in which the access stands at a position or a range."""
        low, high = self._real(begin), end
        if end is not None and self.step < 0:
            # The last of the positions that are counted is the first one of the level.
            low, high = sub(literal(1), end), add(low, literal(1))
        depth, slices = self.place.depth + 1, self.place.slices
        return scope.place(self.access, Place(depth, low, high, slices))

    def _real(self, position: ir.Expr) -> ir.Expr:
        return position if self.step > 0 else sub(literal(0), position)

    def _scaled(self, op: str, position: ir.Expr) -> ir.Expr:
        return ir.Binary(op, self.key(position), literal(abs(self.step)), "int64")


def window_walker(
    access: Access,
    coordinate: str,
    made: Affine,
    bounds: Bounds,
    place: Place,
    level: PositionIterable,
    view: LevelView,
    ctx: Context,
) -> WindowWalker:
    """Return the walker of a level in a window; its ends are searched and declared.

    **Rewrite**: ``for p in pos[q] .. pos[q + 1]`` → ``for p in search(first) ..
    search(first + step * n)``, with ``n`` the extent of the index.
    """
    if not isinstance(level, Searchable) or not level.ordered:
        raise InternalError(f"expected a level to search for a window, got {level}")
    ((index, step),) = made.terms
    first: ir.Expr = ir.Var(names.extent(names.first(coordinate)))
    span = extent_of(index)
    span = span if abs(step) == 1 else mul(span, literal(abs(step)))
    low = first if step > 0 else add(sub(first, span), literal(1))
    high = add(first, span) if step > 0 else add(first, literal(1))
    b = ctx.builder
    ends = []
    begin = bounds.begin
    for edge in (low, high):
        found = level.search(view, begin, bounds.end, edge)
        b.emit(*found.setup)
        begin = found.position
        ends.append(begin)
    if step < 0:
        ends = [sub(literal(1), ends[1]), sub(literal(1), ends[0])]
    return WindowWalker(access, ends[0], ends[1], place, level, view, first, step)
