"""Keep several sums of a reduction side by side."""

from collections.abc import Iterator

from sparray.compiler.cin.effective import target_access
from sparray.compiler.cin.nodes import Forall, Stmt, Where
from sparray.compiler.kernel_facts.workspaces import update_operator
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.expression import combine

__all__ = ["add_up", "extra_sums", "use_sums"]


def extra_sums(statement: Where, vectors: int) -> int:
    """Return how many sums a workspace needs besides its own.

    ``vectors`` is how many vectors the workspace holds: they are sums side by side
    already.
    """
    return max(1, _unroll(statement.producer) // vectors) - 1


def _unroll(statement: Stmt) -> int:
    while isinstance(statement, Forall):
        if statement.unroll > 1:
            return statement.unroll
        statement = statement.body
    return 1


def _current_sums(name: str, ctx: Context) -> tuple[ir.Var, ...]:
    """Return the variables into which a workspace is summed."""
    if name in ctx.registers:
        return ctx.registers[name]
    variable, _ = ctx.scalars[name]
    return () if variable is None else (variable,)


def use_sums(statement: Forall, ctx: Context) -> Iterator[int]:
    """Yield 0, 1, ...; code that is emitted meanwhile adds to the sum of that number.

    Only 0 where the loop's reduction has one sum.
    """
    name = target_access(statement.body).tensor
    extra = ctx.sums.get(name, ())
    if statement.unroll <= 1 or not extra:
        yield 0
        return
    own = _current_sums(name, ctx)
    for number, variables in enumerate((own, *extra)):
        _set(name, variables, ctx)
        yield number
    _set(name, own, ctx)


def _set(name: str, variables: tuple[ir.Var, ...], ctx: Context) -> None:
    if name in ctx.registers:
        ctx.registers[name] = variables
    else:
        ctx.scalars[name] = (variables[0], ctx.scalars[name][1])


def add_up(statement: Where, ctx: Context) -> None:
    """Emit the combination of all sums of a workspace into its own."""
    name = statement.workspace.name
    op = update_operator(statement) or "add"
    for variables in ctx.sums.pop(name, ()):
        for total, part in zip(_current_sums(name, ctx), variables, strict=True):
            ctx.builder.assign(total, combine(op, total, part, total.dtype))
