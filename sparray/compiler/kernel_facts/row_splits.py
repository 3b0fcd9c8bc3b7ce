"""Which operand's rows may be split between threads."""

from sparray.compiler.cin.effective import effective_value
from sparray.compiler.cin.nodes import Access, Assign, Forall, Stmt, Where
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.workspaces import update_operator
from sparray.compiler.levels import is_walked, level_index, walked_index
from sparray.compiler.loop_ir.operators import operator
from sparray.compiler.merge_lattice import lattice
from sparray.compiler.problem import Problem
from sparray.formats.level import Locatable, PositionIterable

__all__ = ["splits_rows"]


def splits_rows(statement: Stmt, problem: Problem) -> Access | None:
    """Return the operand whose rows may be split between chunks; None if none may be.

    The statement is ``∀i (out[i] = w where ∀j w op= t)``: a sum and nothing else, whose
    outermost loop walks that operand alone, each coordinate once.
    """
    if not isinstance(statement, Forall) or not isinstance(statement.body, Where):
        return None
    if statement.fused:
        return None
    where = statement.body
    consumer, producer = where.consumer, where.producer
    if not isinstance(consumer, Assign) or not isinstance(producer, Forall):
        return None
    copied = consumer.value == Access(where.workspace.name, ())
    whole = consumer.target.indices == (statement.index,)
    same = where.workspace.dtype == problem.output.dtype
    op = update_operator(where)
    if not (copied and whole and same) or op is None or operator(op).identity != 0:
        return None
    value = effective_value(producer.body)
    walked = [a for a in accesses(value) if _walks(a, producer.index, problem)]
    points = lattice(value, list(dict.fromkeys(walked)), problem.absence)
    for access in walked:
        rows = _is_rows(access, statement.index, producer.index, problem)
        if rows and points == (frozenset([access]),) and len(set(walked)) == 1:
            return access
    return None


def _walks(access: Access, index: str, problem: Problem) -> bool:
    spec = problem.specs[access.tensor]
    return any(
        walked_index(spec, access, depth) == index and is_walked(spec, access, depth)
        for depth in range(len(spec.format.levels))
    )


def _is_rows(access: Access, row: str, column: str, problem: Problem) -> bool:
    """Tell whether an operand has a ``pos`` below a dense level of rows."""
    spec = problem.specs[access.tensor]
    if spec.format.batch_ndim or len(spec.format.levels) < 2:
        return False
    first, second = spec.format.levels[:2]
    stored = tuple(level_index(spec, access, depth) for depth in (0, 1))
    return (
        stored == (row, column)
        and isinstance(first, Locatable)
        and first.full
        and isinstance(second, PositionIterable)
        and second.unique
        and "pos" in second.roles
    )
