"""Arrays as sets: their different elements, and whether an element is one of some.

Of what is not stored there is one element, the fill value, as often as it occurs.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sparray.errors import UnsupportedError
from sparray.functions.creation import asarray
from sparray.functions.einsum import as_operand
from sparray.functions.sorted_entries import by_row, linear_places, sorted_entries
from sparray.sparse_array import SparseArray

__all__ = [
    "UniqueAllResult",
    "UniqueCountsResult",
    "UniqueInverseResult",
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueCountsResult(NamedTuple):
    """Different elements, and how often each of them occurs."""

    values: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]


class UniqueInverseResult(NamedTuple):
    """Different elements, and which of them each element of the array is."""

    values: npt.NDArray[Any]
    inverse_indices: SparseArray


class UniqueAllResult(NamedTuple):
    """Different elements, where each comes first, which each element is, how often."""

    values: npt.NDArray[Any]
    indices: npt.NDArray[np.int64]
    inverse_indices: SparseArray
    counts: npt.NDArray[np.int64]


def unique_values(x: Any, /) -> npt.NDArray[Any]:
    """Return the different elements of an array.

    Parameters
    ----------
    x : SparseArray or array-like
        Any number of dimensions.

    Returns
    -------
    ndarray
        In ascending order; each NaN is one of its own.

    Raises
    ------
    UnsupportedError
        If NaN is the fill value.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.unique_values(sp.array([[0, 2], [3, 2]]))
    array([0, 2, 3])
    """
    return unique_inverse(x).values


def unique_counts(x: Any, /) -> UniqueCountsResult:
    """Return the different elements of an array, and how often each occurs.

    Parameters
    ----------
    x : SparseArray or array-like
        Any number of dimensions.

    Returns
    -------
    UniqueCountsResult
        ``values``, in ascending order, and ``counts``; each NaN is one of its own.

    Raises
    ------
    UnsupportedError
        If NaN is the fill value, or there are too many elements to count.
    """
    made = _unique("unique_counts", x)
    return UniqueCountsResult(made.values, made.counts)


def unique_inverse(x: Any, /) -> UniqueInverseResult:
    """Return the different elements, and which of them each element is.

    Parameters
    ----------
    x : SparseArray or array-like
        Any number of dimensions.

    Returns
    -------
    UniqueInverseResult
        ``values``, in ascending order, and ``inverse_indices``: sparse, with the
        pattern of ``x``.

    Raises
    ------
    UnsupportedError
        If NaN is the fill value.
    """
    made = _unique("unique_inverse", x)
    return UniqueInverseResult(made.values, made.inverse_indices)


def unique_all(x: Any, /) -> UniqueAllResult:
    """Return the different elements, where and how often they are, and which is which.

    Parameters
    ----------
    x : SparseArray or array-like
        Any number of dimensions.

    Returns
    -------
    UniqueAllResult
        ``values`` in ascending order; ``indices`` of the first of each in the flattened
        array; ``inverse_indices``, sparse, with the pattern of ``x``; ``counts``.

    Raises
    ------
    UnsupportedError
        If NaN is the fill value, or there are too many elements to number.
    """
    return _unique("unique_all", x)


def _unique(name: str, x: Any) -> UniqueAllResult:
    array = by_row(asarray(x))
    coords, stored = array.to_coords()
    places = linear_places(coords, array.shape)
    unstored = _unstored(name, array, stored)
    if places is None:
        if name in ("unique_all", "unique_counts"):
            raise UnsupportedError(
                f"{name}: expected fewer than 2**63 elements, which are numbered, got "
                f"shape {array.shape}"
            )
        # Neither places nor counts are asked for.
        places, unstored = np.arange(len(stored)), 1
    values, first, inverse, counts = np.unique(
        stored, True, True, True, equal_nan=False
    )
    indices = places[first].astype(np.int64)
    fill = 0
    if unstored:
        place = _first_unstored(places)
        known = len(values)
        values, counts, fill = _with_fill(values, counts, array.fill_value, unstored)
        if len(values) > known:
            inverse = inverse + (inverse >= fill)
            indices = np.insert(indices, fill, place)
        else:
            indices[fill] = min(indices[fill], place)
    # An array without dimensions has its one element whatever that is.
    found = inverse.astype(np.int64) if array.ndim else np.zeros(1, np.int64)
    numbers = SparseArray._from_trusted(
        array.format, array.shape, array._levels, found, np.int64(fill)
    )
    return UniqueAllResult(values, indices, numbers, counts.astype(np.int64))


def _unstored(name: str, array: SparseArray, stored: npt.NDArray[Any]) -> int:
    count = array.size - len(stored)
    if count and array.fill_value != array.fill_value:
        raise UnsupportedError(
            f"{name}: expected a fill value that is equal to itself, got NaN, of which "
            f"each of {count} elements would be one of its own"
        )
    return count


def _with_fill(
    values: npt.NDArray[Any], counts: npt.NDArray[Any], fill: Any, unstored: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], int]:
    """Count what is not stored; return which of the values it is, too."""
    place = int(np.searchsorted(values, fill))
    counts = counts.astype(np.int64)
    if place < len(values) and values[place] == fill:
        counts[place] += unstored
        return values, counts, place
    # NaN, which is not sorted, stands behind all numbers.
    return np.insert(values, place, fill), np.insert(counts, place, unstored), place


def _first_unstored(places: npt.NDArray[np.int64]) -> int:
    """Return the first number that is not one of some, which are sorted."""
    gaps = np.flatnonzero(places != np.arange(len(places)))
    return int(gaps[0]) if len(gaps) else len(places)


def isin(
    x1: Any, x2: Any, /, *, invert: bool = False
) -> SparseArray | npt.NDArray[Any]:
    """Return for each element whether it is one of some.

    Parameters
    ----------
    x1 : SparseArray, array-like or number
        The elements.
    x2 : SparseArray, array-like or number
        Which ones; what a sparse array does not store is one of them.
    invert : bool
        Whether to return where it is none of them.

    Returns
    -------
    SparseArray or ndarray
        Of bools; sparse for a sparse ``x1``, with its pattern.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.isin(sp.array([[0, 2], [3, 2]]), [2, 5]).todense()
    array([[False,  True],
           [False,  True]])
    """
    operand, among = as_operand("x1", x1), as_operand("x2", x2)
    if isinstance(among, SparseArray):
        _, stored = sorted_entries(among)
        if len(stored) < among.size:
            stored = np.append(stored, among.fill_value)
        among = stored
    if not isinstance(operand, SparseArray):
        return np.isin(operand, among, invert=invert)
    if not operand.format.unique:
        operand = by_row(operand)
    return SparseArray._from_trusted(
        operand.format,
        operand.shape,
        operand._levels,
        np.isin(operand.values, among, invert=invert),
        np.isin(operand.fill_value, among, invert=invert)[()],
    )
