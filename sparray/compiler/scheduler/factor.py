"""Move factors that a sum does not depend on out of it."""

from collections.abc import Callable

from sparray.compiler.index_notation.nodes import Apply, Expr, Reduce
from sparray.compiler.index_notation.simplify import free_indices
from sparray.compiler.loop_ir.dtypes import dtype_kind

__all__ = ["factor_invariants"]


def factor_invariants(expr: Expr, dtype_of: Callable[[Expr], str]) -> Expr:
    """Return the expression with loop-invariant factors outside of its sums.

    **Rewrite**: ``sum(k, M * A[k] * B[k])`` → ``M * sum(k, A[k] * B[k])``. The product
    is rounded once per sum instead of once per term. Nothing is moved that would
    change the dtype of the sum (a sum of bools is no number), nor the dtype in which
    integers are multiplied, in which they may wrap around.
    """
    if isinstance(expr, Apply):
        operands = (factor_invariants(child, dtype_of) for child in expr.operands)
        return Apply(expr.op, tuple(operands))
    if not isinstance(expr, Reduce) or expr.op != "add":
        return expr
    outside: list[Expr] = []
    inside: list[Expr] = []
    whole = dtype_of(expr.operand)
    factors = _factors(expr.operand, whole, dtype_of)
    if _wraps(whole) and any(dtype_of(factor) != whole for factor in factors):
        return expr
    for factor in factors:
        depends = set(free_indices(factor)) & set(expr.indices)
        (inside if depends else outside).append(factor)
    if not outside or not inside:
        return expr
    # Integers last: they meet a float before they meet each other.
    inside.sort(key=lambda factor: _wraps(dtype_of(factor)))
    left = Reduce("add", expr.indices, _product(inside))
    if dtype_of(left) != dtype_of(expr):
        return expr
    last = [factor for factor in outside if _wraps(dtype_of(factor))]
    first = [factor for factor in outside if factor not in last]
    return _product([*first, left, *last])


def _factors(expr: Expr, whole: str, dtype_of: Callable[[Expr], str]) -> list[Expr]:
    """Return the factors of a product, but not of integers in a narrower dtype."""
    if isinstance(expr, Apply) and expr.op == "mul":
        dtype = dtype_of(expr)
        if dtype == whole or not _wraps(dtype):
            left, right = expr.operands
            return [*_factors(left, whole, dtype_of), *_factors(right, whole, dtype_of)]
    return [expr]


def _wraps(dtype: str) -> bool:
    return dtype_kind(dtype) in "iu"


def _product(factors: list[Expr]) -> Expr:
    result = factors[0]
    for factor in factors[1:]:
        result = Apply("mul", (result, factor))
    return result
