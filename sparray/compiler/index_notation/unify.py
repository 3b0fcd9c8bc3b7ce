"""One set of canonical names for statements that are to be one nest of loops."""

from collections.abc import Container, Iterator, Sequence

from sparray.compiler.index_notation.affine import is_affine
from sparray.compiler.index_notation.canonical import (
    TARGET,
    index_name,
    operand_name,
    symbolize,
)
from sparray.compiler.index_notation.nodes import Access, Assignment, Reduce
from sparray.compiler.index_notation.traversal import (
    accesses,
    free_indices,
    rename_indices,
    substitute,
    walk,
)
from sparray.errors import UnsupportedError
from sparray.records import dataclass

__all__ = ["Unified", "unify_statements"]

_Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Unified:
    """Statements in common canonical names.

    Attributes
    ----------
    statements : tuple of Assignment
        The last one's target is ``out``, the others' are ``t1``, ``t2``, ... Along
        a temporary's dimension every statement has the same index.
    operands : tuple of (str, str)
        Each operand, and the tensor that it reads: every access has one of its own.
    sources : tuple of (str, str)
        Each coordinate with a parameter, and what it was (`symbolize`).
    """

    statements: tuple[Assignment, ...]
    operands: tuple[tuple[str, str], ...]
    sources: tuple[tuple[str, str], ...] = ()


def unify_statements(statements: Sequence[Assignment]) -> Unified:
    """Give statements common names of indices, operands and temporaries.

    Parameters
    ----------
    statements : sequence of Assignment
        Each reads what the ones before it assign; the last one is the result.

    Returns
    -------
    Unified
        The same statements.

    Raises
    ------
    UnsupportedError
        If two indices of one statement would have to be one: a temporary is read with
        two lists of indices, or in a window.

    Notes
    -----
    **Rewrite**: ``T[a,b] = ...; y[k] = sum(l, T[k,l])`` → ``t1[i,j] = ...; out[i] =
    sum(j, t1[i,j])``.
    """
    made = {
        statement.target.tensor: f"t{number + 1}"
        for number, statement in enumerate(statements)
    }
    _refuse_windows(statements, made)
    names = _index_names(statements)
    made[statements[-1].target.tensor] = TARGET
    operands: dict[Access, str] = {}
    unified = []
    for number, statement in enumerate(statements):
        own = {i: names[number, i] for i in _indices(statement)}
        value = rename_indices(statement.value, own)
        for access in accesses(value):
            if access.tensor not in made:
                operands.setdefault(access, operand_name(len(operands)))
        renamed = {
            a: Access(made.get(a.tensor) or operands[a], a.indices)
            for a in accesses(value)
        }
        target = statement.target
        indices = tuple(own[i] for i in target.indices)
        unified.append(
            Assignment(Access(made[target.tensor], indices), substitute(value, renamed))
        )
    reads = tuple((name, access.tensor) for access, name in operands.items())
    sources: dict[str, str] = {}
    symbolic = []
    for statement in unified:
        made_symbolic, found = symbolize(statement, len(sources) + 1)
        symbolic.append(made_symbolic)
        sources |= found
    return Unified(tuple(symbolic), reads, tuple(sources.items()))


def _refuse_windows(statements: Sequence[Assignment], made: Container[str]) -> None:
    """Refuse temporaries that are read elsewhere than where they are made."""
    for statement in statements:
        for access in accesses(statement.value):
            if access.tensor in made and any(map(is_affine, access.indices)):
                raise UnsupportedError("a temporary is read at a window of an index")


def _index_names(statements: Sequence[Assignment]) -> dict[_Key, str]:
    """Return the common name of each statement's indices."""
    parents: dict[_Key, _Key] = {}

    def root(key: _Key) -> _Key:
        while parents.setdefault(key, key) != key:
            key = parents[key]
        return key

    made: dict[str, tuple[int, Access]] = {}
    for number, statement in enumerate(statements):
        for access in accesses(statement.value):
            if access.tensor not in made:
                continue
            origin, target = made[access.tensor]
            for outer, index in zip(target.indices, access.indices, strict=True):
                parents[root((number, index))] = root((origin, outer))
        made[statement.target.tensor] = (number, statement.target)
    names: dict[_Key, str] = {}
    found: dict[_Key, str] = {}
    for number in reversed(range(len(statements))):
        own = dict.fromkeys(_indices(statements[number]))
        for index in own:
            key = root((number, index))
            found[number, index] = names.setdefault(key, index_name(len(names)))
        if len({found[number, index] for index in own}) < len(own):
            raise UnsupportedError("a temporary is read with two lists of indices")
    return found


def _indices(statement: Assignment) -> Iterator[str]:
    """Yield every index of a statement, the target's first."""
    yield from statement.target.indices
    for node in walk(statement.value):
        if isinstance(node, Access):
            yield from free_indices(node)
        elif isinstance(node, Reduce):
            yield from node.indices
