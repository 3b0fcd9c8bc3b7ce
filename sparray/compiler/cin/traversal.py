"""Go through a CIN statement, or rebuild it, without a case for each kind of node."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from sparray.compiler.cin.nodes import Assign, Forall, Sequence, Stmt, Tiles, Where
from sparray.errors import InternalError

__all__ = ["children", "rebuilt", "walk", "workspace_names", "written"]


def children(statement: Stmt) -> tuple[Stmt, ...]:
    """Return the statements directly inside a statement, as they run."""
    if isinstance(statement, Forall | Tiles):
        return (statement.body,)
    if isinstance(statement, Where):
        return (statement.producer, statement.consumer)
    if isinstance(statement, Sequence):
        return statement.statements
    if isinstance(statement, Assign):
        return ()
    raise InternalError(f"expected a CIN statement, got {statement!r}")


def walk(statement: Stmt) -> Iterator[Stmt]:
    """Yield a statement and all that are inside it, a producer before its consumer."""
    yield statement
    for child in children(statement):
        yield from walk(child)


def rebuilt(statement: Stmt, rewrite: Callable[[Stmt], Stmt]) -> Stmt:
    """Return a statement with a function applied to each directly inside it."""
    made = tuple(map(rewrite, children(statement)))
    if isinstance(statement, Forall | Tiles):
        return replace(statement, body=made[0])
    if isinstance(statement, Where):
        return replace(statement, producer=made[0], consumer=made[1])
    return Sequence(made) if isinstance(statement, Sequence) else statement


def written(statement: Stmt) -> tuple[Assign, ...]:
    """Return every assignment of a statement, in the order in which they run."""
    return tuple(s for s in walk(statement) if isinstance(s, Assign))


def workspace_names(statement: Stmt) -> list[str]:
    """Return the name of each workspace of a statement."""
    return [s.workspace.name for s in walk(statement) if isinstance(s, Where)]
