"""Assemble a result whose stored coordinates are those of blocks.

The result's levels are a located prefix, one appended level, and located levels below
it: each appended position is a block. Entries of a unit (a position of the prefix, or
all of the array where there is none) come in any order, so its blocks are listed first:
counted in the first phase; in the second one listed again, sorted and given their
positions, whereupon the unit's loops run once more and write each value at its place in
its block. What no entry writes is padding.

Where a unit gets its blocks in ascending order, though not alone (CSC to BCSR: a column
of blocks after the other), nothing is listed: blocks are scattered as entries are.
"""

from collections.abc import Callable, Iterator
from typing import ClassVar

from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.kernel_facts.appending import appended_levels, located_prefix
from sparray.compiler.kernel_facts.block_results import clears_blocks
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.compiler.lower.access import advance, start
from sparray.compiler.lower.append import (
    ScatterOutput,
    appendable,
    counts_buffer,
    stored_value,
)
from sparray.compiler.lower.context import Context, Output, Phase, zero_of
from sparray.compiler.lower.output import bound_coordinate, insert, store_value
from sparray.compiler.lower.scope import Scope
from sparray.compiler.problem import TensorSpec
from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = [
    "BlocksOutput",
    "ScatterBlocksOutput",
    "clear_blocks",
]


def clear_blocks(
    target: Access, depth: int, first: ir.Expr, count: ir.Expr, ctx: Context
) -> None:
    """Emit zeros in ``count`` blocks of a level from a position on."""
    values = ctx.values(target.tensor)
    size: ir.Expr = literal(1)
    for below in range(depth + 1, n_levels(ctx.spec(target.tensor))):
        size = mul(size, ctx.view(target, below).extent)
    begin, end = mul(first, size), mul(add(first, count), size)
    with ctx.builder.loop("e", begin, end) as e:
        ctx.builder.store(values, e, ir.Literal(zero_of(values.dtype), values.dtype))


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Memory of one task: which blocks its unit has, and where they are."""

    marks: ir.Buffer
    listed: ir.Buffer
    places: ir.Buffer | None
    count: ir.Var


@dataclass(slots=True)
class BlocksOutput(Output):
    """Entries come in any order within a unit; their blocks are listed first."""

    spec: TensorSpec
    sparse: ClassVar[bool] = True
    blocks: _Blocks | None = None

    @property
    def depth(self) -> int:
        """The appended level."""
        return located_prefix(self.spec)

    @property
    def made(self) -> _Blocks:
        """The memory of the task that is emitted."""
        if self.blocks is None:
            raise InternalError("expected the blocks of a task to be allocated")
        return self.blocks

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Allocate the list of blocks, and follow the target's prefix."""
        if appended_levels(self.spec) != (self.depth,):
            raise InternalError(f"expected one appended level, got {self.spec.format}")
        b, size = ctx.builder, ctx.view(self.followed, self.depth).extent
        self.blocks = _Blocks(
            b.allocate("block_marks", "bool", size, zeroed=True),
            b.allocate("block_list", "int64", size),
            None if ctx.counting else b.allocate("block_places", "int64", size),
            b.declare("blocks", literal(0)),
        )
        return advance(start([self.followed], scope), ctx)

    def end(self, ctx: Context) -> None:
        """Give the memory back."""
        ctx.builder.free(self.made.marks)
        ctx.builder.free(self.made.listed)
        if self.made.places is not None:
            ctx.builder.free(self.made.places)

    def whole(self, scope: Scope, ctx: Context) -> Iterator[Scope]:
        """Without a prefix, run all loops once to list blocks, once to fill them."""
        if self.depth:
            yield scope
        else:
            yield from self._unit(literal(0), scope, ctx)

    def bound(self, index: str, scope: Scope, ctx: Context) -> Iterator[Scope]:
        """Run the loops of a unit once to list its blocks, and once to fill them."""
        prefix = {level_index(self.spec, self.followed, d) for d in range(self.depth)}
        if index not in prefix or scope.places[self.followed].depth < self.depth:
            yield scope
            return
        yield from self._unit(scope.places[self.followed].begin, scope, ctx)

    def _unit(self, unit: ir.Expr, scope: Scope, ctx: Context) -> Iterator[Scope]:
        phase, ctx.phase = ctx.phase, Phase.COUNT
        ctx.builder.assign(self.made.count, literal(0))
        yield scope
        ctx.phase = phase
        if ctx.counting:
            counted = add(unit, literal(1))
            ctx.builder.store(counts_buffer((self.depth,)), counted, self.made.count)
            with ctx.builder.loop("q", literal(0), self.made.count) as q:
                self._clear(ir.Load(self.made.listed, q), ctx)
            return
        self._place_blocks(unit, ctx)
        yield scope

    def _clear(self, block: ir.Expr, ctx: Context) -> None:
        ctx.builder.store(self.made.marks, block, literal(False))

    def _place_blocks(self, unit: ir.Expr, ctx: Context) -> None:
        """Emit the coordinates of a unit's blocks, in order, and note their places."""
        b, made = ctx.builder, self.made
        if made.places is None:
            raise InternalError("expected places of blocks in the filling function")
        b.emit(ir.Sort(made.listed, made.count))
        first = b.declare("first_block", ir.Load(counts_buffer((self.depth,)), unit))
        level = appendable(self.spec.format.levels[self.depth])
        view = ctx.view(self.followed, self.depth)
        with b.loop("q", literal(0), made.count) as q:
            block = b.declare("block", ir.Load(made.listed, q))
            place = b.declare("place", add(first, q))
            b.store(made.places, block, place)
            b.emit(*level.append_coordinate(view, place, block))
            self._clear(block, ctx)
        if clears_blocks(ctx.problem):
            clear_blocks(self.followed, self.depth, first, made.count, ctx)

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: Context,
    ) -> None:
        """List the block of an entry, or write the entry into its block."""
        with stored_value(value, scope, ctx) as stored:
            index = level_index(self.spec, self.followed, self.depth)
            block = bound_coordinate(index, scope)
            if stored is None:
                self._list(block, ctx)
                return
            store_value(ctx, self._position(block, scope, ctx), stored, op)

    def _list(self, block: ir.Expr, ctx: Context) -> None:
        b, made = ctx.builder, self.made
        block = b.declare("block", block)
        listed = ir.Load(made.marks, block)
        with b.branch(ir.Unary("not", listed, "bool")):
            b.store(made.marks, block, literal(True))
            b.store(made.listed, made.count, block)
            b.increment(made.count)

    def _position(self, block: ir.Expr, scope: Scope, ctx: Context) -> ir.Expr:
        if self.made.places is None:
            raise InternalError("expected places of blocks in the filling function")
        place = ir.Load(self.made.places, block)
        return insert(self.followed, self.depth + 1, place, scope, ctx)


@dataclass(slots=True)
class ScatterBlocksOutput(ScatterOutput):
    """Units are met in any order, and each gets its blocks in order, one at a time.

    So an entry belongs to the block that its unit got last, or else begins a block: the
    last block of each unit is all that a chunk remembers, beside the units' cursors.
    """

    last: ir.Buffer | None = None

    @property
    def depth(self) -> int:
        """The appended level."""
        return located_prefix(self.spec)

    @property
    def last_blocks(self) -> ir.Buffer:
        """Of each unit, one more than its last block; 0 before the first."""
        if self.last is None:
            raise InternalError("expected the memory of a task to be allocated")
        return self.last

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Allocate what the task remembers, and follow the target's prefix."""
        self.last = ctx.builder.allocate(
            "last_blocks", "int64", self._units(ctx), zeroed=True
        )
        return advance(start([self.followed], scope), ctx)

    def end(self, ctx: Context) -> None:
        """Give the memory back."""
        ctx.builder.free(self.last_blocks)

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: Context,
    ) -> None:
        """Begin a block if the entry is in another one than the last; write it."""
        b, unit = ctx.builder, scope.places[target].begin
        counts = counts_buffer((self.depth,))
        at = add(self._first_of_chunk(ctx), unit)
        with stored_value(value, scope, ctx) as stored:
            index = level_index(self.spec, self.followed, self.depth)
            block = bound_coordinate(index, scope)
            after = b.declare("after_block", add(block, literal(1)))
            is_next = ir.Binary("ne", ir.Load(self.last_blocks, unit), after, "bool")
            with b.branch(is_next):
                b.store(self.last_blocks, unit, after)
                if stored is not None:
                    self._open(ir.Load(counts, at), block, ctx)
                b.store(counts, at, literal(1), "add")
            if stored is not None:
                place = add(ir.Load(counts, at), literal(-1))
                position = insert(target, self.depth + 1, place, scope, ctx)
                store_value(ctx, position, stored, op)

    def _open(self, place: ir.Expr, block: ir.Expr, ctx: Context) -> None:
        """Emit a block's coordinate and its padding."""
        place = ctx.builder.declare("place", place)
        level = appendable(self.spec.format.levels[self.depth])
        view = ctx.view(self.followed, self.depth)
        ctx.builder.emit(*level.append_coordinate(view, place, block))
        if clears_blocks(ctx.problem):
            clear_blocks(self.followed, self.depth, place, literal(1), ctx)
