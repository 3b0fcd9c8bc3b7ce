"""Keep what is infinite where a mask is false: what is made of it is a choice too.

``where(m, s, -inf) - t`` is ``-inf`` where ``m`` is false, whatever finite number ``t``
is, and ``exp`` of that is 0. Said as ``where(m, s - t, -inf)``, which has entries where
``m`` has, a softmax over the entries of a mask needs no array of all elements. As a
zero that is not stored ends a product (``missing="zero"``), this infinity ends a sum,
NaN and the other infinity included.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import apply_operator
from sparray.compiler.loop_ir.operators import operator
from sparray.tracing.graph import Computed, View

__all__ = ["kept_choice", "stated_choice"]

Choice = tuple[View, float]


def stated_choice(operands: Sequence[Any], shape: tuple[int, ...]) -> Choice | None:
    """Return the choice that ``where`` states, if it is for an infinite number."""
    condition, _, other = operands
    if not isinstance(condition, View) or condition.shape != shape:
        return None
    return (condition, other) if _is_infinite(other) else None


def kept_choice(
    op: str, operands: Sequence[Any], shape: tuple[int, ...]
) -> Choice | None:
    """Return the choice that an operator keeps of an operand, with its own value."""
    chosen = [_choice(x, shape) for x in operands]
    found = [(n, choice) for n, choice in enumerate(chosen) if choice is not None]
    if len(found) != 1:
        return None
    ((place, (condition, value)),) = found
    if operator(op).arity == 1:
        made = apply_operator(op, value)
    elif op in ("add", "sub"):
        made = apply_operator(op, *(value if n == place else 1.0 for n in (0, 1)))
    else:
        return None
    return (condition, made) if type(made) is float and made == made else None


def _choice(operand: Any, shape: tuple[int, ...]) -> Choice | None:
    if not isinstance(operand, View) or not operand.is_whole or operand.shape != shape:
        return None
    tensor = operand.tensor
    return tensor.choice if isinstance(tensor, Computed) else None


def _is_infinite(value: Any) -> bool:
    return type(value) is float and bool(np.isinf(value))
