"""Semirings: other meanings of ``+``, ``*`` and sums, as a rewriting of expressions.

Source: Kepner, Gilbert 2011, "Graph algorithms in the language of linear algebra";
Davis 2019, "SuiteSparse:GraphBLAS", section 2 (what is not stored is the identity of
the addition, which annihilates the multiplication).
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import apply_operator
from sparray.compiler.index_notation.monoid import (
    PARAMETERS,
    WORDS,
    Monoid,
    as_row,
    made_name,
)
from sparray.compiler.index_notation.nodes import (
    Apply,
    Assignment,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.index_notation.tokenizer import syntax_error, tokenize
from sparray.compiler.index_notation.traversal import children, replace_children
from sparray.compiler.loop_ir.dtypes import dtype_kind, numpy_dtype
from sparray.compiler.loop_ir.operators import (
    BOTTOM,
    OPERATORS,
    TOP,
    Extreme,
    Operator,
    define,
)
from sparray.errors import DTypeError, ExpressionError

__all__ = ["Semiring", "as_semiring", "over_semiring", "refuse_without_zero"]


@dataclass(frozen=True)
class Semiring:
    """An addition and a multiplication that expressions are computed with.

    Attributes
    ----------
    add : Monoid or str
        What ``+`` and sums are: a monoid, or the name of one (``"min"``).
    multiply : Monoid or str
        What ``*`` is: a monoid, a name, or an expression of ``x`` and ``y``.

    Raises
    ------
    ExpressionError
        If a name or an expression cannot be read, or the addition is no monoid.

    Notes
    -----
    The identity of the addition is the semiring's zero, which the multiplication makes
    of itself and any number: entries that a sparse operand does not store are the zero.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> sp.einsum("ij,j->i", A, [1.0, 10.0], semiring=sp.Semiring("min", "plus"))
    array([12.,  4.])
    """

    add: Monoid | str
    multiply: Monoid | str

    def __post_init__(self) -> None:
        if not (self.addition.associative and self.addition.commutative):
            raise ExpressionError(
                f"Semiring: expected a monoid as its addition, got {self.add!r}; "
                "Monoid(...) promises that it is associative and commutative"
            )
        self.multiplication  # noqa: B018

    def __reduce__(self) -> tuple[Any, ...]:
        # Rows of the table of operators have functions, which no pickle holds.
        return Semiring, (self.add, self.multiply)

    @cached_property
    def addition(self) -> Operator:
        """The operator of ``+`` and of sums."""
        return _row(self.add)

    @cached_property
    def zero(self) -> Any:
        """The identity of the addition: a number, `Extreme` or None."""
        return self.addition.identity

    @cached_property
    def multiplication(self) -> Operator:
        """The operator of ``*``, which the zero annihilates."""
        return absorbing(_row(self.multiply), self.zero)

    @property
    def is_ordinary(self) -> bool:
        """Whether it is the one that expressions have anyway."""
        return (self.addition.name, self.multiplication.name) == ("add", "mul")

    def zero_of(self, dtype: Any) -> Any:
        """Return the zero as a scalar of a dtype.

        Raises
        ------
        DTypeError
            If the dtype does not hold it.
        """
        made = numpy_dtype(dtype)
        if isinstance(self.zero, Extreme):
            return self.zero.of(made)
        held = np.asarray(self.zero).astype(made)[()]
        if made.kind != "b" and dtype_kind(made) in "iu" and held != self.zero:
            raise DTypeError(f"Semiring: expected {made} to hold the zero {self.zero}")
        return held


def _row(given: Monoid | str) -> Operator:
    return given.row if isinstance(given, Monoid) else as_row(given, "Semiring")


def as_semiring(given: "Semiring | str | None") -> Semiring | None:
    """Return a semiring, by its name too; None for the ordinary one.

    Raises
    ------
    ExpressionError
        If there is no semiring of that name.
    """
    if given is None:
        return None
    if isinstance(given, str):
        given = _named(given)
    if not isinstance(given, Semiring):
        raise ExpressionError(
            f"semiring: expected a str or a Semiring, got {type(given).__name__}"
        )
    return None if given.is_ordinary else given


@lru_cache(maxsize=256)
def _named(name: str) -> Semiring:
    add, found, multiply = name.partition("_")
    rows = [OPERATORS.get(WORDS.get(word, word)) for word in (add, multiply)]
    if not found or any(row is None or row.arity != 2 for row in rows):
        raise ExpressionError(
            "semiring: expected the names of an addition and a multiplication, as in "
            f"'min_plus', 'max_times' or 'or_and', got {name!r}"
        )
    return Semiring(add, multiply)


def absorbing(row: Operator, zero: Any) -> Operator:
    """Return an operator that a zero annihilates, which the given one may not do.

    It is the same operator where that makes the zero of itself and of any finite
    number: ``inf + x`` is ``inf``. Elsewhere, as for the largest integer, the operands
    are compared with the zero first.
    """
    if zero is None or (row.annihilator is not None and row.annihilator == zero):
        return row
    named = {TOP: "top", BOTTOM: "bottom"} if isinstance(zero, Extreme) else {}
    tag = named.get(zero) or made_name("", repr(zero))[1:]
    name = f"{row.name}_absorbing_{tag}"

    def zero_in(dtype: str) -> Any:
        if isinstance(zero, Extreme):
            return zero.of(numpy_dtype(dtype))
        return np.asarray(zero).astype(numpy_dtype(dtype))[()]

    def definition(dtype: str) -> Expr:
        plain: Expr = Apply(row.name, PARAMETERS)
        if _annihilates(row.name, zero_in(dtype).item(), dtype):
            return plain
        literal = Literal(zero_in(dtype))
        tests = tuple(Apply("eq", (each, literal)) for each in PARAMETERS)
        return Apply("where", (Apply("or", tests), literal, plain))

    def evaluate(x: Any, y: Any) -> Any:
        made = np.asarray(apply_operator(row.name, x, y))
        held = zero_in(made.dtype.name)
        if _annihilates(row.name, held.item(), made.dtype.name):
            return made
        return np.where((np.equal(x, held)) | (np.equal(y, held)), held, made)

    made = Operator(
        name,
        2,
        None,
        0,
        evaluate,
        row.identity,
        zero,
        row.result,
        definition=definition,
    )
    define(made)
    return made


@lru_cache(maxsize=1024)
def _annihilates(op: str, zero: Any, dtype: str) -> bool:
    """Tell whether a zero with any finite number makes itself by an operator."""
    made = numpy_dtype(dtype)
    values = [-3, -1, 0, 1, 3] if dtype_kind(made) != "u" else [0, 1, 3]
    samples = np.array(values).astype(made)
    if dtype_kind(made) == "f":
        samples = np.concatenate([samples, np.array([-0.5, 0.5]).astype(made)])
    with np.errstate(all="ignore"):
        zeros = np.full(len(samples), zero).astype(made)
        sides = (apply_operator(op, zeros, samples), apply_operator(op, samples, zeros))
    return all(bool(np.all(np.equal(side, zeros))) for side in sides)


def over_semiring(assignment: Assignment, semiring: Semiring, text: str) -> Assignment:
    """Return an assignment with a semiring's operators.

    Parameters
    ----------
    assignment : Assignment
        With the user's names.
    semiring : Semiring
        Not the ordinary one.
    text : str
        What the user wrote, for messages.

    Returns
    -------
    Assignment
        **Rewrite**: ``sum(k, A[i,k] * B[k,j]) + C[i,j]`` over min-plus → ``min(min(k,
        plus(A[i,k], B[k,j])), C[i,j])``, where ``plus`` is an addition that infinity
        annihilates. Everything else keeps its meaning.

    Raises
    ------
    ExpressionError
        If something is subtracted, or a reduction needs an identity that the addition
        has not.
    """
    value = _rewritten(assignment.value, semiring, text)
    return Assignment(assignment.target, value)


def _rewritten(expr: Expr, semiring: Semiring, text: str) -> Expr:
    operands = tuple(_rewritten(child, semiring, text) for child in children(expr))
    if isinstance(expr, Reduce) and expr.op == "add":
        if semiring.zero is None:
            raise syntax_error(
                text,
                _place(text, expr.indices[0]),
                f"expected an addition with an identity, which a reduction over "
                f"{expr.indices[0]!r} starts from, got {semiring.add!r}",
            )
        return Reduce(semiring.addition.name, expr.indices, operands[0])
    if not isinstance(expr, Apply):
        return replace_children(expr, operands)
    if expr.op in ("sub", "neg"):
        raise syntax_error(
            text,
            _place(text, "-"),
            "expected no '-' over a semiring, which has no negation",
        )
    meaning = {"add": semiring.addition.name, "mul": semiring.multiplication.name}
    return Apply(meaning.get(expr.op, expr.op), operands)


def refuse_without_zero(text: str, tensor: str) -> ExpressionError:
    """Return the error that entries which are not stored are no number at all."""
    union = "+" in text
    return syntax_error(
        text,
        _place(text, "+" if union else tensor),
        "expected a semiring whose addition has an identity, which is what entries are "
        f"that {tensor} does not store, got one without",
    )


def _place(text: str, word: str) -> int:
    """Return where a word stands in an expression: on the right side, if it does."""
    if "=" not in text:
        return max(text.find(word.removesuffix("_")), 0)
    right = text.index("=")
    found = [token.start for token in tokenize(text) if token.text == word]
    return next((start for start in found if start > right), found[0] if found else 0)
