"""Lower a loop over an index: dense, along one operand, or merging several."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import reduce

from sparray.compiler.cin.effective import (
    effective_value,
    reads,
    restrict,
    target_access,
)
from sparray.compiler.cin.nodes import Access, Forall, Stmt
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    add,
    cast,
    equal,
    less,
    literal,
    minimum,
    mul,
    sub,
)
from sparray.compiler.lower.access import advance, is_walked
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.coordinates import bind
from sparray.compiler.lower.galloping import can_gallop, gallop, uneven
from sparray.compiler.lower.narrowing import narrowed
from sparray.compiler.lower.prefetch import lower_prefetch
from sparray.compiler.lower.repeat import repeated_update
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lower_statement, lowers
from sparray.compiler.lower.sums import use_sums
from sparray.compiler.lower.walker import Walker, walker
from sparray.compiler.merge_lattice import Lattice, lattice

__all__ = [
    "length_of",
    "loop_walkers",
    "lower_forall",
    "lower_positions",
    "lower_range",
    "lower_tested",
]


@lowers(Forall)
def lower_forall(statement: Forall, scope: Scope, ctx: Context) -> None:
    """Lower ``∀index body``.

    **Rewrite**: no operand to walk, or work at every coordinate → a counted loop, over
    the coordinates that the located operands may have;
    one operand, work where it is → a loop over its positions; otherwise → a merge. One
    constant update at every coordinate where none is → one update for all of these.
    """
    if scope.tile is not None and statement.index == scope.tile.inner:
        _lower_inner(statement, scope, ctx)
        return
    if statement.index in ctx.pinned:
        pinned = ctx.pinned[statement.index]
        lower_body(statement.index, statement.body, pinned, scope, ctx)
        return
    if statement.fused:
        lower_range(statement, literal(0), length_of(statement), scope, ctx)
        return
    walked, points = loop_walkers(statement, scope, ctx)
    repeat = None
    if frozenset() in points:
        repeat = repeated_update(statement, walked, scope, ctx)
    if repeat is None:
        _lower_points(statement, walked, points, scope, ctx)
        return
    points = tuple(point for point in points if point)
    walked = [access for access in walked if any(access in point for point in points)]
    visited = _lower_points(statement, walked, points, scope, ctx, counted=True)
    repeat.lower(visited, scope, ctx)


def _lower_points(
    statement: Forall,
    walked: Sequence[Access],
    points: Lattice,
    scope: Scope,
    ctx: Context,
    *,
    counted: bool = False,
) -> ir.Expr:
    """Emit a loop over the points; return at how many coordinates it had work.

    That is told only where it is ``counted``.
    """
    if not points:
        return literal(0)
    if not walked:
        begin, end = narrowed(statement, scope, ctx)
        lower_range(statement, begin, end, scope, ctx)
        return sub(end, begin)
    walkers = [walker(access, scope, ctx) for access in walked]
    alone = points == (frozenset(walked),) and len(walked) == 1
    exact = walkers[0].unique and not walkers[0].skips
    if alone and (exact or not counted):
        w = walkers[0]
        lower_positions(statement, w, w.begin, w.end, scope, ctx)
        return sub(w.end, w.begin)
    visited = ctx.builder.declare("visited", literal(0)) if counted else None
    _Merge(statement, walkers, points, scope, ctx, visited).lower()
    return literal(0) if visited is None else visited


def loop_walkers(
    statement: Forall, scope: Scope, ctx: Context
) -> tuple[list[Access], Lattice]:
    """Return what a loop walks, and the points at which its body has work."""
    value = effective_value(statement.body)
    walked = [
        access
        for access in dict.fromkeys(accesses(value))
        if _is_list(access, statement.index, ctx)
        or is_walked(access, statement.index, scope, ctx)
    ]
    target = target_access(statement.body).tensor
    writes = target not in ctx.absence.fills
    points = lattice(value, walked, ctx.absence, writes_constants=writes)
    # Outside a vector loop a dense loop needs no walker where none is in a point.
    used = [a for a in walked if any(a in point for point in points)]
    return used, points


def _is_list(access: Access, index: str, ctx: Context) -> bool:
    return access.tensor in ctx.lists and access.indices == (index,)


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
    for surrounded in ctx.output.bound(index, scope, ctx):
        lower_tested(body, tests, surrounded, ctx, lower_statement)


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
        lower_tested(body, tests, below, ctx, lower)
    without = restrict(body, [access], ctx.absence)
    if without is None:
        return
    left = reads(without)
    with ctx.builder.otherwise():
        remaining = tuple(test for test in others if test[0] in left)
        inside = scope.keep(ctx.followed_by(without))
        lower_tested(without, remaining, inside, ctx, lower)


def lower_range(
    statement: Forall, begin: ir.Expr, end: ir.Expr, scope: Scope, ctx: Context
) -> None:
    """Emit a counted loop over a range of coordinates, or of pairs of them.

    **Rewrite**: ``∀i,j body`` → ``for v in range(n_i * n_j): body of i = v // n_j, j =
    v % n_j``.
    """
    if statement.fused:
        _lower_fused(statement, begin, end, scope, ctx)
        return
    with ctx.builder.loop(statement.index, begin, end) as v:
        lower_body(statement.index, statement.body, v, scope, ctx)


def length_of(statement: Forall) -> ir.Expr:
    """Return the number of steps of a counted loop."""
    length = extent_of(statement.index)
    return mul(length, extent_of(statement.fused)) if statement.fused else length


def _lower_fused(
    statement: Forall, begin: ir.Expr, end: ir.Expr, scope: Scope, ctx: Context
) -> None:
    b, inner = ctx.builder, statement.fused
    length = extent_of(inner)
    with b.loop("pair", begin, end) as v:
        first = b.declare(statement.index, ir.Binary("floordiv", v, length, "int64"))
        second = b.declare(inner, sub(v, mul(first, length)))
        ctx.pinned[inner] = second
        body = Forall(inner, statement.body)
        lower_body(statement.index, body, first, scope, ctx)
        del ctx.pinned[inner]


def _lower_inner(statement: Forall, scope: Scope, ctx: Context) -> None:
    tile = scope.tile
    if tile is None:
        return
    # The tile's index is bound to the first value of the tile; `pieces` steps
    # through the rest in vectors.
    inside = advance(scope.bind(tile.index, tile.start), ctx)
    lower_statement(statement.body, inside, ctx)


def lower_positions(
    statement: Forall,
    w: Walker,
    begin: ir.Expr,
    end: ir.Expr,
    scope: Scope,
    ctx: Context,
) -> None:
    """Emit a loop over positions of one operand; equal coordinates run once."""
    b = ctx.builder
    if w.unique:
        sums = len(ctx.sums.get(target_access(statement.body).tensor, ())) + 1
        if statement.unroll > 1 and sums > 1:
            begin = b.declare("first", begin)
            end = b.declare("last", end)
            whole = mul(literal(sums), _quotient(sub(end, begin), sums))
            rest = b.declare("rest", add(begin, whole))
            with b.loop(w.hint, begin, rest, step=sums) as p:
                for number in use_sums(statement, ctx):
                    here = add(p, literal(number))
                    _lower_position(statement, w, here, scope, ctx)
            begin = rest
        with b.loop(w.hint, begin, end) as p:
            _lower_position(statement, w, p, scope, ctx)
        return
    p = b.declare(w.hint, begin)
    last = end if isinstance(end, ir.Var | ir.Literal) else b.declare("end", end)
    with b.loop_while(less(p, last)):
        v = b.declare(statement.index, w.coordinate(p))
        segment = _segment_end(w, p, last, v, ctx)
        inside = w.enter(scope, v, p, segment)
        with _hit(w, p, ctx):
            lower_body(statement.index, statement.body, v, inside, ctx)
        b.assign(p, segment)


def _lower_position(
    statement: Forall, w: Walker, p: ir.Expr, scope: Scope, ctx: Context
) -> None:
    lower_prefetch(statement, w, p, scope, ctx)
    with _hit(w, p, ctx):
        v = ctx.builder.declare(statement.index, w.coordinate(p))
        inside = w.enter(scope, v, p, None)
        lower_body(statement.index, statement.body, v, inside, ctx)


def _hit(w: Walker, p: ir.Expr, ctx: Context) -> AbstractContextManager[None]:
    """Surround what is done at a position that a walker may have to skip."""
    return ctx.builder.branch(w.hit(p)) if w.skips else nullcontext()


def _quotient(a: ir.Expr, n: int) -> ir.Expr:
    return ir.Binary("floordiv", a, literal(n), "int64")


def _segment_end(
    w: Walker, p: ir.Var, end: ir.Expr, v: ir.Expr, ctx: Context
) -> ir.Var:
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


@dataclass(slots=True)
class _Merge:
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
                found = _segment_end(w, p, end, v, self.ctx)
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
