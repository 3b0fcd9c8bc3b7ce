"""Arrays from coordinates, raw buffers and dense NumPy arrays; between formats."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import dtype_kind
from sparray.convert.compiled import assign_compiled, assign_entries
from sparray.errors import (
    DTypeError,
    InvalidBufferError,
    ShapeError,
    UnsupportedError,
)
from sparray.evaluation.stored import Stored, dense_operand, in_shape
from sparray.formats.buffers import plain
from sparray.formats.coordinates import (
    Duplicates,
    as_dtype,
    as_fill_value,
    as_shape,
    combine_duplicates,
    coordinate_table,
    differs,
    infer_shape,
)
from sparray.formats.format import Format
from sparray.formats.level import IntArray
from sparray.formats.named import as_format, named_format
from sparray.formats.packing import check_buffers, pack_coordinates, unpack_coordinates
from sparray.sparse_array import SparseArray

__all__ = [
    "cast_values",
    "convert_format",
    "default_format",
    "from_buffers",
    "from_coords",
    "from_dense",
]


def default_format(ndim: int) -> Format:
    """Return the format that a dense object gets where none is asked for.

    That is ``csr`` for two dimensions and ``csf`` for any other number.
    """
    return named_format("csr" if ndim == 2 else "csf", ndim)


def from_coords(
    coords: npt.ArrayLike,
    values: npt.ArrayLike,
    shape: Any = None,
    format: str | Format = "coo",
    duplicates: Duplicates = "sum",
    fill_value: Any = 0,
    dtype: npt.DTypeLike | None = None,
) -> SparseArray:
    """Make an array from the coordinates and the values of its entries.

    Parameters
    ----------
    coords : int[ndim, n]
        One row per dimension, one column per entry, in any order.
    values : dtype[n]
        One per entry; explicit zeros stay entries.
    shape : sequence of int, optional
        By default the smallest shape that holds the coordinates.
    format : str or Format
        A name, a format string or a format.
    duplicates : {"sum", "error", "keep"}
        Repeated coordinates are added up, refused, or kept as entries of their own,
        which needs a format that is not unique.
    fill_value : scalar
        What every other entry is.
    dtype : dtype, optional
        Values are converted to it before any are added up.

    Returns
    -------
    SparseArray
        It shares no memory with the arguments.

    Raises
    ------
    CoordinateError
        If a coordinate is negative or not below its extent, or is repeated against
        ``duplicates="error"``.
    ShapeError
        If coordinates, values and shape do not fit together.
    DTypeError
        If a dtype is not supported, or cannot hold the fill value.
    FormatError
        If the format cannot hold the entries.

    Examples
    --------
    >>> A = from_coords([[0, 1, 0], [2, 0, 2]], [1.0, 2.0, 4.0], (2, 3), "csr")
    >>> A.todense()
    array([[0., 0., 5.],
           [2., 0., 0.]])
    """
    flat = cast_values(_as_array("values", values), dtype)
    if flat.ndim != 1:
        raise ShapeError(
            f"values: expected 1 dimension, one value per coordinate, got shape "
            f"{flat.shape}"
        )
    extents = None if shape is None else as_shape(shape)
    given = coordinate_table(coords, extents, len(flat))
    if extents is None:
        extents = infer_shape(given)
    made = as_format(format, len(extents))
    fill = as_fill_value(fill_value, flat.dtype)
    if duplicates in ("sum", "error"):
        zero_fill = bool(fill == 0)
        stored = assign_entries(given, flat, extents, made, zero_fill=zero_fill)
        if stored is not None:
            if duplicates == "sum" or len(stored.values) == len(flat):
                return _wrap(stored, fill)
    order = made.dimension_order
    table = np.ascontiguousarray(given, dtype=np.int64)
    table, combined = combine_duplicates(table, flat, order, duplicates)
    levels, packed = pack_coordinates(made, extents, table, combined, fill)
    if np.may_share_memory(packed, flat):
        packed = packed.copy()
    return SparseArray._from_trusted(made, extents, levels, packed, fill)


def from_buffers(
    format: str | Format,
    shape: Any,
    levels: Sequence[Mapping[str, IntArray]],
    values: npt.NDArray[Any],
    fill_value: Any = 0,
) -> SparseArray:
    """Make an array of raw buffers, which are checked and not copied.

    Parameters
    ----------
    format : str or Format
        What the buffers claim to be.
    shape : sequence of int
        Extent of each dimension.
    levels : sequence of mapping of str to int32[:] or int64[:]
        Buffers of each level by role, outermost first: ``{}`` for a dense level,
        ``{"pos": ..., "crd": ...}`` for a compressed one, ``{"crd": ...}`` for a
        singleton. All have one dtype, but for the ``mask`` of a bitmap level (bool)
        and the ``crd`` of a structured one (uint8). Arrays of NumPy's, or of any
        library that speaks DLPack.
    values : dtype[positions]
        Value of each position of the innermost level.
    fill_value : scalar
        What every other entry is.

    Returns
    -------
    SparseArray
        It shares the buffers: do not write to an index buffer after this.

    Raises
    ------
    InvalidBufferError
        If an invariant of a level does not hold, or two buffers share memory; the
        message names the buffer.
    DTypeError
        If the values have a dtype that is not supported.

    Examples
    --------
    >>> A = from_buffers(
    ...     "csr",
    ...     (2, 3),
    ...     [{}, {"pos": np.array([0, 1, 2]), "crd": np.array([2, 0])}],
    ...     np.array([1.0, 2.0]),
    ... )
    >>> A.nnz
    2
    """
    extents = as_shape(shape)
    made = as_format(format, len(extents))
    if not isinstance(levels, Sequence):
        raise InvalidBufferError(
            "levels: expected a sequence with the buffers of each level, "
            f"got {type(levels).__name__}"
        )
    kept = tuple(_plain_level(number, level) for number, level in enumerate(levels))
    flat = plain("values", values)
    check_buffers(made, extents, kept, flat)
    fill = as_fill_value(fill_value, flat.dtype)
    return SparseArray._from_trusted(made, extents, kept, flat, fill)


def _plain_level(number: int, buffers: Any) -> dict[str, IntArray]:
    """Return a level's buffers, whatever they are, in a dictionary of our own."""
    if not isinstance(buffers, Mapping):
        raise InvalidBufferError(
            f"levels[{number}]: expected a mapping of buffers, "
            f"got {type(buffers).__name__}"
        )
    return {
        role: plain(f"levels[{number}][{role!r}]", buffer)
        for role, buffer in buffers.items()
    }


def from_dense(
    obj: npt.ArrayLike,
    format: str | Format | None = None,
    dtype: npt.DTypeLike | None = None,
    fill_value: Any = 0,
    copy: bool = True,
) -> SparseArray:
    """Make an array of the elements of a dense one that differ from the fill value.

    Parameters
    ----------
    obj : array_like
        A NumPy array, a nested list or a number.
    format : str or Format, optional
        By default that of `default_format`.
    dtype : dtype, optional
        Elements are converted to it first.
    fill_value : scalar
        NaN stands for every NaN; a negative zero counts as zero.
    copy : bool
        False shares the memory of ``obj`` if the format is ``dense`` and the memory
        is contiguous.

    Raises
    ------
    ShapeError
        If a nested list has rows of different lengths.
    DTypeError
        If a dtype is not supported, or cannot hold the fill value.
    """
    dense = cast_values(_as_array("obj", obj), dtype)
    made = (
        default_format(dense.ndim) if format is None else as_format(format, dense.ndim)
    )
    fill = as_fill_value(fill_value, dense.dtype)
    shape = dense.shape
    if made.is_dense:
        values = dense.transpose(made.order).reshape(-1)
        if copy and np.may_share_memory(values, dense):
            values = values.copy()
        return SparseArray._from_trusted(
            made, shape, ({},) * len(shape), np.ascontiguousarray(values), fill
        )
    compiled = assign_compiled(dense_operand(dense), made, zero_fill=bool(fill == 0))
    if compiled is not None:
        return _wrap(compiled, fill)
    kept = differs(dense, fill)
    coords = np.array(np.nonzero(kept), dtype=np.int64)
    levels, packed = pack_coordinates(made, shape, coords, dense[kept], fill)
    return SparseArray._from_trusted(made, shape, levels, packed, fill)


def convert_format(array: SparseArray, format: Format) -> SparseArray:
    """Return the array in another format; the same object if it has it already.

    Repeated coordinates are added up where the new format is unique.

    Raises
    ------
    FormatError
        If the format cannot hold the entries.

    Notes
    -----
    A compiled assignment, planned by the scheduler: O(n) where the new format takes
    entries as they come or sorts them into fibres, else O(n log n). Where there is no
    compiler, or for many dimensions, the same by NumPy. The values are a copy.
    """
    if array.format == format:
        return array
    compiled = assign_compiled(array, format, zero_fill=bool(array.fill_value == 0))
    if compiled is not None:
        return _wrap(compiled, array.fill_value)
    if array.format.is_dense and format.is_dense:
        order = array.format.dimension_order
        stored = in_shape(array.values, [array.shape[d] for d in order])
        elements = stored.transpose(np.argsort(order))
        return from_dense(elements, format, None, array.fill_value)
    coords, values = unpack_coordinates(
        array.format, array.shape, array._levels, array.values, array.fill_value
    )
    if format.unique and not array.format.unique:
        coords, values = combine_duplicates(coords, values, format.dimension_order)
    levels, packed = pack_coordinates(
        format, array.shape, coords, values, array.fill_value
    )
    if np.may_share_memory(packed, array.values):
        packed = packed.copy()
    return SparseArray._from_trusted(
        format, array.shape, levels, packed, array.fill_value
    )


def _wrap(stored: Stored, fill_value: Any) -> SparseArray:
    return SparseArray._from_trusted(
        stored.format, stored.shape, stored._levels, stored.values, fill_value
    )


def cast_values(
    values: npt.NDArray[Any], dtype: npt.DTypeLike | None
) -> npt.NDArray[Any]:
    """Return values in a dtype that arrays can have: the one asked for, or theirs.

    Raises
    ------
    DTypeError
        If there is no such dtype, or complex values would lose a part.
    """
    known = as_dtype(values.dtype, "values") if dtype is None else as_dtype(dtype)
    if values.dtype.kind == "c" and known.kind not in "cb":
        raise DTypeError(
            f"dtype: expected a complex one for complex values, got {known}"
        )
    if dtype_kind(values.dtype) not in "biufc":
        as_dtype(values.dtype, "values")
    return values.astype(known, copy=False)


def _as_array(argument: str, obj: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return a NumPy array of whatever shape and dtype the object has."""
    subclass = isinstance(obj, np.ndarray) and type(obj) is not np.ndarray
    if subclass and np.ma.is_masked(obj):
        raise UnsupportedError(
            f"{argument}: expected no masked elements, got some (filled() gives them "
            "values)"
        )
    try:
        return np.asarray(obj)
    except ValueError:
        raise ShapeError(
            f"{argument}: expected nested lists of equal lengths, got lists that differ"
        ) from None
