"""Differences of neighbours along an axis."""

import operator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sparray.errors import SettingError
from sparray.functions.einsum import as_operand, compute
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.manipulation.joining import concat
from sparray.sparse_array import SparseArray

__all__ = ["diff"]

Result = SparseArray | npt.NDArray[Any]


def diff(
    x: Any,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Any = None,
    append: Any = None,
) -> Result:
    """Return the differences of neighbours along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        At least one dimension. Of bools the result is where they differ.
    axis : int
        Along which.
    n : int
        How often differences are taken.
    prepend, append : SparseArray or array-like, optional
        What comes before the array, and behind it, along the axis.

    Returns
    -------
    SparseArray or ndarray
        With ``n`` elements less along the axis; one kernel for each time. The fill
        value is 0, if that of ``x`` is finite.

    Raises
    ------
    ShapeError
        If there is no such axis.
    SettingError
        If ``n`` is negative.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.diff(sp.array([[0, 0, 3, 3, 0]])).todense()
    array([[ 0,  3,  0, -3]])
    """
    operand = as_operand("x", x)
    place = checked_axis(axis, operand.shape)
    try:
        times = operator.index(n)
    except TypeError:
        times = -1
    if times < 0:
        raise SettingError(f"n: expected an integer of 0 or more, got {n!r}")
    parts = [part for part in (prepend, operand, append) if part is not None]
    if len(parts) > 1:
        operand = concat(parts, axis=place)
    for _ in range(min(times, operand.shape[place])):
        operand = _once(operand, place)
    return operand


def _once(operand: Result, place: int) -> Result:
    if isinstance(operand, np.ndarray):
        return np.diff(operand, axis=place)
    if operand.shape[place] < 2:
        index = [slice(None)] * operand.ndim
        index[place] = slice(0)
        return cast(Result, operand[tuple(index)])
    names = [f"i{number}" for number in range(operand.ndim)]
    reads = []
    for window in (f"i{place} in 1:", f"i{place} in :-1"):
        reads.append(f"A[{','.join([*names[:place], window, *names[place + 1 :]])}]")
    sign = "!=" if operand.dtype == bool else "-"
    text = f"C[{','.join(names)}] = {reads[0]} {sign} {reads[1]}"
    return cast(Result, compute(text, A=operand))
