"""Split a matrix's rows and entries over threads at once: chunks of the merge path.

The path through a matrix takes a step for each stored entry and one for the end of each
row. Chunks are equal parts of it, so neither a row with most of the entries nor many
rows without any makes one of them long. A row that two chunks share is summed by each
in part: the chunk in which it ends stores its part, the others keep theirs until all
are done, and then they are added in the order of the chunks.

Source: Merrill and Garland 2016, "Merge-based parallel sparse matrix-vector
multiplication", sections III and IV.
"""

from dataclasses import dataclass

from sparray.compiler.cin.nodes import Access, Assign, Forall, Where
from sparray.compiler.kernel_facts.row_splits import splits_rows
from sparray.compiler.kernel_facts.workspaces import update_operator
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, less, less_equal, literal, sub
from sparray.compiler.lower.access import advance
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.forall import lower_range
from sparray.compiler.lower.parallel import even_share, task, team, work_of
from sparray.compiler.lower.scope import Scope
from sparray.compiler.lower.statement import lower_statement
from sparray.errors import InternalError
from sparray.formats.level import LevelView

__all__ = [
    "lower_merge_path",
]

_CARRY = "carry"


def lower_merge_path(statement: Forall, scope: Scope, ctx: Context) -> None:
    """Emit a parallel loop over chunks of the merge path, then what they share.

    **Rewrite**: ``∀i[parallel by merge] (out[i] = w where ∀j w += t)`` → ``parallel for
    t: ∀i that ends in chunk t: out[i] = its part of row i; carry[t] = the part of the
    row that goes on``, then ``for t: out[row[t]] += carry[t]``.
    """
    access = splits_rows(statement, ctx.problem)
    if access is None or not isinstance(statement.body, Where):
        raise InternalError("expected rows that may be split between chunks")
    b = ctx.builder
    rows = extent_of(statement.index)
    view = ctx.view(access, 1)
    entries = view.load("pos", rows)
    steps = b.declare("steps", add(entries, rows))
    threads, chunks = team(steps, work_of(statement, rows, ctx), ctx)
    shared = b.allocate("carry_rows", "int64", chunks)
    parts = b.allocate("carry_values", statement.body.workspace.dtype, chunks)
    path = _Path(statement.body, statement.index, access, view, rows, ctx)
    with b.parallel("t", chunks, threads) as t:
        ctx.chunk = t
        with task(scope, ctx, iter(())) as inside:
            first, begin = path.cut(even_share(steps, t, chunks))
            last, end = path.cut(even_share(steps, add(t, literal(1)), chunks))
            ctx.clamped[access] = (begin, None)
            lower_range(statement, first, last, inside, ctx)
            b.store(shared, t, literal(-1))
            ctx.clamped[access] = (begin, end)
            path.carry(last, begin, end, (shared, parts, t), inside)
    ctx.clamped.clear()
    _add_carries(statement, shared, parts, chunks, scope, ctx)


@dataclass(slots=True)
class _Path:
    """The merge path of a matrix, under construction."""

    where: Where
    index: str
    access: Access
    view: LevelView
    rows: ir.Expr
    ctx: Context

    def cut(self, step: ir.Expr) -> tuple[ir.Var, ir.Var]:
        """Declare the row and the position that the path has reached at a step.

        It is the last row ``r`` with ``pos[r] + r <= step``.
        """
        b = self.ctx.builder
        step = b.declare("step", step)
        row, above = b.declare("row", literal(0)), b.declare("above", self.rows)
        with b.loop_while(less(row, above)):
            half = ir.Binary(
                "floordiv", add(add(row, above), literal(1)), literal(2), "int64"
            )
            middle = b.declare("middle", half)
            here = add(self.view.load("pos", middle), middle)
            with b.branch(less_equal(here, step)):
                b.assign(row, middle)
            with b.otherwise():
                b.assign(above, sub(middle, literal(1)))
        return row, b.declare("position", sub(step, row))

    def carry(
        self,
        row: ir.Var,
        begin: ir.Var,
        end: ir.Var,
        memory: tuple[ir.Buffer, ir.Buffer, ir.Var],
        scope: Scope,
    ) -> None:
        """Emit the part of a row that goes on in a later chunk."""
        ctx, b = self.ctx, self.ctx.builder
        shared, parts, t = memory
        with b.branch(less(row, self.rows)):
            first = ir.Binary("max", self.view.load("pos", row), begin, "int64")
            with b.branch(less(first, end)):
                dtype = self.where.workspace.dtype
                nothing = ir.Literal(False if dtype == "bool" else 0, dtype)
                part = b.declare(_CARRY, nothing)
                ctx.scalars[_CARRY] = (part, None)
                kept = Assign(Access(_CARRY, ()), Access(self.where.workspace.name, ()))
                there = advance(scope.bind(self.index, row), ctx)
                lower_statement(
                    Where(kept, self.where.producer, self.where.workspace), there, ctx
                )
                b.store(parts, t, part)
                b.store(shared, t, row)


def _add_carries(
    statement: Forall,
    shared: ir.Buffer,
    parts: ir.Buffer,
    chunks: ir.Var,
    scope: Scope,
    ctx: Context,
) -> None:
    """Emit the addition of what chunks kept of rows that end in later ones."""
    b = ctx.builder
    where = statement.body
    if not isinstance(where, Where) or not isinstance(where.consumer, Assign):
        raise InternalError(f"expected a sum, got {where}")
    target, op = where.consumer.target, update_operator(where)
    outer = ctx.output.begin(scope, ctx)
    with b.loop("t", literal(0), chunks) as t:
        row = b.declare(statement.index, ir.Load(shared, t))
        with b.branch(less_equal(literal(0), row)):
            there = advance(outer.bind(statement.index, row).keep({target}), ctx)
            part = ir.Load(parts, t)
            ctx.output.store(target, lambda at: part, op, there, ctx)
    b.free(shared)
    b.free(parts)
