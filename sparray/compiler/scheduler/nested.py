"""Sums inside of sums: each inner one is computed first, as a temporary."""

from collections.abc import Iterator

from sparray.compiler.index_notation.nodes import Expr, Reduce
from sparray.compiler.index_notation.traversal import (
    children,
    contains_reduce,
    replace_children,
)

__all__ = ["inner_reduction", "replace_expression"]


def inner_reduction(value: Expr) -> Reduce | None:
    """Return a reduction that stands inside another one and contains none itself.

    One that is the whole operand of another by the same operator joins it instead.
    """
    return next(_inside(value, None), None)


def _inside(expr: Expr, outer: Reduce | None) -> Iterator[Reduce]:
    for child in children(expr):
        yield from _inside(child, expr if isinstance(expr, Reduce) else outer)
    if not isinstance(expr, Reduce) or outer is None:
        return
    joins = outer.operand == expr and outer.op == expr.op
    if not joins and not contains_reduce(expr.operand):
        yield expr


def replace_expression(expr: Expr, old: Expr, new: Expr) -> Expr:
    """Return an expression with every occurrence of a part replaced."""
    if expr == old:
        return new
    operands = (replace_expression(child, old, new) for child in children(expr))
    return replace_children(expr, tuple(operands))
