"""Monoids: what a reduction combines by, from a name or from a user's expression."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import apply_operator
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal, Reduce
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.index_notation.traversal import walk
from sparray.compiler.loop_ir.operators import OPERATORS, Operator, define
from sparray.errors import DTypeError, ExpressionError

__all__ = ["Monoid", "as_row", "evaluated", "made_name"]

PARAMETERS = (Access("x", ()), Access("y", ()))
WORDS = {"plus": "add", "times": "mul", "minimum": "min", "maximum": "max"}
"""Names of operators that the table has under others."""
_LARGEST = 2**63


@dataclass(frozen=True)
class Monoid:
    """An operator that can reduce: associative and commutative, perhaps with identity.

    Attributes
    ----------
    operator : str
        A name (``"min"``, ``"plus"``, ``"or"``), or an expression of two numbers ``x``
        and ``y`` in index notation: ``"x + y - x * y"``.
    identity : number, optional
        What changes no number that it is combined with; known for operators by name.
    annihilator : number, optional
        What makes itself of every number that it is combined with.

    Raises
    ------
    ExpressionError
        If the text cannot be read, has other names than ``x`` and ``y``, or if samples
        show that the operator is not associative or not commutative, or that the
        identity or the annihilator is none.

    Notes
    -----
    That an expression is associative and commutative is the user's promise, on which
    the order of loops and threads relies. A few numbers are tried.

    Examples
    --------
    >>> import sparray as sp
    >>> either = sp.Monoid("x + y - x * y", identity=0)
    >>> semiring = sp.Semiring(either, "times")
    >>> sp.einsum("ij->i", [[0.5, 0.5], [0.0, 0.25]], semiring=semiring)
    array([0.75, 0.25])
    """

    operator: str
    identity: Any = None
    annihilator: Any = None

    def __post_init__(self) -> None:
        for name in ("identity", "annihilator"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, bool | int | float):
                raise ExpressionError(
                    f"Monoid: expected a number as {name}, got {value!r}"
                )
            if isinstance(value, int) and not -_LARGEST <= value < 2 * _LARGEST:
                raise ExpressionError(
                    f"Monoid: expected an integer of 64 bits as {name}, or a float"
                )
        check(self.row, f"Monoid({self.operator!r})")

    def __reduce__(self) -> tuple[Any, ...]:
        # Rows of the table of operators have functions, which no pickle holds.
        return Monoid, (self.operator, self.identity, self.annihilator)

    @cached_property
    def row(self) -> Operator:
        """The operator as every stage of the compiler knows it."""
        given = as_row(self.operator, "Monoid")
        changed = self.identity is not None or self.annihilator is not None
        if given.associative and given.commutative and not changed:
            return given
        identity = given.identity if self.identity is None else self.identity
        expr: Expr = Apply(given.name, PARAMETERS)
        if given.definition is not None:
            expr = given.definition("float64")
        return expression_row(expr, identity, self.annihilator, reduces=True)


@lru_cache(maxsize=256)
def as_row(text: str, what: str) -> Operator:
    """Return the operator of a name, or that of an expression of x and y.

    Raises
    ------
    ExpressionError
        If it is neither.
    """
    if not isinstance(text, str):
        raise ExpressionError(f"{what}: expected a str, got {type(text).__name__}")
    row = OPERATORS.get(WORDS.get(text, text))
    if row is not None and row.arity == 2:
        return row
    value = parse_assignment(f"z = {text}").value
    for node in walk(value):
        if isinstance(node, Access) and node not in PARAMETERS:
            names = "the numbers x and y"
            raise ExpressionError(
                f"{what}: expected an expression of {names}, got "
                f"{print_expression(node)} in {text!r}"
            )
        if isinstance(node, Reduce):
            raise ExpressionError(
                f"{what}: expected an expression without reductions, got {text!r}"
            )
    if not any(isinstance(node, Access) for node in walk(value)):
        raise ExpressionError(f"{what}: expected x or y in {text!r}")
    return expression_row(value, None, None, reduces=False)


def expression_row(
    value: Expr, identity: Any, annihilator: Any, *, reduces: bool
) -> Operator:
    """Define the operator that an expression of x and y is."""
    parts = (print_expression(value), repr(identity), repr(annihilator), str(reduces))
    row = Operator(
        made_name("defined", *parts),
        2,
        None,
        0,
        evaluated(value),
        identity,
        annihilator,
        associative=reduces,
        commutative=reduces,
        definition=lambda dtype: value,
    )
    define(row)
    return row


def made_name(prefix: str, *parts: str) -> str:
    """Return a name that says what an operator is: equal operators have equal ones."""
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return f"{prefix}_{digest[:12]}"


def evaluated(value: Expr) -> Callable[[Any, Any], Any]:
    """Return the NumPy function of an expression of x and y."""

    def evaluate(x: Any, y: Any) -> Any:
        def visit(expr: Expr) -> Any:
            if isinstance(expr, Apply):
                return apply_operator(expr.op, *map(visit, expr.operands))
            if isinstance(expr, Literal):
                return expr.value
            return x if expr == PARAMETERS[0] else y

        return visit(value)

    return evaluate


def check(row: Operator, what: str) -> None:
    """Refuse an operator that samples show to be no monoid, or another one."""
    samples = _samples(row)
    apply = row.evaluate
    with np.errstate(all="ignore"):
        for a, b in product(samples, repeat=2):
            if not _same(apply(a, b), apply(b, a)):
                raise ExpressionError(
                    f"{what}: expected a commutative operator, but of {a} and {b} it "
                    f"makes {apply(a, b)}, of {b} and {a} {apply(b, a)}"
                )
        for a, b, c in product(samples, repeat=3):
            left, right = apply(apply(a, b), c), apply(a, apply(b, c))
            if not _same(left, right):
                raise ExpressionError(
                    f"{what}: expected an associative operator, but of {a}, {b} and "
                    f"{c} it makes {left} from the left, {right} from the right"
                )
        for a in samples:
            for name, wanted in (("identity", a), ("annihilator", row.annihilator)):
                given = getattr(row, name)
                if row.definition is None or given is None or _is_extreme(given):
                    continue
                made = apply(a.dtype.type(given), a)
                if not _same(made, wanted):
                    raise ExpressionError(
                        f"{what}: expected an {name}, got {given}, which makes {made} "
                        f"of {a}"
                    )


def _samples(row: Operator) -> list[Any]:
    """Return numbers of a dtype that the operator is defined for."""
    rng = np.random.default_rng(0)
    for values in (
        np.round(rng.uniform(-2, 2, 5), 3),
        rng.integers(-3, 8, 5),
        np.array([False, True]),
    ):
        try:
            row.evaluate(values, values)
        except (DTypeError, TypeError):
            continue
        return list(values)
    raise DTypeError(f"expected an operator of numbers or bools, got {row.name}")


def _same(left: Any, right: Any) -> bool:
    return bool(np.allclose(left, right, rtol=1e-6, atol=1e-9, equal_nan=True))


def _is_extreme(value: Any) -> bool:
    return not isinstance(value, bool | int | float)
