"""The table of scalar operators that every IR shares.

One row per operator: its arity, how it prints, its NumPy function, and the
algebra that the merge lattice and the simplifier reason with (identity and
annihilator), so that no stage needs a special case for an operator's name.

Source: the use of identities and annihilators to derive co-iteration follows
Henry et al. 2021, "Compilation of sparse array programming models", section 4.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparray.compiler.loop_ir.dtypes import dtype_kind
from sparray.records import dataclass

__all__ = [
    "BOTTOM",
    "INDEX_OPERATORS",
    "OPERATORS",
    "REAL_RESULTS",
    "TOP",
    "Extreme",
    "Operator",
    "can_reduce",
    "define",
    "is_operator",
    "operator",
    "reductions",
]


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest value of a dtype, or the smallest: infinite for floats.

    Attributes
    ----------
    sign : int
        1 for the largest, -1 for the smallest.
    """

    sign: int

    def of(self, dtype: Any) -> Any:
        """Return it as a scalar of a dtype."""
        made = np.dtype(dtype)
        kind = dtype_kind(made)
        if kind == "b":
            return np.bool_(self.sign > 0)
        if kind in "iu":
            limits = np.iinfo(made)
            return made.type(limits.max if self.sign > 0 else limits.min)
        infinity = self.sign * np.inf
        value = complex(infinity, infinity) if kind == "c" else infinity
        return np.asarray(value, made)[()]


TOP, BOTTOM = Extreme(1), Extreme(-1)


@dataclass(frozen=True, slots=True)
class Operator:
    """One scalar operator.

    Attributes
    ----------
    name : str
        Name used in every IR (``"add"``).
    arity : int
        Number of operands.
    symbol : str or None
        Infix or prefix symbol in index notation; None prints ``name(a, b)``.
    precedence : int
        Binding strength of the symbol; larger binds tighter.
    evaluate : callable
        The NumPy function with the same meaning.
    identity : object
        ``f(identity, x) == f(x, identity) == x``; None where there is none, `TOP` or
        `BOTTOM` where it is the largest or the smallest value of the dtype.
    annihilator : object
        ``f(annihilator, x) == f(x, annihilator) == annihilator`` when every
        value is finite; None where there is none.
    result : str
        ``"promote"`` (NumPy promotion), ``"bool"`` (comparisons) or ``"float"``
        (at least float, as NumPy's true division).
    associative, commutative : bool
        Algebraic facts; a reduction needs both.
    left_annihilator : object
        ``f(left_annihilator, x) == left_annihilator`` when every value is finite and
        ``x`` is not zero; None where there is none.
    exact : str or None
        The row with the same function for values that may be NaN or infinite, which
        no annihilator ends (``missing="fill"``); None where there is no difference.
    repeated : str or None
        The operator of a value and a number ``n`` that is this one between ``n`` times
        the value; None where there is none.
    idempotent : bool
        ``f(x, x) == x``.
    conditions : int
        How many of the operands, the first ones, are asked for their truth alone, so
        that their dtype is not part of the result's.
    of_stored : object
        The operator's value wherever its operand stores an entry, whatever that is;
        None where it depends on the entry.
    definition : callable or None
        Of an operator that is not in the table: what it is computed as, an expression
        of index notation in the scalars ``x`` and ``y``, given their dtype.
    """

    name: str
    arity: int
    symbol: str | None
    precedence: int
    evaluate: Callable[..., Any]
    identity: Any = None
    annihilator: Any = None
    result: str = "promote"
    associative: bool = False
    commutative: bool = False
    left_annihilator: Any = None
    exact: str | None = None
    repeated: str | None = None
    idempotent: bool = False
    conditions: int = 0
    of_stored: Any = None
    definition: Callable[[str], Any] | None = None


def _relu(x: Any) -> Any:
    # NaN stays NaN, as in np.maximum and torch.relu.
    return np.maximum(x, np.zeros((), dtype=np.asarray(x).dtype))


def _is_stored(x: Any) -> Any:
    # Operands that are asked for it are True where they store an entry.
    return np.not_equal(x, 0)


def _round(x: Any) -> Any:
    if np.asarray(x).dtype.kind == "b":
        raise TypeError("no rounding of bools")
    return np.round(x)


_BOOL: dict[str, Any] = {"result": "bool"}
_REDUCES: dict[str, Any] = {"associative": True, "commutative": True}
_LOGIC: dict[str, Any] = {**_BOOL, **_REDUCES, "idempotent": True}
_FLOAT: dict[str, Any] = {"result": "float"}
_ZERO_LEFT: dict[str, Any] = {"left_annihilator": 0}

_ROWS = (
    Operator("add", 2, "+", 10, np.add, 0, None, "promote", True, True, repeated="mul"),
    Operator("sub", 2, "-", 10, np.subtract),
    Operator(
        "mul", 2, "*", 20, np.multiply, 1, 0, "promote", True, True, exact="times"
    ),
    Operator("div", 2, "/", 20, np.true_divide, **_FLOAT, **_ZERO_LEFT, exact="over"),
    Operator("times", 2, None, 0, np.multiply, 1),
    Operator("over", 2, None, 0, np.true_divide, **_FLOAT),
    Operator("min", 2, None, 0, np.minimum, TOP, **_REDUCES, idempotent=True),
    Operator("max", 2, None, 0, np.maximum, BOTTOM, **_REDUCES, idempotent=True),
    Operator("pow", 2, "**", 40, np.power),
    Operator(
        "floor_divide", 2, None, 0, np.floor_divide, **_ZERO_LEFT, exact="floor_over"
    ),
    Operator("floor_over", 2, None, 0, np.floor_divide),
    Operator("remainder", 2, None, 0, np.remainder, **_ZERO_LEFT, exact="modulo"),
    Operator("modulo", 2, None, 0, np.remainder),
    Operator("lt", 2, "<", 5, np.less, **_BOOL),
    Operator("le", 2, "<=", 5, np.less_equal, **_BOOL),
    Operator("gt", 2, ">", 5, np.greater, **_BOOL),
    Operator("ge", 2, ">=", 5, np.greater_equal, **_BOOL),
    Operator("eq", 2, "==", 5, np.equal, **_BOOL),
    Operator("ne", 2, "!=", 5, np.not_equal, **_BOOL),
    Operator("and", 2, "&", 3, np.logical_and, True, False, **_LOGIC),
    Operator("or", 2, "|", 2, np.logical_or, False, True, **_LOGIC),
    Operator("xor", 2, None, 0, np.logical_xor, False, **_BOOL),
    Operator("bitwise_and", 2, None, 0, np.bitwise_and, None, 0),
    Operator("bitwise_or", 2, None, 0, np.bitwise_or, 0),
    Operator("bitwise_xor", 2, None, 0, np.bitwise_xor, 0),
    Operator("left_shift", 2, None, 0, np.left_shift, **_ZERO_LEFT),
    Operator("right_shift", 2, None, 0, np.right_shift, **_ZERO_LEFT),
    Operator("hypot", 2, None, 0, np.hypot, **_FLOAT),
    Operator("atan2", 2, None, 0, np.arctan2, **_FLOAT),
    Operator("logaddexp", 2, None, 0, np.logaddexp, **_FLOAT),
    Operator("copysign", 2, None, 0, np.copysign, **_FLOAT),
    Operator("nextafter", 2, None, 0, np.nextafter, **_FLOAT),
    Operator("stored", 1, None, 0, _is_stored, **_BOOL, of_stored=True),
    Operator("where", 3, None, 0, np.where, conditions=1),
    Operator("neg", 1, "-", 30, np.negative),
    Operator("not", 1, "~", 30, np.logical_not, **_BOOL),
    Operator("positive", 1, None, 0, np.positive),
    Operator("bitwise_invert", 1, None, 0, np.invert),
    Operator("abs", 1, None, 0, np.absolute),
    Operator("conj", 1, None, 0, np.conjugate),
    Operator("real", 1, None, 0, np.real),
    Operator("imag", 1, None, 0, np.imag),
    Operator("sign", 1, None, 0, np.sign),
    Operator("relu", 1, None, 0, _relu),
    Operator("square", 1, None, 0, np.square),
    Operator("reciprocal", 1, None, 0, np.reciprocal),
    Operator("floor", 1, None, 0, np.floor),
    Operator("ceil", 1, None, 0, np.ceil),
    Operator("trunc", 1, None, 0, np.trunc),
    Operator("round", 1, None, 0, _round),
    Operator("isnan", 1, None, 0, np.isnan, **_BOOL),
    Operator("isinf", 1, None, 0, np.isinf, **_BOOL),
    Operator("isfinite", 1, None, 0, np.isfinite, **_BOOL),
    Operator("signbit", 1, None, 0, np.signbit, **_BOOL),
    Operator("sqrt", 1, None, 0, np.sqrt, **_FLOAT),
    Operator("exp", 1, None, 0, np.exp, **_FLOAT),
    Operator("exp2", 1, None, 0, np.exp2, **_FLOAT),
    Operator("expm1", 1, None, 0, np.expm1, **_FLOAT),
    Operator("log", 1, None, 0, np.log, **_FLOAT),
    Operator("log2", 1, None, 0, np.log2, **_FLOAT),
    Operator("log10", 1, None, 0, np.log10, **_FLOAT),
    Operator("log1p", 1, None, 0, np.log1p, **_FLOAT),
    Operator("sin", 1, None, 0, np.sin, **_FLOAT),
    Operator("cos", 1, None, 0, np.cos, **_FLOAT),
    Operator("tan", 1, None, 0, np.tan, **_FLOAT),
    Operator("asin", 1, None, 0, np.arcsin, **_FLOAT),
    Operator("acos", 1, None, 0, np.arccos, **_FLOAT),
    Operator("atan", 1, None, 0, np.arctan, **_FLOAT),
    Operator("sinh", 1, None, 0, np.sinh, **_FLOAT),
    Operator("cosh", 1, None, 0, np.cosh, **_FLOAT),
    Operator("tanh", 1, None, 0, np.tanh, **_FLOAT),
    Operator("asinh", 1, None, 0, np.arcsinh, **_FLOAT),
    Operator("acosh", 1, None, 0, np.arccosh, **_FLOAT),
    Operator("atanh", 1, None, 0, np.arctanh, **_FLOAT),
)

OPERATORS: dict[str, Operator] = {row.name: row for row in _ROWS}

INDEX_OPERATORS: dict[str, str] = {
    "floordiv": "//",
    "mod": "%",
    "shift_left": "<<",
    "shift_right": ">>",
    "mask": "&",
}
"""Arithmetic of positions and coordinates, with symbols: int64, never negative."""

REAL_RESULTS = frozenset({"abs", "real", "imag"})
"""Operators whose result is real where the operand is complex."""


_DEFINED: dict[str, Operator] = {}


def define(row: Operator) -> None:
    """Make an operator known that is not in the table; its name says what it is."""
    _DEFINED[row.name] = row


def is_operator(name: str) -> bool:
    """Tell whether there is an operator of that name, in the table or defined."""
    return name in OPERATORS or name in _DEFINED


def can_reduce(name: str) -> bool:
    """Tell whether an operator can reduce over an index."""
    row = operator(name)
    return row.arity == 2 and row.associative and row.commutative


def operator(name: str) -> Operator:
    """Return the row of one operator.

    Parameters
    ----------
    name : str
        A key of `OPERATORS`, or the name of what `define` took.

    Returns
    -------
    Operator
        Its row.

    Raises
    ------
    KeyError
        If there is no such operator.
    """
    row = OPERATORS.get(name)
    return _DEFINED[name] if row is None else row


def reductions() -> tuple[str, ...]:
    """Return the names of the operators that can reduce over an index."""
    return tuple(r.name for r in _ROWS if r.associative and r.commutative)
