"""Rewrite the loops or the assignments of a statement, wherever they stand."""

from collections.abc import Callable
from dataclasses import replace

from sparray.compiler.cin.nodes import (
    Assign,
    Forall,
    Sequence,
    Stmt,
    Tiles,
    Where,
)
from sparray.errors import InternalError

__all__ = ["rewrite_assignments", "rewrite_loops"]


def rewrite_loops(statement: Stmt, rewrite: Callable[[Forall], Forall]) -> Stmt:
    """Return the statement with a function applied to each of its `Forall` nodes."""
    if isinstance(statement, Forall):
        body = rewrite_loops(statement.body, rewrite)
        return rewrite(replace(statement, body=body))
    if isinstance(statement, Tiles):
        body = rewrite_loops(statement.body, rewrite)
        return replace(statement, body=body)
    if isinstance(statement, Where):
        return replace(
            statement,
            consumer=rewrite_loops(statement.consumer, rewrite),
            producer=rewrite_loops(statement.producer, rewrite),
        )
    if isinstance(statement, Sequence):
        parts = (rewrite_loops(part, rewrite) for part in statement.statements)
        return Sequence(tuple(parts))
    if isinstance(statement, Assign):
        return statement
    raise InternalError(f"expected a CIN statement, got {statement!r}")


def rewrite_assignments(statement: Stmt, rewrite: Callable[[Assign], Assign]) -> Stmt:
    """Return the statement with a function applied to each of its `Assign` nodes."""
    if isinstance(statement, Assign):
        return rewrite(statement)
    if isinstance(statement, Forall | Tiles):
        return replace(statement, body=rewrite_assignments(statement.body, rewrite))
    if isinstance(statement, Where):
        return replace(
            statement,
            consumer=rewrite_assignments(statement.consumer, rewrite),
            producer=rewrite_assignments(statement.producer, rewrite),
        )
    if isinstance(statement, Sequence):
        parts = (rewrite_assignments(part, rewrite) for part in statement.statements)
        return Sequence(tuple(parts))
    raise InternalError(f"expected a CIN statement, got {statement!r}")
