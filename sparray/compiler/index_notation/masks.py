"""Masks: results that are computed and stored at some coordinates only.

Source: Davis 2019, "SuiteSparse:GraphBLAS", section 3.4 (structural masks).
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sparray.compiler.absence import Absence
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Literal,
)
from sparray.compiler.index_notation.traversal import accesses, marks, walk
from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.loop_ir.operators import operator
from sparray.errors import ExpressionError

__all__ = ["mask_name", "masked", "refuse_marks", "state_outside"]


def mask_name(statements: Iterable[Assignment]) -> str:
    """Return a name for the mask that no tensor of some assignments has."""
    taken = set()
    for statement in statements:
        taken |= {access.tensor for access in accesses(statement.value)}
        taken.add(statement.target.tensor)
    name = "mask"
    while name in taken:
        name += "_"
    return name


def masked(assignment: Assignment, mask: str, *, complement: bool) -> Assignment:
    """Return an assignment that is computed where a mask stores entries.

    Parameters
    ----------
    assignment : Assignment
        What to compute.
    mask : str
        Name of the mask, which has the target's indices.
    complement : bool
        Whether to compute where the mask stores nothing instead.

    Returns
    -------
    Assignment
        **Rewrite**: ``C[i,j] = x`` → ``C[i,j] = where(stored(mask[i,j]), x, 0)``, and
        ``where(stored(mask[i,j]), 0, x)`` for the complement. `state_outside` replaces
        the 0.
    """
    target, value = assignment.target, assignment.value
    test = Apply("stored", (Access(mask, target.indices),))
    outside = Literal(0)
    sides = (outside, value) if complement else (value, outside)
    return Assignment(target, Apply("where", (test, *sides)))


def state_outside(
    assignment: Assignment,
    absence: Absence,
    zero_of: Callable[[str], Any],
    *,
    complement: bool,
) -> Assignment:
    """Return a masked assignment that says what the result is elsewhere.

    Parameters
    ----------
    assignment : Assignment
        As `masked` makes it.
    absence : Absence
        What operands are where they store nothing.
    zero_of : callable
        The zero of a dtype.
    complement : bool
        As for `masked`.

    Returns
    -------
    Assignment
        With the expression's own fill value in place of the 0, or the zero where it has
        none, so that what is not computed is what is not stored.
    """
    value = assignment.value
    if not isinstance(value, Apply):
        return assignment
    test, *sides = value.operands
    inner = sides[1] if complement else sides[0]
    dtype = result_dtype(inner, absence.dtypes)
    outside = absence.constant(inner)
    if outside is None or isinstance(outside, Literal):
        found = zero_of(dtype) if outside is None else outside.value
        held = np.asarray(found).astype(numpy_dtype(dtype))[()]
        outside = Literal(bool(held) if dtype == "bool" else held)
    sides = [outside, inner] if complement else [inner, outside]
    return Assignment(assignment.target, Apply(value.op, (test, *sides)))


def refuse_marks(value: Expr, text: str) -> None:
    """Refuse ``stored`` in a user's expression: values do not say what is stored."""
    if marks(value) or any(
        isinstance(node, Apply) and operator(node.op).of_stored is not None
        for node in walk(value)
    ):
        raise ExpressionError(
            f"{text}: expected no 'stored(...)'; mask=... computes where an array "
            "stores entries"
        )
