"""The formats that `infer_format` compares: one row for each, with its size.

Sizes follow from counts, so that nothing is converted to be measured. A new named
format is one row here.
"""

import math
from collections.abc import Callable
from itertools import pairwise

from sparray.formats.named import named_format
from sparray.formats.packing import narrowest_index_dtype
from sparray.functions.pattern_statistics import (
    BLOCK_SIZES,
    GROUPS,
    RUN_SIZES,
    PatternStatistics,
)
from sparray.records import dataclass

__all__ = ["CANDIDATES", "Candidate"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A format that may be recommended.

    Attributes
    ----------
    name : str
        As `Format.parse` takes it.
    n_bytes : callable
        The size of an array with given statistics, in bytes; None where it is not
        known from them.
    percent : int
        What its size counts for in the comparison. More than 100 stands for what it
        costs to compute with, beside csr or csf, where it takes the same memory.
    strength : str
        Why it would be chosen.
    """

    name: str
    n_bytes: Callable[[PatternStatistics], int | None]
    percent: int
    strength: str


def _dense(s: PatternStatistics) -> int:
    return s.size * s.value_bytes


def _csr(s: PatternStatistics) -> int:
    return (s.n_fibres + 1) * s.index_bytes + _last_level(s)


def _csc(s: PatternStatistics) -> int:
    return (s.shape[-1] + 1) * s.index_bytes + _last_level(s)


def _coo(s: PatternStatistics) -> int:
    index = 2 * min(1, s.ndim) + s.ndim * s.n_entries
    return index * s.index_bytes + s.n_entries * s.value_bytes


def _csf(s: PatternStatistics) -> int:
    pos = 2 + sum(parents + 1 for parents, _ in pairwise(s.prefixes))
    crd = sum(s.prefixes[:-1])
    return (pos + crd) * s.index_bytes + _last_level(s)


def _dcsc(s: PatternStatistics) -> int:
    columns = 0 if s.matrix is None else s.matrix.columns
    return (2 + 2 * columns + 1) * s.index_bytes + _last_level(s)


def _ell(s: PatternStatistics) -> int:
    slots = s.n_fibres * s.longest_fibre
    index = 1 + s.n_fibres + slots
    return index * s.index_bytes + slots * s.value_bytes


def _dia(s: PatternStatistics) -> int | None:
    if s.matrix is None:
        return None
    diagonals = s.matrix.diagonals
    extents = (max(0, sum(s.shape) - 1), s.shape[0])
    index_bytes = narrowest_index_dtype(extents, s.n_entries).itemsize
    values = diagonals * s.shape[0] * s.value_bytes
    return (2 + diagonals) * index_bytes + values


def _bitmap(s: PatternStatistics) -> int:
    return s.size * (1 + s.value_bytes)


def _blocks(side: int, dimension: int) -> Callable[[PatternStatistics], int | None]:
    """Return the size of blocks, listed for each row or column of them."""

    def n_bytes(s: PatternStatistics) -> int | None:
        if s.matrix is None:
            return None
        blocks = s.matrix.blocks[side]
        grid = [-(-extent // side) for extent in s.shape]
        index_bytes = narrowest_index_dtype((*grid, side), s.n_entries).itemsize
        index = (grid[dimension] + 1 + blocks) * index_bytes
        return index + blocks * side**2 * s.value_bytes

    return n_bytes


def _nm(n: int, m: int) -> Callable[[PatternStatistics], int | None]:
    def n_bytes(s: PatternStatistics) -> int | None:
        # Of those that fit, the one with the least room to spare.
        if not s.ndim or not n // 2 < max(1, s.fullest_runs[m]) <= n:
            return None
        slots = s.n_fibres * -(-s.shape[-1] // m) * n
        return slots * (1 + s.value_bytes)

    return n_bytes


def _nmg(n: int, m: int, g: int) -> Callable[[PatternStatistics], int | None]:
    format = named_format(f"nmg({n}, {m}, {g})", 2)

    def n_bytes(s: PatternStatistics) -> int | None:
        if s.matrix is None or (n, m, g) not in s.matrix.groups:
            return None
        extents = format.level_extents(s.shape)
        columns = math.prod(extents[:3])
        index_bytes = narrowest_index_dtype(extents, s.n_entries).itemsize
        return columns * (index_bytes + n * s.value_bytes)

    return n_bytes


def _last_level(s: PatternStatistics) -> int:
    """Return the size of a coordinate and a value for each entry."""
    return s.n_entries * (s.index_bytes + s.value_bytes)


# The first one wins a tie, and gives its name to a format that two names mean: they are
# in the order of the registry.
CANDIDATES: tuple[Candidate, ...] = (
    Candidate("dense", _dense, 100, "so much is stored that coordinates cost more"),
    Candidate("csr", _csr, 100, "fibres are found at once, and walked in order"),
    Candidate("csc", _csc, 110, "columns are far fewer than rows"),
    Candidate("dcsr", _csf, 110, "most rows are empty, and take no memory"),
    Candidate("dcsc", _dcsc, 120, "most columns are empty, and take no memory"),
    Candidate("coo", _coo, 120, "entries share few coordinates, a tree has no use"),
    Candidate("csf", _csf, 100, "coordinates that entries share are stored once"),
    Candidate("ell", _ell, 110, "rows are of one length"),
    Candidate("dia", _dia, 100, "few diagonals have all entries, and need no columns"),
    Candidate("bitmap", _bitmap, 110, "an element is found at once, stored or not"),
    *(
        Candidate(
            f"bcsr({side}, {side})",
            _blocks(side, 0),
            100,
            "entries fill blocks, which share one coordinate",
        )
        for side in BLOCK_SIZES
    ),
    *(
        Candidate(
            f"bcsc({side}, {side})",
            _blocks(side, 1),
            110,
            "entries fill blocks, and columns of blocks are fewer than rows",
        )
        for side in BLOCK_SIZES
    ),
    *(
        Candidate(
            f"nm({n}, {m})",
            _nm(n, m),
            120,
            f"no block of {m} has more than {n} entries, whose places take a byte",
        )
        for m in RUN_SIZES
        for n in (1, 2, 4)
        if 2 * n <= m
    ),
    *(
        Candidate(
            f"nmg({n}, {m}, {g})",
            _nmg(n, m, g),
            140,
            f"columns in groups of {g} share their {n} of {m} rows",
        )
        for n, m, g in GROUPS
    ),
)
"""Every named format that an array may be stored in, those with parameters in a few of
the common ones.

Batched ones are none of them: they take no less than those of their matrices.
"""
