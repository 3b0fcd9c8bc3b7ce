"""How often the coordinates of a list are repeated, from a sample of its entries."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sparray.formats.format import Format
from sparray.formats.level import IntArray
from sparray.formats.packing import LevelBuffers
from sparray.formats.unevenness import FEW_ENTRIES

__all__ = ["distinct_coordinates", "repetition"]

_SAMPLE = 2**11
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def repetition(format: Format, levels: LevelBuffers, n_values: int) -> int:
    """Return the class of how often a list repeats its coordinates.

    It is the power of 4 of the mean number of entries that have the same ones; 0 for
    arrays whose coordinates are in order or not repeated, and for few entries.
    """
    distinct = distinct_coordinates(format, levels, n_values)
    if distinct is None:
        return 0
    return ((n_values // distinct).bit_length() - 1) // 2


def distinct_coordinates(
    format: Format, levels: LevelBuffers, n_values: int
) -> int | None:
    """Return about how many coordinates of a list differ; None of any other array.

    Notes
    -----
    Of a sample of evenly spaced entries, the pairs with the same coordinates are
    counted: k entries of d coordinates have about k**2 / 2d. So no more than about a
    million can be told from all being different; then the list is said to repeat none.
    """
    if format.unique or format.is_sorted or n_values <= FEW_ENTRIES:
        return None
    rows = [buffers["crd"] for buffers in levels if "crd" in buffers]
    if len(rows) != len(levels) or any(len(row) != n_values for row in rows):
        return None
    pairs = _equal_pairs(rows, n_values)
    if pairs < _FEWEST_PAIRS:
        return n_values
    return max(1, min(n_values, round(_SAMPLE * (_SAMPLE - 1) / (2 * pairs))))


_FEWEST_PAIRS = 2
"""Equal pairs of a sample below which it says nothing."""


def _equal_pairs(rows: Sequence[IntArray], n_values: int) -> int:
    """Return how many pairs of a sample's entries have the same coordinates."""
    at = np.arange(_SAMPLE) * n_values // _SAMPLE
    mixed: npt.NDArray[np.uint64] = np.zeros(_SAMPLE, np.uint64)
    for row in rows:
        mixed += row[at].astype(np.uint64)
        mixed *= _FACTOR
    _, counts = np.unique(mixed, return_counts=True)
    return int((counts * (counts - 1) // 2).sum())
