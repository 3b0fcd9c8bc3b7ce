"""The dtype of an expression, by NumPy's promotion."""

from collections.abc import Mapping
from functools import lru_cache, singledispatch
from typing import Any

import numpy as np

from sparray.compiler.index_notation.apply import apply_operator, is_weak, reduce_axes
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal, Reduce
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.loop_ir.dtypes import computed_dtype, is_half, numpy_dtype
from sparray.compiler.loop_ir.operators import operator
from sparray.errors import DTypeError, InternalError

__all__ = ["accumulated_dtype", "result_dtype", "settle_literals"]


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
        int8 tensor times 2 is int8, and a bfloat16 one times 0.5 is bfloat16, which
        `ml_dtypes` by itself makes float32. A sum keeps the dtype of what it sums.

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


def accumulated_dtype(expr: Expr, dtypes: Mapping[str, str]) -> str:
    """Return the dtype in which a reduction is kept: its own, halves as float32."""
    return computed_dtype(result_dtype(expr, dtypes))


def settle_literals(expr: Expr, dtypes: Mapping[str, str]) -> Expr:
    """Round literals to the 16-bit dtypes that they take.

    Parameters
    ----------
    expr : Expr
        An expression of index notation.
    dtypes : mapping of str to str
        The dtype of each tensor.

    Returns
    -------
    Expr
        **Rewrite**: ``A + 0.1`` → ``A + 0.0999755859375`` for a float16 ``A``. The
        expression is computed in float32, but ``A == 0.1`` is to hold where NumPy says
        so.
    """
    if not any(map(is_half, dtypes.values())):
        return expr
    if isinstance(expr, Reduce):
        return Reduce(expr.op, expr.indices, settle_literals(expr.operand, dtypes))
    if not isinstance(expr, Apply):
        return expr
    samples = [_sample(child, dtypes) for child in expr.operands]
    valued = samples[operator(expr.op).conditions :]
    halves = {s.dtype.name for s in valued if not is_weak(s) and is_half(s.dtype)}
    operands = (
        _rounded(sample, *halves)
        if len(halves) == 1 and type(sample) in (int, float)
        else settle_literals(child, dtypes)
        for child, sample in zip(expr.operands, samples, strict=True)
    )
    return Apply(expr.op, tuple(operands))


def _rounded(value: float, dtype: str) -> Literal:
    with np.errstate(all="ignore"):
        held = np.asarray(value, dtype=numpy_dtype(dtype)).item()
    return Literal(value if held == value else held)


@singledispatch
def _sample(expr: Expr, dtypes: Mapping[str, str]) -> Any:
    """Return a one-element array, or a Python scalar, of the expression's dtype."""
    raise InternalError(f"expected an expression, got {expr!r}")


@_sample.register
def _(expr: Access, dtypes: Mapping[str, str]) -> Any:
    return _ones(dtypes[expr.tensor])


@_sample.register
def _(expr: Literal, dtypes: Mapping[str, str]) -> Any:
    return expr.value


@_sample.register
def _(expr: Apply, dtypes: Mapping[str, str]) -> Any:
    operands = [_sample(child, dtypes) for child in expr.operands]
    for operand in operands:
        if not is_weak(operand) and operand.dtype.kind == "V":
            # To ml_dtypes a Python float is no weak scalar.
            operands = [
                np.asarray(x, operand.dtype) if type(x) is float else x
                for x in operands
            ]
            break
    return _applied(expr.op, *map(_fact, operands))


def _fact(sample: Any) -> Any:
    """Return all that the dtype of a result depends on, as a key."""
    # 0.0 equals -0.0, and True equals 1.
    if is_weak(sample):
        return type(sample), repr(sample), sample
    return sample.dtype


@lru_cache(maxsize=4096)
def _applied(op: str, *facts: Any) -> Any:
    """Return a sample of an operator's result for operands like the given ones."""
    operands = (fact[2] if type(fact) is tuple else _ones(fact) for fact in facts)
    return apply_operator(op, *operands)


@lru_cache(maxsize=64)
def _ones(dtype: Any) -> Any:
    return np.ones(1, dtype=numpy_dtype(dtype))


@_sample.register
def _(expr: Reduce, dtypes: Mapping[str, str]) -> Any:
    operand = _sample(expr.operand, dtypes)
    if is_weak(operand):
        operand = np.full(1, operand)
    return reduce_axes(expr.op, operand.reshape(1, 1), (0,))
