"""What a CIN statement computes in the end, and what is left where operands end."""

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import replace
from functools import singledispatch

from sparray.compiler.cin.nodes import (
    Access,
    Apply,
    Assign,
    Expr,
    Forall,
    Literal,
    Sequence,
    Stmt,
    Tiles,
    Where,
)
from sparray.compiler.index_notation.simplify import (
    accesses,
    is_zero,
    simplify_typed,
    substitute,
)
from sparray.errors import InternalError

__all__ = ["effective_value", "reads", "restrict", "target_access"]


@singledispatch
def effective_value(statement: Stmt) -> Expr:
    """Return the expression that decides where a statement has work.

    Loops and reductions disappear, a workspace becomes what its producer computes,
    and the parts of a sequence are added.
    """
    raise InternalError(f"expected a CIN statement, got {statement!r}")


@effective_value.register
def _(statement: Assign) -> Expr:
    return statement.value


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
    if isinstance(statement, Assign):
        return frozenset(accesses(statement.value))
    if isinstance(statement, Forall | Tiles):
        return reads(statement.body)
    if isinstance(statement, Where):
        return reads(statement.producer) | reads(statement.consumer)
    if isinstance(statement, Sequence):
        return frozenset().union(*map(reads, statement.statements))
    raise InternalError(f"expected a CIN statement, got {statement!r}")


@singledispatch
def restrict(
    statement: Stmt, missing: Seq[Access], dtypes: Mapping[str, str]
) -> Stmt | None:
    """Return what is left of a statement where some operands are absent.

    Parameters
    ----------
    statement : Stmt
        Any statement.
    missing : sequence of Access
        Operands, or workspaces, that are absent.
    dtypes : mapping of str to str
        The dtype of every operand and workspace.

    Returns
    -------
    Stmt or None
        None if nothing is left to do: the target keeps its fill.
    """
    raise InternalError(f"expected a CIN statement, got {statement!r}")


@restrict.register
def _(
    statement: Assign, missing: Seq[Access], dtypes: Mapping[str, str]
) -> Stmt | None:
    zeros = {
        access: Literal(False if dtypes[access.tensor] == "bool" else 0)
        for access in missing
    }
    value = simplify_typed(substitute(statement.value, zeros), dtypes)
    if is_zero(value):
        return None
    return Assign(statement.target, value, statement.op)


@restrict.register
def _(
    statement: Forall, missing: Seq[Access], dtypes: Mapping[str, str]
) -> Stmt | None:
    body = restrict(statement.body, missing, dtypes)
    if body is None:
        return None
    return replace(statement, body=body)


@restrict.register
def _(statement: Tiles, missing: Seq[Access], dtypes: Mapping[str, str]) -> Stmt | None:
    body = restrict(statement.body, missing, dtypes)
    if body is None:
        return None
    return replace(statement, body=body)


@restrict.register
def _(statement: Where, missing: Seq[Access], dtypes: Mapping[str, str]) -> Stmt | None:
    producer = restrict(statement.producer, missing, dtypes)
    if producer is None:
        gone = target_access(statement.producer)
        return restrict(statement.consumer, [*missing, gone], dtypes)
    consumer = restrict(statement.consumer, missing, dtypes)
    if consumer is None:
        return None
    if target_access(statement.producer) not in reads(consumer):
        return consumer
    return Where(consumer, producer, statement.workspace)


@restrict.register
def _(
    statement: Sequence, missing: Seq[Access], dtypes: Mapping[str, str]
) -> Stmt | None:
    parts = [restrict(part, missing, dtypes) for part in statement.statements]
    left = tuple(part for part in parts if part is not None)
    if len(left) <= 1:
        return left[0] if left else None
    return Sequence(left)
