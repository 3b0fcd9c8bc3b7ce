"""Random problems with choices: ``where`` of conditions, products and numbers.

A seed names a problem. The arrays, formats and dtypes are those of `oracle_problems`.
"""

import numpy as np
from oracle_check import Question
from oracle_problems import (
    DTYPES,
    WEIGHTS,
    _assignment,
    _filled,
    _Maker,
    random_format,
)

__all__ = ["where_question"]


class _Chooser(_Maker):
    """Makes expressions in which some factors are choices."""

    def access(self, indices: tuple[str, ...]) -> str:
        if len(self.names) == 8:
            return self.access_again(str(self.rng.choice(self.names)))
        return super().access(indices)

    def factor(self, depth: int, among: str) -> str:
        if not depth or self.rng.random() < 0.4 or len(self.names) > 3:
            return super().factor(depth, among)
        condition = self.condition(among)
        then, otherwise = (self.branch(among) for _ in range(2))
        return f"where({condition}, {then}, {otherwise})"

    def condition(self, among: str) -> str:
        one = self.access(self.some_indices(among))
        kind = self.rng.random()
        if kind < 0.4:
            return one
        if kind < 0.7:
            return f"{one} {self.rng.choice(['==', '!='])} {self.rng.integers(-1, 2)}"
        return f"{one} {self.rng.choice(['&', '|'])} {self.factor(0, among)}"

    def branch(self, among: str) -> str:
        if self.rng.random() < 0.2:
            return str(self.rng.choice(["0", "1", "0.5", "2", "True"]))
        return self.product(0, among)


def where_question(seed: int) -> Question:
    """Return the problem of a seed."""
    rng = np.random.default_rng([seed, 3])
    maker = _Chooser(rng, DTYPES, WEIGHTS, None)
    text, kept = _assignment(maker)
    # The positive part of a complex number is refused.
    text = text.replace("relu(", "abs(")
    format = random_format(rng, kept, output=True) if rng.random() < 0.6 else None
    operands = maker.operands()
    if rng.random() < 0.5:
        operands = tuple(_filled(rng, operand) for operand in operands)
    width = int(rng.choice([16, 32, 64]))
    return Question(text, operands, format, bool(rng.random() < 0.5), width)
