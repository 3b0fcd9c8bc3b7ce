"""Write a result whose positions are known: located levels, or an operand's pattern."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sparray.compiler import names
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import literal
from sparray.compiler.loop_ir.operators import operator
from sparray.compiler.lower.access import advance, start
from sparray.compiler.lower.append import stored_value
from sparray.compiler.lower.context import Context, Output
from sparray.compiler.lower.coordinates import coordinate
from sparray.compiler.lower.expression import combine
from sparray.compiler.lower.scope import Scope
from sparray.compiler.problem import TensorSpec
from sparray.errors import InternalError
from sparray.formats.level import Insertable

__all__ = [
    "InheritOutput",
    "InsertOutput",
    "PlaceOutput",
    "bound_coordinate",
    "insert",
    "store_value",
]


@dataclass(slots=True)
class InsertOutput(Output):
    """Every level is located, so a value's place follows from its coordinates."""

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Follow the target like an operand."""
        return advance(start([self.followed], scope), ctx)

    def takes_any_order(self, index: str, ctx: Context) -> bool:
        """Take values in any order: each has its place."""
        return True

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


@dataclass(slots=True)
class PlaceOutput(Output):
    """Levels were made with nothing stored; each entry is inserted into all of them."""

    spec: TensorSpec
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
        """Insert the coordinates, and store the value where they are."""
        with stored_value(value, scope, ctx) as stored:
            if stored is None:
                raise InternalError("expected a placed result to be filled only")
            position = insert(target, 0, literal(0), scope, ctx)
            store_value(ctx, position, stored, op)


def insert(
    target: Access,
    first: int,
    position: ir.Expr,
    scope: Scope,
    ctx: Context,
    *,
    until: int | None = None,
) -> ir.Expr:
    """Insert the scope's coordinates into levels from ``first`` on, below a position.

    Returns the position in the innermost level, or in the one before ``until``.
    """
    spec = ctx.spec(target.tensor)
    last = n_levels(spec) if until is None else until
    for depth in range(first, last):
        level = spec.format.levels[depth]
        if not isinstance(level, Insertable):
            raise InternalError(f"expected levels to insert into, got {level.name}")
        here = bound_coordinate(level_index(spec, target, depth), scope)
        made = level.insert(ctx.view(target, depth), position, here)
        ctx.builder.emit(*made.setup)
        position = made.position
    if isinstance(position, ir.Var | ir.Literal) and until is not None:
        return position
    return ctx.builder.declare(names.position(names.OUTPUT, last - 1), position)


def bound_coordinate(index: str, scope: Scope) -> ir.Expr:
    """Return the coordinate of an index where a value is stored."""
    here = coordinate(index, scope)
    if here is None:
        raise InternalError(f"expected {index} to be bound where a value is stored")
    return here


def store_value(
    ctx: Context,
    index: ir.Expr,
    value: ir.Expr,
    op: str | None,
    tensor: str = names.OUTPUT,
) -> None:
    """Emit the write of a value of the result, or an update by an operator.

    Or of a workspace that holds a row.
    """
    buffer = ctx.values(tensor)
    defined = op is not None and operator(op).definition is not None
    if op is not None and (defined or buffer.dtype == "bool"):
        old = ir.Load(buffer, index, value.lanes)
        value, op = combine(op, old, value, buffer.dtype), None
    ctx.builder.store(buffer, index, value, op)
