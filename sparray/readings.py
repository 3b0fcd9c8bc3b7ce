"""Operands as an expression reads them: over a semiring gaps are its zero."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.expression import Expression
from sparray.stored import Operand, Stored

if TYPE_CHECKING:
    from sparray.compiler.index_notation.semiring import Semiring

__all__ = ["Given", "mask_operand", "read_operands"]

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
    return _over_semiring(expression, expression.semiring, operands)


def mask_operand(mask: "Operand") -> Stored:
    """Return a mask: its buffers, and True for each entry whatever its value is."""
    stored = np.ones(len(mask.values), np.bool_)
    return Stored(mask.format, mask.shape, mask._levels, stored, np.False_)


def _over_semiring(
    expression: Expression, semiring: "Semiring", operands: Sequence[Given]
) -> list[Given]:
    from sparray.compiler.index_notation.semiring import refuse_without_zero
    from sparray.compiler.loop_ir.operators import Extreme

    given = list(operands)
    mask = None
    if expression.mask is not None:
        at = expression.tensors.index(expression.mask)
        mask = given.pop(at)
    tensors = [name for name in expression.tensors if name != expression.mask]
    dtypes = {_dtype(operand) for operand in given}
    if len(dtypes) > 1 and isinstance(semiring.zero, Extreme):
        wanted = np.result_type(*dtypes)
        given = [_converted(operand, wanted) for operand in given]
    for number, operand in enumerate(given):
        if isinstance(operand, np.ndarray) or operand.format.is_dense:
            continue
        if semiring.zero is None:
            raise refuse_without_zero(expression.text, tensors[number])
        if operand.fill_value == 0:
            given[number] = Stored(
                operand.format,
                operand.shape,
                operand._levels,
                operand.values,
                semiring.zero_of(operand.values.dtype),
            )
    if mask is not None:
        given.insert(at, mask)
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
