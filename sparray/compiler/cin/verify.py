"""Checks on CIN that run between stages: what fails here is a bug in sparray."""

from dataclasses import replace
from functools import singledispatch
from itertools import pairwise

from sparray.compiler.cin.nodes import (
    Access,
    Assign,
    Forall,
    Sequence,
    Stmt,
    Tiles,
    Where,
    Workspace,
)
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.cin.traversal import workspace_names, written
from sparray.compiler.index_notation.traversal import (
    accesses,
    contains_reduce,
    free_indices,
)
from sparray.compiler.loop_ir.operators import can_reduce
from sparray.compiler.names import Block, completed, derived
from sparray.errors import InternalError
from sparray.records import dataclass

__all__ = ["verify"]

# A dense workspace, or one with a pattern, may have any number of indices.
_INDICES_OF_KIND = {
    "scalar": 0,
    "registers": 1,
    "dense": None,
    "list": 1,
    "hashed": 1,
    "row": None,
    "pattern": None,
}


def verify(statement: Stmt) -> None:
    """Check a CIN statement.

    Parameters
    ----------
    statement : Stmt
        The whole statement.

    Raises
    ------
    InternalError
        If an index is not bound or bound twice on a path; tile sizes do not descend
        to 1; a workspace is of an unknown kind, is read before it is written, is
        written by its consumer or occurs outside its `Where`; an expression holds a
        `Reduce` or reads what it writes; an operator cannot reduce; or tasks of a
        parallel loop would write the same element.
    """
    try:
        names = workspace_names(statement)
        _verify(statement, _Scope(hidden=frozenset(names)))
        if len(set(names)) != len(names):
            raise InternalError(f"expected distinct workspaces, got {names}")
    except InternalError as error:
        raise InternalError(f"{error}, in\n{print_statement(statement)}") from error


@dataclass(frozen=True, slots=True)
class _Scope:
    """What surrounds a statement.

    ``tiled`` maps the inner index of each open `Tiles` to its index; ``hidden`` has
    every workspace of the whole statement, ``readable`` and ``writable`` those that
    may be read or written here; ``parallel`` the indices of the parallel loops around,
    which a target needs unless it is a workspace ``private`` to a task.
    """

    bound: frozenset[str] = frozenset()
    tiled: tuple[tuple[str, str], ...] = ()
    hidden: frozenset[str] = frozenset()
    readable: frozenset[str] = frozenset()
    writable: frozenset[str] = frozenset()
    parallel: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()


@singledispatch
def _verify(statement: Stmt, scope: _Scope) -> None:
    raise InternalError(f"expected a CIN statement, got {statement!r}")


@_verify.register
def _(statement: Assign, scope: _Scope) -> None:
    target = statement.target
    if statement.op is not None and not can_reduce(statement.op):
        raise InternalError(f"operator {statement.op!r} cannot reduce")
    if contains_reduce(statement.value):
        raise InternalError("expected no Reduce in CIN")
    known = completed(scope.bound)
    for access in (target, *accesses(statement.value)):
        for index in free_indices(access):
            if index not in known:
                raise InternalError(f"index {index!r} is not bound")
    _check_tensors(statement, scope)
    if target.tensor not in scope.private and scope.parallel:
        _check_race(target, scope)


def _check_tensors(statement: Assign, scope: _Scope) -> None:
    target = statement.target.tensor
    if target in scope.hidden and target not in scope.writable:
        raise InternalError(f"workspace {target!r} is written out of its place")
    for access in accesses(statement.value):
        if access.tensor == target:
            raise InternalError(f"tensor {target!r} is read where it is written")
        if access.tensor in scope.hidden and access.tensor not in scope.readable:
            message = f"workspace {access.tensor!r} is read before it is written"
            raise InternalError(message)


def _check_race(target: Access, scope: _Scope) -> None:
    for index in scope.parallel:
        part = derived(index)
        whole = part.base if isinstance(part, Block) else index
        if whole not in target.indices:
            message = f"tasks of the parallel loop {index!r} write the same elements"
            raise InternalError(f"{message} of {target.tensor!r}")


@_verify.register
def _(statement: Forall, scope: _Scope) -> None:
    tiled = dict(scope.tiled)
    names = {statement.index, *statement.fused}
    if len(names) <= len(statement.fused):
        raise InternalError(f"index {statement.index!r} is fused with itself")
    if statement.block and not statement.pos:
        raise InternalError(f"expected positions for blocks of {statement.block}")
    if statement.fused and names & {*tiled, *tiled.values()}:
        raise InternalError(f"index {statement.index!r} of a tile is fused")
    if statement.index in tiled:
        names.add(tiled[statement.index])
    elif statement.index in tiled.values():
        raise InternalError(f"index {statement.index!r} is already cut into tiles")
    inner = _bind(names, scope)
    if statement.parallel:
        parallel = scope.parallel | {tiled.get(statement.index, statement.index)}
        if not statement.pos:
            parallel |= set(statement.fused)
        # All positions that a target has in common are in one chunk.
        inner = replace(inner, parallel=parallel, private=frozenset())
    _verify(statement.body, inner)


@_verify.register
def _(statement: Tiles, scope: _Scope) -> None:
    sizes = statement.sizes
    descending = all(a > b for a, b in pairwise(sizes))
    if not sizes or sizes[-1] != 1 or not descending:
        raise InternalError(f"expected tile sizes that descend to 1, got {sizes}")
    names = {statement.index, statement.inner}
    taken = {name for pair in scope.tiled for name in pair} | scope.bound
    if len(names) < 2 or names & taken:
        message = f"index {statement.index!r} or {statement.inner!r} is bound already"
        raise InternalError(message)
    inner = replace(scope, tiled=(*scope.tiled, (statement.inner, statement.index)))
    if statement.parallel:
        parallel = scope.parallel | {statement.index}
        inner = replace(inner, parallel=parallel, private=frozenset())
    _verify(statement.body, inner)


def _bind(names: set[str], scope: _Scope) -> _Scope:
    for name in sorted(names & scope.bound):
        raise InternalError(f"index {name!r} is bound twice")
    return replace(scope, bound=scope.bound | names)


@_verify.register
def _(statement: Sequence, scope: _Scope) -> None:
    if not statement.statements:
        raise InternalError("expected statements in a Sequence, got none")
    for part in statement.statements:
        _verify(part, scope)


@_verify.register
def _(statement: Where, scope: _Scope) -> None:
    workspace = statement.workspace
    name = frozenset({workspace.name})
    _check_workspace(workspace)
    if workspace.name not in {a.target.tensor for a in written(statement.producer)}:
        raise InternalError(f"workspace {workspace.name!r} is never written")
    inner = replace(scope, private=scope.private | name)
    _verify(statement.producer, replace(inner, writable=scope.writable | name))
    _verify(statement.consumer, replace(inner, readable=scope.readable | name))


def _check_workspace(workspace: Workspace) -> None:
    if workspace.kind not in _INDICES_OF_KIND:
        kinds = ", ".join(_INDICES_OF_KIND)
        message = f"expected a workspace kind of {kinds}, got {workspace.kind!r}"
        raise InternalError(message)
    expected = _INDICES_OF_KIND[workspace.kind]
    if expected is not None and len(workspace.indices) != expected:
        raise InternalError(
            f"workspace {workspace.name!r} of kind {workspace.kind!r}: expected "
            f"{expected} indices, got {len(workspace.indices)}"
        )
