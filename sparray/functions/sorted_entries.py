"""The stored entries of an array in the order of its elements, each coordinate once."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.errors import WouldDensifyError
from sparray.sparse_array import SparseArray

__all__ = ["by_row", "linear_places", "refuse_fill", "sorted_entries"]

Coordinates = npt.NDArray[np.int64]


def sorted_entries(array: SparseArray) -> tuple[Coordinates, npt.NDArray[Any]]:
    """Return coordinates and values of the stored entries, sorted by row.

    Repeated coordinates are added up.

    Notes
    -----
    A conversion to ``csf``, which sorts by a compiled kernel.
    """
    return by_row(array).to_coords()


def by_row(array: SparseArray) -> SparseArray:
    """Return an array in ``csf``, which takes no memory for rows without entries."""
    return array.to_format("csf")


def linear_places(
    coords: Coordinates, shape: tuple[int, ...]
) -> npt.NDArray[np.int64] | None:
    """Return the number of each element in a flattened array; None if too large."""
    if math.prod(shape) >= 2**63:
        return None
    places = np.zeros(coords.shape[1], np.int64)
    for row, extent in zip(coords, shape, strict=True):
        places = places * extent + row
    return places


def refuse_fill(name: str, array: SparseArray, why: str) -> None:
    """Raise for a result that would have a number for each unstored element.

    Raises
    ------
    WouldDensifyError
        Always.
    """
    raise WouldDensifyError(
        f"{name}: expected {why}, got {array.fill_value} of an array of shape "
        f"{array.shape}: the result would take {8 * array.ndim * array.size} bytes; "
        f"numpy.{name}(x.todense()) makes it"
    )
