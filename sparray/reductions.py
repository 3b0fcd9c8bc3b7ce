"""Reductions over axes: each is an expression for the compiler."""

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.dispatch import evaluate_expression
from sparray.errors import ShapeError
from sparray.expression import assignment_expression
from sparray.formats.coordinates import as_dtype
from sparray.results import wrap_result

if TYPE_CHECKING:
    pass

__all__ = ["sum_over"]


def sum_over(
    operand: Any,
    axis: int | tuple[int, ...] | None = None,
    dtype: npt.DTypeLike | None = None,
) -> Any:
    """Sum an array over some axes.

    Parameters
    ----------
    operand : SparseArray or array_like
        Any format.
    axis : int or tuple of int, optional
        Which axes; all of them by default. Negative ones count from the end.
    dtype : dtype, optional
        In which values are added up. By default their own, but int64 or uint64 for
        bools and narrower integers, as NumPy does.

    Returns
    -------
    ndarray, scalar or SparseArray
        A dense array if at most one dimension is left, else a sparse one.

    Raises
    ------
    ShapeError
        If an axis is no integer, does not exist or is given twice.
    """
    if hasattr(operand, "__sparray_function__"):
        # A lazy array.
        return operand.__sparray_function__("sum", operand, axis=axis, dtype=dtype)
    if not isinstance(operand, np.ndarray) and not hasattr(operand, "_levels"):
        # Nested lists, numbers, what SciPy and torch have. Conversions sum, too.
        from sparray.convert import array

        operand = array(operand, copy=False)
    ndim = operand.ndim
    axes = _axes(axis, ndim, operand.shape)
    indices = [f"i{n}" for n in range(ndim)]
    kept = ",".join(name for n, name in enumerate(indices) if n not in axes)
    target = f"C[{kept}]" if kept else "C"
    expression = assignment_expression(f"{target} = A[{','.join(indices)}]")
    asked = None if dtype is None else as_dtype(dtype)
    wide = np.zeros(0, operand.dtype).sum(dtype=asked).dtype
    wide_operand = operand if wide == operand.dtype else operand.astype(wide)
    stored = evaluate_expression(expression, [wide_operand])
    result = wrap_result(stored, operand)
    return result[()] if isinstance(result, np.ndarray) and not kept else result


def _axes(
    axis: int | tuple[int, ...] | None, ndim: int, shape: tuple[int, ...]
) -> set[int]:
    if axis is None:
        return set(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = []
    for one in given:
        try:
            place = operator.index(one)
        except TypeError:
            raise ShapeError(
                f"axis: expected an integer or a tuple of them, got {axis!r}"
            ) from None
        if not -ndim <= place < ndim:
            raise ShapeError(
                f"axis: expected an axis of shape {shape}, from {-ndim} to {ndim - 1}, "
                f"got {place}"
            )
        axes.append(place % ndim)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis: expected each axis once, got {axis}")
    return set(axes)
