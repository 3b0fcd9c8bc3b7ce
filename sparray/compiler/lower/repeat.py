"""Lower the updates by a constant that a reduction makes where operands end."""

from collections.abc import Sequence

import numpy as np

from sparray.compiler import names
from sparray.compiler.cin.effective import restrict
from sparray.compiler.cin.nodes import Access, Assign, Forall
from sparray.compiler.index_notation.nodes import Literal
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import cast, less, literal, mul, sub
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.loop_ir.operators import operator
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.expression import combine, lower_expression
from sparray.compiler.lower.scope import Scope
from sparray.records import dataclass

__all__ = ["Repeat", "repeated_update"]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A scalar that is updated by one constant at many values of some indices.

    **Rewrite**: ``∀j w = op(w, c)`` → ``w = op(w, c op c op ...)``: for ``+`` that is
    ``c`` times the number of values, for an operator that repeating does not change it
    is ``c`` itself.
    """

    update: Assign
    indices: tuple[str, ...]

    def lower(self, visited: ir.Expr, scope: Scope, ctx: Context) -> None:
        """Emit the update for all but some values of the outermost index."""
        b = ctx.builder
        count = sub(extent_of(self.indices[0]), visited)
        for index in self.indices[1:]:
            count = mul(count, extent_of(index))
        left = b.declare("absent", count)
        variable, present = ctx.scalars[self.update.target.tensor]
        with b.branch(less(literal(0), left)):
            if variable is not None and self.update.op is not None:
                value = cast(
                    lower_expression(self.update.value, scope, ctx), variable.dtype
                )
                times = operator(self.update.op).repeated
                if times is not None and variable.dtype != "bool":
                    number = cast(left, variable.dtype)
                    value = ir.Binary(times, value, number, variable.dtype)
                total = combine(self.update.op, variable, value, variable.dtype)
                b.assign(variable, total)
            if present is not None:
                b.assign(present, literal(True))


def repeated_update(
    statement: Forall, walked: Sequence[Access], scope: Scope, ctx: Context
) -> Repeat | None:
    """Return what a loop does where all that it walks is absent, if it is a `Repeat`.

    None for a body that does anything else, for loops over parts of an index, whose
    values may lie outside of the shape, and for sums of infinite complex numbers,
    whose product with a number is NaN.
    """
    body = restrict(statement.body, walked, ctx.absence)
    indices = [statement.index]
    while isinstance(body, Forall):
        indices.append(body.index)
        body = body.body
    if not isinstance(body, Assign) or body.op is None:
        return None
    if any(names.derived(index) for index in (*indices, *scope.coordinates)):
        return None
    target = body.target.tensor
    if target not in ctx.scalars or not ctx.absence.is_constant(body.value):
        return None
    row = operator(body.op)
    dtype = numpy_dtype(ctx.absence.dtypes[target])
    if dtype.kind == "c" and not (
        isinstance(body.value, Literal) and np.isfinite(body.value.value)
    ):
        return None
    if row.repeated is None and not row.idempotent and dtype.kind != "b":
        return None
    return Repeat(body, tuple(indices))
