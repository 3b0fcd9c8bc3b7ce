"""The dtype of an expression, by NumPy's promotion."""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import apply_operator, is_weak, reduce_axes
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal, Reduce
from sparray.compiler.index_notation.printer import print_expression
from sparray.errors import DTypeError, InternalError

__all__ = ["result_dtype"]


def result_dtype(expr: Expr, dtypes: Mapping[str, str]) -> str:
    """Return the dtype that NumPy would give the expression.

    Parameters
    ----------
    expr : Expr
        An expression of index notation or a right-hand side of CIN.
    dtypes : mapping of str to str
        NumPy dtype name of each tensor.

    Returns
    -------
    str
        A NumPy dtype name. Literals are weak, as Python scalars are in NumPy 2: an
        int8 tensor times 2 is int8. A sum keeps the dtype of what it sums.

    Raises
    ------
    DTypeError
        If an operator is not defined for its operands' dtypes.

    Notes
    -----
    NumPy itself is asked, with one-element arrays, so that no promotion table is
    kept here; the cost does not depend on any tensor's size.
    """
    try:
        return np.asarray(_sample(expr, dtypes)).dtype.name
    except DTypeError as error:
        raise DTypeError(f"{error}, in {print_expression(expr)}") from error


@singledispatch
def _sample(expr: Expr, dtypes: Mapping[str, str]) -> Any:
    """Return a one-element array, or a Python scalar, of the expression's dtype."""
    raise InternalError(f"expected an expression, got {expr!r}")


@_sample.register
def _(expr: Access, dtypes: Mapping[str, str]) -> Any:
    return np.ones(1, dtype=dtypes[expr.tensor])


@_sample.register
def _(expr: Literal, dtypes: Mapping[str, str]) -> Any:
    return expr.value


@_sample.register
def _(expr: Apply, dtypes: Mapping[str, str]) -> Any:
    operands = [_sample(child, dtypes) for child in expr.operands]
    return apply_operator(expr.op, *operands)


@_sample.register
def _(expr: Reduce, dtypes: Mapping[str, str]) -> Any:
    operand = _sample(expr.operand, dtypes)
    if is_weak(operand):
        operand = np.full(1, operand)
    return reduce_axes(expr.op, operand.reshape(1, 1), (0,))
