"""Memory of the list workspaces of one task: taken once, clean between uses."""

from collections.abc import Iterator

from sparray.compiler import names
from sparray.compiler.cin.nodes import Assign, Forall, Sequence, Stmt, Tiles, Where
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import literal
from sparray.compiler.lower.context import Context, WorkspaceBuffers
from sparray.errors import InternalError

__all__ = ["allocate", "list_workspaces", "release", "workspaces"]


def list_workspaces(statement: Stmt) -> Iterator[Where]:
    """Yield every `Where` of a statement whose workspace is a list."""
    return (w for w in workspaces(statement) if w.workspace.kind == "list")


def workspaces(statement: Stmt) -> Iterator[Where]:
    """Yield every `Where` of a statement."""
    if isinstance(statement, Where):
        yield statement
        yield from workspaces(statement.producer)
        yield from workspaces(statement.consumer)
    elif isinstance(statement, Forall | Tiles):
        yield from workspaces(statement.body)
    elif isinstance(statement, Sequence):
        for part in statement.statements:
            yield from workspaces(part)
    elif not isinstance(statement, Assign):
        raise InternalError(f"expected a CIN statement, got {statement!r}")


def allocate(lists: Iterator[Where], ctx: Context) -> None:
    """Emit the allocation of every list workspace, with clear marks.

    A workspace has an element for each value of its index, sized by that index's
    extent, whichever operand brings it.
    """
    b = ctx.builder
    for statement in lists:
        workspace = statement.workspace
        (index,) = workspace.indices
        size = ir.Var(names.extent(index))
        name = workspace.name
        values = None
        if not ctx.counting:
            values = b.allocate(f"{name}_values", workspace.dtype, size)
        ctx.lists[name] = WorkspaceBuffers(
            values,
            b.allocate(f"{name}_marks", "bool", size, zeroed=True),
            b.allocate(f"{name}_list", "int64", size),
            b.declare(f"{name}_count", literal(0)),
        )


def release(ctx: Context) -> None:
    """Emit the release of what `allocate` took."""
    for workspace in ctx.lists.values():
        if workspace.values is not None:
            ctx.builder.free(workspace.values)
        ctx.builder.free(workspace.marks)
        ctx.builder.free(workspace.coordinates)
