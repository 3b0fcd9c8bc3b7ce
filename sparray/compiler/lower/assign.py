"""Lower an assignment: to the result, to a scalar, to registers, or to a list."""

from sparray.compiler import names
from sparray.compiler.cin.nodes import Assign
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import cast, literal
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.expression import combine, lower_expression, spread
from sparray.compiler.lower.lists import CollectedBuffers
from sparray.compiler.lower.output import store_value
from sparray.compiler.lower.pieces import pieces
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lowers
from sparray.compiler.lower.workspaces import element
from sparray.errors import InternalError

__all__ = ["lower_assign"]


@lowers(Assign)
def lower_assign(statement: Assign, scope: Scope, ctx: Context) -> None:
    """Emit one assignment, in as many pieces as the open vector loop needs."""
    target = statement.target.tensor
    if target == names.OUTPUT:
        dtype = ctx.spec(target).dtype
        for piece in pieces(scope, dtype, ctx):
            ctx.output.store(
                statement.target,
                lambda at: _value(statement, dtype, at, ctx),
                statement.op,
                piece,
                ctx,
            )
    elif target in ctx.registers:
        for piece in pieces(scope, ctx.registers[target][0].dtype, ctx):
            _to_variable(statement, ctx.registers[target][piece.piece], piece, ctx)
    elif target in ctx.scalars:
        _to_scalar(statement, scope, ctx)
    elif target in ctx.rows:
        _to_row(statement, scope, ctx)
    elif target in ctx.lists:
        _to_list(statement, ctx.lists[target], scope, ctx)
    elif target in ctx.panels:
        _to_panel(statement, ctx.panels[target], scope, ctx)
    else:
        raise InternalError(f"expected a known target, got {target}")


def _value(statement: Assign, dtype: str, scope: Scope, ctx: Context) -> ir.Expr:
    value = lower_expression(statement.value, scope, ctx)
    return spread(cast(value, dtype), scope.lanes)


def _to_variable(
    statement: Assign, variable: ir.Var, scope: Scope, ctx: Context
) -> None:
    value = _value(statement, variable.dtype, scope, ctx)
    if statement.op is not None:
        value = combine(statement.op, variable, value, variable.dtype)
    ctx.builder.assign(variable, value)


def _to_scalar(statement: Assign, scope: Scope, ctx: Context) -> None:
    variable, present = ctx.scalars[statement.target.tensor]
    if variable is not None:
        _to_variable(statement, variable, scope, ctx)
    if present is not None:
        ctx.builder.assign(present, literal(True))


def _to_panel(statement: Assign, panel: ir.Buffer, scope: Scope, ctx: Context) -> None:
    """Emit the copy of a value, or of a vector of them, into a dense workspace."""
    if statement.op is not None:
        raise InternalError(f"expected a dense workspace to be copied, got {statement}")
    for piece in pieces(scope, panel.dtype, ctx):
        value = _value(statement, panel.dtype, piece, ctx)
        ctx.builder.store(panel, element(statement.target, piece, ctx), value)


def _to_row(statement: Assign, scope: Scope, ctx: Context) -> None:
    target = statement.target
    dtype = ctx.rows[target.tensor].values.dtype
    for piece in pieces(scope, dtype, ctx):
        value = _value(statement, dtype, piece, ctx)
        place = ctx.element(target, piece.places[target])
        store_value(ctx, place, value, statement.op, target.tensor)


def _to_list(
    statement: Assign, workspace: CollectedBuffers, scope: Scope, ctx: Context
) -> None:
    """Emit an update at a coordinate, which joins the list the first time."""
    b = ctx.builder
    coordinate = scope.coordinates[statement.target.indices[0]]
    with workspace.if_held(coordinate, b):
        value = None
        if workspace.values is not None:
            made = _value(statement, workspace.values.dtype, scope, ctx)
            value = made if isinstance(made, ir.Var) else b.declare("value", made)

        def combined(old: ir.Expr) -> ir.Expr:
            op = statement.op if statement.op is not None else "add"
            new = old if value is None else value
            return combine(op, old, new, new.dtype)

        workspace.update(coordinate, value, combined, b)
