"""Whether few fibres of an array have most of its entries."""

from collections.abc import Mapping, Sequence

import numpy as np

from sparray.formats.level import IntArray

__all__ = ["FEW_ENTRIES", "unevenness"]

FEW_ENTRIES = 4096
"""Stored entries up to which a kernel takes no longer than counting them would."""


def unevenness(levels: Sequence[Mapping[str, IntArray]], n_values: int) -> int:
    """Return the class of how much the lengths of an array's fibres differ.

    It is the power of 8 of the mean length of the fibre that an entry is in, in units
    of what that is where entries are spread at random; 0 for few entries.

    Notes
    -----
    O(fibres) of each level that has fibres.
    """
    if n_values <= FEW_ENTRIES:
        return 0
    found = [_uneven(buffers["pos"]) for buffers in levels if "pos" in buffers]
    return max(found, default=0)


def _uneven(pos: IntArray) -> int:
    lengths = np.diff(pos).astype(np.float64)
    total = float(lengths.sum())
    if total <= 0:
        return 0
    # A pair is two entries of one fibre: no pair where all have one entry.
    # No BLAS here: it would wake its threads for a millisecond's work.
    pairs = float(np.square(lengths).sum()) - total
    times = int(pairs * len(lengths) / total**2)
    return max(0, times.bit_length() - 1) // 3
