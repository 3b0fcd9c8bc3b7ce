"""Python's operators on arrays: each is an expression for the compiler."""

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import weakly_promoted
from sparray.compiler.loop_ir.operators import OPERATORS
from sparray.dispatch import evaluate_expression
from sparray.errors import DTypeError, ShapeError, UnsupportedError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.results import wrap_result

if TYPE_CHECKING:
    from sparray.evaluation.stored import Operand
    from sparray.sparse_array import SparseArray

__all__ = [
    "ArrayOperators",
    "apply_binary",
    "apply_choice",
    "apply_operands",
    "apply_unary",
    "broadcast_access",
    "broadcast_shape",
    "elementwise",
    "matmul_text",
    "weakly_typed",
]

_MATMUL = {
    (2, 2): "C[i,j] = A[i,k] * B[k,j]",
    (2, 1): "C[i] = A[i,k] * B[k]",
    (1, 2): "C[j] = A[k] * B[k,j]",
    (1, 1): "C = A[k] * B[k]",
}
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
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


def elementwise(op: str, *operands: tuple[int, ...] | str) -> Expression:
    """Return the expression of an operator with NumPy's broadcasting.

    Parameters
    ----------
    op : str
        A row of the operator table.
    *operands : tuple of int or str
        The shape of each operand, or the text of a number.

    Returns
    -------
    Expression
        A dimension that an operand lacks is not an index of its access; one of extent 1
        beside a larger one is read at coordinate 0.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast together.
    """
    shapes = [given for given in operands if not isinstance(given, str)]
    full = broadcast_shape(OPERATORS[op].symbol or op, shapes)
    parts = [
        given if isinstance(given, str) else broadcast_access(name, given, full)
        for name, given in zip("ABD", operands, strict=False)
    ]
    target = ",".join(f"i{n}" for n in range(len(full)))
    return assignment_expression(f"C[{target}] = {op}({', '.join(parts)})")


def broadcast_access(name: str, shape: tuple[int, ...], full: tuple[int, ...]) -> str:
    """Return the access of an operand that is broadcast to a shape."""
    first = len(full) - len(shape)
    read = [
        "0" if extent != full[first + n] else f"i{first + n}"
        for n, extent in enumerate(shape)
    ]
    return f"{name}[{','.join(read)}]"


def apply_operands(text: str, operands: Sequence[Any], *, outer: bool = False) -> Any:
    """Compute an expression of each element of one to three operands.

    Parameters
    ----------
    text : str
        With ``{a}``, ``{b}`` and ``{c}`` for the operands.
    operands : sequence of SparseArray, ndarray, SciPy array, nested lists or number
        At least one is a SparseArray.
    outer : bool
        Whether every element of one meets every element of the other, instead of being
        broadcast together.

    Returns
    -------
    SparseArray or ndarray
        NotImplemented for an operand that is no array.
    """
    given = [_as_operand(operand) for operand in operands]
    if any(operand is None for operand in given):
        return NotImplemented
    shapes = [cast(Any, operand).shape for operand in given]
    if outer:
        full = tuple(extent for shape in shapes for extent in shape)
        last = len(shapes[0])
        reads = [range(last), range(last, len(full))]
        accesses = [
            f"{name}[{','.join(f'i{n}' for n in read)}]"
            for name, read in zip("AB", reads, strict=False)
        ]
    else:
        full = broadcast_shape("ufunc", shapes)
        accesses = [
            broadcast_access(name, shape, full)
            for name, shape in zip("ABD", shapes, strict=False)
        ]
    value = text.format(**dict(zip("abc", accesses, strict=False)))
    target = ",".join(f"i{n}" for n in range(len(full)))
    return _wrap(assignment_expression(f"C[{target}] = {value}"), given)


def broadcast_shape(op: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast, of any number of dimensions.

    Raises
    ------
    ShapeError
        If they do not broadcast together.
    """
    # NumPy's function stops at 32 dimensions, and at 2**63 elements.
    full = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for place in range(-len(shape), 0):
            if full[place] == 1:
                full[place] = shape[place]
            elif shape[place] not in (1, full[place]):
                raise ShapeError(
                    f"{op}: expected shapes that broadcast together, "
                    f"got {' and '.join(map(str, shapes))}"
                )
    return tuple(full)


class ArrayOperators:
    """Mixin with the operators of `SparseArray`."""

    __slots__ = ()

    # Beside NumPy's arrays and SciPy's, operators are those of a SparseArray.
    __array_priority__ = 1000.0

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self)

    def __add__(self, other: Any) -> Any:
        return apply_binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return apply_binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return apply_binary("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return apply_binary("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return apply_binary("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        _refuse_matrix(other)
        return apply_binary("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return apply_binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return apply_binary("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return apply_binary("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return apply_binary("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return apply_binary("remainder", self, other)

    def __rmod__(self, other: Any) -> Any:
        return apply_binary("remainder", other, self)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and other == 2:
            return apply_unary("square", self)
        return apply_binary("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return apply_binary("pow", other, self)

    def __and__(self, other: Any) -> Any:
        return apply_binary("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return apply_binary("bitwise_and", other, self)

    def __or__(self, other: Any) -> Any:
        return apply_binary("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return apply_binary("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Any:
        return apply_binary("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return apply_binary("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Any:
        return apply_binary("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return apply_binary("left_shift", other, self)

    def __rshift__(self, other: Any) -> Any:
        return apply_binary("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return apply_binary("right_shift", other, self)

    def __lt__(self, other: Any) -> Any:
        return apply_binary("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return apply_binary("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return apply_binary("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return apply_binary("ge", self, other)

    # By element, as of NumPy arrays: so an array has no hash either.
    def __eq__(self, other: object) -> Any:
        return apply_binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return apply_binary("ne", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Any:
        return apply_unary("neg", self)

    def __pos__(self) -> Any:
        return apply_unary("positive", self)

    def __abs__(self) -> Any:
        return apply_unary("abs", self)

    def __invert__(self) -> Any:
        return apply_unary("bitwise_invert", self)


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


def _of_others(op: str, left: Any, right: Any) -> Any:
    """Let the other operand's class answer.

    Dask's arrays refuse chunks that they do not know: they are asked again once more.
    """
    known = getattr(operator, op, None)
    if known is not None and type(left).__module__.startswith("dask."):
        from sparray.functions.dask_chunks import register

        if register():
            return known(left, right)
    return NotImplemented


def _refuse_matrix(value: Any) -> None:
    """Refuse ``M * A`` of a SciPy matrix, to which ``*`` is the matrix product.

    Raises
    ------
    UnsupportedError
        If it is one.
    """
    if type(value).__module__.startswith("scipy.sparse"):
        from scipy.sparse import isspmatrix

        if isspmatrix(value):
            raise UnsupportedError(
                "*: expected a SciPy sparse array, got a sparse matrix, whose * is the "
                "matrix product: @ and sparray.multiply say which is meant"
            )


def _wrap(expression: Expression, operands: list[Any]) -> Any:
    like = operands[0]
    if not isinstance(like, ArrayOperators):
        like = next(x for x in operands if isinstance(x, ArrayOperators))
    result = evaluate_expression(expression, operands)
    return wrap_result(result, cast("SparseArray", like))


def _matmul(left: Any, right: Any) -> Any:
    a, b = _as_operand(left), _as_operand(right)
    if a is None or b is None:
        return _of_others("matmul", left, right)
    if len(a.shape) > 2 or len(b.shape) > 2:
        from sparray.functions.linear_algebra.products import matmul  # of stacks

        return matmul(a, b)
    return _wrap(_matmul_expression(len(a.shape), len(b.shape)), [a, b])


@lru_cache(maxsize=256)
def _matmul_expression(left: int, right: int) -> Expression:
    return assignment_expression(matmul_text(left, right))


def apply_binary(op: str, left: Any, right: Any) -> Any:
    """Apply a binary operator to operands of which one is a SparseArray.

    Parameters
    ----------
    op : str
        A row of the operator table.
    left, right : SparseArray, ndarray, SciPy array, nested lists or number
        The operands; a Python number takes the dtype of the other one.

    Returns
    -------
    SparseArray or ndarray
        NotImplemented for an operand that is no array.
    """
    a, b = _as_operand(left), _as_operand(right)
    if a is None or b is None:
        return _of_others(op, left, right)
    a, b = _weak(op, left, a, b), _weak(op, right, b, a)
    if op == "pow":
        _check_exponents(a, b)
    return _wrap(elementwise(op, a.shape, b.shape), [a, b])


def apply_choice(condition: Any, then: Any, otherwise: Any) -> Any:
    """Apply ``where`` to operands of which one is a SparseArray.

    Parameters
    ----------
    condition, then, otherwise : SparseArray, ndarray, SciPy array, lists or number
        The operands; a Python number takes the dtype of the other choice.

    Returns
    -------
    SparseArray or ndarray
        NotImplemented for an operand that is no array.
    """
    c, a, b = map(_as_operand, (condition, then, otherwise))
    if c is None or a is None or b is None:
        return NotImplemented
    a, b = _weak("where", then, a, b), _weak("where", otherwise, b, a)
    given = [c]
    parts: list[tuple[int, ...] | str] = [c.shape]
    for value, operand in ((then, a), (otherwise, b)):
        # With a known zero less may be stored than with a number of any value.
        if type(value) in (bool, int, float) and str(value) in ("False", "0", "0.0"):
            parts.append(str(value))
            continue
        parts.append(operand.shape)
        given.append(operand)
    return _wrap(elementwise("where", *parts), given)


def apply_unary(op: str, operand: Any) -> Any:
    """Apply a unary operator to a SparseArray."""
    ndim = operand.ndim
    if ndim > len(_LETTERS):
        indices = ",".join(f"i{n}" for n in range(ndim))
    else:
        indices = ",".join(_LETTERS[:ndim])
    text = f"C[{indices}] = {op}(A[{indices}])"
    return _wrap(assignment_expression(text), [operand])


def weakly_typed(op: str, number: complex, beside: Any) -> npt.NDArray[Any]:
    """Return a Python number in the dtype that it has beside an array.

    Raises
    ------
    DTypeError
        If it does not fit the dtype of the array.
    """
    return _weak(op, number, None, beside)  # type: ignore[no-any-return]


def _weak(op: str, given: Any, operand: Any, other: Any) -> Any:
    """Return a Python number with the dtype that it has next to an array."""
    if isinstance(given, bool | int | float | complex) and not isinstance(
        given, np.generic
    ):
        dtype = weakly_promoted(_dtype(other), given)
        try:
            return np.asarray(given, dtype)
        except OverflowError:
            if op in _COMPARISONS:
                # It is larger or smaller than whatever the array holds.
                return np.asarray(given)
            raise DTypeError(
                f"operand: expected a number that {dtype} can hold, got {given}"
            ) from None
    return operand


def _dtype(operand: Any) -> np.dtype[Any]:
    return operand.dtype  # type: ignore[no-any-return]


def _check_exponents(base: Any, exponent: Any) -> None:
    """Refuse negative powers of integers, as NumPy does."""
    if _dtype(exponent).kind != "i" or _dtype(base).kind not in "biu":
        return
    sparse = isinstance(exponent, ArrayOperators)
    values = [cast(Any, exponent).values, exponent.fill_value] if sparse else [exponent]
    if any(np.any(np.asarray(value) < 0) for value in values):
        raise DTypeError(
            "pow: expected exponents of integers that are not negative, got a negative "
            "one; convert the base to float64 first"
        )
