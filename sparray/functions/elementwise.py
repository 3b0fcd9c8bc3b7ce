"""Functions of each element: one per row of the operator table.

Each is an expression for the compiler, so the result has the operands' pattern, or
their union, and the fill value that the function makes of theirs: ``exp`` of an array
with fill value 0 has fill value 1. Nothing becomes dense that was not.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sparray.array_operators import apply_binary, apply_choice, apply_unary
from sparray.compiler.index_notation.apply import apply_operator
from sparray.errors import DTypeError
from sparray.functions.einsum import as_operand
from sparray.sparse_array import SparseArray

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]

Result = SparseArray | npt.NDArray[Any]
_F = TypeVar("_F", bound=Callable[..., Any])

_DOCSTRING = """Return for each element its {meaning}.

Parameters
----------
x : SparseArray or array-like
    The elements.

Returns
-------
SparseArray or ndarray
    In the same format, with the fill value that the function makes of that of ``x``; an
    ndarray for a dense ``x``.

Raises
------
DTypeError
    If NumPy does not have the function for the dtype.
"""

_DOCSTRING_OF_TWO = """Return for each pair of elements the {meaning}.

Parameters
----------
left, right : SparseArray, array-like or number
    The elements; dimensions that one of them lacks, or has once, are broadcast.

Returns
-------
SparseArray or ndarray
    With the fill value that the function makes of those of the operands; an ndarray
    where a dense operand makes every element differ.

Raises
------
ShapeError
    If the shapes do not broadcast together.
DTypeError
    If NumPy does not have the function for the dtypes.
"""


def _unary(name: str, op: str, meaning: str) -> Callable[[Any], Result]:
    def function(x: Any, /) -> Result:
        if hasattr(x, "__sparray_function__"):
            return x.__sparray_function__(op, x)  # type: ignore[no-any-return]
        operand = as_operand("x", x)
        if isinstance(operand, SparseArray):
            return _result(name, apply_unary(op, operand))
        return np.asarray(apply_operator(op, operand))

    return _named(function, name, _DOCSTRING.format(meaning=meaning))


def _binary(name: str, op: str, meaning: str) -> Callable[[Any, Any], Result]:
    def function(left: Any, right: Any, /) -> Result:
        for x in (left, right):
            if hasattr(x, "__sparray_function__"):
                return x.__sparray_function__(op, left, right)  # type: ignore[no-any-return]
        a, b = _either("left", left), _either("right", right)
        if isinstance(a, SparseArray) or isinstance(b, SparseArray):
            return _result(name, apply_binary(op, a, b))
        return np.asarray(apply_operator(op, a, b))

    return _named(function, name, _DOCSTRING_OF_TWO.format(meaning=meaning))


def _either(argument: str, value: Any) -> Any:
    """Return an operand, and a Python number, whose dtype is weak, as it is."""
    if type(value) in (bool, int, float, complex):
        return value
    return as_operand(argument, value)


def _result(name: str, result: Any) -> Result:
    if result is NotImplemented:
        raise DTypeError(f"{name}: expected arrays or numbers")
    return result  # type: ignore[no-any-return]


def _named(function: _F, name: str, docstring: str) -> _F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = docstring
    return function


abs = _unary("abs", "abs", "absolute value")
acos = _unary("acos", "acos", "inverse cosine")
acosh = _unary("acosh", "acosh", "inverse hyperbolic cosine")
asin = _unary("asin", "asin", "inverse sine")
asinh = _unary("asinh", "asinh", "inverse hyperbolic sine")
atan = _unary("atan", "atan", "inverse tangent")
atanh = _unary("atanh", "atanh", "inverse hyperbolic tangent")
bitwise_invert = _unary(
    "bitwise_invert", "bitwise_invert", "complement of each bit, of bools the negation"
)
ceil = _unary("ceil", "ceil", "smallest integer that is not smaller")
conj = _unary("conj", "conj", "complex conjugate")
cos = _unary("cos", "cos", "cosine")
cosh = _unary("cosh", "cosh", "hyperbolic cosine")
exp = _unary("exp", "exp", "exponential")
exp2 = _unary("exp2", "exp2", "power of two")
expm1 = _unary("expm1", "expm1", "exponential minus one")
floor = _unary("floor", "floor", "largest integer that is not larger")
imag = _unary("imag", "imag", "imaginary part")
isfinite = _unary("isfinite", "isfinite", "whether it is neither infinite nor NaN")
isinf = _unary("isinf", "isinf", "whether it is infinite")
isnan = _unary("isnan", "isnan", "whether it is NaN")
log = _unary("log", "log", "natural logarithm")
log10 = _unary("log10", "log10", "logarithm to base 10")
log1p = _unary("log1p", "log1p", "logarithm of one plus it")
log2 = _unary("log2", "log2", "logarithm to base 2")
logical_not = _unary("logical_not", "not", "whether it is zero")
negative = _unary("negative", "neg", "negation")
positive = _unary("positive", "positive", "number itself")
real = _unary("real", "real", "real part")
reciprocal = _unary("reciprocal", "reciprocal", "reciprocal")
relu = _unary("relu", "relu", "number itself, or 0 where it is negative")
round = _unary("round", "round", "nearest integer, the even one of two")
sign = _unary("sign", "sign", "sign: -1, 0 or 1")
signbit = _unary("signbit", "signbit", "whether its sign bit is set")
sin = _unary("sin", "sin", "sine")
sinh = _unary("sinh", "sinh", "hyperbolic sine")
sqrt = _unary("sqrt", "sqrt", "square root")
square = _unary("square", "square", "square")
tan = _unary("tan", "tan", "tangent")
tanh = _unary("tanh", "tanh", "hyperbolic tangent")
trunc = _unary("trunc", "trunc", "integer towards zero")

add = _binary("add", "add", "sum")
atan2 = _binary("atan2", "atan2", "angle of the point (right, left)")
bitwise_and = _binary("bitwise_and", "bitwise_and", "bits set in both")
bitwise_left_shift = _binary(
    "bitwise_left_shift", "left_shift", "bits of the left one shifted to the left"
)
bitwise_or = _binary("bitwise_or", "bitwise_or", "bits set in either")
bitwise_right_shift = _binary(
    "bitwise_right_shift", "right_shift", "bits of the left one shifted to the right"
)
bitwise_xor = _binary("bitwise_xor", "bitwise_xor", "bits set in one only")
copysign = _binary("copysign", "copysign", "left one with the sign of the right one")
divide = _binary("divide", "div", "quotient")
equal = _binary("equal", "eq", "whether they are equal")
floor_divide = _binary("floor_divide", "floor_divide", "quotient rounded down")
greater = _binary("greater", "gt", "whether the left one is greater")
greater_equal = _binary("greater_equal", "ge", "whether the left one is not smaller")
hypot = _binary("hypot", "hypot", "length of the hypotenuse")
less = _binary("less", "lt", "whether the left one is smaller")
less_equal = _binary("less_equal", "le", "whether the left one is not greater")
logaddexp = _binary("logaddexp", "logaddexp", "logarithm of the sum of exponentials")
logical_and = _binary("logical_and", "and", "whether both are nonzero")
logical_or = _binary("logical_or", "or", "whether one is nonzero")
logical_xor = _binary("logical_xor", "xor", "whether exactly one is nonzero")
maximum = _binary("maximum", "max", "larger one")
minimum = _binary("minimum", "min", "smaller one")
multiply = _binary("multiply", "mul", "product")
nextafter = _binary("nextafter", "nextafter", "next number from left to right")
not_equal = _binary("not_equal", "ne", "whether they differ")
pow = _binary("pow", "pow", "power")
remainder = _binary("remainder", "remainder", "remainder with the sign of the divisor")
subtract = _binary("subtract", "sub", "difference")


def where(condition: Any, x1: Any, x2: Any, /) -> Result:
    """Return elements of one array where a condition holds, and of another elsewhere.

    Parameters
    ----------
    condition : SparseArray, array-like or bool
        What is asked: every number but zero counts as true.
    x1, x2 : SparseArray, array-like or number
        What is taken where the condition is true, and where it is not; dimensions that
        one of the three lacks, or has once, are broadcast.

    Returns
    -------
    SparseArray or ndarray
        In the dtype that NumPy promotes ``x1`` and ``x2`` to. Its fill value is the
        choice between theirs that the condition's makes; an entry is stored where the
        condition is, or where the array that its fill value chooses has one. An ndarray
        where a dense operand makes every element differ.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast together.
    DTypeError
        If a Python number does not fit the dtype of the array beside it.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> sp.where(A > 2, A, -1).todense()
    array([[-1., -1.],
           [ 3., -1.]])
    """
    for x in (condition, x1, x2):
        if hasattr(x, "__sparray_function__"):
            return x.__sparray_function__("where", condition, x1, x2)  # type: ignore[no-any-return]
    c, a, b = (
        _either(name, value)
        for name, value in (("condition", condition), ("x1", x1), ("x2", x2))
    )
    if any(isinstance(each, SparseArray) for each in (c, a, b)):
        return _result("where", apply_choice(c, a, b))
    return np.asarray(apply_operator("where", c, a, b))
