"""Counts of a pattern from which the size of an array in any format follows."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import PatternError
from sparray.formats.coordinates import combine_duplicates, equal_neighbours, sort_order
from sparray.formats.level import Arranging
from sparray.formats.named import named_format
from sparray.formats.packing import narrowest_index_dtype
from sparray.records import dataclass

__all__ = [
    "BLOCK_SIZES",
    "GROUPS",
    "RUN_SIZES",
    "MatrixStatistics",
    "PatternStatistics",
    "pattern_statistics",
]

Coordinates = npt.NDArray[np.int64]

BLOCK_SIZES = (2, 4, 8)
"""Sides of the square blocks that are counted."""

RUN_SIZES = (2, 4, 8)
"""Lengths of the blocks along the last dimension whose entries are counted."""
GROUPS = ((1, 4, 16), (2, 4, 16), (1, 10, 16))
"""Parameters of the grouped n:m formats that are tried."""

_LARGEST_KEY = 2**63
_MOST_PLACES = 8
"""Places for each entry up to which a grouped n:m format is tried: with more of them
it takes more memory than any list of coordinates."""


@dataclass(frozen=True, slots=True)
class MatrixStatistics:
    """What is counted of two dimensions only.

    Attributes
    ----------
    columns : int
        Columns with an entry.
    diagonals : int
        Different values of ``j - i``.
    blocks : dict of int to int
        Blocks with an entry by the length of their side.
    groups : tuple of (int, int, int)
        Those of `GROUPS` in which the entries fit.
    """

    columns: int
    diagonals: int
    blocks: dict[int, int]
    groups: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class PatternStatistics:
    """Counts of the distinct coordinates of an array.

    Attributes
    ----------
    shape : tuple of int
        Extent of each dimension.
    n_entries : int
        Stored entries, repeated coordinates counted once.
    prefixes : tuple of int
        How many different coordinates there are in the first dimension, in the first
        two, and so on; the last is ``n_entries``.
    longest_fibre : int
        The most entries that differ in the last dimension only.
    fullest_runs : dict of int to int
        The most entries in a block along the last dimension, by its length.
    value_bytes, index_bytes : int
        Size of a value, and of an index that is wide enough.
    matrix : MatrixStatistics or None
        None unless there are two dimensions.
    """

    shape: tuple[int, ...]
    n_entries: int
    prefixes: tuple[int, ...]
    longest_fibre: int
    fullest_runs: dict[int, int]
    value_bytes: int
    index_bytes: int
    matrix: MatrixStatistics | None

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def n_fibres(self) -> int:
        """Number of fibres along the last dimension, empty ones included."""
        return math.prod(self.shape[:-1])

    @property
    def stored_fibres(self) -> int:
        """Number of fibres along the last dimension with an entry."""
        return self.prefixes[-2] if self.ndim > 1 else min(1, self.n_entries)


def pattern_statistics(
    shape: tuple[int, ...], coords: Coordinates, dtype: np.dtype[Any]
) -> PatternStatistics:
    """Count what the sizes of formats depend on.

    Parameters
    ----------
    shape : tuple of int
        Extent of each dimension.
    coords : int64[ndim, n]
        Coordinates of the entries in any order, repeated or not.
    dtype : dtype
        Of the values.

    Notes
    -----
    O(ndim * n) for entries in lexicographic order, and one sort for those in another;
    columns, diagonals and blocks of a matrix are counted by sorting one key each, and
    entries are arranged for each grouped n:m format that they may fit.
    """
    order = range(len(shape))
    coords, _ = combine_duplicates(coords, np.ones(coords.shape[1], np.bool_), order)
    n_entries = coords.shape[1]
    same = np.ones(n_entries, dtype=bool)
    same[:1] = False
    prefixes = []
    longest = n_entries
    for dimension, row in enumerate(coords):
        if dimension == len(shape) - 1:
            longest = _longest_run(same, n_entries)
        same &= equal_neighbours([row], n_entries)
        prefixes.append(n_entries - int(np.count_nonzero(same)))
    return PatternStatistics(
        shape,
        n_entries,
        tuple(prefixes),
        longest,
        {size: _fullest_run(coords, size) for size in RUN_SIZES if len(shape)},
        dtype.itemsize,
        narrowest_index_dtype(shape, n_entries).itemsize,
        _matrix_statistics(shape, coords) if len(shape) == 2 else None,
    )


def _longest_run(same: npt.NDArray[np.bool_], n_entries: int) -> int:
    """Return the length of the longest run of entries that are like the one before."""
    if n_entries == 0:
        return 0
    return int(np.diff(np.flatnonzero(~same), append=n_entries).max())


def _matrix_statistics(shape: tuple[int, ...], coords: Coordinates) -> MatrixStatistics:
    rows, columns = coords
    return MatrixStatistics(
        _count_distinct([columns], shape[1:]),
        _count_distinct([columns - rows + (shape[0] - 1)], [shape[0] + shape[1]]),
        {
            side: _count_distinct(
                [rows // side, columns // side],
                [-(-extent // side) for extent in shape],
            )
            for side in BLOCK_SIZES
        },
        tuple(group for group in GROUPS if _fits(coords, shape, *group)),
    )


def _fullest_run(coords: Coordinates, size: int) -> int:
    """Return the most entries in a block of a size along the last dimension."""
    *outer, last = coords
    same = equal_neighbours([*outer, last // size], len(last))
    return _longest_run(same, len(last))


def _fits(coords: Coordinates, shape: tuple[int, ...], n: int, m: int, g: int) -> bool:
    """Whether the entries of a matrix have an arrangement in groups of n of m."""
    format = named_format(f"nmg({n}, {m}, {g})", 2)
    extents = format.level_extents(shape)
    n_chunks = extents[0] * extents[1]
    if n * n_chunks * extents[2] > _MOST_PLACES * coords.shape[1]:
        return False
    rows = format.level_coordinates(coords, shape)
    by_level = sort_order(rows)
    if by_level is not None:
        rows = [row[by_level] for row in rows]
    chunks = rows[0] * extents[1] + rows[1]
    level = format.levels[-1]
    try:
        if isinstance(level, Arranging):
            level.arrange(chunks, rows[2], rows[3], n_chunks, extents[2])
    except PatternError:
        return False
    return True


def _count_distinct(keys: Sequence[Coordinates], extents: Sequence[int]) -> int:
    """Return the number of different columns of a table of coordinates."""
    n_entries = len(keys[0])
    bound = math.prod(extents)
    if bound < _LARGEST_KEY:
        joined = keys[0]
        for key, extent in zip(keys[1:], extents[1:], strict=True):
            joined = joined * extent + key
        if bound <= 4 * n_entries:
            marks = np.zeros(bound, dtype=bool)
            marks[joined] = True
            return int(np.count_nonzero(marks))
        keys = [joined]
    by_keys = sort_order(keys)
    if by_keys is not None:
        keys = [key[by_keys] for key in keys]
    return n_entries - int(np.count_nonzero(equal_neighbours(keys, n_entries)))
