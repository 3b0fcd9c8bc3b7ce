"""Assemble a result whose levels get room once it is known how much they are to hold.

The levels are made one after the other, the outermost first. For each that has no room
of its own accord there is a *round*, a function that runs all loops, inserts what it
can into the levels that are made already, and tells what the next one is to hold: how
many entries come below each parent, or, for a level that is arranged, which coordinates
of the level below come with which of its own. The caller makes the level and calls the
next round; the last function inserts into all levels, and writes the values. Entries
come in any order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.compiler.lower.append import stored_value
from sparray.compiler.lower.context import Context, Output, level_buffer
from sparray.compiler.lower.output import bound_coordinate, insert, store_value
from sparray.compiler.lower.scope import Scope
from sparray.compiler.problem import TensorSpec
from sparray.formats.allotted import PlaceInsertable
from sparray.formats.format import Format

__all__ = ["AllotOutput", "made_for_round", "needed_buffers"]


def needs_buffer(format: Format, depth: int) -> ir.Buffer:
    """Return what a round writes: what its level is to hold.

    ``int64[n_parents]``, the entries below each parent; or ``bool[n_parents, extent,
    extent_below]``, where there is one, for a level that is arranged.
    """
    level = format.levels[depth]
    dtype = "bool" if isinstance(level, PlaceInsertable) else "int64"
    return ir.Buffer(names.counts(names.OUTPUT, depth), dtype, writable=True)


def places_buffer(depth: int) -> ir.Buffer:
    """Return where the coordinates of an arranged level have their positions."""
    return ir.Buffer(names.places(names.OUTPUT, depth), "int64")


def made_for_round(spec: TensorSpec, depth: int) -> list[ir.Buffer]:
    """Return the result's buffers that a round takes: those of the levels above.

    Of all levels, with the number of levels as ``depth``. What an arranged level needs
    for its places stands behind its buffers.
    """
    given = []
    for number, level in enumerate(spec.format.levels[:depth]):
        given += [
            level_buffer(names.OUTPUT, spec, number, role, writable=True)
            for role in level.roles
        ]
        if isinstance(level, PlaceInsertable):
            given.append(places_buffer(number))
    return given


def needed_buffers(spec: TensorSpec, depth: int | None) -> list[ir.Buffer]:
    """Return the buffers of a round, or of the function that inserts everything."""
    if depth is not None:
        return [*made_for_round(spec, depth), needs_buffer(spec.format, depth)]
    values = ir.Buffer(names.values(names.OUTPUT), spec.dtype, writable=True)
    return [*made_for_round(spec, spec.format.n_levels), values]


@dataclass(slots=True)
class AllotOutput(Output):
    """Each entry is inserted into the levels that are made, or counted for the next.

    ``depth`` is that of the level for which a round counts; None in the last function.
    """

    spec: TensorSpec
    depth: int | None
    sparse: ClassVar[bool] = True

    @property
    def follows(self) -> frozenset[Access]:
        """Nothing: a place is looked up when there is a value for it."""
        return frozenset()

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: Context,
    ) -> None:
        """Insert the coordinates; store the value, or say what the next level holds."""
        with stored_value(value, scope, ctx) as stored:
            if self.depth is None:
                position = self._insert(target, self.spec.format.n_levels, scope, ctx)
                if stored is not None:
                    store_value(ctx, position, stored, op)
                return
            parent = self._insert(target, self.depth, scope, ctx)
            buffer = needs_buffer(self.spec.format, self.depth)
            if not isinstance(self.spec.format.levels[self.depth], PlaceInsertable):
                ctx.builder.store(buffer, parent, literal(1), "add")
                return
            at = parent
            for depth in (self.depth, self.depth + 1):
                index = level_index(self.spec, target, depth)
                view = ctx.view(target, depth)
                at = add(mul(at, view.extent), bound_coordinate(index, scope))
            ctx.builder.store(buffer, at, literal(True))

    def _insert(
        self, target: Access, until: int, scope: Scope, ctx: Context
    ) -> ir.Expr:
        """Insert the coordinates of the levels above one; return the position there."""
        position: ir.Expr = literal(0)
        first = 0
        for depth, level in enumerate(self.spec.format.levels[:until]):
            if not isinstance(level, PlaceInsertable):
                continue
            position = insert(target, first, position, scope, ctx, until=depth)
            here = bound_coordinate(level_index(self.spec, target, depth), scope)
            slot = level.slot(ctx.view(target, depth), position, here)
            position = ctx.builder.declare(
                names.position(names.OUTPUT, depth), ir.Load(places_buffer(depth), slot)
            )
            first = depth + 1
        return insert(target, first, position, scope, ctx, until=until)
