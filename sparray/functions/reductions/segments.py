"""Entries that are reduced to one element: sorted, each element's side by side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import KernelMemoryError
from sparray.formats.coordinates import (
    combine_duplicates,
    differs,
    equal_neighbours,
    sort_order,
)
from sparray.formats.named import named_format
from sparray.formats.packing import pack_coordinates
from sparray.sparse_array import SparseArray

__all__ = ["Segments", "segments"]


@dataclass(slots=True)
class Segments:
    """The entries of an array by the elements that they are reduced to.

    Attributes
    ----------
    shape : tuple of int
        Of the array.
    axes : tuple of int
        Those that are reduced, in order.
    keepdims : bool
        Whether they stay, with extent 1.
    coords : int64[ndim, n]
        Of the entries, sorted by those of the dimensions that stay.
    values : dtype[n]
        Of the entries.
    starts : int64[segments]
        The first entry of each segment.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    keepdims: bool
    coords: npt.NDArray[np.int64]
    values: npt.NDArray[Any]
    starts: npt.NDArray[np.int64]

    @property
    def kept(self) -> list[int]:
        """The dimensions that stay."""
        return [d for d in range(len(self.shape)) if d not in self.axes]

    @property
    def n_terms(self) -> int:
        """How many elements are reduced to one: a Python integer of any size."""
        return math.prod(self.shape[axis] for axis in self.axes)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of entries of each segment."""
        return np.diff(np.append(self.starts, len(self.values)))

    def each(self, elements: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an element of each segment for each of its entries."""
        return np.repeat(elements, self.counts)

    def combined(self, ufunc: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of each segment's entries, combined in their dtype."""
        if len(values) == 0:
            # `reduceat` does not take an empty array.
            return values
        made: npt.NDArray[Any] = ufunc.reduceat(values, self.starts, dtype=values.dtype)
        return made

    def result(self, elements: npt.NDArray[Any], fill: Any) -> Any:
        """Return the reduced array.

        Parameters
        ----------
        elements : dtype[segments]
            What each segment is reduced to.
        fill : scalar
            What an element is that no entry is reduced to.

        Returns
        -------
        scalar, ndarray or SparseArray
            An ndarray if one dimension stays, and a SparseArray if several do.
        """
        kept = self.kept
        extents = tuple(self.shape[dimension] for dimension in kept)
        shape = extents
        if self.keepdims:
            shape = tuple(1 if d in self.axes else n for d, n in enumerate(self.shape))
        if len(kept) < 2:
            dense = _filled(extents, fill, elements.dtype)
            coords = self.coords[kept[0], self.starts] if kept else np.zeros(0, int)
            dense[coords if kept else slice(0, len(elements))] = elements
            reduced = dense.reshape(shape)
            return reduced[()] if shape == () else reduced
        coords = np.zeros((len(shape), len(self.starts)), np.int64)
        places = kept if self.keepdims else range(len(kept))
        coords[list(places)] = self.coords[:, self.starts][kept]
        format = named_format("csf", len(shape))
        levels, values = pack_coordinates(format, shape, coords, elements, fill)
        made = elements.dtype.type(fill)
        return SparseArray._from_trusted(format, shape, levels, values, made)


def _filled(
    extents: Sequence[int], fill: Any, dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    extent = extents[0] if extents else 1
    try:
        return np.full(extent, fill, dtype)
    except (MemoryError, ValueError):
        raise KernelMemoryError(
            f"expected a dense result of {extent} elements to fit in memory; reduce "
            "fewer axes, or by sparray.einsum(..., format='csf')"
        ) from None


def segments(
    array: SparseArray, axes: tuple[int, ...], *, keepdims: bool, within: bool = False
) -> Segments:
    """Sort the entries of an array by the elements that they are reduced to.

    Parameters
    ----------
    array : SparseArray
        Any format.
    axes : tuple of int
        Those that are reduced, from 0 on and in order.
    keepdims : bool
        Whether they stay in the result.
    within : bool
        Whether entries of a segment are sorted too, by the axes that are reduced.

    Notes
    -----
    O(n) for entries that are stored in that order, else O(n log n).
    """
    coords, values = array.to_coords()
    if not array.format.unique:
        coords, values = combine_duplicates(
            coords, values, array.format.dimension_order
        )
    if array.format.is_full:
        stored = differs(values, array.fill_value)
        coords, values = coords[:, stored], values[stored]
    kept = [d for d in range(array.ndim) if d not in axes]
    keys = [coords[d] for d in (*kept, *(axes if within else ()))]
    order = sort_order(keys) if keys else None
    if order is not None:
        coords, values = coords[:, order], values[order]
    first = ~equal_neighbours([coords[d] for d in kept], len(values))
    starts = np.flatnonzero(first)
    return Segments(array.shape, axes, keepdims, coords, values, starts)
