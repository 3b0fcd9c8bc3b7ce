"""Write a result whose positions are known: dense levels, or an operand's pattern."""

from collections.abc import Callable
from dataclasses import dataclass

from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.lower.access import advance, start
from sparray.compiler.lower.context import Context, Output
from sparray.compiler.lower.expression import combine
from sparray.compiler.lower.scope import Scope

__all__ = ["InheritOutput", "InsertOutput", "store_value"]


@dataclass(slots=True)
class InsertOutput(Output):
    """Every level is located, so a value's place follows from its coordinates."""

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Follow the target like an operand."""
        return advance(start([self.followed], scope), ctx)

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: Context,
    ) -> None:
        """Store the value at the target's place."""
        store_value(ctx, scope.places[target].element, value(scope), op)


@dataclass(slots=True)
class InheritOutput(Output):
    """The result has the pattern of the followed operand, so it has its positions."""

    def store(
        self,
        target: Access,
        value: Callable[[Scope], ir.Expr],
        op: str | None,
        scope: Scope,
        ctx: Context,
    ) -> None:
        """Store the value at the source's position."""
        store_value(ctx, scope.places[self.followed].element, value(scope), op)


def store_value(ctx: Context, index: ir.Expr, value: ir.Expr, op: str | None) -> None:
    """Emit the write of a value of the result, or an update by an operator."""
    buffer = ctx.values("out")
    if op is not None and buffer.dtype == "bool":
        old = ir.Load(buffer, index, value.lanes)
        value, op = combine(op, old, value, "bool"), None
    ctx.builder.store(buffer, index, value, op)
