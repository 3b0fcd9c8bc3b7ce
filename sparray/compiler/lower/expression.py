"""Lower the right-hand side of a CIN assignment to a loop IR expression."""

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import apply_operator
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import cast
from sparray.compiler.loop_ir.dtypes import widened
from sparray.compiler.loop_ir.operators import REAL_RESULTS, operator
from sparray.compiler.lower.access import load_value
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.workspaces import element
from sparray.errors import InternalError

__all__ = ["combine", "lower_expression", "spread"]

_BOOL_ARITHMETIC = {
    "add": "or",
    "mul": "and",
    "times": "and",
    "max": "or",
    "min": "and",
}


@singledispatch
def lower_expression(expr: Expr, scope: Scope, ctx: Context) -> ir.Expr:
    """Return the value of an expression at the scope's coordinates.

    Parameters
    ----------
    expr : Expr
        An index-notation expression without reductions.
    scope : Scope
        Every access in it is resolved.
    ctx : Context
        Statements that the value needs are emitted here.

    Returns
    -------
    ir.Expr
        With NumPy's promoted dtype; lanes where the scope is a vector loop and an
        operand has lanes.
    """
    raise InternalError(f"expected an expression without reductions, got {expr!r}")


@lower_expression.register
def _(expr: Access, scope: Scope, ctx: Context) -> ir.Expr:
    if expr.tensor in ctx.registers:
        return ctx.registers[expr.tensor][scope.piece]
    if expr.tensor in ctx.panels:
        along = scope.tile is not None and scope.tile.inner in expr.indices
        lanes = scope.lanes if along else 1
        return ir.Load(ctx.panels[expr.tensor], element(expr, scope, ctx), lanes)
    if expr.tensor in ctx.scalars:
        variable, _ = ctx.scalars[expr.tensor]
        if variable is None:
            raise InternalError(f"expected a value of {expr.tensor}, got a count only")
        return variable
    if expr.tensor in ctx.lists:
        collected = ctx.lists[expr.tensor]
        if collected.values is None:
            raise InternalError(f"expected a value of {expr.tensor}, got a count only")
        coordinate = scope.places[expr].begin
        return ir.Load(collected.values, collected.element(coordinate, ctx.builder))
    return load_value(expr, scope, ctx)


@lower_expression.register
def _(expr: Literal, scope: Scope, ctx: Context) -> ir.Expr:
    return _constant(expr)


@lower_expression.register
def _(expr: Apply, scope: Scope, ctx: Context) -> ir.Expr:
    if operator(expr.op).of_stored is not None:
        # What is not stored has been replaced where it was found to be absent.
        return _constant(Literal(operator(expr.op).of_stored))
    operands = [lower_expression(operand, scope, ctx) for operand in expr.operands]
    if operator(expr.op).definition is not None:
        # Its parameters may occur more than once.
        operands = [_held(operand, ctx) for operand in operands]
    return _applied(expr, operands)


def _held(value: ir.Expr, ctx: Context) -> ir.Expr:
    if isinstance(value, ir.Var | ir.Literal):
        return value
    return ctx.builder.declare("term", value)


def _constant(expr: Literal) -> ir.Literal:
    value = widened(expr.value)
    dtype = np.result_type(type(value)).name
    return ir.Literal(value.item() if isinstance(value, np.generic) else value, dtype)


def _applied(expr: Apply, operands: list[ir.Expr]) -> ir.Expr:
    """Return an operator applied to operands that are lowered already."""
    row = operator(expr.op)
    dtype = _promote(expr.operands[row.conditions :], operands[row.conditions :])
    if row.conditions:
        return _choose(operands, dtype)
    if row.result == "float" and np.dtype(dtype).kind in "biu":
        dtype = "float64"
    if row.definition is None and row.result == "promote" and dtype == "bool":
        dtype = _without_bools(expr.op, len(operands))
    lanes = max(operand.lanes for operand in operands)
    inputs = [spread(_convert(operand, dtype), lanes) for operand in operands]
    result = "bool" if row.result == "bool" else dtype
    if expr.op in REAL_RESULTS and np.dtype(dtype).kind == "c":
        result = np.zeros((), dtype).real.dtype.name
    if len(inputs) == 1:
        return ir.Unary(expr.op, inputs[0], result)
    return combine(expr.op, inputs[0], inputs[1], result)


def _defined(expr: Expr, parameters: Mapping[str, ir.Expr]) -> ir.Expr:
    """Return the definition of an operator, its parameters being lowered already."""
    if isinstance(expr, Access):
        return parameters[expr.tensor]
    if isinstance(expr, Literal):
        return _constant(expr)
    if isinstance(expr, Apply):
        operands = [_defined(operand, parameters) for operand in expr.operands]
        return _applied(expr, operands)
    raise InternalError(f"expected a definition of an operator, got {expr!r}")


def combine(op: str, left: ir.Expr, right: ir.Expr, dtype: str) -> ir.Expr:
    """Return a binary operation; arithmetic on bool is logic, as in NumPy."""
    definition = operator(op).definition
    if definition is not None:
        lanes = max(left.lanes, right.lanes)
        given = {"x": spread(left, lanes), "y": spread(right, lanes)}
        return spread(_defined(definition(left.dtype), given), lanes)
    if left.dtype == "bool":
        op = _BOOL_ARITHMETIC.get(op, op)
    return ir.Binary(op, left, right, dtype)


def spread(value: ir.Expr, lanes: int) -> ir.Expr:
    """Return the value with that many lanes; a scalar is repeated."""
    return value if value.lanes == lanes else ir.Broadcast(value, lanes)


def _choose(operands: list[ir.Expr], dtype: str) -> ir.Expr:
    """Return the second operand where the first is true, the third elsewhere."""
    lanes = max(operand.lanes for operand in operands)
    condition = cast(operands[0], "bool")
    if condition.lanes > 1:
        condition = spread(condition, lanes)
    then, otherwise = (spread(_convert(each, dtype), lanes) for each in operands[1:])
    return ir.Select(condition, then, otherwise)


def _promote(given: Sequence[Expr], operands: Sequence[ir.Expr]) -> str:
    # A Python number is weak, as in NumPy 2: it does not widen an array's dtype.
    parts: list[Any] = [
        widened(each.value) if isinstance(each, Literal) else np.dtype(value.dtype)
        for each, value in zip(given, operands, strict=True)
    ]
    return np.result_type(*parts).name


def _without_bools(op: str, arity: int) -> str:
    """Return the dtype that an operator makes of bools: for some NumPy has no loop."""
    made = np.asarray(apply_operator(op, *[np.ones(1, np.bool_)] * arity)).dtype
    return made.name


def _convert(value: ir.Expr, dtype: str) -> ir.Expr:
    if isinstance(value, ir.Literal):
        return ir.Literal(np.dtype(dtype).type(value.value).item(), dtype)
    return cast(value, dtype)
