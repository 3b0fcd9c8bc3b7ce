"""The entries that a file lists, and arrays made of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.kernel_facts.sort_spec import SortSpec
from sparray.compiler.loop_ir.dtypes import widened
from sparray.convert.entries import cast_values, convert_format, from_coords
from sparray.evaluation.sorting import sort_entries
from sparray.formats.coordinates import (
    Duplicates,
    as_coordinates,
    equal_neighbours,
)
from sparray.formats.format import Format
from sparray.formats.named import as_format, named_format
from sparray.sparse_array import SparseArray

__all__ = [
    "Entries",
    "array_of_entries",
    "as_asked",
    "checked_entries",
    "index_dtype_for",
    "mirror",
]

Listed = tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]


@dataclass(slots=True)
class Entries:
    """Entries in any order, each coordinate known to be inside its extent.

    Attributes
    ----------
    coords : list of int32[n] or int64[n]
        An array for each dimension.
    values : dtype[n]
        One for each entry.
    """

    coords: list[npt.NDArray[Any]]
    values: npt.NDArray[Any]

    def take(self) -> tuple[list[npt.NDArray[Any]], npt.NDArray[Any]]:
        """Return both and keep neither, so that they can be freed one by one."""
        coords, values = self.coords, self.values
        self.coords, self.values = [], values[:0].copy()
        return coords, values


def index_dtype_for(extents: tuple[int, ...]) -> np.dtype[Any]:
    """Return int32 where every index fits it, else int64."""
    return np.dtype(np.int32 if max(extents, default=0) <= 2**31 - 1 else np.int64)


def checked_entries(
    coords: list[npt.NDArray[Any]], values: npt.NDArray[Any], shape: tuple[int, ...]
) -> Entries:
    """Return entries from outside, once each coordinate is known to be inside.

    Raises
    ------
    CoordinateError, ShapeError
        If one is not, or there are not as many coordinates as values.
    """
    # Taken as they are where that is right: the table would be a copy in int64.
    inside = len(coords) == len(shape) and all(
        row.shape == values.shape
        and row.dtype.kind in "iu"
        and (len(row) == 0 or (row.min() >= 0 and row.max() < extent))
        for row, extent in zip(coords, shape, strict=False)
    )
    if not inside:
        return Entries(list(as_coordinates(coords, shape, len(values))), values)
    return Entries(coords, values)


def array_of_entries(
    entries: Entries,
    shape: tuple[int, ...],
    format: str | Format | None = None,
    dtype: npt.DTypeLike | None = None,
    duplicates: Duplicates = "sum",
) -> SparseArray:
    """Make an array of entries that were read.

    Parameters
    ----------
    entries : Entries
        Emptied: what it held is freed as soon as it was used.
    shape : tuple of int
        Extent of each dimension.
    format : str or Format, optional
        By default ``coo``.
    dtype : dtype, optional
        By default that of the values.
    duplicates : {"sum", "error"}
        What a coordinate means that is there twice.

    Notes
    -----
    Sorted as `from_coords` sorts them: O(n * bits). Memory is twice that of a ``coo``
    result, unless coordinates are repeated.
    """
    wanted = None if format is None else as_format(format, len(shape))
    entries.values = cast_values(entries.values, dtype)
    if not shape:
        coords, values = entries.take()
        return from_coords(coords, values, shape, wanted or "coo", duplicates)
    made = _coo(*_combined(*_sorted(entries, shape), shape, duplicates), shape)
    return made if wanted is None else convert_format(made, wanted)


def _sorted(entries: Entries, shape: tuple[int, ...]) -> Listed:
    """Take entries, sorted by their coordinates; repeated ones stay in their order."""
    coords, values = entries.take()
    width = index_dtype_for((*shape, len(values)))
    for at in range(len(coords)):
        # Each is freed as soon as there is a narrower one.
        coords[at] = np.ascontiguousarray(coords[at], dtype=width)
    values = np.ascontiguousarray(values)
    spec = SortSpec(len(shape), width.name, width.name, values.itemsize)
    return sort_entries(coords, values, spec)


def _combined(
    coords: list[npt.NDArray[Any]],
    values: npt.NDArray[Any],
    shape: tuple[int, ...],
    duplicates: Duplicates,
) -> Listed:
    """Add up, or refuse, entries that have the coordinates of the one before."""
    repeated = np.flatnonzero(equal_neighbours(coords, len(values)))
    if len(repeated) == 0:
        return coords, values
    if duplicates == "error":
        # It says where the first one is.
        from_coords(coords, values, shape, "coo", "error")
    # Numbers of the sums: those of the firsts, less the repeated ones before.
    sums = repeated - np.arange(1, len(repeated) + 1)
    more = widened(values[repeated])
    summed = widened(np.delete(values, repeated))
    with np.errstate(all="ignore"):
        np.add.at(summed, sums, more)
    kept = [np.delete(row, repeated) for row in coords]
    return kept, summed.astype(values.dtype, copy=False)


def as_asked(
    array: SparseArray, format: str | Format | None, dtype: npt.DTypeLike | None
) -> SparseArray:
    """Return an array that was read in the format and the dtype that were asked for."""
    if dtype is not None:
        cast_values(array.values[:0], dtype)  # refuses what would lose a part
        array = array.astype(dtype)
    if format is None:
        return array
    return convert_format(array, as_format(format, array.ndim))


def mirror(entries: Entries, symmetry: str) -> Entries:
    """Add the other triangle to the entries of one.

    Parameters
    ----------
    entries : Entries
        Of a square matrix.
    symmetry : {"symmetric", "skew-symmetric", "hermitian"}
        What the other triangle is.
    """
    rows, columns = entries.coords
    beside = np.flatnonzero(rows != columns)
    mirrored = entries.values[beside]
    if symmetry == "skew-symmetric":
        np.negative(mirrored, out=mirrored)
    elif symmetry == "hermitian":
        np.conjugate(mirrored, out=mirrored)
    return Entries(
        [
            np.concatenate([rows, columns[beside]]),
            np.concatenate([columns, rows[beside]]),
        ],
        np.concatenate([entries.values, mirrored]),
    )


def _coo(
    coords: list[npt.NDArray[Any]], values: npt.NDArray[Any], shape: tuple[int, ...]
) -> SparseArray:
    """Make an array of entries in order, each coordinate once."""
    index_dtype = index_dtype_for((*shape, len(values)))
    pos = np.array([0, len(values)], dtype=index_dtype)
    levels: list[dict[str, npt.NDArray[Any]]] = [{"pos": pos}]
    levels += [{} for _ in shape[1:]]
    for at, row in enumerate(coords):
        coords[at] = row[:0]
        levels[at]["crd"] = np.ascontiguousarray(row, dtype=index_dtype)
    # As checked as `from_coords` would: indices by the parser against their extents,
    # their order just now. Checking again would take as much memory as the array.
    return SparseArray._from_trusted(
        named_format("coo", len(shape)),
        shape,
        tuple(levels),
        values,
        values.dtype.type(0),
    )
