"""Entries at new coordinates, packed again."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import KernelMemoryError
from sparray.formats.coordinates import combine_duplicates, differs
from sparray.formats.format import Format
from sparray.formats.named import named_format
from sparray.formats.packing import pack_coordinates
from sparray.sparse_array import SparseArray

__all__ = ["broadcast_entries", "entries", "moved_format", "repacked"]

Coordinates = npt.NDArray[np.int64]


def moved_format(format: Format, ndim: int) -> Format:
    """Return the format of an array whose entries have moved.

    It is the same for the same number of dimensions, ``dense`` of ``dense`` and ``csf``
    of ``csf``; else, and where levels have room for a fixed number of entries, ``coo``.
    """
    if format.is_dense:
        return named_format("dense", ndim)
    if format.ndim == ndim and not any(level.bounded for level in format.levels):
        return format
    if format == named_format("csf", format.ndim) and format.ndim > 1:
        return named_format("csf", ndim)
    return named_format("coo", ndim)


def entries(
    array: SparseArray, fill_value: Any = None
) -> tuple[Coordinates, npt.NDArray[Any]]:
    """Return an array's entries, each coordinate once.

    Of a dense format they are the elements that differ from ``fill_value``, which is
    the array's own by default.
    """
    if array.format.is_full and fill_value is not None:
        elements = array.todense()
        kept = differs(elements, np.asarray(fill_value, array.dtype))
        coords = np.array(np.nonzero(kept), np.int64).reshape(array.ndim, -1)
        return coords, elements[kept]
    coords, values = array.to_coords()
    if not array.format.unique:
        return combine_duplicates(coords, values, array.format.dimension_order)
    return coords, values


def repacked(
    format: Format,
    shape: tuple[int, ...],
    coords: Coordinates,
    values: npt.NDArray[Any],
    fill_value: Any,
) -> SparseArray:
    """Return the array of entries inside a shape."""
    levels, packed = pack_coordinates(format, shape, coords, values, fill_value)
    return SparseArray._from_trusted(format, shape, levels, packed, fill_value)


def broadcast_entries(
    coords: Coordinates,
    values: npt.NDArray[Any],
    extents: tuple[int, ...],
    shape: tuple[int, ...],
) -> tuple[Coordinates, npt.NDArray[Any]]:
    """Return entries of an array that is broadcast to a shape it broadcasts to.

    Raises
    ------
    KernelMemoryError
        If they do not fit in memory.
    """
    new = len(shape) - len(extents)
    zeros = np.zeros((new, coords.shape[1]), np.int64)
    coords, extents = np.concatenate([zeros, coords]), (1,) * new + extents
    for dimension, (extent, wanted) in enumerate(zip(extents, shape, strict=True)):
        if extent == wanted or len(values) == 0:
            continue
        n = len(values)
        try:
            coords, values = np.tile(coords, wanted), np.tile(values, wanted)
        except (MemoryError, ValueError):
            raise KernelMemoryError(
                f"expected entries, broadcast to {shape}, that fit in memory, got "
                f"{n} for each of {wanted}"
            ) from None
        coords[dimension] = np.repeat(np.arange(wanted), n)
    return coords, values
