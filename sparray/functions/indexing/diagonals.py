"""Diagonals: taken out of matrices, and put into them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.array_protocols import dense_view
from sparray.compiler.index_notation.canonical import index_name
from sparray.convert import array as as_array
from sparray.convert import default_format, from_coords
from sparray.dispatch import try_compiled
from sparray.errors import DTypeError, PatternError, ShapeError, UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.formats.coordinates import as_shape
from sparray.formats.format import Format
from sparray.formats.packing import pack_coordinates
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.indexing.result_format import selected_format
from sparray.functions.indexing.selectors import Every
from sparray.functions.indexing.walk import taken_entries
from sparray.sparse_array import SparseArray

__all__ = ["diag", "diagonal", "diags"]

_WORTH_COMPILING = 2**15
_MOST_DIMENSIONS = 8


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> SparseArray:
    """Return a diagonal of a matrix, or of each of a stack.

    Parameters
    ----------
    x : SparseArray or array-like
        At least two dimensions.
    offset : int
        Of the diagonal above the main one, which is 0.
    axis1, axis2 : int
        The dimensions of the matrices.

    Returns
    -------
    SparseArray
        The other dimensions, and the diagonal last. It is a copy, and dense only if the
        array's format is.

    Raises
    ------
    ShapeError
        If there are no such axes, or they are the same.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[1, 2, 0], [0, 4, 5]], format="csr")
    >>> sp.diagonal(A, 1).todense()
    array([2, 5])
    """
    x = asarray(x)
    first, second = _two_axes(x, axis1, axis2)
    begin = max(0, -offset), max(0, offset)
    length = max(0, min(x.shape[first] - begin[0], x.shape[second] - begin[1]))
    others = [d for d in range(x.ndim) if d not in (first, second)]
    made = selected_format(x.format, (*others, None))
    shape = (*(x.shape[d] for d in others), length)
    if x.format.is_dense:
        elements = np.diagonal(dense_view(x), offset, first, second)
        values = np.ascontiguousarray(elements).reshape(-1).copy()
        return SparseArray._from_trusted(
            made, shape, ({},) * len(shape), values, x.fill_value
        )
    stored = _compiled(x, first, second, begin, length, made)
    if stored is not None:
        return SparseArray._from_trusted(
            made, shape, stored._levels, stored.values, x.fill_value
        )
    rows, values = taken_entries(x, [Every(extent) for extent in x.shape])
    along = rows[first] - begin[0]
    kept = (along == rows[second] - begin[1]) & (along >= 0)
    coords = np.array([*(rows[d][kept] for d in others), along[kept]], np.int64)
    levels, packed = pack_coordinates(made, shape, coords, values[kept], x.fill_value)
    return SparseArray._from_trusted(made, shape, levels, packed, x.fill_value)


def _two_axes(x: SparseArray, axis1: int, axis2: int) -> tuple[int, int]:
    if x.ndim < 2:
        raise ShapeError(
            f"diagonal: expected at least 2 dimensions, got shape {x.shape}"
        )
    first = checked_axis(axis1, x.shape, "axis1")
    second = checked_axis(axis2, x.shape, "axis2")
    if first == second:
        raise ShapeError(f"axis2: expected another axis than axis1, got {axis2}")
    return first, second


def _compiled(
    x: SparseArray,
    first: int,
    second: int,
    begin: tuple[int, int],
    length: int,
    made: Format,
) -> Any:
    """Compute a diagonal by a kernel, one for all offsets; None if there are few."""
    few = len(x.values) < _WORTH_COMPILING or length == 0 or x.ndim > _MOST_DIMENSIONS
    if few or x.format.pads or made.pads:
        return None
    read = [index_name(dimension) for dimension in range(x.ndim)]
    along = read[first]
    others = [read[d] for d in range(x.ndim) if d not in (first, second)]
    read[first] = f"{along} in {begin[0]}:{begin[0] + length}"
    read[second] = f"{along} in {begin[1]}:{begin[1] + length}"
    text = f"C[{','.join([*others, along])}] = A[{','.join(read)}]"
    try:
        return try_compiled(assignment_expression(text), [x], made)
    except (UnsupportedError, DTypeError, PatternError):
        return None


def diag(v: Any, /, k: int = 0, *, format: str | Format | None = None) -> SparseArray:
    """Return a diagonal of a matrix, or the matrix that has a vector as a diagonal.

    Parameters
    ----------
    v : SparseArray or array-like
        One or two dimensions.
    k : int
        Which diagonal above the main one.
    format : str or Format, optional
        Of the matrix; ``csr`` by default.

    Returns
    -------
    SparseArray
        Of a matrix its `diagonal`. Of a vector a square matrix that stores the entries
        of the vector; all of its elements, if its fill value is not 0.

    Raises
    ------
    ShapeError
        If there are more dimensions.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.diag(sp.array([1, 2]), 1).todense()
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    v = asarray(v)
    if v.ndim == 2:
        made = diagonal(v, k)
        return made if format is None else made.to_format(format)
    if v.ndim != 1:
        raise ShapeError(f"diag: expected 1 or 2 dimensions, got shape {v.shape}")
    given = v if v.fill_value == 0 else as_array(v.todense(), format="dense")
    coords, values = given.to_coords()
    if v.fill_value != 0:
        coords, values = np.arange(v.shape[0])[np.newaxis], given.values
    extent = v.shape[0] + abs(k)
    table = np.array([coords[0] + max(0, -k), coords[0] + max(0, k)])
    wanted = default_format(2) if format is None else format
    return from_coords(table, values, (extent, extent), wanted)


def diags(
    diagonals: Sequence[npt.ArrayLike],
    /,
    *,
    offsets: Sequence[int] | int = 0,
    shape: Any = None,
    format: str | Format | None = None,
    dtype: npt.DTypeLike | None = None,
) -> SparseArray:
    """Return the matrix that has given diagonals.

    Parameters
    ----------
    diagonals : sequence of array_like
        One for each offset. One of length 1 is repeated; what is longer than its
        diagonal is cut off.
    offsets : int or sequence of int
        Which diagonal above the main one each of them is.
    shape : (int, int), optional
        By default square, and large enough for all diagonals.
    format : str or Format, optional
        By default ``csr``.
    dtype : dtype, optional
        By default what NumPy promotes the diagonals to.

    Returns
    -------
    SparseArray
        It stores every element of the diagonals, zeros included.

    Raises
    ------
    ShapeError
        If there is not one offset for each diagonal, an offset occurs twice, or a
        diagonal is too short.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.diags([[1, 2], [3]], offsets=[0, 1]).todense()
    array([[1, 3],
           [0, 2]])
    """
    places = [offsets] if isinstance(offsets, int | np.integer) else list(offsets)
    if len(places) == 1 and np.ndim(diagonals[0]) == 0:
        diagonals = [np.asarray(diagonals)]
    given = [np.atleast_1d(np.asarray(one)) for one in diagonals]
    if len(given) != len(places) or len(set(places)) != len(places):
        raise ShapeError(
            f"offsets: expected one for each of {len(given)} diagonals, each once, "
            f"got {places}"
        )
    if shape is None:
        extent = max(
            (len(one) + abs(k) for one, k in zip(given, places, strict=True)), default=0
        )
        shape = (extent, extent)
    extents = as_shape(shape)
    if len(extents) != 2:
        raise ShapeError(f"shape: expected 2 extents, got {shape}")
    parts = [
        _placed(one, int(k), extents) for one, k in zip(given, places, strict=True)
    ]
    coords = np.concatenate([table for table, _ in parts], axis=1)
    values = np.concatenate([elements for _, elements in parts])
    wanted = default_format(2) if format is None else format
    return from_coords(coords, values, extents, wanted, dtype=dtype)


def _placed(
    elements: npt.NDArray[Any], k: int, shape: tuple[int, ...]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return the coordinates and the elements of a diagonal inside a shape."""
    row, column = max(0, -k), max(0, k)
    length = max(0, min(shape[0] - row, shape[1] - column))
    if len(elements) == 1:
        elements = np.repeat(elements, length)
    if len(elements) < length:
        raise ShapeError(
            f"diagonals: expected {length} elements for offset {k} of shape {shape}, "
            f"got {len(elements)}"
        )
    along = np.arange(length)
    return np.array([row + along, column + along]), elements[:length]
