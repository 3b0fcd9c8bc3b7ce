"""Python's operators on arrays: each is an expression for the compiler."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import weakly_promoted
from sparray.dispatch import evaluate_expression
from sparray.errors import DTypeError, ShapeError, UnsupportedError
from sparray.expression import Expression, assignment_expression
from sparray.reductions import sum_over
from sparray.results import wrap_result

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray
    from sparray.stored import Operand

__all__ = ["ArrayOperators", "elementwise", "matmul_text"]

_MATMUL = {
    (2, 2): "C[i,j] = A[i,k] * B[k,j]",
    (2, 1): "C[i] = A[i,k] * B[k]",
    (1, 2): "C[j] = A[k] * B[k,j]",
    (1, 1): "C = A[k] * B[k]",
}
_LETTERS = "ijklmnopqrstuvwxyz"


def matmul_text(left: int, right: int) -> str:
    """Return the expression of ``A @ B`` for 1- and 2-dimensional operands.

    Raises
    ------
    ShapeError
        If an operand has another number of dimensions.
    """
    text = _MATMUL.get((left, right))
    if text is None:
        raise ShapeError(
            f"matmul: expected operands of 1 or 2 dimensions, got {left} and {right}"
        )
    return text


def elementwise(symbol: str, left: int, right: int) -> Expression:
    """Return the expression of a binary operator with NumPy's broadcasting.

    A dimension that one operand lacks is broadcast; one of extent 1 is not: it has to
    be dropped first.
    """
    ndim = max(left, right)
    indices = [f"i{n}" for n in range(ndim)]
    target = ",".join(indices)
    a = ",".join(indices[ndim - left :])
    b = ",".join(indices[ndim - right :])
    return assignment_expression(f"C[{target}] = A[{a}] {symbol} B[{b}]")


class ArrayOperators:
    """Mixin with the operators of `SparseArray`."""

    __slots__ = ()

    # NumPy arrays leave their operators with a SparseArray to it.
    __array_ufunc__ = None
    __array_priority__ = 1000.0

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self)

    def __add__(self, other: Any) -> Any:
        return _binary("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary("/", self, other)

    def __neg__(self) -> Any:
        return _unary("-", self)

    def __abs__(self) -> Any:
        return _unary("abs", self)

    def sum(
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: npt.DTypeLike | None = None,
        out: None = None,
    ) -> Any:
        """Return the sum over axes: see `sparray.sum`."""
        if out is not None:
            raise UnsupportedError("out: expected None, got an array to write to")
        return sum_over(cast("SparseArray", self), axis, dtype)


def _as_operand(value: Any) -> "Operand | npt.NDArray[Any] | None":
    """Return an operand as arrays know it; None if Python should ask the other one."""
    if isinstance(value, ArrayOperators):
        return cast("SparseArray", value)
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, bool | int | float | complex | np.generic):
        return np.asarray(value)
    if isinstance(value, list | tuple):
        try:
            return np.asarray(value)
        except ValueError:
            raise ShapeError(
                "operand: expected nested lists of equal lengths, got lists that differ"
            ) from None
    if type(value).__module__.startswith("scipy.sparse"):
        from sparray.convert import array

        return array(value, copy=False)
    return None


def _wrap(expression: Expression, operands: list[Any]) -> Any:
    like = next(x for x in operands if isinstance(x, ArrayOperators))
    result = evaluate_expression(expression, operands)
    return wrap_result(result, cast("SparseArray", like))


def _matmul(left: Any, right: Any) -> Any:
    a, b = _as_operand(left), _as_operand(right)
    if a is None or b is None:
        return NotImplemented
    text = matmul_text(len(a.shape), len(b.shape))
    return _wrap(assignment_expression(text), [a, b])


def _binary(symbol: str, left: Any, right: Any) -> Any:
    a, b = _as_operand(left), _as_operand(right)
    if a is None or b is None:
        return NotImplemented
    a, b = _weak(left, a, b), _weak(right, b, a)
    _check_broadcast(symbol, a.shape, b.shape)
    return _wrap(elementwise(symbol, len(a.shape), len(b.shape)), [a, b])


def _weak(given: Any, operand: Any, other: Any) -> Any:
    """Return a Python number with the dtype that it has next to an array."""
    if isinstance(given, bool | int | float | complex) and not isinstance(
        given, np.generic
    ):
        dtype = weakly_promoted(other.values.dtype, given)
        try:
            return np.asarray(given, dtype)
        except OverflowError:
            raise DTypeError(
                f"operand: expected a number that {dtype} can hold, got {given}"
            ) from None
    return operand


def _check_broadcast(symbol: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for extent, other in zip(reversed(a), reversed(b), strict=False):
        if extent != other and 1 in (extent, other):
            raise UnsupportedError(
                f"{symbol}: expected shapes that agree in every dimension both have, "
                f"got {a} and {b}; name the dimensions with sparray.einsum instead"
            )
        if extent != other:
            raise ShapeError(
                f"{symbol}: expected shapes that broadcast together, got {a} and {b}"
            )


def _unary(function: str, operand: Any) -> Any:
    ndim = operand.ndim
    if ndim > len(_LETTERS):
        indices = ",".join(f"i{n}" for n in range(ndim))
    else:
        indices = ",".join(_LETTERS[:ndim])
    call = f"-A[{indices}]" if function == "-" else f"{function}(A[{indices}])"
    return _wrap(assignment_expression(f"C[{indices}] = {call}"), [operand])
