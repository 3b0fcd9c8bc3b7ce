"""Assemble a sparse result in one pass, where operands bound its entries.

A fibre of ``A + B`` has at most the entries of both operands' fibres, one of ``A * B``
at most those of either. So nothing is counted before memory is allocated: each chunk of
the outermost loop appends from where the fibres before it would end if none were
shorter than its bound. What the chunks leave out between them, the caller closes; one
chunk leaves nothing out. Merging takes as long whether it counts or writes, as no
branch of it is foreseen, so this halves the time.
"""

from dataclasses import field
from typing import ClassVar

from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, less, literal, mul, sub
from sparray.compiler.lower.append import AppendOutput, counts_buffer
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.scope import Scope
from sparray.records import dataclass

__all__ = [
    "BoundedOutput",
]


@dataclass(slots=True)
class BoundedOutput(AppendOutput):
    """Entries come in the result's order within each chunk, which are not counted.

    The buffer of counts holds the position from which each unit may append, int64[units
    + 2 * chunks]; it is given the number of each unit's entries and, behind them, where
    each chunk's entries begin and end, both -1 for a chunk without units.
    """

    one_chunk: ClassVar[bool] = True
    chunk: list[ir.Var] = field(default_factory=list)

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Follow the target's prefix; nothing is appended yet."""
        scope = AppendOutput.begin(self, scope, ctx)
        b = ctx.builder
        self.chunk = [b.declare("began", literal(-1))]
        self.cursors = [b.declare("next", literal(-1))]
        return scope

    def end(self, ctx: Context) -> None:
        """Say where the chunk's entries begin and end."""
        (group,) = self.groups
        units = extent_of(level_index(self.spec, self.followed, 0))
        place = add(units, mul(literal(2), ctx.chunk))
        ctx.builder.store(counts_buffer(group), place, self.chunk[0])
        place = add(place, literal(1))
        ctx.builder.store(counts_buffer(group), place, self.cursors[0])

    def _open(self, unit: ir.Expr, ctx: Context) -> None:
        b = ctx.builder
        (group,) = self.groups
        began, cursor = self.chunk[0], self.cursors[0]
        with b.branch(less(began, literal(0))):
            b.assign(began, ir.Load(counts_buffer(group), unit))
            b.assign(cursor, began)
        self.chunk = [began, b.declare("before", cursor)]

    def _close(self, unit: ir.Expr, ctx: Context) -> None:
        (group,) = self.groups
        entries = sub(self.cursors[0], self.chunk[1])
        ctx.builder.store(counts_buffer(group), unit, entries)
