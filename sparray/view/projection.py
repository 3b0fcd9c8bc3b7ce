"""Stored entries counted by cells of two dimensions, without making anything dense."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.formats.coordinates import differs
from sparray.records import dataclass

if TYPE_CHECKING:
    from sparray.sparse_array import SparseArray

__all__ = ["Projection", "entry_cells", "project"]

_CHUNK = 2**18
"""Entries that are binned at a time: their indices stay in the cache."""


@dataclass(frozen=True, slots=True)
class Projection:
    """Numbers of stored entries in cells of equal size.

    Attributes
    ----------
    counts : int64[rows, columns]
        Entries in each cell, whatever their coordinates in other dimensions.
    widths : tuple of int
        Extent of a cell along each of the two dimensions; the last cell may be
        narrower.
    extents : tuple of int
        Extents of the two dimensions.
    """

    counts: npt.NDArray[np.int64]
    widths: tuple[int, int]
    extents: tuple[int, int]

    @property
    def density(self) -> npt.NDArray[np.float64]:
        """Entries for each element of a cell: above 1 where dimensions are projected.

        A cell at the end is measured by the elements that it has.
        """
        rows, columns = (
            np.minimum(width, extent - np.arange(n, dtype=np.float64) * width)
            for n, width, extent in zip(
                self.counts.shape, self.widths, self.extents, strict=True
            )
        )
        elements: npt.NDArray[np.float64] = rows[:, None] * columns[None, :]
        return np.divide(self.counts, elements)


def project(
    array: "SparseArray", axes: tuple[int, int], most: tuple[int, int]
) -> Projection:
    """Count stored entries by cells of two dimensions.

    Parameters
    ----------
    array : SparseArray
        Of one dimension or more.
    axes : tuple of int
        The dimensions along rows and columns. Equal ones stand for an array of one
        dimension, drawn as one row.
    most : tuple of int
        The largest number of cells along each.

    Notes
    -----
    O(positions). Beside the counts, 8 bytes for each position are allocated, and what
    one level needs to be unpacked; of a format whose levels are all dense, nothing
    that grows with the array.
    """
    extents = (1 if axes[0] == axes[1] else array.shape[axes[0]], array.shape[axes[1]])
    widths = (_width(extents[0], most[0]), _width(extents[1], most[1]))
    rows, columns = (
        -(-extent // width) for extent, width in zip(extents, widths, strict=True)
    )
    counts = np.zeros(rows * columns, dtype=np.int64)
    if counts.size:
        for row, column in entry_cells(array, axes, widths):
            cells = row.astype(np.int64) * columns + column
            counts += np.bincount(cells, minlength=len(counts))
    return Projection(counts.reshape(rows, columns), widths, extents)


def entry_cells(
    array: "SparseArray", axes: tuple[int, int], widths: tuple[int, int]
) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield row and column of the cell of each stored entry, some entries at a time."""
    if axes[0] == axes[1]:
        wanted = {axes[1]: widths[1]}
    else:
        wanted = dict(zip(axes, widths, strict=True))
    for cells in _entries(array)(array, wanted):
        column = cells[axes[1]]
        row = np.zeros_like(column) if axes[0] == axes[1] else cells[axes[0]]
        yield row, column


def _entries(
    array: "SparseArray",
) -> Callable[["SparseArray", dict[int, int]], Iterator[dict[int, npt.NDArray[Any]]]]:
    """Return the function that finds the cells of entries with the least memory."""
    format = array.format
    if format.is_dense:
        return _dense_cells
    return _level_cells if format.is_plain and not format.hides else _coordinate_cells


def _width(extent: int, most: int) -> int:
    return max(1, -(-extent // most))


def _level_cells(
    array: "SparseArray", wanted: dict[int, int]
) -> Iterator[dict[int, npt.NDArray[Any]]]:
    """Walk the levels outside in, keeping for each position its cells so far."""
    if len(array.values) == 0:
        return
    cells: dict[int, npt.NDArray[Any]] = {}
    n_positions = 1
    last = array.ndim - 1
    for number, (level, dimension) in enumerate(
        zip(array.format.levels, array.format.order, strict=True)
    ):
        extent, buffers = array.shape[dimension], array.levels[number]
        unpacked = level.unpack(buffers, n_positions, extent)
        n_positions = level.count(buffers, n_positions, extent)
        chunks = []
        for start in range(0, n_positions, _CHUNK):
            part = slice(start, start + _CHUNK)
            parents = unpacked.parents[part]
            below = {d: kept[parents] for d, kept in cells.items()}
            if dimension in wanted:
                width = wanted[dimension]
                cell = unpacked.coordinates[part] // width
                dtype = np.int32 if extent // width < 2**31 else np.int64
                below[dimension] = cell.astype(dtype)
            if number == last:
                yield below
            else:
                chunks.append(below)
        if chunks and chunks[0]:
            cells = {d: np.concatenate([c[d] for c in chunks]) for d in chunks[0]}


def _dense_cells(
    array: "SparseArray", wanted: dict[int, int]
) -> Iterator[dict[int, npt.NDArray[Any]]]:
    """Find the elements that differ from the fill value."""
    order = array.format.order
    stored_shape = [array.shape[dimension] for dimension in order]
    for start in range(0, len(array.values), _CHUNK):
        chunk = array.values[start : start + _CHUNK]
        at = np.flatnonzero(differs(chunk, array.fill_value)) + start
        coordinates = np.unravel_index(at, stored_shape)
        yield {
            dimension: coordinate // wanted[dimension]
            for dimension, coordinate in zip(order, coordinates, strict=True)
            if dimension in wanted
        }


def _coordinate_cells(
    array: "SparseArray", wanted: dict[int, int]
) -> Iterator[dict[int, npt.NDArray[Any]]]:
    """List all coordinates first: levels store parts of them, or padding."""
    coords, _ = array.to_coords()
    for start in range(0, coords.shape[1], _CHUNK):
        part = coords[:, start : start + _CHUNK]
        yield {
            dimension: part[dimension] // width for dimension, width in wanted.items()
        }
