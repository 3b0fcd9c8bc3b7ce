"""Memory of the workspaces of one task: taken once, and lists clean between uses."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce

from sparray.compiler import names
from sparray.compiler.cin.nodes import Access, Forall, Stmt, Where, Workspace
from sparray.compiler.cin.traversal import children
from sparray.compiler.kernel_facts.workspaces import LISTED
from sparray.compiler.levels import level_index, n_levels
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, literal, mul
from sparray.compiler.lower.context import (
    Context,
    RowBuffers,
    extent_of,
)
from sparray.compiler.lower.coordinates import coordinate
from sparray.compiler.lower.lists import ListBuffers
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.tables import TableBuffers
from sparray.errors import InternalError

__all__ = [
    "buffered_workspaces",
    "element",
    "in_memory",
]


def buffered_workspaces(statement: Stmt) -> Iterator[Where]:
    """Yield every `Where` of one task whose workspace is in memory.

    A loop on threads inside of the statement has tasks of its own.
    """
    kinds = LISTED | {"dense", "row", "pattern"}
    if isinstance(statement, Where) and statement.workspace.kind in kinds:
        yield statement
    for child in children(statement):
        if not (isinstance(child, Forall) and child.parallel):
            yield from buffered_workspaces(child)


@contextmanager
def in_memory(lists: Iterable[Where], ctx: Context) -> Iterator[None]:
    """Surround the loops of a task with the memory of its workspaces.

    A task inside another one reads the workspaces of that one, too.
    """
    outer = ctx.rows, ctx.lists, ctx.panels
    ctx.rows, ctx.lists, ctx.panels = {}, {}, {}
    _allocate(lists, ctx)
    own = rows, listed, panels = ctx.rows, ctx.lists, ctx.panels
    ctx.rows, ctx.lists = {**outer[0], **rows}, {**outer[1], **listed}
    ctx.panels = {**outer[2], **panels}
    yield
    ctx.rows, ctx.lists, ctx.panels = own
    _release(ctx)
    ctx.rows, ctx.lists, ctx.panels = outer


def _allocate(lists: Iterable[Where], ctx: Context) -> None:
    """Emit the allocation of every workspace in memory, that of lists with clear marks.

    A workspace has an element for each value of its indices, sized by their extents,
    whichever operand brings them.
    Those are as many as a row of a pattern may have. A table grows when it is used.
    """
    b = ctx.builder
    for statement in lists:
        workspace = statement.workspace
        if workspace.kind == "dense":
            if ctx.counting and not ctx.problem.prune:
                # Nothing is computed, so nothing is read.
                continue
            size: ir.Expr = literal(1)
            for index in workspace.indices:
                size = mul(size, _length(index, ctx))
            name, dtype = f"{workspace.name}_values", workspace.dtype
            ctx.panels[workspace.name] = b.allocate(name, dtype, size)
            continue
        if workspace.kind in ("row", "pattern"):
            size = _row_length(workspace, ctx)
            row = b.allocate(f"{workspace.name}_values", workspace.dtype, size)
            ctx.rows[workspace.name] = RowBuffers(row, size, literal(0))
            continue
        name = workspace.name
        stored = None if ctx.counting else workspace.dtype
        if workspace.kind == "hashed":
            ctx.lists[name] = TableBuffers.allocated(name, stored, b)
            continue
        (index,) = workspace.indices
        size = ir.Var(names.extent(index))
        ctx.lists[name] = ListBuffers.allocated(
            name, stored, size, bool(workspace.among), b
        )


def _row_length(workspace: Workspace, ctx: Context) -> ir.Expr:
    if workspace.kind == "row":
        extents: list[ir.Expr] = [ir.Var(names.extent(i)) for i in workspace.indices]
        return reduce(mul, extents)
    access, spec = Access(workspace.name, workspace.indices), ctx.spec(workspace.name)
    return ir.Var(names.extent(level_index(spec, access, n_levels(spec) - 1)))


def _release(ctx: Context) -> None:
    """Emit the release of what `_allocate` took."""
    for row in ctx.rows.values():
        ctx.builder.free(row.values)
    for workspace in ctx.lists.values():
        workspace.release(ctx.builder)
    for panel in ctx.panels.values():
        ctx.builder.free(panel)


def _length(index: str, ctx: Context) -> ir.Expr:
    """Return how many values an index has, at most."""
    tile = ctx.tile_sizes.get(index)
    return extent_of(index) if tile is None else literal(tile)


def element(access: Access, scope: Scope, ctx: Context) -> ir.Expr:
    """Return the place of a dense workspace's element: the last index is contiguous.

    In a vector loop it is that of the first lane.
    """
    at: ir.Expr = literal(0)
    for index in access.indices:
        here = coordinate(index, scope)
        length = extent_of(index)
        if scope.tile is not None and index == scope.tile.inner:
            here = literal(scope.piece * scope.lanes)
            length = literal(scope.tile.size)
        if here is None:
            raise InternalError(f"expected {index} to be bound, where {access} is")
        at = add(mul(at, length), here)
    return at
