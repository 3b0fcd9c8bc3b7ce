"""How many entries a result can have, where its operands say so."""

from sparray.compiler.cin.effective import effective_value
from sparray.compiler.cin.nodes import Access, Assign, Forall, Stmt
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.appending import (
    append_groups,
    keeps_leaf,
    located_prefix,
)
from sparray.compiler.levels import level_index
from sparray.compiler.merge_lattice import lattice
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.schedule.assemble import Assembly
from sparray.records import dataclass

__all__ = ["EntryBound", "entry_bound"]


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
