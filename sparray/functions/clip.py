"""Elements between two bounds."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_operators import apply_operands, weakly_typed
from sparray.functions.einsum import as_operand
from sparray.sparse_array import SparseArray

__all__ = ["clip"]


def clip(x: Any, /, min: Any = None, max: Any = None) -> SparseArray | npt.NDArray[Any]:
    """Return each element, or the bound that it passes.

    Parameters
    ----------
    x : SparseArray or array-like
        The elements; NaN stays NaN.
    min, max : SparseArray, array-like or number, optional
        The bounds, broadcast with the elements; None for no bound. Where ``min`` is
        larger the result is ``max``.

    Returns
    -------
    SparseArray or ndarray
        Of one kernel. Its fill value is that of ``x`` between the bounds'.

    Raises
    ------
    DTypeError
        If a Python number does not fit the dtype of ``x``.
    ShapeError
        If the shapes do not broadcast together.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.clip(sp.array([[0, 7], [-3, 1]]), -1, 5).todense()
    array([[ 0,  5],
           [-1,  1]])
    """
    operand = as_operand("x", x)
    text, given = "{a}", [operand]
    for op, name, bound in (("max", "min", min), ("min", "max", max)):
        if bound is None:
            continue
        text = f"{op}({text}, {{{'abc'[len(given)]}}})"
        weak = type(bound) in (bool, int, float, complex)
        given.append(
            weakly_typed(op, bound, operand) if weak else as_operand(name, bound)
        )
    if not any(isinstance(each, SparseArray) for each in given):
        return np.asarray(np.clip(operand, *(min, max)))
    return apply_operands(text, given)  # type: ignore[no-any-return]
