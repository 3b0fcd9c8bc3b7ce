"""Every name that generated code contains, in one place.

Operands are ``A``, ``B``, ... and the result is ``out``; indices are ``i``, ``j``, ...
(`sparray.compiler.index_notation.canonical`). No name of a user gets this far.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from sparray.records import dataclass

__all__ = [
    "COUNT",
    "FILL",
    "OUTPUT",
    "THREADS",
    "Block",
    "Diagonal",
    "completed",
    "counts",
    "derived",
    "diagonal",
    "extent",
    "first",
    "level_buffer",
    "places",
    "position",
    "quotient",
    "remainder",
    "round_of",
    "slice_begin",
    "slice_length",
    "values",
    "is_operand",
    "whole",
    "wholes",
]

OUTPUT = "out"
"""The result's tensor name."""
COUNT = "count"
"""The entry point that counts the stored entries of a sparse result."""
FILL = "evaluate"
"""The entry point that computes the result's values (and coordinates)."""
THREADS = "threads"
"""The parameter with the largest number of threads to use."""


def extent(index: str) -> str:
    """Return the parameter that holds the number of values of an index.

    Of a coordinate with a parameter (``2*i+@1``) that is the extent of its dimension:
    ``n_w1``; of what `first` names, its first coordinate: ``first_w1``.
    """
    place = _PARAMETER.search(index)
    if place is None:
        return f"n_{index}"
    return f"first_w{place[1]}" if place[2] else f"n_w{place[1]}"


def first(coordinate: str) -> str:
    """Return the name under which sizes hold the first coordinate of an affine one."""
    return f"{coordinate}.first"


def level_buffer(tensor: str, level: int, role: str) -> str:
    """Return the buffer of one level (counted from 1): ``A2_pos``."""
    return f"{tensor}{level + 1}_{role}"


def values(tensor: str) -> str:
    """Return the buffer of a tensor's stored values."""
    return f"{tensor}_values"


def slice_length(buffer: str) -> str:
    """Return the parameter that holds the length of a slice's part of a buffer."""
    return f"{buffer}_slice"


def slice_begin(buffer: str) -> str:
    """Return the hint for the variable with the place where a slice's part begins."""
    return f"{buffer}_begin"


def counts(tensor: str, level: int) -> str:
    """Return the buffer of stored entries per unit of a sparse result's level."""
    return f"{tensor}{level + 1}_counts"


def places(tensor: str, level: int) -> str:
    """Return the buffer with the positions of an arranged level's coordinates."""
    return f"{tensor}{level + 1}_places"


def round_of(level: int) -> str:
    """Return the entry point that tells what a level of a result is to hold."""
    return f"{COUNT}{level + 1}"


def position(tensor: str, level: int) -> str:
    """Return the hint for a variable that holds a position in a level."""
    return f"p{tensor}{level + 1}"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an index: its quotient by a block size, or the remainder."""

    base: str
    size: int
    is_remainder: bool


@dataclass(frozen=True, slots=True)
class Diagonal:
    """The difference of two indices, ``column - row``, counted from the lowest."""

    column: str
    row: str


_PARAMETER = re.compile(r"@(\d+)(\.first)?$")
_BLOCK = re.compile(r"([a-z]\d*)([qr])(\d+)")
_DIAGONAL = re.compile(r"([a-z]\d*)m([a-z]\d*)")


def quotient(index: str, block: int) -> str:
    """Return the index ``index // block``: ``jq4``."""
    return f"{index}q{block}"


def remainder(index: str, block: int) -> str:
    """Return the index ``index % block``: ``jr4``."""
    return f"{index}r{block}"


def diagonal(column: str, row: str) -> str:
    """Return the index ``column - row``: ``jmi``."""
    return f"{column}m{row}"


def completed(bound: Collection[str]) -> frozenset[str]:
    """Return the indices that are known once some are: those, and wholes of parts."""
    known = set(bound)
    changed = True
    while changed:
        changed = False
        for name in list(known):
            part = derived(name)
            whole = None
            if isinstance(part, Block):
                pair = {quotient(part.base, part.size), remainder(part.base, part.size)}
                whole = part.base if pair <= known else None
            elif isinstance(part, Diagonal):
                whole = part.column if part.row in known else None
            if whole is not None and whole not in known:
                known.add(whole)
                changed = True
    return frozenset(known)


def is_operand(tensor: str) -> bool:
    """Tell whether a tensor is an operand of the expression, and no temporary."""
    return tensor[:1].isupper()


def whole(index: str) -> str:
    """Return the index that a loop's index is a part of; itself if it is no part."""
    part = derived(index)
    if isinstance(part, Block):
        return part.base
    return part.column if isinstance(part, Diagonal) else index


def wholes(indices: Iterable[str]) -> tuple[str, ...]:
    """Return the indices with blocks' parts replaced by what they are parts of."""
    made: dict[str, None] = {}
    for index in indices:
        part = derived(index)
        made[part.base if isinstance(part, Block) else index] = None
    return tuple(made)


@lru_cache(maxsize=4096)
def derived(index: str) -> Block | Diagonal | None:
    """Return what a derived index is made of; None for an index of the expression.

    Indices of expressions are a letter, or a letter and digits, so the three kinds of
    derived names cannot be theirs.
    """
    block = _BLOCK.fullmatch(index)
    if block is not None:
        return Block(block[1], int(block[3]), block[2] == "r")
    difference = _DIAGONAL.fullmatch(index)
    if difference is not None:
        return Diagonal(difference[1], difference[2])
    return None
