"""Algebraic simplification from the operator table's facts.

An absent entry of a sparse operand is a literal, its fill value: the merge lattice
substitutes it and asks what is left. That is why the rules treat a literal 0 as a
*structural* zero (``missing="zero"``): ``x * 0`` and ``0 / x`` are 0 whatever ``x``
holds. Fill values are NumPy scalars where their dtype matters: those are not weak.
"""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import apply_operator, reduction_identity
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal, Reduce
from sparray.compiler.index_notation.traversal import (
    accesses,
    children,
    contains_reduce,
    free_indices,
    substitute,
)
from sparray.compiler.loop_ir.dtypes import dtype_kind, numpy_dtype
from sparray.compiler.loop_ir.operators import Extreme, Operator, operator
from sparray.errors import DTypeError, InternalError

__all__ = [
    "accesses",
    "contains_reduce",
    "free_indices",
    "is_identity",
    "is_zero",
    "simplify",
    "simplify_typed",
    "substitute",
]


def is_zero(expr: Expr) -> bool:
    """Tell whether an expression is a literal 0 (``0``, ``0.0``, ``False``, ``0j``)."""
    return isinstance(expr, Literal) and bool(expr.value == 0)


def is_identity(op: str, literal: Literal) -> bool:
    """Tell whether a reduction of any number of equal literals starts with them too."""
    identity = reduction_identity(op, np.asarray(literal.value).dtype)
    value = bool(literal.value) if operator(op).result == "bool" else literal.value
    return bool(value == identity)


@singledispatch
def simplify(expr: Expr) -> Expr:
    """Fold constants and drop identities and annihilators.

    Parameters
    ----------
    expr : Expr
        An expression of index notation, or a right-hand side of CIN.

    Returns
    -------
    Expr
        An expression with the same value.

    Notes
    -----
    **Rewrite**, for a literal ``0``, ``1`` and any ``x`` that is not a literal::

        f(literal ...)        ->  its value, if NumPy defines it
        x + 0, x - 0, x * 1   ->  x            (integer or bool literals only)
        0 - x                 ->  -x
        x * 0, 0 / x          ->  0            (structural zero; so 0 // x, 0 % x)
        x & True, x | False   ->  x            (x != 0 if x may not be a bool)
        x & False             ->  False
        x | True              ->  True
        -(-x), ~(~x)          ->  x            (~ only where x is a bool)
        where(True, x, y)     ->  x            (where x has the dtype of both)
        where(False, x, y)    ->  y
        where(c, x, x)        ->  x
        reduce(identity)      ->  identity

    A float identity (``x * 1.0``) stays, as it may promote ``x``, and so does an
    integer one beside a comparison. Still, the dtype of a result is that of the
    expression before it was simplified (``x + 0`` of a tensor of bools is an
    integer); so is the extent of an index that vanishes.
    """
    raise InternalError(f"expected an expression, got {expr!r}")


@simplify.register
def _(expr: Access) -> Expr:
    return expr


@simplify.register
def _(expr: Literal) -> Expr:
    return expr


@simplify.register
def _(expr: Reduce) -> Expr:
    return _reduce_once(Reduce(expr.op, expr.indices, simplify(expr.operand)))


@simplify.register
def _(expr: Apply) -> Expr:
    return _apply_once(Apply(expr.op, tuple(map(simplify, expr.operands))), None)


def simplify_typed(expr: Expr, dtypes: Mapping[str, str]) -> Expr:
    """Simplify where that changes the dtype of no part.

    Parameters
    ----------
    expr : Expr
        As `simplify` takes it.
    dtypes : mapping of str to str
        The dtype of each tensor.

    Returns
    -------
    Expr
        With the same value in arithmetic on bools too, where ``x + 0`` is a number
        and ``x`` is not, and on integers of different widths, which overflow in the
        one and not in the other.
    """
    kinds = set(dtypes.values())
    return _simplified(expr, dtypes, len(kinds) > 1 or "bool" in kinds)


def _simplified(expr: Expr, dtypes: Mapping[str, str], checked: bool) -> Expr:
    operands = tuple(_simplified(child, dtypes, checked) for child in children(expr))
    if isinstance(expr, Apply):
        expr = Apply(expr.op, operands)
        made = _apply_once(expr, dtypes)
    elif isinstance(expr, Reduce):
        expr = Reduce(expr.op, expr.indices, operands[0])
        made = _reduce_once(expr)
    else:
        return expr
    if not checked:
        return made
    try:
        wanted, got = result_dtype(expr, dtypes), result_dtype(made, dtypes)
    except DTypeError:
        return made if is_zero(made) else expr
    if got != wanted:
        return _zero_of(wanted) if is_zero(made) else expr
    return made if _is_weak(expr) else _strong(made, wanted)


def _is_weak(expr: Expr) -> bool:
    """Tell whether an expression takes the dtype of what it is combined with.

    Bools do not: with a number they are a number of the default dtype.
    """
    if isinstance(expr, Literal):
        return not isinstance(expr.value, bool | np.generic)
    return isinstance(expr, Apply) and all(map(_is_weak, expr.operands))


def _strong(expr: Expr, dtype: str) -> Expr:
    """Return a literal as a number of a dtype; any other expression has its own."""
    if not isinstance(expr, Literal) or not _is_weak(expr):
        return expr
    return Literal(numpy_dtype(dtype).type(expr.value))


def _zero_of(dtype: str) -> Literal:
    return Literal(False if dtype == "bool" else numpy_dtype(dtype).type(0))


def _reduce_once(expr: Reduce) -> Expr:
    operand = expr.operand
    if isinstance(operand, Literal) and is_identity(expr.op, operand):
        # Logical reductions look at the truth of a number, and are one.
        is_truth = operator(expr.op).result == "bool"
        return Literal(bool(operand.value)) if is_truth else operand
    return expr


def _apply_once(expr: Apply, dtypes: Mapping[str, str] | None) -> Expr:
    """Apply the rules to a node whose operands are simplified.

    Without dtypes no rule that depends on them is applied.
    """
    row, operands = operator(expr.op), expr.operands
    zero = _structural_zero(expr, dtypes)
    if zero is not None:
        return zero
    if all(isinstance(child, Literal) for child in operands):
        return _fold(expr)
    if row.arity == 1:
        return _simplify_unary(row, operands[0])
    if row.conditions:
        return _simplify_choice(expr, dtypes)
    return _simplify_binary(expr, dtypes)


def _structural_zero(expr: Apply, dtypes: Mapping[str, str] | None) -> Expr | None:
    """Return what an annihilator makes of a node, whatever else it holds.

    Literals count too: an absent entry over an absent one is absent, not NaN.
    """
    row, operands = operator(expr.op), expr.operands
    for child in operands:
        if isinstance(child, Literal) and _matches(
            child, row.annihilator, expr, dtypes
        ):
            return _annihilated(child, row)
    first = operands[0]
    if isinstance(first, Literal) and _matches(
        first, row.left_annihilator, expr, dtypes
    ):
        return first
    return None


def _fold(expr: Apply) -> Expr:
    values = [child.value for child in expr.operands if isinstance(child, Literal)]
    try:
        made = apply_operator(expr.op, *values)
        return Literal(made[()] if isinstance(made, np.ndarray) else made)
    except DTypeError:
        # Left for the evaluation to report, with the dtypes of the whole.
        return expr


def _simplify_unary(row: Operator, operand: Expr) -> Expr:
    if isinstance(operand, Apply) and operand.op == row.name:
        inner = operand.operands[0]
        if row.name == "neg" or (row.name == "not" and _is_boolean(inner)):
            return inner
    return Apply(row.name, (operand,))


def _simplify_binary(expr: Apply, dtypes: Mapping[str, str] | None) -> Expr:
    row, (left, right) = operator(expr.op), expr.operands
    for literal, other in ((left, right), (right, left)):
        if not isinstance(literal, Literal):
            continue
        if not _matches(literal, row.identity, expr, dtypes):
            continue
        if row.result == "bool":
            return _truth(other)
        if _is_neutral(literal, other):
            return other
    if row.name == "sub" and is_zero(right) and _is_neutral(right, left):
        return left
    if row.name == "sub" and is_zero(left) and _is_neutral(left, right):
        return simplify(Apply("neg", (right,)))
    return Apply(row.name, (left, right))


def _simplify_choice(expr: Apply, dtypes: Mapping[str, str] | None) -> Expr:
    condition, then, otherwise = expr.operands
    if then == otherwise:
        return then
    if isinstance(condition, Literal):
        chosen, other = (then, otherwise) if condition.value else (otherwise, then)
    elif isinstance(then, Literal) and _is_value(then, otherwise):
        chosen, other = then, otherwise
    else:
        return expr
    if is_zero(chosen):
        return chosen
    if dtypes is None:
        return chosen if _is_neutral(other, chosen) else expr
    try:
        dtype = result_dtype(expr, dtypes)
        if isinstance(chosen, Literal):
            return Literal(np.asarray(chosen.value, numpy_dtype(dtype))[()])
        return chosen if result_dtype(chosen, dtypes) == dtype else expr
    except DTypeError:
        return expr


def _is_value(literal: Literal, other: Expr) -> bool:
    """Tell whether an expression is a literal of the same value; NaN is one."""
    if not isinstance(other, Literal):
        return False
    both_nan = literal.value != literal.value and other.value != other.value
    return both_nan or bool(literal.value == other.value)


def _annihilated(literal: Literal, row: Operator) -> Literal:
    if isinstance(row.annihilator, Extreme):
        return literal
    # x * False is the number 0: a bool would forbid what arithmetic follows.
    made = row.result == "bool" or isinstance(literal.value, bool)
    return Literal(row.annihilator) if made else literal


def _matches(
    literal: Literal, constant: Any, expr: Apply, dtypes: Mapping[str, str] | None
) -> bool:
    """Tell whether a literal in an expression is a constant of its operator."""
    if constant is None:
        return False
    if isinstance(constant, Extreme):
        return _is_extreme(literal, constant, expr, dtypes)
    # Logical operators look at the truth of a number, not at its value.
    logical = operator(expr.op).result == "bool"
    return bool((bool(literal.value) if logical else literal.value) == constant)


def _is_extreme(
    literal: Literal, extreme: Extreme, expr: Apply, dtypes: Mapping[str, str] | None
) -> bool:
    """Tell whether a literal is the largest, or smallest, value of an expression's.

    The largest number of a narrow dtype is not that of a wider one; infinity is. So is
    that of a weak number.
    """
    dtype = np.asarray(literal.value).dtype
    if literal.value != extreme.of(dtype):
        return False
    if dtype_kind(dtype) in "fc":
        return True
    if dtypes is None or type(literal.value) is int:
        return False
    try:
        return result_dtype(expr, dtypes) == dtype.name
    except DTypeError:
        return False


def _is_neutral(literal: Expr, other: Expr) -> bool:
    """Tell whether leaving the literal out keeps the dtype."""
    if isinstance(literal, Literal) and isinstance(literal.value, bool):
        return True
    if isinstance(literal, Literal) and isinstance(literal.value, int | np.generic):
        # A product with the complex number 1 is not its other factor: inf * (1 + 0j)
        # has NaN in it.
        return not _is_boolean(other) and not np.iscomplexobj(literal.value)
    return False


def _is_boolean(expr: Expr) -> bool:
    """Tell whether the value is a bool whatever the tensors' dtypes are."""
    if isinstance(expr, Apply | Reduce):
        row = operator(expr.op)
        promoted = row.result == "promote" and all(map(_is_boolean, children(expr)))
        return promoted or row.result == "bool"
    return isinstance(expr, Literal) and isinstance(expr.value, bool)


def _truth(expr: Expr) -> Expr:
    return expr if _is_boolean(expr) else Apply("ne", (expr, Literal(0)))
