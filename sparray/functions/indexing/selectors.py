"""Selectors: which coordinates of one dimension are taken, and what they become."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.records import dataclass

__all__ = ["Among", "Every", "Matched", "Pick", "Selector", "Window"]

_MANY = 2**12
"""Coordinates from which on most are ruled out before the rest is searched for."""
_ROOM = 8
"""Places of a table for each coordinate that is looked up in it."""

Coordinates = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Matched:
    """Which of some coordinates are taken, in which order, and their new coordinates.

    ``taken`` is a mask, or the number of the coordinate for each result, or None where
    all are taken in order.
    """

    taken: npt.NDArray[Any] | None
    labels: Coordinates


@dataclass(frozen=True, slots=True)
class Every:
    """All coordinates of a dimension, as they are."""

    extent: int

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The smallest and the largest coordinate taken; None where all may be."""
        return None

    def chosen(self) -> tuple[Coordinates, Coordinates]:
        """Return the coordinates that are taken, and what they become."""
        all_of_them = np.arange(self.extent)
        return all_of_them, all_of_them

    def match(self, coordinates: Coordinates) -> Matched:
        """Return which of the coordinates are taken."""
        return Matched(None, coordinates)


@dataclass(frozen=True, slots=True)
class Window:
    """``length`` coordinates from ``start`` on, each ``step`` after the one before.

    ``point`` says that it is an integer: the dimension is none of the result's.
    """

    start: int
    step: int
    length: int
    point: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest coordinate taken."""
        last = self.start + self.step * (self.length - 1)
        return (self.start, last) if self.step > 0 else (last, self.start)

    def chosen(self) -> tuple[Coordinates, Coordinates]:
        """Return the coordinates that are taken, and what they become."""
        numbers = np.arange(self.length)
        return self.start + self.step * numbers, numbers

    def match(self, coordinates: Coordinates) -> Matched:
        """Return which of the coordinates are taken."""
        low, high = self.bounds
        taken = (coordinates >= low) & (coordinates <= high)
        wide = coordinates.astype(np.int64, copy=False) - self.start
        if abs(self.step) != 1:
            taken &= wide % self.step == 0
        labels = wide[taken]
        if self.step != 1:
            labels = labels // self.step
        return Matched(taken, labels)


class Pick:
    """The coordinates of a list, in any order and any number of times.

    Parameters
    ----------
    coordinates : int64[n]
        Inside the extent; each becomes its number in the list.
    """

    def __init__(self, coordinates: npt.NDArray[np.int64]) -> None:
        self.coordinates = coordinates

    # Rows that are cut out of the buffers need no order of their numbers.
    @cached_property
    def order(self) -> npt.NDArray[np.int64] | None:
        """The stable order that sorts the list; None where it ascends."""
        if (self.coordinates[1:] > self.coordinates[:-1]).all():
            return None
        return np.argsort(self.coordinates, kind="stable")

    @cached_property
    def sorted(self) -> npt.NDArray[np.int64]:
        """The list in ascending order."""
        return self.coordinates if self.order is None else self.coordinates[self.order]

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest coordinate taken."""
        if len(self.sorted) == 0:
            return 0, -1
        return int(self.sorted[0]), int(self.sorted[-1])

    def chosen(self) -> tuple[Coordinates, Coordinates]:
        """Return the coordinates that are taken, and what they become."""
        return self.coordinates, np.arange(len(self.coordinates))

    def match(self, coordinates: Coordinates) -> Matched:
        """Return which of the coordinates are taken: each as often as it is listed."""
        if len(self.sorted) == 0:
            return Matched(np.zeros(len(coordinates), bool), self.sorted)
        if len(coordinates) > _MANY:
            there = np.flatnonzero(self._may_have(coordinates))
            found = self._searched(coordinates[there])
            return Matched(there[found.taken], found.labels)
        return self._searched(coordinates)

    def _may_have(self, coordinates: Coordinates) -> npt.NDArray[np.bool_]:
        """Mark coordinates that may be listed: by a table, if there is room for it."""
        low, high = self.bounds
        inside = (coordinates >= low) & (coordinates <= high)
        if high - low > _ROOM * len(coordinates):
            return inside
        table = np.zeros(high - low + 1, bool)
        table[self.sorted - low] = True
        inside[inside] = table[coordinates[inside] - low]
        return inside

    def _searched(self, coordinates: Coordinates) -> Matched:
        first = np.searchsorted(self.sorted, coordinates, "left")
        if self.order is None:
            inside = np.minimum(first, len(self.sorted) - 1)
            taken = self.sorted[inside] == coordinates
            return Matched(taken, first[taken])
        counts = np.searchsorted(self.sorted, coordinates, "right") - first
        taken = np.repeat(np.arange(len(coordinates)), counts)
        within = np.arange(len(taken)) - np.repeat(np.cumsum(counts) - counts, counts)
        return Matched(taken, self.order[np.repeat(first, counts) + within])


class Among:
    """The coordinates of a set, as they are: a group of dimensions decides later.

    Parameters
    ----------
    coordinates : callable
        Returns them, int64[n], ascending, each once; called when they are needed.
    """

    def __init__(self, coordinates: Callable[[], npt.NDArray[np.int64]]) -> None:
        self._coordinates = coordinates

    @cached_property
    def _pick(self) -> Pick:
        return Pick(self._coordinates())

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest coordinate taken."""
        return self._pick.bounds

    def chosen(self) -> tuple[Coordinates, Coordinates]:
        """Return the coordinates that are taken, and what they become."""
        return self._pick.coordinates, self._pick.coordinates

    def match(self, coordinates: Coordinates) -> Matched:
        """Return which of the coordinates are taken."""
        taken = self._pick.match(coordinates).taken
        return Matched(taken, coordinates[taken])


Selector = Every | Window | Pick | Among
