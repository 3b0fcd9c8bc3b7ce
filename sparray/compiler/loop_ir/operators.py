"""The table of scalar operators that every IR shares.

One row per operator: its arity, how it prints, its NumPy function, and the
algebra that the merge lattice and the simplifier reason with (identity and
annihilator), so that no stage needs a special case for an operator's name.

Source: the use of identities and annihilators to derive co-iteration follows
Henry et al. 2021, "Compilation of sparse array programming models", section 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "INDEX_OPERATORS",
    "OPERATORS",
    "REAL_RESULTS",
    "Operator",
    "operator",
    "reductions",
]


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
        ``f(identity, x) == f(x, identity) == x``; None where there is none.
    annihilator : object
        ``f(annihilator, x) == f(x, annihilator) == annihilator`` when every
        value is finite; None where there is none.
    result : str
        ``"promote"`` (NumPy promotion), ``"bool"`` (comparisons) or ``"float"``
        (at least float, as NumPy's true division).
    associative, commutative : bool
        Algebraic facts; a reduction needs both.
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


def _relu(x: Any) -> Any:
    # NaN stays NaN, as in np.maximum and torch.relu.
    return np.maximum(x, np.zeros((), dtype=np.asarray(x).dtype))


_ROWS = (
    Operator("add", 2, "+", 10, np.add, 0, None, "promote", True, True),
    Operator("sub", 2, "-", 10, np.subtract),
    Operator("mul", 2, "*", 20, np.multiply, 1, 0, "promote", True, True),
    Operator("div", 2, "/", 20, np.true_divide, result="float"),
    Operator("min", 2, None, 0, np.minimum, None, None, "promote", True, True),
    Operator("max", 2, None, 0, np.maximum, None, None, "promote", True, True),
    Operator("pow", 2, "**", 40, np.power),
    Operator("lt", 2, "<", 5, np.less, result="bool"),
    Operator("le", 2, "<=", 5, np.less_equal, result="bool"),
    Operator("gt", 2, ">", 5, np.greater, result="bool"),
    Operator("ge", 2, ">=", 5, np.greater_equal, result="bool"),
    Operator("eq", 2, "==", 5, np.equal, result="bool"),
    Operator("ne", 2, "!=", 5, np.not_equal, result="bool"),
    Operator("and", 2, "&", 3, np.logical_and, True, False, "bool", True, True),
    Operator("or", 2, "|", 2, np.logical_or, False, None, "bool", True, True),
    Operator("neg", 1, "-", 30, np.negative),
    Operator("not", 1, "~", 30, np.logical_not, result="bool"),
    Operator("abs", 1, None, 0, np.absolute),
    Operator("conj", 1, None, 0, np.conjugate),
    Operator("real", 1, None, 0, np.real),
    Operator("imag", 1, None, 0, np.imag),
    Operator("sign", 1, None, 0, np.sign),
    Operator("relu", 1, None, 0, _relu),
    Operator("sqrt", 1, None, 0, np.sqrt, result="float"),
    Operator("exp", 1, None, 0, np.exp, result="float"),
    Operator("log", 1, None, 0, np.log, result="float"),
    Operator("log1p", 1, None, 0, np.log1p, result="float"),
    Operator("expm1", 1, None, 0, np.expm1, result="float"),
    Operator("sin", 1, None, 0, np.sin, result="float"),
    Operator("cos", 1, None, 0, np.cos, result="float"),
    Operator("tanh", 1, None, 0, np.tanh, result="float"),
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


def operator(name: str) -> Operator:
    """Return the row of one operator.

    Parameters
    ----------
    name : str
        A key of `OPERATORS`.

    Returns
    -------
    Operator
        Its row.

    Raises
    ------
    KeyError
        If the table has no such row.
    """
    return OPERATORS[name]


def reductions() -> tuple[str, ...]:
    """Return the names of the operators that can reduce over an index."""
    return tuple(r.name for r in _ROWS if r.associative and r.commutative)
