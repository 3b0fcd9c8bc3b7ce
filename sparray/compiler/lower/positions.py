"""Lower a loop over an operand's positions: coordinates are followed upwards.

At a position of a level its coordinate is read. The position above is the same one
where a level has one entry for each above it; where levels have ``pos``, it is a
variable that passes the ends of its segments as the positions go on, and is found by
binary search at the first of them.

Source: Senanayake et al. 2020, "A sparse iteration space transformation framework for
sparse tensor algebra", sections 4 and 5.2 (coordinate and position space).
"""

from dataclasses import dataclass, field

from sparray.compiler import names
from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.effective import effective_value
from sparray.compiler.cin.nodes import Access, Forall
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.positions import _has_segments
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    add,
    equal,
    less,
    less_equal,
    literal,
    logical_and,
    minimum,
    mul,
    sub,
)
from sparray.compiler.lower.body import lower_body
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.scope import Place, Scope
from sparray.errors import InternalError
from sparray.formats.level import Level, LevelView, Locatable, PositionIterable

__all__ = [
    "Positions",
    "lower_pos",
]


def lower_pos(statement: Forall, scope: Scope, ctx: Context) -> None:
    """Emit a loop over all positions of an operand, or one over blocks of them.

    **Rewrite**: ``∀i,j[pos A] s`` → ``for p in range(entries): s`` of the ``i`` and
    ``j`` at ``p``.
    """
    walk = Positions(statement, ctx)
    total = ctx.builder.declare("entries", walk.total)
    if not statement.block:
        walk.run(literal(0), total, scope)
        return
    with ctx.builder.loop("block", literal(0), walk.blocks(total)) as t:
        first, last = walk.block(t, total)
        walk.run(first, last, scope)


@dataclass(slots=True)
class Positions:
    """A loop over the positions of an operand's outermost levels.

    ``above`` has the variable of the position in each level whose positions have
    segments below.
    """

    statement: Forall
    ctx: Context
    above: dict[int, ir.Var] = field(default_factory=dict)

    @property
    def loops(self) -> tuple[str, ...]:
        """The indices whose coordinates are found, outermost first."""
        return (self.statement.index, *self.statement.fused)

    @property
    def access(self) -> Access:
        """The operand's one access."""
        for access in accesses(effective_value(self.statement.body)):
            if access.tensor == self.statement.pos:
                return access
        raise InternalError(f"expected {self.statement.pos} to be read")

    @property
    def total(self) -> ir.Expr:
        """The number of positions."""
        return self._count(len(self.loops))

    def blocks(self, total: ir.Expr) -> ir.Expr:
        """Return the number of blocks of positions."""
        size = self.statement.block
        rounded = add(total, literal(size - 1))
        return ir.Binary("floordiv", rounded, literal(size), "int64")

    def block(self, t: ir.Expr, total: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        """Declare where a block begins and ends."""
        b, size = self.ctx.builder, literal(self.statement.block)
        first = b.declare("first", mul(t, size))
        return first, b.declare("last", minimum(add(first, size), total))

    def run(self, begin: ir.Expr, end: ir.Expr, scope: Scope) -> None:
        """Emit the loop over some of the positions."""
        ctx, b = self.ctx, self.ctx.builder
        loops, access = self.loops, self.access
        self._start(begin)
        body = foralls(loops[1:], self.statement.body)
        hint = names.position(access.tensor, len(loops) - 1)
        with b.loop(hint, begin, end) as p:
            index, *inner = self._coordinates(p)
            ctx.pinned.update(zip(loops[1:], inner, strict=True))
            inside = scope.place(access, Place(len(loops), p))
            lower_body(loops[0], body, index, inside, ctx)
            for loop in loops[1:]:
                del ctx.pinned[loop]

    def cut(self, bound: ir.Expr, total: ir.Expr, kept: int) -> ir.Expr:
        """Emit where positions are cut: not inside what the outer ``kept`` loops share.

        That is the first place from a bound on at which one of their coordinates
        changes.
        """
        depths = range(len(self.loops) - 1, kept - 1, -1)
        if all(_has_segments(self._level(depth)) for depth in depths):
            for depth in depths:
                bound = self._first(depth, bound)
            for depth in reversed(depths):
                bound = self._view(depth).load("pos", bound)
            return self.ctx.builder.declare("bound", bound)
        return self._pass_equal(bound, total, kept)

    def _pass_equal(self, bound: ir.Expr, total: ir.Expr, kept: int) -> ir.Expr:
        b = self.ctx.builder
        bound = b.declare("bound", bound)
        inside = logical_and(less(literal(0), bound), less(bound, total))
        split = b.declare("split", inside)
        with b.loop_while(split):
            for depth in range(kept):
                here, before = (
                    self._coordinate(depth, p) for p in (bound, sub(bound, literal(1)))
                )
                b.assign(split, logical_and(split, equal(here, before)))
            with b.branch(split):
                b.increment(bound)
                b.assign(split, less(bound, total))
        return bound

    def _start(self, begin: ir.Expr) -> None:
        """Emit the searches for what stands above the first position."""
        b, at = self.ctx.builder, begin
        for depth in range(len(self.loops) - 1, 0, -1):
            if _has_segments(self._level(depth)):
                after = self._first(depth, add(at, literal(1)))
                hint = names.position(self.access.tensor, depth - 1)
                at = self.above[depth - 1] = b.declare(hint, sub(after, literal(1)))

    def _first(self, depth: int, position: ir.Expr) -> ir.Expr:
        """Return the first position above whose segment begins there or later."""
        ends = add(self._count(depth), literal(1))
        buffer = self._view(depth).buffers["pos"]
        return ir.Search(buffer, literal(0), ends, position)

    def _coordinates(self, p: ir.Expr) -> list[ir.Expr]:
        """Emit the coordinates at a position, having passed the ends of segments."""
        b = self.ctx.builder
        found: list[ir.Expr] = []
        for depth in range(len(self.loops) - 1, -1, -1):
            found.append(b.declare(self.loops[depth], self._coordinate(depth, p)))
            if depth and _has_segments(self._level(depth)):
                above = self.above[depth - 1]
                end = self._view(depth).load("pos", add(above, literal(1)))
                with b.loop_while(less_equal(end, p)):
                    b.increment(above)
                p = above
        return found[::-1]

    def _coordinate(self, depth: int, position: ir.Expr) -> ir.Expr:
        level = self._level(depth)
        if isinstance(level, PositionIterable) and not isinstance(level, Locatable):
            return level.coordinate(self._view(depth), position)
        return position

    def _count(self, depth: int) -> ir.Expr:
        """Return the number of positions of the ``depth`` outermost levels."""
        count: ir.Expr = literal(1)
        for above in range(depth):
            count = self._level(above).size(self._view(above), count)
        return count

    def _level(self, depth: int) -> Level:
        return self.ctx.level(self.access.tensor, depth)

    def _view(self, depth: int) -> LevelView:
        return self.ctx.view(self.access, depth)
