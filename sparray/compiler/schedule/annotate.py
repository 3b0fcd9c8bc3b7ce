"""Rewrite one loop of a statement, wherever it stands."""

from collections.abc import Callable

from sparray.compiler.cin.nodes import (
    Assign,
    Forall,
    Sequence,
    Stmt,
    Tiles,
    Where,
)
from sparray.errors import InternalError

__all__ = ["rewrite_loops"]


def rewrite_loops(statement: Stmt, rewrite: Callable[[Forall], Forall]) -> Stmt:
    """Return the statement with a function applied to each of its `Forall` nodes."""
    if isinstance(statement, Forall):
        body = rewrite_loops(statement.body, rewrite)
        return rewrite(
            Forall(statement.index, body, statement.parallel, statement.vector)
        )
    if isinstance(statement, Tiles):
        body = rewrite_loops(statement.body, rewrite)
        return Tiles(
            statement.index, statement.inner, statement.sizes, body, statement.parallel
        )
    if isinstance(statement, Where):
        return Where(
            rewrite_loops(statement.consumer, rewrite),
            rewrite_loops(statement.producer, rewrite),
            statement.workspace,
        )
    if isinstance(statement, Sequence):
        parts = (rewrite_loops(part, rewrite) for part in statement.statements)
        return Sequence(tuple(parts))
    if isinstance(statement, Assign):
        return statement
    raise InternalError(f"expected a CIN statement, got {statement!r}")
