"""Assemble a sparse result: count the entries, then write them.

The result's levels are a located prefix (dense levels; maybe none), then appended
ones. A *unit* is one position of the prefix, or one chunk of the outermost loop where
there is no prefix: the counting function stores how many entries each unit adds to
each level, the caller turns the counts into offsets by a running sum and allocates,
and the filling function appends every unit's entries from its offset on. Units do not
meet, so both functions run in parallel over them.

A *group* is a level that is not unique with the levels below it that have one
position per position of it (COO): its coordinates are appended together, by one
cursor. Every other appended level is a group of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.kernel_facts.appending import append_groups, located_prefix
from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, cast, less, literal, mul
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.lower.access import advance, start
from sparray.compiler.lower.context import Context, Output, zero_of
from sparray.compiler.lower.coordinates import coordinate
from sparray.compiler.lower.scope import Scope
from sparray.compiler.problem import TensorSpec
from sparray.errors import InternalError, UnsupportedError
from sparray.formats.level import Appendable, Level, LevelView, Located
from sparray.formats.slotted import Slotted

__all__ = [
    "AppendOutput",
    "ScatterOutput",
    "appendable",
    "counts_buffer",
    "stored_value",
]


def counts_buffer(group: Sequence[int]) -> ir.Buffer:
    """Return the buffer of a group's counts, later offsets.

    int64[n_units + 1] where a result is appended, with the counts from the second
    element on; int64[n_chunks, n_units] where it is scattered.
    """
    return ir.Buffer(names.counts(names.OUTPUT, group[0]), "int64", writable=True)


@dataclass(slots=True)
class AppendOutput(Output):
    """Entries come in the result's order within each unit.

    Where the result ``keeps`` an operand's leaf, that is not written.
    """

    spec: TensorSpec
    keeps: bool = False
    sparse: ClassVar[bool] = True
    cursors: list[ir.Var] = field(default_factory=list)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The appended levels in groups."""
        return append_groups(self.spec)

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Follow the target's prefix; without one, each chunk is a unit."""
        scope = advance(start([self.followed], scope), ctx)
        if located_prefix(self.spec) == 0:
            self._open(ctx.chunk, ctx)
        return scope

    def end(self, ctx: Context) -> None:
        """Without a prefix, finish the chunk's unit."""
        if located_prefix(self.spec) == 0:
            self._close(ctx.chunk, ctx)

    def bound(self, index: str, scope: Scope, ctx: Context) -> Iterator[Scope]:
        """Open a unit once its prefix is bound; finish a fibre's parent after it."""
        prefix = located_prefix(self.spec)
        index = _whole(index, scope)
        if index in {level_index(self.spec, self.followed, d) for d in range(prefix)}:
            if scope.places[self.followed].depth < prefix:
                yield scope
                return
            self._open(scope.places[self.followed].begin, ctx)
            yield scope
            self._close(scope.places[self.followed].begin, ctx)
            return
        number = self._inner_group(index)
        if number is None:
            yield scope
            return
        below = self.cursors[number + 1]
        before = ctx.builder.declare("before", below)
        yield scope
        with ctx.builder.branch(less(before, below)):
            self._append(number, scope, ctx)

    def takes_any_order(self, index: str, ctx: Context) -> bool:
        """Tell whether no ordered level stores the index."""
        levels = enumerate(self.spec.format.levels)
        return not any(
            level.ordered
            and names.whole(level_index(self.spec, self.followed, depth)) == index
            for depth, level in levels
        )

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: Context,
    ) -> None:
        """Append one entry."""
        with stored_value(value, scope, ctx) as stored:
            cursor = self.cursors[-1]
            if stored is not None and not self.keeps:
                ctx.builder.store(ctx.values(names.OUTPUT), cursor, stored)
            self._append(len(self.groups) - 1, scope, ctx)

    def _inner_group(self, index: str) -> int | None:
        """Return the group whose last level stores the index, unless it is the leaf."""
        for number, group in enumerate(self.groups[:-1]):
            if level_index(self.spec, self.followed, group[-1]) == index:
                return number
        return None

    def _open(self, unit: ir.Expr, ctx: Context) -> None:
        self.cursors = [
            ctx.builder.declare(
                f"next{group[0] + 1}",
                literal(0) if ctx.counting else ir.Load(counts_buffer(group), unit),
            )
            for group in self.groups
        ]

    def _close(self, unit: ir.Expr, ctx: Context) -> None:
        if not ctx.counting:
            return
        for group, cursor in zip(self.groups, self.cursors, strict=True):
            ctx.builder.store(counts_buffer(group), add(unit, literal(1)), cursor)

    def _append(self, number: int, scope: Scope, ctx: Context) -> None:
        cursor = self.cursors[number]
        kept = self.keeps and number + 1 == len(self.groups)
        if not ctx.counting and not kept:
            for depth in self.groups[number]:
                write_coordinate(self.followed, depth, cursor, scope, ctx)
            if number + 1 < len(self.groups):
                depth = self.groups[number + 1][0]
                level = appendable(self.spec.format.levels[depth])
                view = ctx.view(self.followed, depth)
                edges = level.append_edges(view, cursor, self.cursors[number + 1])
                ctx.builder.emit(*edges)
        ctx.builder.assign(cursor, add(cursor, literal(1)))


@dataclass(slots=True)
class ScatterOutput(Output):
    """Fibres are met in any order; each has a cursor, its offset, in memory.

    Where the outermost loop is divided, each chunk has its own cursor in each fibre, so
    that chunks may run at the same time; a chunk's entries follow those of the chunks
    before it. Not where chunks are ``apart``: none has a fibre of another one.
    """

    spec: TensorSpec
    apart: bool
    sparse: ClassVar[bool] = True

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Follow the target's prefix like an operand."""
        if len(append_groups(self.spec)) != 1:
            raise InternalError(f"expected one appended level, got {self.spec.format}")
        return advance(start([self.followed], scope), ctx)

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: Context,
    ) -> None:
        """Count the entry for its fibre, or append it to its fibre."""
        b = ctx.builder
        (group,) = append_groups(self.spec)
        unit = add(self._first_of_chunk(ctx), scope.places[target].begin)
        buffer = counts_buffer(group)
        with stored_value(value, scope, ctx) as stored:
            if stored is None:
                b.store(buffer, unit, literal(1), "add")
                return
            cursor = b.declare("next", ir.Load(buffer, unit))
            b.store(buffer, unit, add(cursor, literal(1)))
            position: ir.Expr = cursor
            for depth in group:
                position = write_coordinate(target, depth, cursor, scope, ctx)
            b.store(ctx.values(names.OUTPUT), position, stored)

    def prefetch(self, scope: Scope, ctx: Context) -> None:
        """Bring near where the fibre's cursor points to, while entries are written."""
        if ctx.counting:
            return
        b = ctx.builder
        (group,) = append_groups(self.spec)
        place = advance(scope.keep([self.followed]), ctx).places[self.followed]
        unit = add(self._first_of_chunk(ctx), place.begin)
        cursor = b.declare("near", ir.Load(counts_buffer(group), unit))
        position: ir.Expr = cursor
        for depth in group:
            level, view = self.spec.format.levels[depth], ctx.view(self.followed, depth)
            made = _next_position(level, view, cursor, literal(0))
            for write in made.setup:
                if isinstance(write, ir.Store):
                    b.emit(ir.Prefetch(write.buffer, write.index))
                else:
                    b.emit(write)
            position = made.position
        b.emit(ir.Prefetch(ctx.values(names.OUTPUT), position))

    def _first_of_chunk(self, ctx: Context) -> ir.Expr:
        return literal(0) if self.apart else mul(ctx.chunk, self._units(ctx))

    def _units(self, ctx: Context) -> ir.Expr:
        """Return the number of fibres that the levels above the appended one have."""
        units: ir.Expr = literal(1)
        for depth in range(located_prefix(self.spec)):
            units = mul(units, ctx.view(self.followed, depth).extent)
        return units


@contextmanager
def stored_value(
    value: Callable[[Scope], ir.Expr], scope: Scope, ctx: Context
) -> Iterator[ir.Expr | None]:
    """Surround the storing of an entry; gives its value, or None while counting.

    A pruned result tests the value in both functions.
    """
    if not ctx.problem.prune:
        yield None if ctx.counting else value(scope)
        return
    b = ctx.builder
    stored = b.declare("value", value(scope))
    compared = cast(stored, computed_dtype(stored.dtype))
    nothing = ir.Literal(zero_of(compared.dtype), compared.dtype)
    with b.branch(ir.Binary("ne", compared, nothing, "bool")):
        yield None if ctx.counting else stored


def _whole(index: str, scope: Scope) -> str:
    """Return the index that a loop completes: its own, or what that is part of."""
    part = names.derived(index)
    if isinstance(part, names.Block) and part.base in scope.coordinates:
        return part.base
    return index


def write_coordinate(
    target: Access, depth: int, position: ir.Expr, scope: Scope, ctx: Context
) -> ir.Expr:
    """Emit the write of one level's coordinate at a new position; return the position.

    A level with slots has one of them for it.
    """
    spec = ctx.spec(target.tensor)
    level = spec.format.levels[depth]
    index = level_index(spec, target, depth)
    here = coordinate(index, scope)
    if here is None:
        raise InternalError(f"expected {index} to be bound where a value is stored")
    view = ctx.view(target, depth)
    made = _next_position(level, view, position, here)
    ctx.builder.emit(*made.setup)
    return made.position


def _next_position(
    level: Level, view: LevelView, cursor: ir.Expr, coordinate: ir.Expr
) -> Located:
    if isinstance(level, Slotted):
        return level.fill_slot(view, cursor, coordinate)
    writes = appendable(level).append_coordinate(view, cursor, coordinate)
    return Located(cursor, setup=writes)


def appendable(level: Level) -> Appendable:
    """Return the level, which must be able to append fibres one after the other."""
    if not isinstance(level, Appendable):
        raise UnsupportedError(
            f"expected a level that a result can append to, got {level.name}"
        )
    return level
