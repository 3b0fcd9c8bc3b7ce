"""Which entries of a result are stored, from which entries of its operands are."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparray.compiler.index_notation.interpreter import Evaluator, Labelled, align
from sparray.compiler.index_notation.nodes import (
    Access,
    Assignment,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.simplify import (
    accesses,
    free_indices,
    is_zero,
    simplify,
    substitute,
)
from sparray.compiler.index_notation.traversal import children, replace_children
from sparray.compiler.index_notation.verify import index_extents, verify
from sparray.compiler.loop_ir.operators import operator

__all__ = ["evaluate_pattern"]

Pattern = NDArray[np.bool_]


def evaluate_pattern(
    assignment: Assignment,
    patterns: Mapping[str, Pattern],
    *,
    shape: tuple[int, ...] | None = None,
) -> Pattern:
    """Compute the stored coordinates of a result.

    Parameters
    ----------
    assignment : Assignment
        The statement.
    patterns : mapping of str to ndarray of bool
        True where an operand stores an entry; all True for a dense one.
    shape : tuple of int, optional
        Shape of the result, needed if the right side lacks one of its indices.

    Returns
    -------
    ndarray of bool
        True where the result stores an entry.

    Notes
    -----
    An entry is absent where the expression, with the literal 0 for every absent
    operand, simplifies to the literal 0. So products intersect, sums unite and
    ``exp`` stores everything, without this module knowing those operators. A
    reduction stores what any of its terms stores. The work is exponential in the
    number of accesses of one reduction-free part.
    """
    patterns = {name: np.asarray(p, dtype=bool) for name, p in patterns.items()}
    shapes = {name: pattern.shape for name, pattern in patterns.items()}
    if shape is not None:
        shapes[assignment.target.tensor] = shape
    verify(assignment, shapes)
    extents = index_extents(assignment, shapes)
    stored = _stored(assignment.value, patterns, extents)
    target = assignment.target.indices
    full = tuple(extents[i] for i in target)
    return np.array(np.broadcast_to(align(stored, target), full))


def _stored(
    expr: Expr, patterns: Mapping[str, Pattern], extents: Mapping[str, int]
) -> Labelled:
    """Return where an expression is not the literal 0; one axis per free index."""
    known: dict[Access, Labelled] = {}
    flat = _replace_reductions(expr, patterns, extents, known)
    evaluator = Evaluator(patterns, extents)
    read = accesses(flat)
    for access in read:
        if access not in known:
            known[access] = evaluator.evaluate(access)
    indices = free_indices(expr)
    full = tuple(extents[i] for i in indices)
    present = [np.broadcast_to(align(known[a], indices), full) for a in read]
    result = np.zeros(full, dtype=bool)
    for combination in itertools.product((False, True), repeat=len(read)):
        if not _is_absent(flat, read, combination):
            here = np.ones(full, dtype=bool)
            for pattern, stored in zip(present, combination, strict=True):
                here &= pattern if stored else ~pattern
            result |= here
    return Labelled(result, indices)


def _is_absent(
    flat: Expr, read: tuple[Access, ...], combination: tuple[bool, ...]
) -> bool:
    pairs = zip(read, combination, strict=True)
    zeros = {access: Literal(0) for access, stored in pairs if not stored}
    return is_zero(simplify(substitute(flat, zeros)))


def _replace_reductions(
    expr: Expr,
    patterns: Mapping[str, Pattern],
    extents: Mapping[str, int],
    known: dict[Access, Labelled],
) -> Expr:
    """Put a placeholder for each reduction, whose pattern goes into ``known``."""
    if isinstance(expr, Reduce):
        # No tensor is named by digits alone, so the placeholder is new.
        placeholder = Access(str(len(known)), free_indices(expr))
        known[placeholder] = _stored_reduction(expr, patterns, extents)
        return placeholder
    return replace_children(
        expr,
        tuple(
            _replace_reductions(child, patterns, extents, known)
            for child in children(expr)
        ),
    )


def _stored_reduction(
    expr: Reduce, patterns: Mapping[str, Pattern], extents: Mapping[str, int]
) -> Labelled:
    stored = _stored(expr.operand, patterns, extents)
    kept = free_indices(expr)
    axes = tuple(n for n, i in enumerate(stored.indices) if i in expr.indices)
    result: Any = stored.value.any(axis=axes)
    identity = operator(expr.op).identity
    if any(extents[i] == 0 for i in expr.indices):
        # Nothing was combined: the value is the identity, stored unless it is 0.
        result = np.full_like(result, identity is None or identity != 0)
    return Labelled(result, kept)
