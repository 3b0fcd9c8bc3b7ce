"""Put temporaries where they are read, if that computes nothing twice."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import count

from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.nodes import (
    Access,
    Assignment,
    Expr,
    Reduce,
)
from sparray.compiler.index_notation.program import Program, live_statements
from sparray.compiler.index_notation.traversal import (
    accesses,
    children,
    contains_reduce,
    depth,
    free_indices,
    rename_indices,
    replace_children,
    walk,
)

__all__ = ["inline_temporaries"]

_MAX_DEPTH = 50
"""Nested operations up to which an expression grows; every stage recurses over it."""


def inline_temporaries(program: Program, kept: Collection[str] = ()) -> Program:
    """Return a program with fewer statements that computes the same.

    Parameters
    ----------
    program : Program
        A verified program.
    kept : collection of str
        Temporaries that stay arrays, besides the results.

    Returns
    -------
    Program
        Its live statements, less those whose temporary now stands where it was read.

    Notes
    -----
    **Rewrite**: ``T[a] = f(a); C[i] = g(T[i])`` → ``C[i] = g(f(i))``, where ``T`` is
    read once, at indices that are all that the place is computed for: then ``f`` is
    evaluated no oftener than before. A reduction is not put inside another one, which
    would need the temporary after all. In ``C`` the indices that ``f`` reduces over get
    names that are free there.
    """
    statements = list(live_statements(program))
    done = False
    while not done:
        done = True
        uses = Counter(
            node.tensor
            for statement in statements
            for node in walk(statement.value)
            if isinstance(node, Access)
        )
        for statement in statements:
            name = statement.target.tensor
            if name in program.outputs or name in kept or uses[name] != 1:
                continue
            reader = _reader(name, statements)
            made = _inlined(statement, statements[reader])
            if made is not None:
                statements[reader] = made
                statements.remove(statement)
                done = False
                break
    return Program(tuple(statements), program.outputs)


def _reader(name: str, statements: list[Assignment]) -> int:
    return next(
        number
        for number, statement in enumerate(statements)
        if any(access.tensor == name for access in accesses(statement.value))
    )


def _inlined(made: Assignment, reader: Assignment) -> Assignment | None:
    """Return the reader with the temporary's expression in it; None to leave it."""
    access, reduced = next(
        found
        for found in _places(reader.value, ())
        if found[0].tensor == made.target.tensor
    )
    if not accesses(made.value) or (reduced and contains_reduce(made.value)):
        return None
    if any(map(is_affine, access.indices)):
        # A coordinate is no name for the index of a whole statement.
        return None
    if not {*reader.target.indices, *reduced} <= set(access.indices):
        return None
    names = dict(zip(made.target.indices, access.indices, strict=True))
    taken = {i for node in walk(reader.value) for i in _indices(node)}
    taken |= set(reader.target.indices)
    fresh = (f"i{number}" for number in count() if f"i{number}" not in taken)
    # A tensor may have that name, and would be taken for the index.
    tensors = {a.tensor for s in (made, reader) for a in accesses(s.value)}
    names |= {
        index: next(name for name in fresh if name not in tensors)
        for node in walk(made.value)
        if isinstance(node, Reduce)
        for index in node.indices
    }
    value = _replaced(reader.value, access, rename_indices(made.value, names))
    return None if depth(value) > _MAX_DEPTH else Assignment(reader.target, value)


def _places(
    expr: Expr, reduced: tuple[str, ...]
) -> Iterator[tuple[Access, tuple[str, ...]]]:
    """Yield every access and the indices that are reduced around it."""
    if isinstance(expr, Access):
        yield expr, reduced
    if isinstance(expr, Reduce):
        reduced = (*reduced, *expr.indices)
    for child in children(expr):
        yield from _places(child, reduced)


def _indices(node: Expr) -> tuple[str, ...]:
    if isinstance(node, Access):
        return free_indices(node)
    return node.indices if isinstance(node, Reduce) else ()


def _replaced(expr: Expr, access: Access, value: Expr) -> Expr:
    if expr == access:
        return value
    operands = tuple(_replaced(child, access, value) for child in children(expr))
    return replace_children(expr, operands)
