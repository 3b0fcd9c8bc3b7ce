"""Index notation -> the simplest CIN that computes it."""

from collections.abc import Callable

from sparray.compiler.cin.nodes import Assign, Forall, Stmt, Where, Workspace
from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.traversal import substitute
from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = [
    "Reduction",
    "concretize",
    "foralls",
    "merged_value",
    "split_reductions",
]


@dataclass(frozen=True, slots=True)
class Reduction:
    """One `Reduce` of an expression, named as the workspace that holds it."""

    workspace: Access
    reduce: Reduce


@cached_by_identity(512)
def split_reductions(value: Expr) -> tuple[Expr, tuple[Reduction, ...]]:
    """Replace every outermost `Reduce` by a scalar workspace ``w1``, ``w2``, ...

    A reduction inside a reduction joins it where both add up over different
    indices; the parser and `simplify` leave no other kind.
    """
    found: list[Reduction] = []

    def visit(expr: Expr) -> Expr:
        if isinstance(expr, Reduce):
            workspace = Access(f"w{len(found) + 1}", ())
            found.append(Reduction(workspace, _flatten(expr)))
            return workspace
        if isinstance(expr, Apply):
            return Apply(expr.op, tuple(visit(child) for child in expr.operands))
        return expr

    return visit(value), tuple(found)


@cached_by_identity(512)
def merged_value(value: Expr, reductions: tuple[Reduction, ...]) -> Expr:
    """Return what `split_reductions` split, each reduction over no index.

    That is what loops merge: over which indices a term is reduced does not matter to
    where there is work.
    """
    terms = {
        item.workspace: Reduce(item.reduce.op, (), item.reduce.operand)
        for item in reductions
    }
    return substitute(value, terms)


def _flatten(expr: Reduce) -> Reduce:
    inner = expr.operand
    if isinstance(inner, Reduce) and inner.op == expr.op:
        joined = Reduce(expr.op, (*expr.indices, *inner.indices), inner.operand)
        return _flatten(joined)
    return expr


def foralls(indices: tuple[str, ...] | list[str], body: Stmt) -> Stmt:
    """Return the body inside one loop per index, the first outermost."""
    for index in reversed(indices):
        body = Forall(index, body)
    return body


def concretize(assignment: Assignment, dtype_of: Callable[[Expr], str]) -> Stmt:
    """Return loops over the target's indices, with each reduction innermost.

    Parameters
    ----------
    assignment : Assignment
        What to compute.
    dtype_of : callable
        The dtype in which a reduction is accumulated.

    Returns
    -------
    Stmt
        **Rewrite**: ``out[i] = f(sum(j, x))`` → ``∀i (out[i] = f(w1) where ∀j w1 +=
        x)``.
    """
    value, reductions = split_reductions(assignment.value)
    body: Stmt = Assign(assignment.target, value)
    for item in reversed(reductions):
        if isinstance(item.reduce.operand, Literal | Access | Apply):
            update = Assign(item.workspace, item.reduce.operand, item.reduce.op)
        else:
            raise InternalError(f"expected a flat reduction, got {item.reduce}")
        producer = foralls(item.reduce.indices, update)
        dtype = dtype_of(item.reduce)
        workspace = Workspace(item.workspace.tensor, (), "scalar", dtype)
        body = Where(body, producer, workspace)
    return foralls(assignment.target.indices, body)
