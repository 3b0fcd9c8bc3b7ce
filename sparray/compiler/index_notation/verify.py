"""Checks on a statement of index notation, before anything is computed from it."""

from collections.abc import Iterator, Mapping

from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.extents import sizes_of
from sparray.compiler.index_notation.nodes import (
    Access,
    Assignment,
    Expr,
    Reduce,
)
from sparray.compiler.index_notation.places import access_place, word_place
from sparray.compiler.index_notation.printer import print_access, print_assignment
from sparray.compiler.index_notation.tokenizer import marked, syntax_error
from sparray.compiler.index_notation.traversal import accesses, children, free_indices
from sparray.errors import ExpressionError, ShapeError

__all__ = ["Shapes", "index_extents", "verify"]

Shapes = Mapping[str, tuple[int, ...]]


def verify(
    assignment: Assignment,
    shapes: Shapes | None = None,
    sources: Mapping[str, str] | None = None,
) -> None:
    """Check that a statement has one meaning.

    Parameters
    ----------
    assignment : Assignment
        The statement, its reductions explicit. ``A[i,i]`` is legal on the right.
    shapes : mapping of str to tuple of int, optional
        Shape of each operand; the target's shape too where it is known.
    sources : mapping of str to str, optional
        What coordinates with a parameter were (`symbolize`).

    Raises
    ------
    ExpressionError
        If an index is bound twice or not at all, an output index is repeated or is
        absent on the right (unless ``shapes`` has the target's shape, which then
        says how far to broadcast), or the target is read.
    ShapeError
        If an access has not as many indices as its tensor has dimensions, or two
        extents of one index disagree.
    CoordinateError
        If a coordinate leaves its dimension.
    """
    target = assignment.target
    for axis, index in enumerate(target.indices):
        if is_affine(index):
            message = f"expected an index of the result, got {index}"
            raise _error(assignment, message, axis)
        if index in target.indices[:axis]:
            raise _error(assignment, f"output index {index!r} is repeated", axis)
    read = accesses(assignment.value)
    if any(access.tensor == target.tensor for access in read):
        message = f"the result {target.tensor!r} is read on the right"
        raise _error(assignment, message, target.tensor)
    _check_bindings(assignment, assignment.value, target.indices)
    for index in free_indices(assignment.value):
        if index not in target.indices:
            message = f"index {index!r} is neither in the result nor reduced"
            raise _error(assignment, message, index)
    _check_occurrences(assignment, read, shapes)
    if shapes is not None:
        index_extents(assignment, shapes, sources)


def index_extents(
    assignment: Assignment,
    shapes: Shapes,
    sources: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """Return the extent of every index, and what `sizes_of` says of windows.

    Parameters
    ----------
    assignment : Assignment
        The statement.
    shapes : mapping of str to tuple of int
        Shape of each operand; the target's is read if it is there.
    sources : mapping of str to str, optional
        What coordinates with a parameter were.

    Returns
    -------
    dict of str to int
        Extents, in order of first appearance, the target first.

    Raises
    ------
    ShapeError
        If a tensor has no shape or another number of dimensions, or two extents of
        one index disagree.
    CoordinateError
        If a coordinate leaves its dimension.
    """
    target = assignment.target
    read = list(accesses(assignment.value))
    if target.tensor in shapes:
        read.append(target)
    given = [(access, _shape(assignment, access, shapes)) for access in read]
    extents = sizes_of(given, sources or {}, print_assignment(assignment))
    first = {i: extents[i] for i in target.indices if i in extents}
    return {**first, **extents}


def _shape(assignment: Assignment, access: Access, shapes: Shapes) -> tuple[int, ...]:
    if access.tensor not in shapes:
        message = f"tensor {access.tensor!r} has no operand"
        raise ShapeError(_marked(assignment, access, message))
    shape = tuple(shapes[access.tensor])
    if len(shape) != len(access.indices):
        message = (
            f"{print_access(access)}: expected {len(shape)} indices, as "
            f"{access.tensor!r} has shape {shape}, got {len(access.indices)}"
        )
        raise ShapeError(_marked(assignment, access, message))
    return shape


def _check_bindings(assignment: Assignment, expr: Expr, bound: tuple[str, ...]) -> None:
    if isinstance(expr, Reduce):
        for number, index in enumerate(expr.indices):
            if index in bound or index in expr.indices[:number]:
                message = f"index {index!r} is reduced where it already has a value"
                raise _error(assignment, message, index)
        bound = (*bound, *expr.indices)
    for child in children(expr):
        _check_bindings(assignment, child, bound)


def _check_occurrences(
    assignment: Assignment, read: tuple[Access, ...], shapes: Shapes | None
) -> None:
    occurring = {index for access in read for index in free_indices(access)}
    for index in _reduced(assignment.value):
        if index not in occurring:
            message = f"the reduced index {index!r} is in no tensor"
            raise _error(assignment, message, index)
    if shapes is not None and assignment.target.tensor in shapes:
        return
    for axis, index in enumerate(assignment.target.indices):
        if index not in occurring:
            message = f"output index {index!r} is absent on the right"
            raise _error(assignment, message, axis)


def _reduced(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Reduce):
        yield from expr.indices
    for child in children(expr):
        yield from _reduced(child)


def _error(assignment: Assignment, message: str, at: int | str) -> ExpressionError:
    """Return an error that marks a dimension of the target, or a word on the right."""
    text = print_assignment(assignment)
    if isinstance(at, int):
        return syntax_error(text, access_place(text, assignment.target, at), message)
    return syntax_error(text, word_place(text, at, right=True), message)


def _marked(assignment: Assignment, access: Access, message: str) -> str:
    text = print_assignment(assignment)
    return marked(text, access_place(text, access), message)
