"""Arrays with entries at random places."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.convert import default_format, from_coords
from sparray.errors import DTypeError, SettingError, ShapeError
from sparray.formats.coordinates import as_dtype, as_shape
from sparray.formats.format import Format
from sparray.sparse_array import SparseArray

__all__ = ["random"]

_MOST_FLAT = 2**63 - 1
"""Elements up to which one number says which element is meant."""

_INTEGER_SPAN = 2**31


def random(
    shape: int | tuple[int, ...],
    *,
    density: float | None = None,
    nnz: int | None = None,
    format: str | Format | None = None,
    dtype: npt.DTypeLike = "float64",
    rng: np.random.Generator | int | None = None,
    data_sampler: Callable[..., npt.ArrayLike] | None = None,
    fill_value: Any = 0,
) -> SparseArray:
    """Return an array with entries at random places.

    Parameters
    ----------
    shape : int or tuple of int
        Of the array.
    density : float, optional
        The share of elements that are stored, from 0 to 1; 0.01 by default.
    nnz : int, optional
        How many are stored, in place of ``density``.
    format : str or Format, optional
        By default ``csr`` for two dimensions and ``csf`` for any other number.
    dtype : dtype
        Of the elements.
    rng : numpy.random.Generator or int, optional
        What draws, or its seed: the same one draws the same array.
    data_sampler : callable, optional
        Draws the values: called with ``size=``, the number of them. By default they are
        uniform: floats and both parts of complex numbers in [0, 1), integers below
        2**31 or the largest of the dtype, bools all True.
    fill_value : scalar
        Of all elements that are not stored.

    Returns
    -------
    SparseArray
        With exactly that many entries, each set of places as likely as any other.

    Raises
    ------
    SettingError
        If both ``density`` and ``nnz`` are given, or one is out of range.
    DTypeError
        If there are no random values of the dtype.
    ShapeError
        If ``data_sampler`` draws another number of values.

    Notes
    -----
    Time and memory grow with the entries, not with the elements.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.random((1000, 2000), nnz=5, rng=0)
    >>> A.nnz, A.shape, A.format == sp.random((3, 3)).format
    (5, (1000, 2000), True)
    >>> sp.random((10**9, 10**9), nnz=3, format="coo", rng=0).nnz
    3
    """
    extents = as_shape(shape)
    kind = as_dtype(dtype)
    count = _count(math.prod(extents), density, nnz)
    draw = np.random.default_rng(rng)
    coords = _places(extents, count, draw)
    if data_sampler is None:
        values = _values(kind, count, draw)
    else:
        values = np.asarray(data_sampler(size=count))
        if values.shape != (count,):
            raise ShapeError(
                f"data_sampler: expected {count} values, got shape {values.shape}"
            )
    return from_coords(
        coords,
        values.astype(kind, copy=False),
        extents,
        default_format(len(extents)) if format is None else format,
        fill_value=fill_value,
    )


def _count(size: int, density: float | None, nnz: int | None) -> int:
    """Return how many entries there are to be."""
    if nnz is not None:
        if density is not None:
            raise SettingError("expected density or nnz, got both")
        if isinstance(nnz, bool) or not isinstance(nnz, int | np.integer):
            raise SettingError(f"nnz: expected a whole number, got {nnz!r}")
        if not 0 <= nnz <= size:
            raise SettingError(f"nnz: expected 0 to {size}, got {nnz}")
        return int(nnz)
    share = 0.01 if density is None else density
    if not isinstance(share, int | float | np.floating) or not 0 <= share <= 1:
        raise SettingError(f"density: expected a number from 0 to 1, got {share!r}")
    # In whole numbers where there are more elements than floats can count.
    return size if share == 1 else min(size, round(size * share))


def _places(
    shape: tuple[int, ...], count: int, draw: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return different coordinates, one column each, in the order of the dimensions."""
    size = math.prod(shape)
    if size > _MOST_FLAT:
        return _by_dimension(shape, count, draw)
    if 2 * count > size:
        # What is left out is fewer.
        left = np.ones(size, dtype=bool)
        left[_distinct(size, size - count, draw)] = False
        flat = np.flatnonzero(left)
    else:
        flat = np.sort(_distinct(size, count, draw))
    if not shape:
        return np.zeros((0, count), dtype=np.int64)
    return np.stack(np.unravel_index(flat, shape)).astype(np.int64, copy=False)


def _distinct(
    size: int, count: int, draw: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return different numbers below ``size``, at most half of them."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:
        more = draw.integers(0, size, count - len(found) + 16)
        found = np.unique(np.concatenate([found, more]))
    # Any that are too many go at random, so that no place is more likely.
    return draw.permutation(found)[:count]


def _by_dimension(
    shape: tuple[int, ...], count: int, draw: np.random.Generator
) -> npt.NDArray[np.int64]:
    found = np.empty((len(shape), 0), dtype=np.int64)
    while found.shape[1] < count:
        wanted = count - found.shape[1] + 16
        more = np.stack([draw.integers(0, extent, wanted) for extent in shape])
        found = np.unique(np.concatenate([found, more], axis=1), axis=1)
    kept = np.sort(draw.permutation(found.shape[1])[:count])
    return found[:, kept]


def _values(
    dtype: np.dtype[Any], count: int, draw: np.random.Generator
) -> npt.NDArray[Any]:
    """Return random values of a dtype."""
    if dtype.kind == "b":
        return np.ones(count, dtype=bool)
    if dtype.kind in "iu":
        most = min(_INTEGER_SPAN, int(np.iinfo(dtype).max))
        return draw.integers(0, most, count).astype(dtype)
    if dtype.kind == "c":
        return draw.random(count) + 1j * draw.random(count)
    try:
        return draw.random(count).astype(dtype)
    except TypeError:
        raise DTypeError(f"dtype: expected one of numbers, got {dtype}") from None
