"""The entries that a file lists, and arrays made of them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.threads import num_threads
from sparray.compiler.loop_ir.dtypes import widened
from sparray.convert.entries import cast_values, convert_format, from_coords
from sparray.formats.coordinates import Duplicates, as_coordinates
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

sorting: Any
try:
    sorting = import_module("sparray.io.sorting")
except ImportError:
    # A source tree that was not built: `from_coords` does the same, less fast.
    sorting = None

_TOP_BITS = 11
_MOST_SORTED = 2**32
"""Entries are numbered in 32 bits while they are sorted."""


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
    The coordinates of an entry become one number where they fit 64 bits, and these
    are sorted by radix: O(n * bits). Memory is twice that of a ``coo`` result.
    """
    wanted = None if format is None else as_format(format, len(shape))
    entries.values = cast_values(entries.values, dtype)
    bits = [max(extent - 1, 0).bit_length() for extent in shape]
    if (
        sorting is None
        or not shape
        or sum(bits) > 64
        or len(entries.values) >= _MOST_SORTED
    ):
        coords, values = entries.take()
        return from_coords(coords, values, shape, wanted or "coo", duplicates)
    keys = _pack(entries.coords, bits)
    ascends = bool((keys[1:] >= keys[:-1]).all())
    if not ascends:
        entries.coords.clear()
        keys = _sort(keys, entries, sum(bits))
    repeated = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    if len(repeated):
        keys = _combine(keys, repeated, entries, bits, shape, duplicates)
    if len(repeated) or not ascends:
        entries.coords = _unpack(keys, bits, shape)
    del keys
    made = _coo(*entries.take(), shape)
    return made if wanted is None else convert_format(made, wanted)


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


def _pack(coords: list[npt.NDArray[Any]], bits: list[int]) -> npt.NDArray[np.uint64]:
    """Put the coordinates of each entry into one number, the first one highest."""
    keys = coords[0].astype(np.uint64)
    for row, width in zip(coords[1:], bits[1:], strict=True):
        # A shift by all 64 bits is undefined; what is shifted out is zero then.
        keys <<= np.uint64(min(width, 63))
        np.bitwise_or(keys, row, out=keys, dtype=np.uint64, casting="unsafe")
    return keys


def _sort(
    keys: npt.NDArray[np.uint64], entries: Entries, n_bits: int
) -> npt.NDArray[np.uint64]:
    """Sort entries by their keys; equal ones stay in their order."""
    top_bits = min(n_bits, _TOP_BITS)
    shift = n_bits - top_bits
    starts = np.empty(2**top_bits + 1, dtype=np.int64)
    by_key = np.empty_like(keys)
    order, scratch = (np.empty(len(keys), dtype=np.uint32) for _ in range(2))
    sorting.partition_keys(keys, by_key, order, starts, shift)
    sort: Callable[..., None] = sorting.sort_buckets
    # As many entries for each thread, to whole buckets.
    threads = num_threads()
    shares = np.linspace(0, len(keys), threads + 1)[1:-1]
    cuts = [0, *np.searchsorted(starts[:-1], shares).tolist(), 2**top_bits]
    with ThreadPoolExecutor(threads) as pool:
        tasks = [
            pool.submit(sort, by_key, order, keys, scratch, starts, shift, begin, end)
            for begin, end in pairwise(cuts)
        ]
        for one in tasks:
            one.result()
        # The caller holds the array that was given: the result goes there, and the
        # other one is freed before the values are moved.
        keys[:] = by_key
        del by_key, scratch
        values = _bits(entries.values)
        gathered = np.empty_like(values)
        gathering = [
            pool.submit(
                sorting.gather, values, order, gathered, starts[begin], starts[end]
            )
            for begin, end in pairwise(cuts)
        ]
        for one in gathering:
            one.result()
    entries.values = gathered.reshape(-1).view(entries.values.dtype)
    return keys


def _bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values as rows of unsigned integers: one column, or two for 16 bytes."""
    size = min(values.itemsize, 8)
    return values.view(f"u{size}").reshape(len(values), -1)


def _combine(
    keys: npt.NDArray[np.uint64],
    repeated: npt.NDArray[np.int64],
    entries: Entries,
    bits: list[int],
    shape: tuple[int, ...],
    duplicates: Duplicates,
) -> npt.NDArray[np.uint64]:
    """Add up, or refuse, entries that have the coordinates of the one before."""
    if duplicates == "error":
        # It says where the first one is.
        from_coords(_unpack(keys, bits, shape), entries.values, shape, "coo", "error")
    # Numbers of the sums: those of the firsts, less the repeated ones before.
    sums = repeated - np.arange(1, len(repeated) + 1)
    more = widened(entries.values[repeated])
    summed = widened(np.delete(entries.values, repeated))
    with np.errstate(all="ignore"):
        np.add.at(summed, sums, more)
    entries.values = summed.astype(entries.values.dtype, copy=False)
    return np.delete(keys, repeated)


def _unpack(
    keys: npt.NDArray[np.uint64], bits: list[int], shape: tuple[int, ...]
) -> list[npt.NDArray[Any]]:
    """Take the numbers apart again; they are used up."""
    coords = []
    for width in reversed(bits):
        row = np.empty(len(keys), dtype=index_dtype_for((*shape, len(keys))))
        np.bitwise_and(keys, np.uint64(2**width - 1), out=row, casting="unsafe")
        keys >>= np.uint64(min(width, 63))
        coords.append(row)
    return coords[::-1]


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
