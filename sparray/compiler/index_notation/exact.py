"""Arithmetic in which what is not stored is its fill value, NaN and inf included."""

from collections.abc import Mapping

from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.nodes import Apply, Expr
from sparray.compiler.index_notation.traversal import children, replace_children
from sparray.compiler.loop_ir.dtypes import dtype_kind
from sparray.compiler.loop_ir.operators import operator

__all__ = ["without_annihilators"]


def without_annihilators(expr: Expr, dtypes: Mapping[str, str]) -> Expr:
    """Return the expression with operators that 0 does not end (``missing="fill"``).

    Parameters
    ----------
    expr : Expr
        An expression of index notation.
    dtypes : mapping of str to str
        The dtype of each tensor.

    Returns
    -------
    Expr
        **Rewrite**: ``x * y`` → ``times(x, y)``, ``x / y`` → ``over(x, y)``, ..., which
        are the same functions in rows of their own. Integers and bools have neither NaN
        nor inf, so their products stay.
    """
    operands = tuple(without_annihilators(child, dtypes) for child in children(expr))
    made = replace_children(expr, operands)
    if not isinstance(made, Apply):
        return made
    exact = operator(made.op).exact
    if exact is None or dtype_kind(result_dtype(made, dtypes)) in "biu":
        return made
    return Apply(exact, made.operands)
