"""Groups: dimensions that integer arrays or a mask pick point by point."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.functions.indexing.selectors import Matched, Pick

__all__ = ["Group", "MaskGroup", "Points"]

_MOST_NUMBERED = 2**62
Rows = list[npt.NDArray[Any]]


class Points:
    """Points of several dimensions, given by integer arrays of one shape.

    Parameters
    ----------
    dimensions : tuple of int
        Which dimensions the arrays index.
    coordinates : int64[dimensions, n]
        Inside the extents; a point becomes its number.
    shape : tuple of int
        Of the arrays: what the points are in the result.
    extents : tuple of int
        Of the dimensions.
    """

    def __init__(
        self,
        dimensions: tuple[int, ...],
        coordinates: npt.NDArray[np.int64],
        shape: tuple[int, ...],
        extents: tuple[int, ...],
    ) -> None:
        self.dimensions, self.shape, self.extents = dimensions, shape, extents
        self.coordinates = coordinates

    @property
    def n_points(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def among(self) -> list[npt.NDArray[np.int64]]:
        """Return the coordinates of each dimension that a point has, ascending."""
        return [np.unique(row) for row in self.coordinates]

    def match(self, rows: Rows) -> Matched:
        """Return which entries are at points, and at which.

        Notes
        -----
        O((entries + points) * log(points)). Where the product of extents is too large
        to number elements, points are numbered dimension by dimension.
        """
        if math.prod(self.extents) <= _MOST_NUMBERED:
            points = np.ravel_multi_index(tuple(self.coordinates), self.extents)
            wide = tuple(row.astype(np.int64, copy=False) for row in rows)
            return Pick(points).match(np.ravel_multi_index(wide, self.extents))
        return self._match_by_dimension(rows)

    def _match_by_dimension(self, rows: Rows) -> Matched:
        points = np.zeros(self.coordinates.shape[1], np.int64)
        entries = np.zeros(len(rows[0]), np.int64)
        known = np.ones(len(rows[0]), bool)
        for row, coordinates in zip(rows, self.coordinates, strict=True):
            values, numbers = np.unique(coordinates, return_inverse=True)
            place = np.minimum(np.searchsorted(values, row), max(0, len(values) - 1))
            known &= values[place] == row if len(values) else False
            width = max(1, len(values))
            codes, points = np.unique(points * width + numbers, return_inverse=True)
            both = entries * width + place
            entries = np.minimum(np.searchsorted(codes, both), max(0, len(codes) - 1))
            known &= codes[entries] == both if len(codes) else False
        there = np.flatnonzero(known)
        found = Pick(points).match(entries[there])
        kept = there if found.taken is None else there[found.taken]
        return Matched(kept, found.labels)


class MaskGroup:
    """The elements where a dense mask is true, numbered in C order.

    Parameters
    ----------
    dimensions : tuple of int
        Which dimensions the mask has.
    mask : bool array
        Of their extents.
    """

    def __init__(
        self, dimensions: tuple[int, ...], mask: npt.NDArray[np.bool_]
    ) -> None:
        self.dimensions, self.mask = dimensions, mask
        self.shape = (int(np.count_nonzero(mask)),)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def among(self) -> list[npt.NDArray[np.int64]]:
        """Return the coordinates of each dimension that the mask has, ascending."""
        axes = range(self.mask.ndim)
        others = [tuple(o for o in axes if o != axis) for axis in axes]
        return [np.flatnonzero(self.mask.any(axis=other)) for other in others]

    def match(self, rows: Rows) -> Matched:
        """Return which entries the mask has, and their numbers."""
        taken = self.mask[tuple(rows)]
        # The mask is an array in memory, so its elements can be counted through.
        flat = np.ravel_multi_index([row[taken] for row in rows], self.mask.shape)
        before = np.cumsum(self.mask.reshape(-1)) - 1
        return Matched(taken, before[flat])


Group = Points | MaskGroup
