"""Arrays of the entries that a file lists."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import cast_values, from_coords
from sparray.formats.coordinates import Duplicates
from sparray.formats.format import Format
from sparray.sparse_array import SparseArray

__all__ = ["Coords", "array_of_entries", "mirror"]

Coords = list[npt.NDArray[Any]]


def array_of_entries(
    coords: Coords,
    values: npt.NDArray[Any],
    shape: tuple[int, ...],
    format: str | Format | None = None,
    dtype: npt.DTypeLike | None = None,
    duplicates: Duplicates = "sum",
) -> SparseArray:
    """Make an array of entries that were read; by default ``coo``."""
    values = cast_values(values, dtype)
    return from_coords(
        coords, values, shape, "coo" if format is None else format, duplicates
    )


def mirror(
    coords: Coords, values: npt.NDArray[Any], symmetry: str
) -> tuple[Coords, npt.NDArray[Any]]:
    """Add the other triangle to the entries of one.

    Parameters
    ----------
    coords : list of int[n]
        Rows and columns.
    values : dtype[n]
        Their values.
    symmetry : {"symmetric", "skew-symmetric", "hermitian"}
        What the other triangle is.
    """
    rows, columns = coords
    beside = np.flatnonzero(rows != columns)
    mirrored = values[beside]
    if symmetry == "skew-symmetric":
        with np.errstate(all="ignore"):
            mirrored = -mirrored
    elif symmetry == "hermitian":
        mirrored = mirrored.conj()
    return (
        [
            np.concatenate([rows, columns[beside]]),
            np.concatenate([columns, rows[beside]]),
        ],
        np.concatenate([values, mirrored]),
    )
