"""Entries on their way through the levels of a format that is being packed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.formats.coordinates import equal_neighbours, sort_order
from sparray.formats.level import Level

__all__ = ["MovingEntries"]

Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class MovingEntries:
    """Entries, kept in the order of their positions in the level just packed.

    Attributes
    ----------
    coords : int64[ndim, n]
        Coordinates along each dimension.
    rows : list of int64[n]
        Coordinates in each level.
    values : dtype[n]
        Value of each entry.
    positions : int64[n]
        Position of each entry in the level just packed; ascending.
    same_prefix : bool[n]
        Whether an entry has the coordinates of the one before it in all levels so far.
    """

    coords: Numbers
    rows: list[Numbers]
    values: npt.NDArray[Any]
    positions: Numbers
    same_prefix: npt.NDArray[np.bool_]

    @classmethod
    def sorted(
        cls, coords: Numbers, rows: list[Numbers], values: npt.NDArray[Any]
    ) -> "MovingEntries":
        """Return entries in the order of the levels, before the first of them."""
        by_level = sort_order(rows)
        if by_level is not None:
            coords, values = coords[:, by_level], values[by_level]
            rows = [row[by_level] for row in rows]
        positions = np.zeros(len(values), dtype=np.int64)
        return cls(coords, rows, values, positions, equal_neighbours([], len(values)))

    def enter(self, level: Level, row: Numbers, positions: Numbers) -> None:
        """Move on to the positions in a level, given its coordinates."""
        self.same_prefix &= equal_neighbours([row], len(row))
        self.positions = positions
        if not level.ordered:
            # Entries with one prefix have one position: they stay side by side.
            self._reorder(sort_order([positions]))

    def _reorder(self, order: Numbers | None) -> None:
        if order is None:
            return
        self.coords = self.coords[:, order]
        self.rows = [row[order] for row in self.rows]
        self.values = self.values[order]
        self.positions = self.positions[order]
        self.same_prefix = self.same_prefix[order]
