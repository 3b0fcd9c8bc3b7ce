"""Assemble a sparse result in one pass, where operands bound its entries.

A fibre of ``A + B`` has at most the entries of both operands' fibres, one of ``A * B``
at most those of either. So nothing is counted before memory is allocated: each chunk of
the outermost loop appends from where the fibres before it would end if none were
shorter than its bound. What the chunks leave out between them, the caller closes; one
chunk leaves nothing out. Merging takes as long whether it counts or writes, as no
branch of it is foreseen, so this halves the time.
"""

from dataclasses import field
from typing import ClassVar

from sparray.compiler.cin.effective import effective_value
from sparray.compiler.cin.nodes import Access, Assign, Forall, Stmt
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.levels import level_index
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import add, less, literal, mul, sub
from sparray.compiler.lower.append import (
    AppendOutput,
    append_groups,
    counts_buffer,
    keeps_leaf,
    located_prefix,
)
from sparray.compiler.lower.context import Context, extent_of
from sparray.compiler.lower.scope import Scope
from sparray.compiler.merge_lattice import lattice
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.schedule.assemble import Assembly
from sparray.records import dataclass

__all__ = ["BoundedOutput", "EntryBound", "entry_bound"]


@dataclass(frozen=True, slots=True)
class EntryBound:
    """What a result's fibres have no more entries than.

    Attributes
    ----------
    operands : tuple of str
        Operands with one fibre for each of the result's.
    together : bool
        Whether it is the sum of theirs; else each of them is a bound.
    """

    operands: tuple[str, ...]
    together: bool


def entry_bound(problem: Problem, way: Assembly, statement: Stmt) -> EntryBound | None:
    """Return what bounds the entries of each fibre of a result; None if nothing does.

    The statement is ``∀i ∀j out[i,j] = t``, whose inner loop walks operands that have
    their fibres below a dense level of ``i``, each coordinate once.
    """
    if way is not Assembly.APPEND or keeps_leaf(problem, way):
        return None
    if not _is_plain_nest(statement) or not _has_fibres(problem.output):
        return None
    value, target = effective_value(statement), problem.assignment.target
    row, column = (level_index(problem.output, target, depth) for depth in (0, 1))
    if (statement.index, statement.body.index) != (row, column):  # type: ignore[attr-defined]
        return None
    read = dict.fromkeys(accesses(value))
    sparse = [a for a in read if not _is_dense(a, problem)]
    if not all(_is_bound(access, (row, column), problem) for access in sparse):
        # Else there may be fibres that no loop comes to.
        return None
    points = lattice(value, sparse, problem.absence)
    if not points or frozenset() in points:
        return None
    in_all = [access for access in sparse if all(access in p for p in points)]
    names = tuple(access.tensor for access in in_all or sparse)
    return EntryBound(names, together=not in_all)


def _is_plain_nest(statement: Stmt) -> bool:
    if not isinstance(statement, Forall) or not isinstance(statement.body, Forall):
        return False
    inner = statement.body.body
    loops = (statement, statement.body)
    return (
        isinstance(inner, Assign)
        and inner.op is None
        and not any(loop.fused or loop.pos for loop in loops)
        and statement.chunks != "merge"
    )


def _has_fibres(spec: TensorSpec) -> bool:
    """Tell whether a tensor is a matrix with compressed fibres below a dense level."""
    format = spec.format
    return (
        format.is_plain
        and format.batch_ndim == 0
        and format.n_levels == 2
        and located_prefix(spec) == 1
        and format.levels[0].full
        and not format.levels[0].roles
        and format.levels[1].roles == ("pos", "crd")
        and append_groups(spec) == ((1,),)
    )


def _is_dense(access: Access, problem: Problem) -> bool:
    """Tell whether an operand has every element, so that no loop walks it."""
    levels = problem.specs[access.tensor].format.levels
    return all(level.full and not level.roles for level in levels)


def _is_bound(access: Access, indices: tuple[str, ...], problem: Problem) -> bool:
    """Tell whether an operand has a fibre for each of the result's."""
    if access.tensor not in dict(problem.operands):
        return False
    spec = problem.specs[access.tensor]
    return (
        _has_fibres(spec)
        and spec.format.unique
        and tuple(level_index(spec, access, depth) for depth in (0, 1)) == indices
    )


@dataclass(slots=True)
class BoundedOutput(AppendOutput):
    """Entries come in the result's order within each chunk, which are not counted.

    The buffer of counts holds the position from which each unit may append, int64[units
    + 2 * chunks]; it is given the number of each unit's entries and, behind them, where
    each chunk's entries begin and end, both -1 for a chunk without units.
    """

    one_chunk: ClassVar[bool] = True
    chunk: list[ir.Var] = field(default_factory=list)

    def begin(self, scope: Scope, ctx: Context) -> Scope:
        """Follow the target's prefix; nothing is appended yet."""
        scope = AppendOutput.begin(self, scope, ctx)
        b = ctx.builder
        self.chunk = [b.declare("began", literal(-1))]
        self.cursors = [b.declare("next", literal(-1))]
        return scope

    def end(self, ctx: Context) -> None:
        """Say where the chunk's entries begin and end."""
        (group,) = self.groups
        units = extent_of(level_index(self.spec, self.followed, 0))
        place = add(units, mul(literal(2), ctx.chunk))
        ctx.builder.store(counts_buffer(group), place, self.chunk[0])
        place = add(place, literal(1))
        ctx.builder.store(counts_buffer(group), place, self.cursors[0])

    def _open(self, unit: ir.Expr, ctx: Context) -> None:
        b = ctx.builder
        (group,) = self.groups
        began, cursor = self.chunk[0], self.cursors[0]
        with b.branch(less(began, literal(0))):
            b.assign(began, ir.Load(counts_buffer(group), unit))
            b.assign(cursor, began)
        self.chunk = [began, b.declare("before", cursor)]

    def _close(self, unit: ir.Expr, ctx: Context) -> None:
        (group,) = self.groups
        entries = sub(self.cursors[0], self.chunk[1])
        ctx.builder.store(counts_buffer(group), unit, entries)
