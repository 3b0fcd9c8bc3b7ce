"""The problems of `oracle_problems` and `semiring_problems`, under a random mask."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from oracle_check import Question
from oracle_problems import random_array, random_format, random_question
from semiring_problems import SemiringQuestion, _array, semiring_question

from sparray.compiler.index_notation.nodes import Assignment
from sparray.compiler.index_notation.semiring import as_semiring
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    einsum_expression,
)
from sparray.evaluation.planning import operand_specs, stated_assignment
from sparray.evaluation.stored import dense_operand
from sparray.functions.einsum import with_mask

__all__ = ["MaskedQuestion", "masked_question"]


@dataclass(frozen=True)
class MaskedQuestion(SemiringQuestion):
    """A problem whose result is computed at a mask's coordinates, or at others."""

    kind: str | None = None

    @property
    def expression(self) -> Expression:
        semiring = as_semiring(self.semiring)
        given = (self.missing, self.schedule, semiring, self.kind)
        if "=" in self.text:
            return assignment_expression(self.text, *given)
        n_operands = len(self.operands) - (self.kind is not None)
        return einsum_expression(self.text, n_operands, *given)

    @property
    def meaning(self) -> Assignment:
        stored = [
            dense_operand(x) if isinstance(x, np.ndarray) else x for x in self.operands
        ]
        specs = operand_specs(self.expression, stored)
        return stated_assignment(self.expression, tuple(specs.items()))

    @property
    def stated(self) -> Assignment:
        return self.meaning

    def __repr__(self) -> str:
        return f"{super().__repr__()} {self.kind=}"


def masked_question(seed: int) -> Question:
    """Return the problem of a seed; without a mask if its result is a number."""
    rng = np.random.default_rng([seed, 5])
    semiring: Any = None
    if rng.random() < 0.4:
        made: Question = semiring_question(seed)
        semiring = getattr(made, "semiring", None)
    else:
        made = random_question(seed)
    plain = made.expression
    target = plain.assignment.target.indices
    if not target:
        return made
    sizes = dict(zip(plain.indices, plain.extents(made.operands), strict=True))
    shape = tuple(sizes[index] for index in target)
    format = random_format(rng, len(shape))
    mask = random_array(rng, shape, format, "bool")
    question = MaskedQuestion(
        made.text,
        (),
        made.format,
        made.assumed,
        made.vector_bytes,
        made.missing,
        semiring=semiring,
        kind="complement" if rng.random() < 0.4 else "structure",
    )
    if "=" in made.text:
        expression = question.expression
    else:
        operands = (*made.operands, None)
        expression = replace(question, operands=operands).expression
    given = with_mask(expression, list(made.operands), mask)
    return replace(question, operands=tuple(map(_array, given)))
