"""Rewrite the loops or the assignments of a statement, wherever they stand."""

from collections.abc import Callable

from sparray.compiler.cin.nodes import (
    Assign,
    Forall,
    Stmt,
)
from sparray.compiler.cin.traversal import rebuilt

__all__ = ["rewrite_assignments", "rewrite_loops"]


def rewrite_loops(statement: Stmt, rewrite: Callable[[Forall], Forall]) -> Stmt:
    """Return the statement with a function applied to each of its `Forall` nodes."""
    made = rebuilt(statement, lambda inside: rewrite_loops(inside, rewrite))
    return rewrite(made) if isinstance(made, Forall) else made


def rewrite_assignments(statement: Stmt, rewrite: Callable[[Assign], Assign]) -> Stmt:
    """Return the statement with a function applied to each of its `Assign` nodes."""
    if isinstance(statement, Assign):
        return rewrite(statement)
    return rebuilt(statement, lambda inside: rewrite_assignments(inside, rewrite))
