"""The shape of statement that the loop commands rewrite, taken apart.

``∀ prefix ((∀ tail target = value) where (∀ order workspace op= term))``: loops
outside the workspace, the target's loops inside it, and the producer's loops.
"""

from sparray.compiler.cin.concretize import foralls
from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Expr,
    Forall,
    Stmt,
    Where,
    Workspace,
)
from sparray.records import dataclass

__all__ = ["Nest", "peel", "take_apart"]


def peel(statement: Stmt) -> tuple[tuple[Forall, ...], Stmt]:
    """Split a statement into its outer loops and what they contain."""
    loops = []
    while isinstance(statement, Forall):
        loops.append(statement)
        statement = statement.body
    return tuple(loops), statement


@dataclass(frozen=True, slots=True)
class Nest:
    """A statement with one workspace, taken apart.

    Attributes
    ----------
    prefix : tuple of str
        Indices of the loops around the workspace.
    tail : tuple of str
        Indices of the consumer's loops.
    order : tuple of str
        Indices of the producer's loops.
    target, value : Access, Expr
        What the consumer assigns.
    term, op : Expr, str or None
        What the producer combines into the workspace.
    workspace : Workspace
        With the tail's indices.
    """

    prefix: tuple[str, ...]
    tail: tuple[str, ...]
    order: tuple[str, ...]
    target: Access
    value: Expr
    term: Expr
    op: str | None
    workspace: Workspace

    def put_together(self) -> Stmt:
        """Return the statement."""
        consumer = foralls(self.tail, Assign(self.target, self.value))
        access = Access(self.workspace.name, self.workspace.indices)
        producer = foralls(self.order, Assign(access, self.term, self.op))
        return foralls(self.prefix, Where(consumer, producer, self.workspace))


def take_apart(statement: Stmt) -> Nest | None:
    """Return the parts of a statement with one workspace, or None for another."""
    prefix, inner = peel(statement)
    if not isinstance(inner, Where):
        return None
    tail, consumer = peel(inner.consumer)
    order, producer = peel(inner.producer)
    if not isinstance(consumer, Assign) or not isinstance(producer, Assign):
        return None
    return Nest(
        tuple(loop.index for loop in prefix),
        tuple(loop.index for loop in tail),
        tuple(loop.index for loop in order),
        consumer.target,
        consumer.value,
        producer.value,
        producer.op,
        inner.workspace,
    )
