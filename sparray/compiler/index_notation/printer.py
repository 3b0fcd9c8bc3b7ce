"""`Assignment` -> text that parses back to an equal tree."""

import cmath
from functools import singledispatch
from typing import Any

import numpy as np

from sparray.compiler.index_notation.grammar import (
    REDUCTION_WORDS,
    RIGHT_ASSOCIATIVE,
    is_comparison,
    is_function,
)
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Literal,
    Reduce,
)
from sparray.compiler.loop_ir.operators import Operator, operator
from sparray.errors import InternalError

__all__ = ["print_access", "print_assignment", "print_expression"]

_PRIMARY = 100


def print_assignment(assignment: Assignment) -> str:
    """Print a statement with as few parentheses as keep its tree.

    Parameters
    ----------
    assignment : Assignment
        What to print; every `Reduce` is printed.

    Returns
    -------
    str
        Text that `parse_assignment` turns into an equal tree.

    Examples
    --------
    >>> from sparray.compiler.index_notation.parser import parse_assignment
    >>> print_assignment(parse_assignment("y[i] = A[i,j]*(x[j]+1)"))
    'y[i] = sum(j, A[i,j] * (x[j] + 1))'
    """
    target = print_access(assignment.target)
    return f"{target} = {print_expression(assignment.value)}"


def print_access(access: Access) -> str:
    """Print one access; brackets are left out for a scalar where that is clear."""
    if access.indices or is_function(access.tensor):
        return f"{access.tensor}[{','.join(access.indices)}]"
    return access.tensor


@singledispatch
def print_expression(expr: Expr) -> str:
    """Print an expression of index notation or a right-hand side of CIN."""
    raise InternalError(f"expected an expression, got {expr!r}")


@print_expression.register
def _(expr: Access) -> str:
    return print_access(expr)


@print_expression.register
def _(expr: Literal) -> str:
    value = expr.value.item() if isinstance(expr.value, np.generic) else expr.value
    if isinstance(value, complex):
        if value.real == 0 and cmath.isfinite(value):
            return f"{value.imag!r}j"
        return f"complex({value.real!r}, {value.imag!r})"
    return repr(value)


@print_expression.register
def _(expr: Reduce) -> str:
    names = ", ".join(expr.indices)
    indices = names if len(expr.indices) == 1 else f"({names})"
    word = REDUCTION_WORDS.get(expr.op, expr.op)
    return f"{word}({indices}, {print_expression(expr.operand)})"


@print_expression.register
def _(expr: Apply) -> str:
    row = operator(expr.op)
    if row.symbol is None:
        return f"{row.name}({', '.join(map(print_expression, expr.operands))})"
    if row.arity == 1:
        return row.symbol + _prefix_operand(row, expr.operands[0])
    left, right = expr.operands
    return f"{_left_operand(row, left)} {row.symbol} {_right_operand(row, right)}"


def _prefix_operand(row: Operator, operand: Expr) -> str:
    # The parser reads -2 as one literal; -(2) keeps the operator.
    unsigned = isinstance(operand, Literal) and _precedence(operand) == _PRIMARY
    ambiguous = row.name == "neg" and unsigned
    return _grouped(operand, ambiguous or _precedence(operand) < row.precedence)


def _left_operand(row: Operator, operand: Expr) -> str:
    strict = row.name in RIGHT_ASSOCIATIVE or is_comparison(row)
    return _grouped(operand, _precedence(operand) < row.precedence + strict)


def _right_operand(row: Operator, operand: Expr) -> str:
    loose = row.name in RIGHT_ASSOCIATIVE
    return _grouped(operand, _right_precedence(operand) < row.precedence + (not loose))


def _grouped(expr: Expr, parentheses: bool) -> str:
    text = print_expression(expr)
    return f"({text})" if parentheses else text


def _precedence(expr: Expr) -> int:
    if isinstance(expr, Apply):
        row = operator(expr.op)
        return _PRIMARY if row.symbol is None else row.precedence
    if isinstance(expr, Literal) and _is_negative(expr.value):
        return operator("neg").precedence
    return _PRIMARY


def _right_precedence(expr: Expr) -> int:
    # A prefix operator may follow any infix operator: a ** -b.
    if isinstance(expr, Apply) and operator(expr.op).arity == 1:
        return _PRIMARY
    return _PRIMARY if isinstance(expr, Literal) else _precedence(expr)


def _is_negative(value: Any) -> bool:
    return print_expression(Literal(value)).startswith("-")
