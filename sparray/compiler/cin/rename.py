"""Replace the accesses of a CIN statement, and the names of its workspaces."""

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Stmt,
    Where,
)
from sparray.compiler.cin.traversal import rebuilt
from sparray.compiler.index_notation.traversal import accesses, substitute

__all__ = ["renamed"]


@singledispatch
def renamed(statement: Stmt, rename: Callable[[Access], Access]) -> Stmt:
    """Return a statement over other tensors.

    Parameters
    ----------
    statement : Stmt
        Any statement; its loops stay.
    rename : callable
        What stands in place of an access. A workspace takes the name that an access to
        it gets.
    """
    return rebuilt(statement, lambda inside: renamed(inside, rename))


@renamed.register
def _(statement: Assign, rename: Callable[[Access], Access]) -> Stmt:
    others = {access: rename(access) for access in accesses(statement.value)}
    value = substitute(statement.value, others)
    return Assign(rename(statement.target), value, statement.op)


@renamed.register
def _(statement: Where, rename: Callable[[Access], Access]) -> Stmt:
    workspace = statement.workspace
    name = rename(Access(workspace.name, workspace.indices)).tensor
    return Where(
        renamed(statement.consumer, rename),
        renamed(statement.producer, rename),
        replace(workspace, name=name),
    )
