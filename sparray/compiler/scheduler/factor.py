"""Move factors that a sum does not depend on out of it."""

from collections.abc import Callable

from sparray.compiler.index_notation.nodes import Apply, Expr, Reduce
from sparray.compiler.index_notation.simplify import free_indices

__all__ = ["factor_invariants"]


def factor_invariants(expr: Expr, dtype_of: Callable[[Expr], str]) -> Expr:
    """Return the expression with loop-invariant factors outside of its sums.

    **Rewrite**: ``sum(k, M * A[k] * B[k])`` → ``M * sum(k, A[k] * B[k])``. The product
    is rounded once per sum instead of once per term. Nothing is moved that would
    change the dtype of the sum: a sum of bools is no number.
    """
    if isinstance(expr, Apply):
        operands = (factor_invariants(child, dtype_of) for child in expr.operands)
        return Apply(expr.op, tuple(operands))
    if not isinstance(expr, Reduce) or expr.op != "add":
        return expr
    outside: list[Expr] = []
    inside: list[Expr] = []
    for factor in _factors(expr.operand):
        depends = set(free_indices(factor)) & set(expr.indices)
        (inside if depends else outside).append(factor)
    if not outside or not inside:
        return expr
    left = Reduce("add", expr.indices, _product(inside))
    if dtype_of(left) != dtype_of(expr):
        return expr
    return _product([*outside, left])


def _factors(expr: Expr) -> list[Expr]:
    if isinstance(expr, Apply) and expr.op == "mul":
        return [*_factors(expr.operands[0]), *_factors(expr.operands[1])]
    return [expr]


def _product(factors: list[Expr]) -> Expr:
    result = factors[0]
    for factor in factors[1:]:
        result = Apply("mul", (result, factor))
    return result
