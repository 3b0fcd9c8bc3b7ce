"""The answer of dense NumPy, where an entry that is not stored annihilates a product.

Beside each value runs a mask of where it is a constant: the same whatever the stored
entries are. There NaN and inf do not come through a product (``missing="zero"``), and
there a sparse result stores nothing. It knows no simplification but that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import (
    apply_operator,
    is_weak,
    reduction_identity,
)
from sparray.compiler.index_notation.interpreter import Evaluator, Labelled, align
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.verify import index_extents
from sparray.compiler.loop_ir.operators import Extreme, operator

__all__ = ["reference_answer"]


def reference_answer(
    assignment: Assignment,
    arrays: Mapping[str, np.ndarray],
    patterns: Mapping[str, np.ndarray],
    sources: Mapping[str, str] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a result, and where they are stored."""
    shapes = {n: a.shape for n, a in arrays.items()}
    extents = index_extents(assignment, shapes, sources)
    with np.errstate(all="ignore"):
        answer = _Reference(arrays, patterns, extents).answer(assignment.value)
    target = assignment.target.indices
    shape = tuple(extents[i] for i in target)
    full = np.broadcast_to(align(Labelled(answer.value, answer.indices), target), shape)
    constant = align(Labelled(answer.constant, answer.indices), target)
    return np.array(full), ~np.broadcast_to(constant, shape)


@dataclass(frozen=True)
class _Answer:
    """Values, where they are literals, and where they depend on scalars at most."""

    value: Any
    literal: Any
    constant: Any
    indices: tuple[str, ...]

    def aligned(self, indices: tuple[str, ...]) -> tuple[Any, Any, Any]:
        parts = (self.value, self.literal, self.constant)
        return tuple(align(Labelled(part, self.indices), indices) for part in parts)


@dataclass(frozen=True)
class _Reference:
    arrays: Mapping[str, np.ndarray]
    patterns: Mapping[str, np.ndarray]
    extents: Mapping[str, int]

    def answer(self, expr: Any) -> _Answer:
        """Return the answer at every value of an expression's free indices."""
        if isinstance(expr, Literal):
            return _Answer(expr.value, np.array(True), np.array(True), ())
        if isinstance(expr, Apply):
            return self.applied(expr)
        if isinstance(expr, Reduce):
            return self.reduced(expr)
        stored = Evaluator(self.patterns, self.extents).evaluate(expr)
        value = Evaluator(self.arrays, self.extents).evaluate(expr)
        absent = ~stored.value
        constant = absent if expr.indices else np.array(True)
        return _Answer(value.value, absent, constant, value.indices)

    def applied(self, expr: Apply) -> _Answer:
        parts = [self.answer(operand) for operand in expr.operands]
        indices = tuple(dict.fromkeys(i for part in parts for i in part.indices))
        aligned = [part.aligned(indices) for part in parts]
        row = operator(expr.op)
        result = apply_operator(expr.op, *[value for value, _, _ in aligned])
        if row.of_stored is not None:
            # An entry is stored or not, whatever it is.
            everywhere = np.ones_like(result, bool)
            return _Answer(result, everywhere, everywhere, indices)
        if row.conditions:
            return _Answer(result, *_chosen(aligned), indices)
        literal, constant = np.array(True), np.array(True)
        for _, fixed, settled in aligned:
            literal, constant = literal & fixed, constant & settled
        for number, (value, fixed, _) in enumerate(aligned):
            annihilator = row.annihilator
            if number == 0 and row.left_annihilator is not None:
                annihilator = row.left_annihilator
            if annihilator is None:
                continue
            if isinstance(annihilator, Extreme):
                annihilator = annihilator.of(np.asarray(result).dtype)
            truth = np.asarray(value).astype(bool) if row.result == "bool" else value
            ends = fixed & (np.asarray(truth) == annihilator)
            if is_weak(result):
                result = annihilator if ends else result
            else:
                result = np.where(ends, np.asarray(annihilator, result.dtype), result)
            literal, constant = literal | ends, constant | ends
        return _Answer(result, literal, constant, indices)

    def reduced(self, expr: Reduce) -> _Answer:
        operand = self.answer(expr.operand)
        result = self._reduce(expr.op, expr.indices, operand.value, operand.indices)
        identity = reduction_identity(expr.op, result.value.dtype)
        value = np.asarray(operand.value)
        if operator(expr.op).result == "bool":
            value = value.astype(bool)
        same = operand.literal & (value == identity)
        alone = self._reduce("and", expr.indices, same, operand.indices)
        kept = align(alone, result.indices)
        return _Answer(result.value, kept, kept, result.indices)

    def _reduce(
        self, op: str, reduced: tuple[str, ...], value: Any, indices: tuple[str, ...]
    ) -> Labelled:
        """Reduce what an operand has been evaluated to."""
        arrays = {"operand": np.asarray(value)}
        reduce = Reduce(op, reduced, Access("operand", indices))
        return Evaluator(arrays, self.extents).evaluate(reduce)


def _chosen(aligned: list[tuple[Any, Any, Any]]) -> tuple[Any, Any]:
    """Return where a choice is a literal, and where it depends on scalars at most."""
    condition, then, otherwise = aligned
    both = then[1] & otherwise[1]
    with np.errstate(all="ignore"):
        both = both & _identical(then[0], otherwise[0])
    truth = np.asarray(condition[0]).astype(bool)
    literal = both | (condition[1] & np.where(truth, then[1], otherwise[1]))
    # A scalar may be true or not: all three must be settled, or a literal chooses.
    settled = condition[2] & then[2] & otherwise[2]
    chosen = condition[1] & np.where(truth, then[2], otherwise[2])
    return literal, literal | settled | chosen


def _identical(left: Any, right: Any) -> Any:
    left, right = np.asarray(left), np.asarray(right)
    both_nan = (left != left) & (right != right)
    return (left == right) | both_nan
