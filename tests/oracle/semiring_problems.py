"""Random problems over semirings: of every pair of operators, and of a user's own.

A seed names a problem. What operands do not store is the semiring's zero, as
`sparray.evaluation.readings` has it, or any other number.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from oracle_check import Question
from oracle_problems import (
    EXTENTS,
    LETTERS,
    _assignment,
    _einsum,
    _Maker,
    random_format,
)

from sparray.compiler.index_notation.monoid import Monoid
from sparray.compiler.index_notation.semiring import Semiring, as_semiring
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    einsum_expression,
)
from sparray.evaluation.readings import read_operands
from sparray.sparse_array import SparseArray

__all__ = ["SEMIRINGS", "SemiringQuestion", "semiring_question"]

EITHER = Semiring(Monoid("x + y - x * y", identity=0), "times")
LARGEST = Semiring(Monoid("where(x < y, y, x)", identity=-float("inf")), "x + 2 * y")
SEMIRINGS: tuple[Any, ...] = (
    *("min_plus", "max_plus", "max_times", "or_and", "min_times", "max_min", "min_max"),
    *("and_or", "plus_min", EITHER, LARGEST),
)
DTYPES = ("float64", "float64", "float32", "int64", "int32", "int8", "uint8", "bool")


@dataclass(frozen=True)
class SemiringQuestion(Question):
    """A problem whose sums and products are those of a semiring."""

    semiring: Any = None

    @property
    def expression(self) -> Expression:
        given = self.missing, self.schedule, as_semiring(self.semiring)
        if "=" in self.text:
            return assignment_expression(self.text, *given)
        return einsum_expression(self.text, len(self.operands), *given)

    def __repr__(self) -> str:
        return f"{Question.__repr__(self)}\n  {self.semiring=}"


class _Sums(_Maker):
    """Makes expressions of sums and products alone."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng, DTYPES, None, None)
        self.extents = {i: max(1, int(rng.choice(EXTENTS))) for i in LETTERS}

    def factor(self, depth: int, among: str) -> str:
        kind = self.rng.random()
        if kind < 0.06:
            return str(self.rng.integers(1, 4))
        if kind < 0.2 and depth:
            return f"({self.sum_of_products(depth - 1, among)})"
        if len(self.names) >= 4:
            return self.access_again(str(self.rng.choice(self.names)))
        return self.access(self.some_indices(among))

    def sum_of_products(self, depth: int, among: str) -> str:
        n = int(self.rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1]))
        return " + ".join(self.product(depth, among) for _ in range(n))


def semiring_question(seed: int) -> SemiringQuestion:
    """Return the problem of a seed."""
    rng = np.random.default_rng([seed, 4])
    maker = _Sums(rng)
    text, kept = _einsum(maker) if rng.random() < 0.5 else _assignment(maker)
    format = random_format(rng, kept, output=True) if rng.random() < 0.6 else None
    given = SEMIRINGS[rng.integers(0, len(SEMIRINGS))]
    maker.dtypes = (maker.dtype,)
    if isinstance(given, Semiring) and maker.dtype not in ("float64", "float32"):
        maker.dtype, maker.dtypes = "float64", ("float64",)
    operands = tuple(_filled(rng, operand) for operand in maker.operands())
    width = int(rng.choice([16, 32, 64]))
    question = SemiringQuestion(
        text, operands, format, bool(rng.random() < 0.5), width, semiring=given
    )
    read = [_array(each) for each in read_operands(question.expression, operands)]
    return SemiringQuestion(
        text, tuple(read), format, question.assumed, width, semiring=given
    )


def _filled(rng: np.random.Generator, operand: Any) -> Any:
    if isinstance(operand, np.ndarray) or operand.format.is_dense:
        return operand
    if rng.random() < 0.8:
        return operand
    fill = operand.dtype.type(2)
    return SparseArray._from_trusted(
        operand.format, operand.shape, operand._levels, operand.values, fill
    )


def _array(operand: Any) -> Any:
    if isinstance(operand, np.ndarray | SparseArray):
        return operand
    return SparseArray._from_trusted(
        operand.format,
        operand.shape,
        operand._levels,
        operand.values,
        operand.fill_value,
    )
