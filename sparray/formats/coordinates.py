"""Shapes, dtypes and coordinates from outside, checked and made canonical."""

import operator
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import (
    dtype_kind,
    is_half,
    numpy_dtype,
    widened,
)
from sparray.errors import CoordinateError, DTypeError, ShapeError

__all__ = [
    "Duplicates",
    "as_coordinates",
    "as_dtype",
    "as_fill_value",
    "as_shape",
    "combine_duplicates",
    "coordinate_table",
    "differs",
    "equal_neighbours",
    "infer_shape",
    "sort_order",
]

Duplicates = Literal["sum", "error", "keep"]
Coordinates = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_KINDS = {
    "b": "bool",
    "i": "int8 to int64",
    "u": "uint8 to uint64",
    "f": "float16 to float64, bfloat16",
    "c": "complex64 and complex128",
}
_WIDEST = {"b": 1, "i": 8, "u": 8, "f": 8, "c": 16}


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of Python integers.

    Parameters
    ----------
    shape : iterable of int, or int
        NumPy integers and integer arrays are fine; one integer is one dimension.

    Raises
    ------
    ShapeError
        If an extent is not an integer, is negative or passes 2**63 - 1.
    """
    extents = shape if isinstance(shape, Iterable) else (shape,)
    checked = []
    for extent in extents:
        try:
            value = operator.index(extent)
        except TypeError:
            raise ShapeError(f"shape: expected integers, got {shape!r}") from None
        if not 0 <= value <= sys.maxsize:
            raise ShapeError(
                f"shape: expected extents from 0 to {sys.maxsize}, got {value}"
            )
        checked.append(value)
    return tuple(checked)


def as_dtype(dtype: Any, argument: str = "dtype") -> np.dtype[Any]:
    """Return a dtype that arrays can have, in native byte order.

    Raises
    ------
    DTypeError
        If it is none of bool, integer, float and complex of the common widths.
    MissingExtraError
        If it is bfloat16, and `ml_dtypes` is not installed.
    """
    try:
        known = numpy_dtype(dtype)
    except (TypeError, ValueError):
        raise DTypeError(f"{argument}: expected a dtype, got {dtype!r}") from None
    # Other packages' dtypes, whose numbers are theirs, may call their kind "f".
    foreign = not 0 <= known.num < 256 and not is_half(known)
    if foreign or known.itemsize > _WIDEST.get(dtype_kind(known), 0):
        raise DTypeError(
            f"{argument}: expected one of {', '.join(_KINDS.values())}, got {known}"
        )
    native: np.dtype[Any] = known.newbyteorder("=")
    return native


def as_fill_value(fill_value: Any, dtype: np.dtype[Any]) -> Any:
    """Return the fill value as a NumPy scalar of the array's dtype.

    Raises
    ------
    DTypeError
        If it is not a number or the dtype cannot hold it.
    """
    given = np.asarray(fill_value)
    if given.ndim != 0 or dtype_kind(given.dtype) not in _KINDS:
        raise DTypeError(f"fill_value: expected a number, got {fill_value!r}")
    loses_part = given.dtype.kind == "c" and dtype.kind != "c"
    with np.errstate(all="ignore"):
        held = (given.real if loses_part else given).astype(dtype)
    # A float may be rounded, as an array's own values are; nothing else may change.
    exact = dtype_kind(dtype) in "fc" or bool(held == given)
    if loses_part or not exact:
        raise DTypeError(
            f"fill_value: expected a value that {dtype} holds, got {fill_value!r}"
        )
    return held[()]


def as_coordinates(
    coords: Any, shape: tuple[int, ...] | None, n_values: int
) -> Coordinates:
    """Return coordinates as int64[ndim, n], each checked as by `coordinate_table`."""
    table = coordinate_table(coords, shape, n_values)
    return np.ascontiguousarray(table, dtype=np.int64)


def coordinate_table(
    coords: Any, shape: tuple[int, ...] | None, n_values: int
) -> npt.NDArray[Any]:
    """Return coordinates as int[ndim, n], each checked against its extent.

    Parameters
    ----------
    coords : int[ndim, n]
        Any integer dtype; an empty table may have any dtype.
    shape : tuple of int or None
        None accepts every coordinate that is not negative.
    n_values : int
        The number of entries.

    Raises
    ------
    CoordinateError
        If a coordinate is not an integer, or lies outside its extent.
    ShapeError
        If the table is not one row per dimension and one column per value.
    """
    table = _as_table(coords)
    if table.size == 0 and table.dtype.kind not in "iu":
        table = table.astype(np.int64)
    if shape is not None and len(shape) == 0 and table.size == 0:
        table = table.reshape(0, n_values)
    if table.ndim != 2 or table.shape[1] != n_values:
        raise ShapeError(
            f"coords: expected shape (ndim, {n_values}), one column per value, "
            f"got {table.shape}"
        )
    if shape is not None and len(table) != len(shape):
        raise ShapeError(
            f"coords: expected {len(shape)} rows, one per dimension of shape "
            f"{shape}, got {len(table)}"
        )
    if table.dtype.kind not in "iu":
        raise CoordinateError(
            f"coords: expected integers that fit int64, got dtype {table.dtype}"
        )
    for axis, row in enumerate(table):
        # before the cast: a uint64 beyond int64 would come out negative
        _check_row(axis, row, sys.maxsize if shape is None else shape[axis])
    return table


def infer_shape(coords: npt.NDArray[Any]) -> tuple[int, ...]:
    """Return the smallest shape that holds the coordinates."""
    if coords.shape[1] == 0:
        return (0,) * len(coords)
    return tuple(int(row.max()) + 1 for row in coords)


def sort_order(keys: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64] | None:
    """Return the stable order that sorts by the first key, then the next, ...

    None where the keys are in that order already.

    Notes
    -----
    The keys are compared one by one and never combined to one number, so extents
    may have any product. O(n) where sorted, else O(n log n), for each key.
    """
    if not keys or len(keys[0]) < 2:
        return None
    undecided = np.ones(len(keys[0]) - 1, dtype=bool)
    for key in keys:
        if np.any(undecided & (key[1:] < key[:-1])):
            return np.lexsort([_narrow(key) for key in reversed(keys)])
        undecided &= key[1:] == key[:-1]
        if not undecided.any():
            break
    return None


def equal_neighbours(
    keys: Sequence[npt.NDArray[Any]], n_entries: int
) -> npt.NDArray[np.bool_]:
    """Mark every entry that agrees with the one before it in all keys."""
    equal = np.ones(n_entries, dtype=bool)
    equal[:1] = False
    for key in keys:
        equal[1:] &= key[1:] == key[:-1]
    return equal


def combine_duplicates(
    coords: Coordinates,
    values: npt.NDArray[Any],
    order: Sequence[int],
    duplicates: Duplicates = "sum",
) -> tuple[Coordinates, npt.NDArray[Any]]:
    """Sort entries by the dimensions in ``order`` and treat repeated coordinates.

    Parameters
    ----------
    coords : int64[ndim, n]
        Any order.
    values : dtype[n]
        Repeats are added in this dtype (16-bit floats in float32), in the order in
        which they stand; for bool that is a logical or.
    order : sequence of int
        The dimensions, most significant first.
    duplicates : {"sum", "error", "keep"}
        What repeated coordinates mean.

    Returns
    -------
    coords, values
        The same objects where there was nothing to do.

    Raises
    ------
    CoordinateError
        If a coordinate is repeated and ``duplicates`` is ``"error"``.
    """
    if duplicates not in ("sum", "error", "keep"):
        raise CoordinateError(
            f"duplicates: expected 'sum', 'error' or 'keep', got {duplicates!r}"
        )
    by_order = sort_order([coords[dimension] for dimension in order])
    if by_order is not None:
        coords, values = coords[:, by_order], values[by_order]
    repeated = equal_neighbours(list(coords), len(values))
    if duplicates == "keep" or not repeated.any():
        return coords, values
    if duplicates == "error":
        at = int(np.flatnonzero(repeated)[0])
        raise CoordinateError(
            "coords: expected no coordinates twice (duplicates='error'), "
            f"got {tuple(coords[:, at].tolist())} twice"
        )
    first = np.flatnonzero(~repeated)
    with np.errstate(all="ignore"):
        wide = widened(values)
        summed = np.add.reduceat(wide, first, dtype=wide.dtype)
        summed = summed.astype(values.dtype, copy=False)
    return coords[:, first], summed


def differs(values: npt.NDArray[Any], fill_value: Any) -> Mask:
    """Mark values that are not the fill value; NaN is the same as NaN.

    A negative zero is the same as zero, as in SciPy.
    """
    fill = np.asarray(fill_value)
    if values.dtype.kind == "c":
        real, imaginary = values.real, values.imag
        parts = _differs(real, fill.real), _differs(imaginary, fill.imag)
        return parts[0] | parts[1]
    return _differs(values, fill)


def _differs(values: npt.NDArray[Any], fill: npt.NDArray[Any]) -> Mask:
    """Mark real values that are not the fill value."""
    is_nan = dtype_kind(fill.dtype) == "f" and np.isnan(fill)
    marked: Mask = np.equal(values, values) if is_nan else np.not_equal(values, fill)
    return marked


def _narrow(key: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a key in 16 bits if it fits: NumPy sorts those by counting, in O(n)."""
    if key.dtype.kind in "iu" and key.min() >= 0 and key.max() < 2**16:
        return key.astype(np.uint16)
    return key


def _as_table(coords: Any) -> npt.NDArray[Any]:
    """Return coordinates as an array of whatever dtype they have."""
    subclass = isinstance(coords, np.ndarray) and type(coords) is not np.ndarray
    if subclass and np.ma.is_masked(coords):
        raise CoordinateError("coords: expected no masked elements, got some")
    try:
        return np.asarray(coords)
    except (ValueError, OverflowError):
        raise CoordinateError(
            "coords: expected rows of equal length, one per dimension, "
            "got rows that differ"
        ) from None


def _check_row(axis: int, row: npt.NDArray[Any], extent: int) -> None:
    """Check the coordinates along one axis."""
    # As unsigned numbers, negative ones are larger than any extent: one look at each.
    if len(row) == 0 or row.view(f"u{row.dtype.itemsize}").max() < extent:
        return
    outside = np.flatnonzero((row < 0) | (row >= extent))
    if len(outside):
        at = int(outside[0])
        raise CoordinateError(
            f"coords: expected coordinates in [0, {extent}) along axis {axis}, "
            f"got {row[at]} at column {at}"
        )
