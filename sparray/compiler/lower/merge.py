"""Lower a loop that several operands walk at once, or one of them among all values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from sparray.compiler.cin.effective import (
    restrict,
)
from sparray.compiler.cin.nodes import Access, Forall
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    add,
    cast,
    equal,
    less,
    literal,
    minimum,
)
from sparray.compiler.lower.body import lower_body
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.galloping import can_gallop, gallop, uneven
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.walker import Walker, segment_end
from sparray.compiler.merge_lattice import Lattice

__all__ = ["Merge"]


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

    def lower(self) -> None:
        """Emit the loop."""
        b = self.ctx.builder
        extent = extent_of(self.statement.index)
        ends = [b.declare("end", w.end) for w in self.walkers]
        positions = [b.declare(w.hint, w.begin) for w in self.walkers]
        heads = []
        for w, p, end in zip(self.walkers, positions, ends, strict=True):
            head = b.declare(f"c{w.access.tensor}", extent)
            self._read_head(w, p, end, head)
            heads.append(head)
        if frozenset() in self.points:
            with b.loop(self.statement.index, literal(0), extent) as v:
                self._step(v, positions, ends, heads, extent)
            return
        if not self._all_present or not can_gallop(self.walkers):
            self._advance(positions, ends, heads, extent)
        elif isinstance(self.statement.body, Forall):
            self._meet(positions, ends, heads, extent)
        else:
            # One by one is quicker where none has to move far: no branch is foreseen.
            with b.branch(uneven(positions, ends, b)):
                self._meet(positions, ends, heads, extent)
            with b.otherwise():
                self._advance(positions, ends, heads, extent)

    def _advance(
        self,
        positions: Sequence[ir.Var],
        ends: Sequence[ir.Var],
        heads: Sequence[ir.Var],
        extent: ir.Expr,
    ) -> None:
        """Emit the loop in which the smallest coordinate of all is the next one."""
        b = self.ctx.builder
        with b.loop_while(self._condition(heads, extent)):
            smallest: ir.Expr = heads[0]
            for head in heads[1:]:
                smallest = minimum(smallest, head)
            v = b.declare(self.statement.index, smallest)
            self._step(v, positions, ends, heads, extent)

    def _meet(
        self,
        positions: Sequence[ir.Var],
        ends: Sequence[ir.Var],
        heads: Sequence[ir.Var],
        extent: ir.Expr,
    ) -> None:
        """Emit the loop where all walkers must be present: the last one leads."""
        b = self.ctx.builder
        with b.loop_while(self._condition(heads, extent)):
            largest: ir.Expr = heads[0]
            for head in heads[1:]:
                largest = ir.Binary("max", largest, head, "int64")
            v = b.declare(self.statement.index, largest)
            for w, p, end, head in zip(
                self.walkers, positions, ends, heads, strict=True
            ):
                with b.branch(less(head, v)):
                    gallop(w, p, end, v, self.ctx)
                    b.assign(head, extent)
                    self._read_head(w, p, end, head)
            after = [add(p, literal(1)) for p in positions]
            self._cases(0, v, positions, after, heads)
            for w, p, end, head in zip(
                self.walkers, positions, ends, heads, strict=True
            ):
                with b.branch(equal(head, v)):
                    b.assign(p, add(p, literal(1)))
                    b.assign(head, extent)
                    self._read_head(w, p, end, head)

    def _condition(self, heads: Sequence[ir.Var], extent: ir.Expr) -> ir.Expr:
        """Return whether a point is left all of whose walkers have not ended."""
        alternatives = []
        for point in self.points:
            if any(other < point for other in self.points):
                continue
            alive: ir.Expr | None = None
            for w, head in zip(self.walkers, heads, strict=True):
                if w.access in point:
                    more = less(head, extent)
                    alive = more if alive is None else _both(alive, more)
            if alive is not None:
                alternatives.append(alive)
        condition = alternatives[0]
        for other in alternatives[1:]:
            condition = ir.Binary("or", condition, other, "bool")
        return condition

    def _step(
        self,
        v: ir.Var,
        positions: Sequence[ir.Var],
        ends: Sequence[ir.Var],
        heads: Sequence[ir.Var],
        extent: ir.Expr,
    ) -> None:
        b = self.ctx.builder
        after: list[ir.Expr] = []
        for w, p, end, head in zip(self.walkers, positions, ends, heads, strict=True):
            if w.unique:
                after.append(add(p, literal(1)))
                continue
            segment = b.declare("segment", p)
            with b.branch(equal(head, v)):
                found = segment_end(w, p, end, v, self.ctx)
                b.assign(segment, found)
            after.append(segment)
        if self._all_present and all(w.unique for w in self.walkers):
            here = [equal(head, v) for head in heads]
            with b.branch(reduce(_both, here)):
                self._body(self.points[0], v, positions, after)
                self._go_on([literal(1)] * len(here), positions, ends, heads)
            with b.otherwise():
                ones = [cast(equal(head, v), "int64") for head in heads]
                self._go_on(ones, positions, ends, heads)
            return
        self._cases(0, v, positions, after, heads)
        for w, p, end, head, next_ in zip(
            self.walkers, positions, ends, heads, after, strict=True
        ):
            with b.branch(equal(head, v)):
                b.assign(p, next_)
                b.assign(head, extent)
                self._read_head(w, p, end, head)

    def _go_on(
        self,
        steps: Sequence[ir.Expr],
        positions: Sequence[ir.Var],
        ends: Sequence[ir.Var],
        heads: Sequence[ir.Var],
    ) -> None:
        """Emit the steps of all walkers, without a branch that has to be foreseen."""
        b = self.ctx.builder
        for w, p, end, head, step in zip(
            self.walkers, positions, ends, heads, steps, strict=True
        ):
            b.assign(p, add(p, step))
            b.assign(head, extent_of(self.statement.index))
            self._read_head(w, p, end, head)

    @property
    def _all_present(self) -> bool:
        """True if there is work only where no walker is absent."""
        return self.points == (frozenset(w.access for w in self.walkers),)

    def _cases(
        self,
        n: int,
        v: ir.Var,
        positions: Sequence[ir.Var],
        after: Sequence[ir.Expr],
        heads: Sequence[ir.Var],
    ) -> None:
        """Emit the bodies of the points from the ``n``-th on, as an if-chain."""
        if n == len(self.points):
            return
        b = self.ctx.builder
        point = self.points[n]
        condition: ir.Expr | None = None
        for w, head in zip(self.walkers, heads, strict=True):
            if w.access in point:
                here = equal(head, v)
                condition = here if condition is None else _both(condition, here)
        if condition is None:
            self._body(point, v, positions, after)
            return
        with b.branch(condition):
            self._body(point, v, positions, after)
        if n + 1 < len(self.points):
            with b.otherwise():
                self._cases(n + 1, v, positions, after, heads)

    def _body(
        self,
        point: frozenset[Access],
        v: ir.Var,
        positions: Sequence[ir.Var],
        after: Sequence[ir.Expr],
    ) -> None:
        missing = [w.access for w in self.walkers if w.access not in point]
        body = restrict(self.statement.body, missing, self.ctx.absence)
        if body is None:
            return
        # Where an operand is absent, others that only multiply it are gone as well.
        inside = self.scope.keep(self.ctx.followed_by(body))
        for w, p, end in zip(self.walkers, positions, after, strict=True):
            if w.access in point:
                inside = w.enter(inside, v, p, None if w.unique else end)
        if self.visited is not None:
            self.ctx.builder.assign(self.visited, add(self.visited, literal(1)))
        lower_body(self.statement.index, body, v, inside, self.ctx)

    def _read_head(self, w: Walker, p: ir.Var, end: ir.Expr, head: ir.Var) -> None:
        b = self.ctx.builder
        if w.skips:
            self._skip(w, p, end)
        with b.branch(less(p, end)):
            b.assign(head, w.coordinate(p))

    def _skip(self, w: Walker, p: ir.Var, end: ir.Expr) -> None:
        """Move a walker to its next position with a coordinate of its window."""
        b = self.ctx.builder
        skip = b.declare("skip", less(p, end))
        with b.loop_while(skip):
            b.assign(skip, ir.Unary("not", w.hit(p), "bool"))
            with b.branch(skip):
                b.assign(p, add(p, literal(1)))
                b.assign(skip, less(p, end))


def _both(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Binary("and", a, b, "bool")
