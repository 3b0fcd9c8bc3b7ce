"""Operands as an expression reads them: over a semiring gaps are its zero."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.evaluation.expression import Expression
from sparray.evaluation.stored import Operand, Stored

if TYPE_CHECKING:
    from sparray.compiler.index_notation.semiring import Semiring

__all__ = ["Given", "mask_operand", "over_semiring", "read_operands"]

Given = Operand | npt.NDArray[Any]


def read_operands(expression: Expression, operands: Sequence[Given]) -> Sequence[Given]:
    """Return operands as an expression reads them, their buffers shared.

    Over a semiring entries that are not stored are its zero where the fill value is 0,
    and operands of different dtypes are converted to the one that NumPy promotes them
    to where the zero depends on it.

    Raises
    ------
    ExpressionError
        If a sparse operand has no value where nothing is stored, as the semiring's
        addition has no identity.
    DTypeError
        If the dtype does not hold the zero.
    """
    if expression.semiring is None:
        return operands
    given = list(operands)
    names = list(expression.tensors)
    mask = None
    if expression.mask is not None:
        at = names.index(expression.mask)
        mask = given.pop(at)
        names.pop(at)
    given = over_semiring(expression.text, expression.semiring, names, given)
    if mask is not None:
        given.insert(at, mask)
    return given


def mask_operand(mask: "Operand") -> Stored:
    """Return a mask: its buffers, and True for each entry whatever its value is."""
    stored = np.ones(len(mask.values), np.bool_)
    return Stored(mask.format, mask.shape, mask._levels, stored, np.False_)


def over_semiring(
    text: str, semiring: "Semiring", tensors: Sequence[str], operands: Sequence[Given]
) -> list[Given]:
    """Return the operands of a text as it reads them over a semiring.

    Raises
    ------
    ExpressionError, DTypeError
        As for `read_operands`.
    """
    from sparray.compiler.index_notation.semiring import refuse_without_zero
    from sparray.compiler.loop_ir.operators import Extreme

    given = list(operands)
    dtypes = {_dtype(operand) for operand in given}
    if len(dtypes) > 1 and isinstance(semiring.zero, Extreme):
        wanted = np.result_type(*dtypes)
        given = [_converted(operand, wanted) for operand in given]
    for number, operand in enumerate(given):
        if isinstance(operand, np.ndarray) or operand.format.is_dense:
            continue
        if semiring.zero is None:
            raise refuse_without_zero(text, tensors[number])
        if operand.fill_value == 0:
            given[number] = Stored(
                operand.format,
                operand.shape,
                operand._levels,
                operand.values,
                semiring.zero_of(operand.values.dtype),
            )
    return given


def _dtype(operand: Given) -> np.dtype[Any]:
    return operand.dtype if isinstance(operand, np.ndarray) else operand.values.dtype


def _converted(operand: Given, dtype: np.dtype[Any]) -> Given:
    if isinstance(operand, np.ndarray):
        return operand.astype(dtype, copy=False)
    return Stored(
        operand.format,
        operand.shape,
        operand._levels,
        operand.values.astype(dtype, copy=False),
        np.asarray(operand.fill_value).astype(dtype)[()],
    )
