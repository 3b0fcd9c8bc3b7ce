"""What a CIN statement computes in the end, and what is left where operands end."""

from collections.abc import Sequence as Seq
from dataclasses import replace
from functools import singledispatch

from sparray.compiler.absence import Absence
from sparray.compiler.cin.nodes import (
    Access,
    Apply,
    Assign,
    Expr,
    Forall,
    Sequence,
    Stmt,
    Tiles,
    Where,
)
from sparray.compiler.cin.traversal import walk
from sparray.compiler.index_notation.nodes import Reduce
from sparray.compiler.index_notation.simplify import accesses, substitute
from sparray.errors import InternalError

__all__ = ["effective_value", "reads", "restrict", "target_access"]


@singledispatch
def effective_value(statement: Stmt) -> Expr:
    """Return the expression that decides where a statement has work.

    Loops disappear, a workspace becomes what its producer computes, the parts of a
    sequence are added, and a reduction stands for one over any number of terms.
    """
    raise InternalError(f"expected a CIN statement, got {statement!r}")


@effective_value.register
def _(statement: Assign) -> Expr:
    if statement.op is None:
        return statement.value
    # Over no index: which ones does not matter to where there is work.
    return Reduce(statement.op, (), statement.value)


@effective_value.register
def _(statement: Forall) -> Expr:
    return effective_value(statement.body)


@effective_value.register
def _(statement: Tiles) -> Expr:
    return effective_value(statement.body)


@effective_value.register
def _(statement: Where) -> Expr:
    access = target_access(statement.producer)
    produced = effective_value(statement.producer)
    return substitute(effective_value(statement.consumer), {access: produced})


@effective_value.register
def _(statement: Sequence) -> Expr:
    values = [effective_value(part) for part in statement.statements]
    total = values[0]
    for value in values[1:]:
        total = Apply("add", (total, value))
    return total


def target_access(statement: Stmt) -> Access:
    """Return the access that a statement assigns to in the end."""
    if isinstance(statement, Assign):
        return statement.target
    if isinstance(statement, Forall | Tiles):
        return target_access(statement.body)
    if isinstance(statement, Where):
        return target_access(statement.consumer)
    if isinstance(statement, Sequence):
        return target_access(statement.statements[0])
    raise InternalError(f"expected a CIN statement, got {statement!r}")


def reads(statement: Stmt) -> frozenset[Access]:
    """Return every access that a statement reads anywhere, workspaces included."""
    return frozenset(
        access
        for inside in walk(statement)
        if isinstance(inside, Assign)
        for access in accesses(inside.value)
    )


@singledispatch
def restrict(
    statement: Stmt,
    missing: Seq[Access],
    absence: Absence,
    present: Seq[Access] = (),
) -> Stmt | None:
    """Return what is left of a statement where some operands are absent.

    Parameters
    ----------
    statement : Stmt
        Any statement.
    missing : sequence of Access
        Operands, or workspaces, that are absent.
    absence : Absence
        What operands and workspaces are where they hold nothing.
    present : sequence of Access
        Operands that are known to store an entry.

    Returns
    -------
    Stmt or None
        None if nothing is left to do: the target stays what it was at first.
    """
    raise InternalError(f"expected a CIN statement, got {statement!r}")


@restrict.register
def _(
    statement: Assign,
    missing: Seq[Access],
    absence: Absence,
    present: Seq[Access] = (),
) -> Stmt | None:
    value = absence.without(statement.value, missing, present=present)
    if absence.leaves(statement.target.tensor, statement.op, value):
        return None
    return Assign(statement.target, value, statement.op)


@restrict.register
def _(
    statement: Forall,
    missing: Seq[Access],
    absence: Absence,
    present: Seq[Access] = (),
) -> Stmt | None:
    body = restrict(statement.body, missing, absence, present)
    if body is None:
        return None
    return replace(statement, body=body)


@restrict.register
def _(
    statement: Tiles,
    missing: Seq[Access],
    absence: Absence,
    present: Seq[Access] = (),
) -> Stmt | None:
    body = restrict(statement.body, missing, absence, present)
    if body is None:
        return None
    return replace(statement, body=body)


@restrict.register
def _(
    statement: Where,
    missing: Seq[Access],
    absence: Absence,
    present: Seq[Access] = (),
) -> Stmt | None:
    producer = restrict(statement.producer, missing, absence, present)
    if producer is None:
        gone = target_access(statement.producer)
        return restrict(statement.consumer, [*missing, gone], absence, present)
    consumer = restrict(statement.consumer, missing, absence, present)
    if consumer is None:
        return None
    if target_access(statement.producer) not in reads(consumer):
        return consumer
    return Where(consumer, producer, statement.workspace)


@restrict.register
def _(
    statement: Sequence,
    missing: Seq[Access],
    absence: Absence,
    present: Seq[Access] = (),
) -> Stmt | None:
    parts = [restrict(part, missing, absence, present) for part in statement.statements]
    left = tuple(part for part in parts if part is not None)
    if len(left) <= 1:
        return left[0] if left else None
    return Sequence(left)
