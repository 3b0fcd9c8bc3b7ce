"""Operators of the table on NumPy values: what every interpreter computes with.

A Python scalar is *weak*: it takes the dtype of what it meets, as in NumPy 2, and
an operator on weak scalars alone gives a weak scalar.
"""

import functools
from typing import Any

import numpy as np

from sparray.compiler.loop_ir.dtypes import numpy_dtype
from sparray.compiler.loop_ir.operators import Extreme, operator
from sparray.errors import DTypeError

__all__ = ["apply_operator", "is_weak", "reduce_axes", "reduction_identity"]

_WEAK_TYPES = (bool, int, float, complex)


def is_weak(value: Any) -> bool:
    """Tell whether a value is a Python scalar (NumPy scalars are not weak)."""
    return type(value) in _WEAK_TYPES


def apply_operator(name: str, *values: Any) -> Any:
    """Apply an operator to arrays and weak scalars, by NumPy promotion.

    Parameters
    ----------
    name : str
        A row of the operator table.
    *values : ndarray or bool or int or float or complex
        The operands; arrays are broadcast.

    Returns
    -------
    ndarray or Python scalar
        A Python scalar if every operand is one, else an array.

    Raises
    ------
    DTypeError
        If NumPy does not define the operator for these dtypes, or a Python integer
        does not fit the dtype it meets.

    Notes
    -----
    An operator whose result is ``"float"`` computes integers in float64, as true
    division does (NumPy's ``exp`` of int8 would give float16); beside floats they
    become what NumPy makes of them.
    """
    row = operator(name)
    weak = all(is_weak(v) for v in values)
    if row.result == "float" and not any(_is_inexact(v) for v in values):
        values = tuple(_at_least_float(v) for v in values)
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(row.evaluate(*values))
            return result.item() if weak else result
    except (TypeError, ValueError, OverflowError) as error:
        kinds = ", ".join(repr(v) if is_weak(v) else f"dtype {v.dtype}" for v in values)
        message = f"operator {name!r} is not defined for {kinds}: {error}"
        raise DTypeError(message) from error


def _is_inexact(value: Any) -> bool:
    return not is_weak(value) and value.dtype.kind not in "biu"


def _at_least_float(value: Any) -> Any:
    if type(value) is bool:
        # NumPy would compute in float16 what it takes for an array of bools.
        return float(value)
    if is_weak(value) or value.dtype.kind not in "biu":
        return value
    return value.astype(np.float64)


def reduction_identity(op: str, dtype: Any) -> Any:
    """Return the value that a reduction starts from.

    Parameters
    ----------
    op : str
        An operator that can reduce (`sparray.compiler.loop_ir.operators.reductions`).
    dtype : dtype-like
        The dtype reduced in.

    Returns
    -------
    numpy scalar
        The table's identity, or for ``min`` and ``max`` the dtype's largest and
        smallest value (infinities for floats). It is also the reduction of nothing.
    """
    made = numpy_dtype(dtype)
    identity = operator(op).identity
    if isinstance(identity, Extreme):
        return identity.of(made)
    return np.asarray(identity, dtype=made)[()]


def reduce_axes(op: str, array: Any, axes: tuple[int, ...]) -> Any:
    """Combine an array along axes in its own dtype (int8 stays int8).

    Parameters
    ----------
    op : str
        An operator that can reduce.
    array : ndarray
        The operand.
    axes : tuple of int
        Axes that vanish.

    Returns
    -------
    ndarray
        The result; where an axis has length 0, `reduction_identity`.
    """
    row = operator(op)
    if row.result == "bool":
        array = array.astype(bool)
    if any(array.shape[axis] == 0 for axis in axes):
        kept = [n for axis, n in enumerate(array.shape) if axis not in axes]
        return np.full(kept, reduction_identity(op, array.dtype), dtype=array.dtype)
    with np.errstate(all="ignore"):
        if isinstance(row.evaluate, np.ufunc):
            reduced = row.evaluate.reduce(array, axis=axes, dtype=array.dtype)
            return np.asarray(reduced)
        for axis in sorted(axes, reverse=True):
            parts = [np.take(array, n, axis) for n in range(array.shape[axis])]
            array = np.asarray(functools.reduce(row.evaluate, parts))
        return array
