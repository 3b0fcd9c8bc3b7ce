"""Whether numbers are equal, or nearly so."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_operators import apply_operands, broadcast_shape
from sparray.functions.einsum import as_operand, compute
from sparray.functions.elementwise import logical_not
from sparray.sparse_array import SparseArray

__all__ = ["allclose", "array_equal", "isclose"]

_CLOSE = (
    "({a} == {b}) | ((abs({a} - {b}) <= TOLERANCE + RELATIVE * abs({b})) "
    "& isfinite({b}))"
)
_EQUAL = "{a} == {b}"
_BOTH_NAN = " | (isnan({a}) & isnan({b}))"


def isclose(
    a: Any,
    b: Any,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> SparseArray | npt.NDArray[Any]:
    """Return for each pair of elements whether they are nearly equal.

    Parameters
    ----------
    a, b : SparseArray, array-like or number
        The elements, broadcast together.
    rtol, atol : float
        How much they may differ: ``atol + rtol * abs(b)``.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    SparseArray or ndarray
        Of bools: computed by one kernel. Its fill value is whether the fill values are
        close.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]])
    >>> sp.isclose(A, A + 1e-12).fill_value
    np.True_
    """
    text = _CLOSE.replace("TOLERANCE", repr(float(atol)))
    text = text.replace("RELATIVE", repr(float(rtol)))
    return _compared(text, a, b, equal_nan)


def _compared(
    text: str, a: Any, b: Any, equal_nan: bool
) -> SparseArray | npt.NDArray[Any]:
    operands = []
    for name, value in (("a", a), ("b", b)):
        operand = as_operand(name, value)
        # There is no difference of bools.
        operands.append(operand.astype(np.int8) if operand.dtype == bool else operand)
    if equal_nan:
        text += _BOTH_NAN
    if any(isinstance(x, SparseArray) for x in operands):
        return apply_operands(text, operands)  # type: ignore[no-any-return]
    full = broadcast_shape("isclose", [x.shape for x in operands])
    wide = [np.broadcast_to(x, full) for x in operands]
    indices = ",".join(f"i{n}" for n in range(len(full)))
    value = text.format(a=f"A[{indices}]", b=f"B[{indices}]")
    left = f"C[{indices}]" if indices else "C"
    return np.asarray(
        compute(f"{left} = {value}".replace("[]", ""), A=wide[0], B=wide[1])
    )


def allclose(
    a: Any,
    b: Any,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Tell whether all elements are nearly equal: see `isclose`.

    Parameters
    ----------
    a, b : SparseArray, array-like or number
        The elements, broadcast together.
    rtol, atol, equal_nan
        As for `isclose`.

    Returns
    -------
    bool
        Dense arrays are made of neither.
    """
    return _holds(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a: Any, b: Any, /, equal_nan: bool = False) -> bool:
    """Tell whether two arrays have the same shape and equal elements.

    Parameters
    ----------
    a, b : SparseArray or array-like
        In any formats; what one stores and the other does not may be equal.
    equal_nan : bool
        Whether NaN is equal to NaN.

    Returns
    -------
    bool
        False for other shapes.
    """
    left, right = as_operand("a", a), as_operand("b", b)
    if left.shape != right.shape:
        return False
    return _holds(_compared(_EQUAL, left, right, equal_nan))


def _holds(everywhere: SparseArray | npt.NDArray[Any]) -> bool:
    if isinstance(everywhere, np.ndarray):
        return bool(everywhere.all())
    return bool(logical_not(everywhere).sum() == 0)
