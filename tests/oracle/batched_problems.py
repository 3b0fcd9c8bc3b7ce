"""The problems of `oracle_problems`, with slices for the outermost levels.

A seed still names a problem: the same as there, but for the formats.
"""

from dataclasses import replace

import numpy as np
from oracle_check import Question
from oracle_problems import random_question, widened

from sparray.errors import FormatError
from sparray.formats import Batch, Dimension, Format
from sparray.sparse_array import SparseArray

__all__ = ["batched_question"]


def batched_question(seed: int, *, every_dtype: bool = False) -> Question:
    """Return the problem of a seed, its formats batched wherever they can be."""
    question = random_question(seed, every_dtype=every_dtype)
    rng = np.random.default_rng([seed, 1])
    operands = tuple(_batched_operand(rng, operand) for operand in question.operands)
    format = question.format
    if format is not None:
        format = batched_format(rng, format)
    return replace(question, operands=operands, format=format)


def batched_format(rng: np.random.Generator, format: Format) -> Format:
    """Return a format whose outermost level, or two, are slices, if they can be."""
    levels = list(format.levels)
    for number in range(min(int(rng.integers(1, 3)), len(levels) - 1)):
        if not isinstance(format.expressions[number], Dimension):
            break
        levels[number] = Batch()
    try:
        return Format(levels, None, format.expressions)
    except FormatError:
        # A singleton has no level of entries above it any more.
        return format


def _batched_operand(
    rng: np.random.Generator, operand: SparseArray | np.ndarray
) -> SparseArray | np.ndarray:
    if isinstance(operand, np.ndarray):
        return operand
    format = batched_format(rng, operand.format)
    if format.unique != operand.format.unique:
        return operand
    if format.is_full and not np.isfinite(operand.fill_value):
        # Its fill values became numbers, whose sums may be reassociated.
        return operand
    made = operand.to_format(format)
    return widened(made) if rng.random() < 0.3 else made
