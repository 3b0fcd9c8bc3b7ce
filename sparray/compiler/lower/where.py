"""Lower a workspace: make it, run its producer, then its consumer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from sparray.compiler.cin.effective import (
    effective_value,
    reads,
    restrict,
    target_access,
)
from sparray.compiler.cin.nodes import Access, Forall, Stmt, Where
from sparray.compiler.index_notation.apply import reduction_identity
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.workspaces import update_operator
from sparray.compiler.levels import n_levels, walked_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import equal, literal
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.lower.access import is_walked
from sparray.compiler.lower.context import Context, Output, extent_of, zero_of
from sparray.compiler.lower.expression import spread
from sparray.compiler.lower.forall import hits_only, loop_walkers
from sparray.compiler.lower.insertions import most_insertions
from sparray.compiler.lower.lists import CollectedBuffers, ListBuffers
from sparray.compiler.lower.pieces import lanes_of
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lower_statement, lowers
from sparray.compiler.lower.sums import add_up, extra_sums
from sparray.compiler.lower.tables import TableBuffers
from sparray.compiler.lower.walker import Walker, walker
from sparray.errors import InternalError

__all__ = ["lower_where"]


@lowers(Where)
def lower_where(statement: Where, scope: Scope, ctx: Context) -> None:
    """Emit the workspace's initial state, the producer and the consumer."""
    kind = statement.workspace.kind
    lowering = _KINDS.get(kind)
    if lowering is None:
        raise InternalError(f"expected a kind of workspace, got {kind!r}")
    lowering(statement, scope, ctx)


def _side(statement: Stmt, scope: Scope, ctx: Context) -> Scope:
    """Return the scope of a producer or a consumer: it follows what that one reads.

    Both may loop over an index; an operand of the other one is not walked there.
    """
    return scope.keep(ctx.followed_by(statement))


def initial(statement: Where) -> ir.Literal:
    """Return what a workspace holds at first: the identity of what updates it."""
    dtype, fill = statement.workspace.dtype, statement.workspace.fill
    op = update_operator(statement)
    if op is not None:
        return ir.Literal(reduction_identity(op, dtype).item(), dtype)
    if fill is not None:
        value = np.asarray(fill.value).astype(numpy_dtype(dtype))
        return ir.Literal(value.item(), dtype)
    return ir.Literal(zero_of(dtype), dtype)


def _lower_registers(statement: Where, scope: Scope, ctx: Context) -> None:
    workspace = statement.workspace
    if scope.tile is None:
        raise InternalError("expected a register workspace to stand in a tile")
    lanes = lanes_of(scope.tile.size, workspace.dtype, ctx)
    vectors = scope.tile.size // lanes
    first = spread(initial(statement), lanes)
    ctx.registers[workspace.name] = _sums(workspace.name, first, vectors, ctx)
    ctx.sums[workspace.name] = tuple(
        _sums(workspace.name, first, vectors, ctx)
        for _ in range(extra_sums(statement, vectors))
    )
    lower_statement(statement.producer, _side(statement.producer, scope, ctx), ctx)
    add_up(statement, ctx)
    lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)


def _sums(name: str, first: ir.Expr, n: int, ctx: Context) -> tuple[ir.Var, ...]:
    return tuple(ctx.builder.declare(name, first) for _ in range(n))


def _lower_scalar(statement: Where, scope: Scope, ctx: Context) -> None:
    """Emit a local variable, and a flag where the producer may have had no work."""
    b = ctx.builder
    name = statement.workspace.name
    access = target_access(statement.producer)
    flagged = ctx.output.sparse and may_be_empty(statement.producer, scope, ctx)
    if ctx.counting and not flagged:
        ctx.scalars[name] = (None, None)
        lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)
        return
    variable = None
    if not ctx.counting:
        first = initial(statement)
        variable = b.declare(name, first)
        ctx.sums[name] = tuple(
            _sums(name, first, 1, ctx) for _ in range(extra_sums(statement, 1))
        )
    present = b.declare("present", literal(False)) if flagged else None
    ctx.scalars[name] = (variable, present)
    lower_statement(statement.producer, _side(statement.producer, scope, ctx), ctx)
    add_up(statement, ctx)
    if present is None:
        lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)
        return
    with b.branch(present):
        lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)
    without = restrict(statement.consumer, [access], ctx.absence)
    if without is not None:
        with b.otherwise():
            lower_statement(without, _side(without, scope, ctx), ctx)


def may_be_empty(producer: Stmt, scope: Scope, ctx: Context) -> bool:
    """Tell whether a producer may end without having stored anything.

    It cannot if every remaining level has each coordinate: the loops above have found
    the others present.
    """
    return any(_walks(a, scope, ctx) for a in accesses(effective_value(producer)))


def _walks(access: Access, scope: Scope, ctx: Context) -> bool:
    place = scope.places.get(access)
    if place is None:
        return False
    spec = ctx.spec(access.tensor)
    for depth in range(place.depth, n_levels(spec)):
        at = scope.place(access, replace(place, depth=depth))
        index = walked_index(spec, access, depth)
        if index is not None and is_walked(access, index, at, ctx):
            return True
        if not spec.format.levels[depth].full:
            return True
    return False


def _lower_list(statement: Where, scope: Scope, ctx: Context) -> None:
    """Emit producer, sort and consumer; nothing is listed any more at the end."""
    b = ctx.builder
    workspace = ctx.lists[statement.workspace.name]
    b.assign(workspace.count, literal(0))
    with _wanted(statement, workspace, scope, ctx):
        lower_statement(statement.producer, _side(statement.producer, scope, ctx), ctx)
        if _sums_everywhere(statement.producer, ctx):
            _list_empty_sums(statement, workspace, ctx)
    if _needs_order(statement, scope, ctx):
        workspace.sort(b)
    lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)
    workspace.clear(b)


def _sums_everywhere(producer: Stmt, ctx: Context) -> bool:
    """Tell whether a producer has a term at every coordinate, whatever is stored."""
    specs = ctx.problem.specs
    partial = [
        access
        for access in reads(producer)
        if access.tensor not in ctx.panels
        and not (access.tensor in specs and specs[access.tensor].format.is_full)
    ]
    return restrict(producer, partial, ctx.absence) is not None


def _list_empty_sums(
    statement: Where, workspace: CollectedBuffers, ctx: Context
) -> None:
    """Emit the listing of every coordinate where the producer has listed none.

    It sums at all of them, so its sums are empty then: of an index without values.
    """
    b = ctx.builder
    (index,) = statement.workspace.indices
    first = None if workspace.values is None else b.declare("empty", initial(statement))
    extent = extent_of(index)
    with b.branch(equal(workspace.count, literal(0))):
        if isinstance(workspace, TableBuffers):
            workspace.open(extent, b)
        with b.loop(index, literal(0), extent) as coordinate:
            with workspace.if_held(coordinate, b):
                workspace.update(coordinate, first, lambda old: old, b)


@contextmanager
def _wanted(
    statement: Where, workspace: CollectedBuffers, scope: Scope, ctx: Context
) -> Iterator[None]:
    """Surround a producer with the marks of the coordinates that its list may hold."""
    among = statement.workspace.among
    if not isinstance(workspace, ListBuffers) or workspace.wanted is None:
        yield
        return
    consumer = statement.consumer
    if not isinstance(consumer, Forall):
        raise InternalError(f"expected a loop over a list, got {consumer!r}")
    inside = _side(consumer, scope, ctx)
    walked, points = loop_walkers(consumer, inside, ctx)
    found = next((access for access in walked if access.tensor == among), None)
    if found is None or not all(found in point for point in points):
        raise InternalError(f"expected work where {among} has entries alone")
    w = walker(found, inside, ctx)
    _mark(w, workspace.wanted, True, ctx)
    yield
    _mark(w, workspace.wanted, False, ctx)


def _mark(w: Walker, marks: ir.Buffer, mark: bool, ctx: Context) -> None:
    with ctx.builder.loop(w.hint, w.begin, w.end) as p:
        with hits_only(w, p, ctx):
            ctx.builder.store(marks, w.coordinate(p), literal(mark))


def _lower_hashed(statement: Where, scope: Scope, ctx: Context) -> None:
    """Emit the opening of a table that is large enough, then what a list has."""
    table = ctx.lists[statement.workspace.name]
    if not isinstance(table, TableBuffers):
        raise InternalError(f"expected a table, got {table}")
    producer = _side(statement.producer, scope, ctx)
    table.open(most_insertions(statement, producer, ctx), ctx.builder)
    _lower_list(statement, scope, ctx)


def _needs_order(statement: Where, scope: Scope, ctx: Context) -> bool:
    """Tell whether what was listed is read in the order of its coordinates."""
    if _merges(statement.consumer, scope, ctx):
        return True
    (index,) = statement.workspace.indices
    return not ctx.counting and not ctx.output.takes_any_order(index, ctx)


def _merges(consumer: Stmt, scope: Scope, ctx: Context) -> bool:
    """Tell whether the consumer walks the list beside others, so needs its order.

    Others are operands, and the coordinates that are not listed where there is work at
    these too. Alone, it is counted in any order.
    """
    if not isinstance(consumer, Forall):
        raise InternalError(f"expected a loop over a list, got {consumer!r}")
    walked, points = loop_walkers(consumer, _side(consumer, scope, ctx), ctx)
    return len(walked) > 1 or frozenset() in points


def _lower_dense(statement: Where, scope: Scope, ctx: Context) -> None:
    """Emit the copy, then what reads it; the memory is the task's."""
    if statement.workspace.name in ctx.panels:
        output = ctx.output
        # The copy loops over the result's indices, but writes nothing of it.
        ctx.output = Output(output.followed)
        copied = scope.keep(reads(statement.producer))
        lower_statement(statement.producer, copied, ctx)
        ctx.output = output
    lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)


def _lower_row(statement: Where, scope: Scope, ctx: Context) -> None:
    """Emit a row of its own: every coordinate is initialised, then assigned."""
    row = ctx.rows[statement.workspace.name]
    first = initial(statement)
    with ctx.builder.loop("q", literal(0), row.size) as q:
        ctx.builder.store(row.values, q, first)
    lower_statement(statement.producer, _side(statement.producer, scope, ctx), ctx)
    lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)


def _lower_pattern(statement: Where, scope: Scope, ctx: Context) -> None:
    """Emit a row of values for an operand's entries, counted from the row's first.

    The producer assigns each of them, so none needs an initial value.
    """
    name = statement.workspace.name
    access = Access(name, statement.workspace.indices)
    begin = ctx.builder.declare("begin", walker(access, scope, ctx).begin)
    ctx.rows[name] = replace(ctx.rows[name], begin=begin)
    lower_statement(statement.producer, _side(statement.producer, scope, ctx), ctx)
    lower_statement(statement.consumer, _side(statement.consumer, scope, ctx), ctx)


_KINDS: dict[str, Callable[[Where, Scope, Context], None]] = {
    "registers": _lower_registers,
    "scalar": _lower_scalar,
    "list": _lower_list,
    "hashed": _lower_hashed,
    "dense": _lower_dense,
    "row": _lower_row,
    "pattern": _lower_pattern,
}
