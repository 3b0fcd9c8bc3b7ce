"""Runs of equal numbers in sorted entries, which levels pack as one."""

import numpy as np
import numpy.typing as npt

__all__ = ["first_of_runs", "ranks"]

Numbers = npt.NDArray[np.int64]


def first_of_runs(
    parents: Numbers, coordinates: Numbers, *, merge: bool
) -> npt.NDArray[np.bool_]:
    """Mark the first of each run of entries that get one position.

    Parameters
    ----------
    parents, coordinates : int64[n]
        Entries sorted by both.
    merge : bool
        Whether equal entries are one position; else each has its own.
    """
    first = np.ones(len(parents), dtype=bool)
    if merge:
        first[1:] = (parents[1:] != parents[:-1]) | (
            coordinates[1:] != coordinates[:-1]
        )
    return first


def ranks(parents: Numbers) -> Numbers:
    """Return the place of each entry among those of its parent, from 0 on."""
    places = np.arange(len(parents), dtype=np.int64)
    starts = np.zeros(len(parents), dtype=np.int64)
    new = parents[1:] != parents[:-1]
    starts[1:][new] = places[1:][new]
    return places - np.maximum.accumulate(starts)
