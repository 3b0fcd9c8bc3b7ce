"""The formats that `infer_format` compares: one row for each, with its size.

Sizes follow from counts, so that nothing is converted to be measured. A new named
format is one row here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from sparray.functions.pattern_statistics import PatternStatistics

__all__ = ["CANDIDATES", "Candidate"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A format that may be recommended.

    Attributes
    ----------
    name : str
        As `Format.parse` takes it.
    n_bytes : callable
        The size of an array with given statistics, in bytes.
    percent : int
        What its size counts for in the comparison. More than 100 stands for what it
        costs to compute with, beside csr or csf, where it takes the same memory.
    strength : str
        Why it would be chosen.
    """

    name: str
    n_bytes: Callable[[PatternStatistics], int]
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
)
"""Every named format that an array may be stored in, whatever its entries."""
