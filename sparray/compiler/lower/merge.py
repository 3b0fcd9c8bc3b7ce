"""Lower a loop that several operands walk at once, or one of them among all values."""

from collections.abc import Sequence
from dataclasses import field
from functools import reduce

from sparray.compiler.cin.effective import restrict
from sparray.compiler.cin.nodes import Access, Forall
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, cast, equal, less, literal
from sparray.compiler.lower.body import lower_body
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.galloping import can_gallop, gallop, uneven
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.walker import Walker, segment_end
from sparray.compiler.merge_lattice import Lattice
from sparray.records import dataclass

__all__ = ["Merge"]


@dataclass(frozen=True, slots=True)
class _Cursor:
    """A walker with the variables of its place: its position, and its coordinate there.

    ``head`` is the extent once the walker has ended.
    """

    walker: Walker
    position: ir.Var
    end: ir.Var
    head: ir.Var

    @property
    def access(self) -> Access:
        """What is walked."""
        return self.walker.access

    @property
    def after(self) -> ir.Expr:
        """The next position."""
        return add(self.position, literal(1))


@dataclass(slots=True)
class Merge:
    """A loop that walks several operands at once, or one of them in a dense loop.

    Each walker has a variable with its current coordinate, which is the extent once
    the walker has ended: then no coordinate is equal to it any more, and the
    smallest coordinate of all walkers is the next one with work. ``visited`` counts the
    coordinates at which there was work.
    """

    statement: Forall
    walkers: Sequence[Walker]
    points: Lattice
    scope: Scope
    ctx: Context
    visited: ir.Var | None = None
    cursors: list[_Cursor] = field(default_factory=list)

    def lower(self) -> None:
        """Emit the loop."""
        b = self.ctx.builder
        ends = [b.declare("end", w.end) for w in self.walkers]
        positions = [b.declare(w.hint, w.begin) for w in self.walkers]
        for w, p, end in zip(self.walkers, positions, ends, strict=True):
            head = b.declare(f"c{w.access.tensor}", self._extent)
            cursor = _Cursor(w, p, end, head)
            self._read_head(cursor)
            self.cursors.append(cursor)
        if frozenset() in self.points:
            with b.loop(self.statement.index, literal(0), self._extent) as v:
                self._step(v)
            return
        if not self._all_present or not can_gallop(self.walkers):
            self._advance()
        elif isinstance(self.statement.body, Forall):
            self._meet()
        else:
            # One by one is quicker where none has to move far: no branch is foreseen.
            with b.branch(uneven(positions, ends, b)):
                self._meet()
            with b.otherwise():
                self._advance()

    @property
    def _extent(self) -> ir.Expr:
        return extent_of(self.statement.index)

    @property
    def _all_present(self) -> bool:
        """True if there is work only where no walker is absent."""
        return self.points == (frozenset(w.access for w in self.walkers),)

    def _advance(self) -> None:
        """Emit the loop in which the smallest coordinate of all is the next one."""
        with self.ctx.builder.loop_while(self._condition()):
            self._step(self._next("min"))

    def _meet(self) -> None:
        """Emit the loop where all walkers must be present: the last one leads."""
        b = self.ctx.builder
        with b.loop_while(self._condition()):
            v = self._next("max")
            for c in self.cursors:
                with b.branch(less(c.head, v)):
                    gallop(c.walker, c.position, c.end, v, self.ctx)
                    self._settle(c)
            after = [c.after for c in self.cursors]
            self._cases(0, v, after)
            self._pass(v, after)

    def _next(self, op: str) -> ir.Var:
        """Declare the loop's coordinate: the smallest or largest of all walkers."""
        heads: Sequence[ir.Expr] = [c.head for c in self.cursors]
        found = reduce(lambda x, y: ir.Binary(op, x, y, "int64"), heads)
        return self.ctx.builder.declare(self.statement.index, found)

    def _condition(self) -> ir.Expr:
        """Return whether a point is left all of whose walkers have not ended."""
        alternatives = []
        for point in self.points:
            if any(other < point for other in self.points):
                continue
            alive = [less(c.head, self._extent) for c in self._of(point)]
            if alive:
                alternatives.append(reduce(_both, alive))
        return reduce(lambda x, y: ir.Binary("or", x, y, "bool"), alternatives)

    def _of(self, point: frozenset[Access]) -> list[_Cursor]:
        return [c for c in self.cursors if c.access in point]

    def _step(self, v: ir.Var) -> None:
        b = self.ctx.builder
        after: list[ir.Expr] = []
        for c in self.cursors:
            if c.walker.unique:
                after.append(c.after)
                continue
            segment = b.declare("segment", c.position)
            with b.branch(equal(c.head, v)):
                found = segment_end(c.walker, c.position, c.end, v, self.ctx)
                b.assign(segment, found)
            after.append(segment)
        if self._all_present and all(w.unique for w in self.walkers):
            self._step_together(v, after)
            return
        self._cases(0, v, after)
        self._pass(v, after)

    def _step_together(self, v: ir.Var, after: Sequence[ir.Expr]) -> None:
        """Emit a step to which all walkers must have come, or all but some go on.

        Which ones do is added to their positions: no branch has to be foreseen.
        """
        b = self.ctx.builder
        here = [equal(c.head, v) for c in self.cursors]
        with b.branch(reduce(_both, here)):
            self._body(self.points[0], v, after)
            for c in self.cursors:
                self._move(c, c.after)
        with b.otherwise():
            for c, is_here in zip(self.cursors, here, strict=True):
                self._move(c, add(c.position, cast(is_here, "int64")))

    def _pass(self, v: ir.Var, after: Sequence[ir.Expr]) -> None:
        """Emit the step of each walker that is at a coordinate."""
        for c, to in zip(self.cursors, after, strict=True):
            with self.ctx.builder.branch(equal(c.head, v)):
                self._move(c, to)

    def _move(self, cursor: _Cursor, to: ir.Expr) -> None:
        self.ctx.builder.assign(cursor.position, to)
        self._settle(cursor)

    def _settle(self, cursor: _Cursor) -> None:
        """Emit what follows from another position: its coordinate, or the extent."""
        self.ctx.builder.assign(cursor.head, self._extent)
        self._read_head(cursor)

    def _cases(self, n: int, v: ir.Var, after: Sequence[ir.Expr]) -> None:
        """Emit the bodies of the points from the ``n``-th on, as an if-chain."""
        if n == len(self.points):
            return
        b = self.ctx.builder
        point = self.points[n]
        here = [equal(c.head, v) for c in self._of(point)]
        if not here:
            self._body(point, v, after)
            return
        with b.branch(reduce(_both, here)):
            self._body(point, v, after)
        if n + 1 < len(self.points):
            with b.otherwise():
                self._cases(n + 1, v, after)

    def _body(
        self, point: frozenset[Access], v: ir.Var, after: Sequence[ir.Expr]
    ) -> None:
        missing = [w.access for w in self.walkers if w.access not in point]
        body = restrict(self.statement.body, missing, self.ctx.absence)
        if body is None:
            return
        # Where an operand is absent, others that only multiply it are gone as well.
        inside = self.scope.keep(self.ctx.followed_by(body))
        for c, to in zip(self.cursors, after, strict=True):
            if c.access in point:
                end = None if c.walker.unique else to
                inside = c.walker.enter(inside, v, c.position, end)
        if self.visited is not None:
            self.ctx.builder.assign(self.visited, add(self.visited, literal(1)))
        lower_body(self.statement.index, body, v, inside, self.ctx)

    def _read_head(self, cursor: _Cursor) -> None:
        b = self.ctx.builder
        if cursor.walker.skips:
            self._skip(cursor)
        with b.branch(less(cursor.position, cursor.end)):
            b.assign(cursor.head, cursor.walker.coordinate(cursor.position))

    def _skip(self, cursor: _Cursor) -> None:
        """Move a walker to its next position with a coordinate of its window."""
        b = self.ctx.builder
        p, end = cursor.position, cursor.end
        skip = b.declare("skip", less(p, end))
        with b.loop_while(skip):
            b.assign(skip, ir.Unary("not", cursor.walker.hit(p), "bool"))
            with b.branch(skip):
                b.assign(p, add(p, literal(1)))
                b.assign(skip, less(p, end))


def _both(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Binary("and", a, b, "bool")
