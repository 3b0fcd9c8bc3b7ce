"""Canonical names, so that a user's string never reaches generated code."""

from collections.abc import Callable, Iterable

from sparray.compiler.index_notation.affine import (
    affine,
    affine_text,
    bases,
    rename_coordinate,
)
from sparray.compiler.index_notation.nodes import (
    Access,
    Assignment,
    Expr,
    Reduce,
)
from sparray.compiler.index_notation.traversal import (
    accesses,
    children,
    replace_children,
    substitute,
    walk,
)
from sparray.records import dataclass

__all__ = [
    "TARGET",
    "Renaming",
    "canonicalize",
    "index_name",
    "operand_name",
    "separate_accesses",
    "symbolize",
]

TARGET = "out"

_INDEX_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"
_OPERAND_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Renaming:
    """A user's names -> canonical names, of tensors and of indices."""

    tensors: dict[str, str]
    indices: dict[str, str]


def index_name(number: int) -> str:
    """Return the canonical name of an index: i, j, ... h, then i26, i27, ..."""
    return _INDEX_LETTERS[number] if number < 26 else f"i{number}"


def operand_name(number: int) -> str:
    """Return the canonical name of an operand: A, ... Z, then A26, A27, ..."""
    return _OPERAND_LETTERS[number] if number < 26 else f"A{number}"


def canonicalize(assignment: Assignment) -> tuple[Assignment, Renaming]:
    """Rename everything in order of first appearance, the target first.

    Parameters
    ----------
    assignment : Assignment
        A verified statement.

    Returns
    -------
    assignment : Assignment
        The same statement with the target ``out``, operands A, B, C, ... and indices
        i, j, k, ...; statements that differ in names alone become equal.
    renaming : Renaming
        From the old names to the new ones.

    Notes
    -----
    The indices of a `Reduce` are put in canonical order too.
    """
    target = assignment.target
    read = accesses(assignment.value)
    reduced = [
        index
        for node in walk(assignment.value)
        if isinstance(node, Reduce)
        for index in node.indices
    ]
    indices = [
        index
        for access in (target, *read)
        for coordinate in access.indices
        for index in bases(coordinate)
    ] + reduced
    renaming = Renaming(
        tensors={
            **_number(
                (a.tensor for a in read if a.tensor != target.tensor), operand_name
            ),
            target.tensor: TARGET,
        },
        indices=_number(indices, index_name),
    )
    renamed = Assignment(
        _rename_access(target, renaming), _rename(assignment.value, renaming)
    )
    return renamed, renaming


def separate_accesses(assignment: Assignment) -> tuple[Assignment, dict[str, str]]:
    """Give every distinct access its own operand: A, B, C, ...

    Parameters
    ----------
    assignment : Assignment
        A statement in which a tensor may be read with several index lists.

    Returns
    -------
    assignment : Assignment
        The statement in which each operand has one index list.
    tensors : dict of str to str
        New operand -> the tensor bound to it. ``A[i,k] * A[k,j]`` becomes
        ``A[i,k] * B[k,j]`` with both bound to ``A``; the same access read twice
        stays one operand.
    """
    read = accesses(assignment.value)
    new = {access: operand_name(number) for number, access in enumerate(read)}
    renamed = {old: Access(name, old.indices) for old, name in new.items()}
    value = substitute(assignment.value, renamed)
    tensors = {name: access.tensor for access, name in new.items()}
    return Assignment(assignment.target, value), tensors


def symbolize(
    assignment: Assignment, first: int = 1
) -> tuple[Assignment, dict[str, str]]:
    """Put a parameter in place of the first coordinate of every affine dimension.

    Parameters
    ----------
    assignment : Assignment
        In canonical names, each access its own operand.
    first : int
        The number of the first parameter.

    Returns
    -------
    assignment : Assignment
        **Rewrite**: ``A[i in 2:10:2,3]`` → ``A[2*i+@1,@2]``.
    sources : dict of str to str
        What each of the new coordinates was.
    """
    sources: dict[str, str] = {}
    renamed: dict[Access, Expr] = {}
    for access in accesses(assignment.value):
        coordinates = []
        for coordinate in access.indices:
            made = affine(coordinate)
            if made is not None:
                text = affine_text(made.terms, symbol=f"@{first + len(sources)}")
                sources[text] = coordinate
                coordinate = text
            coordinates.append(coordinate)
        renamed[access] = Access(access.tensor, tuple(coordinates))
    if not sources:
        return assignment, sources
    value = substitute(assignment.value, renamed)
    return Assignment(assignment.target, value), sources


def _number(names: Iterable[str], name_of: Callable[[int], str]) -> dict[str, str]:
    distinct = dict.fromkeys(names)
    return {name: name_of(number) for number, name in enumerate(distinct)}


def _rename_access(access: Access, renaming: Renaming) -> Access:
    indices = tuple(rename_coordinate(i, renaming.indices) for i in access.indices)
    return Access(renaming.tensors[access.tensor], indices)


def _rename(expr: Expr, renaming: Renaming) -> Expr:
    if isinstance(expr, Access):
        return _rename_access(expr, renaming)
    operands = tuple(_rename(child, renaming) for child in children(expr))
    if isinstance(expr, Reduce):
        order = list(renaming.indices)
        indices = sorted(expr.indices, key=order.index)
        renamed = tuple(renaming.indices[i] for i in indices)
        return Reduce(expr.op, renamed, operands[0])
    return replace_children(expr, operands)
