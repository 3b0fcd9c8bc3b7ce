"""Choices inside choices by the same condition, which is known there."""

from collections.abc import Mapping

from sparray.compiler.index_notation.affine import bases
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.nodes import Apply, Assignment, Expr, Reduce
from sparray.compiler.index_notation.program import Program
from sparray.compiler.index_notation.traversal import (
    accesses,
    children,
    replace_children,
)

__all__ = ["settle_choices"]

Known = Mapping[Expr, bool]
DTypes = Mapping[str, str]


def settle_choices(program: Program, dtypes: DTypes) -> Program:
    """Return a program without choices that are settled where they stand.

    Parameters
    ----------
    program : Program
        The statements.
    dtypes : mapping of str to str
        Of every tensor in them.

    Notes
    -----
    **Rewrite**: ``where(m, f(where(m, a, b)), c)`` → ``where(m, f(a), c)``, if ``b``
    does not make the dtype a wider one.
    """
    statements = tuple(
        Assignment(statement.target, _settled(statement.value, {}, dtypes))
        for statement in program.statements
    )
    return Program(statements, program.outputs)


def _settled(expr: Expr, known: Known, dtypes: DTypes) -> Expr:
    if isinstance(expr, Reduce):
        # Inside, an index of the reduction is another one.
        known = {
            condition: holds
            for condition, holds in known.items()
            if not _indices(condition) & set(expr.indices)
        }
    if isinstance(expr, Apply) and expr.op == "where":
        condition = _settled(expr.operands[0], known, dtypes)
        if condition in known:
            taken = expr.operands[1 if known[condition] else 2]
            if result_dtype(taken, dtypes) == result_dtype(expr, dtypes):
                return _settled(taken, known, dtypes)
        yes = _settled(expr.operands[1], {**known, condition: True}, dtypes)
        no = _settled(expr.operands[2], {**known, condition: False}, dtypes)
        return Apply("where", (condition, yes, no))
    below = tuple(_settled(child, known, dtypes) for child in children(expr))
    return replace_children(expr, below)


def _indices(expr: Expr) -> set[str]:
    texts = [text for access in accesses(expr) for text in access.indices]
    return {index for text in texts for index in bases(text)}
