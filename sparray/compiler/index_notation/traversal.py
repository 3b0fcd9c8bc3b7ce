"""Walks over expressions of index notation (and CIN right-hand sides)."""

from collections.abc import Collection, Iterator, Mapping

from sparray.compiler.identity import cached_by_identity
from sparray.compiler.index_notation.affine import bases, rename_coordinate
from sparray.compiler.index_notation.nodes import Access, Apply, Expr, Literal, Reduce
from sparray.compiler.loop_ir.operators import operator
from sparray.errors import InternalError

__all__ = [
    "accesses",
    "children",
    "contains_reduce",
    "depth",
    "free_indices",
    "marks",
    "rename_indices",
    "rename_tensors",
    "replace_children",
    "substitute",
    "walk",
    "with_stored",
]


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions, in order."""
    if isinstance(expr, Apply):
        return expr.operands
    if isinstance(expr, Reduce):
        return (expr.operand,)
    if isinstance(expr, Access | Literal):
        return ()
    raise InternalError(f"expected an expression, got {expr!r}")


def replace_children(expr: Expr, operands: tuple[Expr, ...]) -> Expr:
    """Return the same node over other subexpressions."""
    if isinstance(expr, Apply):
        return Apply(expr.op, operands)
    if isinstance(expr, Reduce):
        return Reduce(expr.op, expr.indices, operands[0])
    return expr


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield every node, parents first, left to right; does not recurse."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def depth(expr: Expr) -> int:
    """Return the number of nodes on the longest path; does not recurse."""
    deepest = 0
    pending = [(expr, 1)]
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in children(node))
    return deepest


@cached_by_identity(4096)
def accesses(expr: Expr) -> tuple[Access, ...]:
    """Return the distinct accesses in order of first appearance.

    Parameters
    ----------
    expr : Expr
        Any expression.

    Returns
    -------
    tuple of Access
        ``A[i,j]`` read twice counts once; ``A[i,j]`` and ``A[j,i]`` are two.
    """
    return tuple(dict.fromkeys(n for n in walk(expr) if isinstance(n, Access)))


def contains_reduce(expr: Expr) -> bool:
    """Tell whether there is a `Reduce` anywhere in the expression."""
    return any(isinstance(node, Reduce) for node in walk(expr))


@cached_by_identity(4096)
def free_indices(expr: Expr) -> tuple[str, ...]:
    """Return the indices that no `Reduce` binds, in order of first appearance.

    Parameters
    ----------
    expr : Expr
        Any expression.

    Returns
    -------
    tuple of str
        Each index once.
    """
    if isinstance(expr, Access):
        return tuple(dict.fromkeys(i for index in expr.indices for i in bases(index)))
    if isinstance(expr, Reduce):
        return tuple(i for i in free_indices(expr.operand) if i not in expr.indices)
    return tuple(
        dict.fromkeys(i for child in children(expr) for i in free_indices(child))
    )


def rename_indices(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Return the expression with other names for all its indices."""
    if isinstance(expr, Access):
        coordinates = (rename_coordinate(i, names) for i in expr.indices)
        return Access(expr.tensor, tuple(coordinates))
    operands = tuple(rename_indices(child, names) for child in children(expr))
    if isinstance(expr, Reduce):
        return Reduce(expr.op, tuple(names[i] for i in expr.indices), operands[0])
    return replace_children(expr, operands)


def rename_tensors(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Return the expression with other names for some of its tensors."""
    others = {
        access: Access(names[access.tensor], access.indices)
        for access in accesses(expr)
        if access.tensor in names
    }
    return substitute(expr, others)


def substitute(expr: Expr, mapping: Mapping[Access, Expr]) -> Expr:
    """Return the expression with accesses replaced.

    Parameters
    ----------
    expr : Expr
        Any expression.
    mapping : mapping of Access to Expr
        What replaces each access; an access that is not a key stays. Replacements
        are not searched again.

    Returns
    -------
    Expr
        The new expression, not simplified.
    """
    if isinstance(expr, Access):
        return mapping.get(expr, expr)
    return replace_children(
        expr, tuple(substitute(child, mapping) for child in children(expr))
    )


def marks(expr: Expr) -> tuple[Access, ...]:
    """Return the accesses that are asked whether they store an entry."""
    return tuple(
        dict.fromkeys(
            node.operands[0]
            for node in walk(expr)
            if isinstance(node, Apply)
            and operator(node.op).of_stored is not None
            and isinstance(node.operands[0], Access)
        )
    )


def with_stored(expr: Expr, present: Collection[Access]) -> Expr:
    """Return the expression where accesses are known to store an entry.

    Parameters
    ----------
    expr : Expr
        Any expression.
    present : collection of Access
        The accesses that store one.
    """
    if not present:
        return expr
    if isinstance(expr, Apply) and expr.operands[0] in present:
        value = operator(expr.op).of_stored
        if value is not None:
            return Literal(value)
    return replace_children(
        expr, tuple(with_stored(child, present) for child in children(expr))
    )
