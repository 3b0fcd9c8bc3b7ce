"""Which entries of a result are stored, from which entries of its operands are."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparray.compiler.absence import Absence, Fill, fill_of
from sparray.compiler.index_notation.apply import reduction_identity
from sparray.compiler.index_notation.dtypes import result_dtype
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
    is_identity,
)
from sparray.compiler.index_notation.traversal import children, replace_children
from sparray.compiler.index_notation.verify import index_extents, verify
from sparray.records import dataclass

__all__ = ["evaluate_pattern"]

Pattern = NDArray[np.bool_]


def evaluate_pattern(
    assignment: Assignment,
    patterns: Mapping[str, Pattern],
    *,
    absence: Absence | None = None,
    shape: tuple[int, ...] | None = None,
    sources: Mapping[str, str] | None = None,
) -> Pattern:
    """Compute the stored coordinates of a result.

    Parameters
    ----------
    assignment : Assignment
        The statement.
    patterns : mapping of str to ndarray of bool
        True where an operand stores an entry; all True for a dense one.
    absence : Absence, optional
        Dtypes and fill values of the operands; by default float64 and 0.
    shape : tuple of int, optional
        Shape of the result, needed if the right side lacks one of its indices.
    sources : mapping of str to str, optional
        What coordinates with a parameter were (`symbolize`).

    Returns
    -------
    ndarray of bool
        True where the result stores an entry.

    Notes
    -----
    An entry is absent where the expression, with its fill value for every absent
    operand, simplifies to a literal: the result's fill value. So products intersect,
    sums unite and ``exp`` of a sum has a fill value of 1, without this module knowing
    those operators. A reduction stores something where any of its terms is not its
    identity; where the result of entirely absent operands is no constant, everything
    is stored. The work is exponential in the number of accesses of one
    reduction-free part.
    """
    patterns = {name: np.asarray(p, dtype=bool) for name, p in patterns.items()}
    shapes = {name: pattern.shape for name, pattern in patterns.items()}
    if shape is not None:
        shapes[assignment.target.tensor] = shape
    verify(assignment, shapes, sources)
    extents = index_extents(assignment, shapes, sources)
    if absence is None:
        zero = fill_of(0)
        dtypes = dict.fromkeys(patterns, "float64")
        absence = Absence(dtypes, dict.fromkeys(patterns, zero))
    target = assignment.target.indices
    full = tuple(extents[i] for i in target)
    if absence.constant(assignment.value) is None:
        return np.ones(full, dtype=bool)
    stored = _Patterns(patterns, extents, absence).stored(assignment.value, None)
    return np.array(np.broadcast_to(align(stored, target), full))


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The operands' patterns, the extents, and what operands are where absent."""

    patterns: Mapping[str, Pattern]
    extents: Mapping[str, int]
    absence: Absence

    def stored(self, expr: Expr, op: str | None) -> Labelled:
        """Return where an expression is no constant, or not the identity of ``op``.

        The result has one axis per free index.
        """
        known: dict[Access, Labelled] = {}
        fills, dtypes = dict(self.absence.fills), dict(self.absence.dtypes)
        absence = Absence(dtypes, fills, self.absence.scalars)
        flat = self._without_reductions(expr, known, dtypes, fills)
        evaluator = Evaluator(self.patterns, self.extents)
        read = accesses(flat)
        for access in read:
            if access not in known:
                known[access] = evaluator.evaluate(access)
        indices = free_indices(expr)
        full = tuple(self.extents[i] for i in indices)
        present = [np.broadcast_to(align(known[a], indices), full) for a in read]
        result = np.zeros(full, dtype=bool)
        for combination in itertools.product((False, True), repeat=len(read)):
            pairs = zip(read, combination, strict=True)
            missing = [access for access, stored in pairs if not stored]
            found = [access for access in read if access not in missing]
            rest = absence.without(flat, missing, present=found)
            if absence.is_constant(rest) if op is None else _is_identity(op, rest):
                continue
            here = np.ones(full, dtype=bool)
            for pattern, stored in zip(present, combination, strict=True):
                here &= pattern if stored else ~pattern
            result |= here
        return Labelled(result, indices)

    def _without_reductions(
        self,
        expr: Expr,
        known: dict[Access, Labelled],
        dtypes: dict[str, str],
        fills: dict[str, Fill],
    ) -> Expr:
        """Put a placeholder for each reduction, whose pattern goes into ``known``."""
        if isinstance(expr, Reduce):
            # No tensor is named by digits alone, so the placeholder is new.
            placeholder = Access(str(len(known)), free_indices(expr))
            dtype = result_dtype(expr, dtypes)
            dtypes[placeholder.tensor] = dtype
            fills[placeholder.tensor] = fill_of(reduction_identity(expr.op, dtype))
            terms = self.stored(expr.operand, expr.op)
            axes = tuple(n for n, i in enumerate(terms.indices) if i in expr.indices)
            known[placeholder] = Labelled(
                self._any(terms, axes, expr.indices), free_indices(expr)
            )
            return placeholder
        return replace_children(
            expr,
            tuple(
                self._without_reductions(child, known, dtypes, fills)
                for child in children(expr)
            ),
        )

    def _any(
        self, terms: Labelled, axes: tuple[int, ...], reduced: tuple[str, ...]
    ) -> Any:
        found: Any = terms.value.any(axis=axes)
        # An index that the terms lack may still have no values.
        empty = any(self.extents[i] == 0 for i in reduced)
        return np.zeros_like(found) if empty else found


def _is_identity(op: str, rest: Expr) -> bool:
    return isinstance(rest, Literal) and is_identity(op, rest)
