"""Convert between formats by a compiled assignment."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.index_notation.canonical import index_name
from sparray.dispatch import try_compiled
from sparray.errors import DTypeError, PatternError, UnsupportedError
from sparray.evaluation.expression import Expression, assignment_expression
from sparray.evaluation.stored import Operand, Stored
from sparray.formats.buffers import INDEX_DTYPES
from sparray.formats.compressed import Compressed
from sparray.formats.format import Format
from sparray.formats.packing import narrowest_index_dtype
from sparray.formats.singleton import Singleton

__all__ = ["assign_compiled", "assign_entries"]

_MOST_DIMENSIONS = 8
"""Past this many loops a kernel takes longer to compile than it is worth."""
_WORTH_COMPILING = 2**15
"""Values from which on a kernel is worth the half second that it takes to compile;
NumPy converts fewer than that in less than 10 ms."""


def assign_compiled(
    operand: Operand,
    format: Format,
    *,
    zero_fill: bool,
    index_dtype: str | None = None,
    merging: str = "",
) -> Stored | None:
    """Compute ``B[i,j,...] = A[i,j,...]`` into another format.

    Parameters
    ----------
    operand : Operand
        Any format. Of a dense one, elements that are zero are not stored.
    format : Format
        What to make.
    zero_fill : bool
        Whether the operand's fill value is zero.
    index_dtype : {"int32", "int64"}, optional
        Of the result; by default what the operand's index dtype and the extents need.
    merging : {"", "sort", "hash"}
        How repeated coordinates of the operand meet; by default the cheaper way.

    Returns
    -------
    Stored or None
        None where the conversion is NumPy's task: few values, no compiler, many
        dimensions, a dtype without kernels, a fill value to be written, or duplicates
        to be kept.
    """
    ndim = format.ndim
    if not 1 <= ndim <= _MOST_DIMENSIONS or not format.unique:
        return None
    if not zero_fill and any(f.is_full or f.pads for f in (format, operand.format)):
        return None
    if len(operand.values) < _WORTH_COMPILING:
        return None
    if not zero_fill:
        # No value is copied from what is not stored: one kernel serves all fills.
        operand = Stored(operand.format, operand.shape, operand._levels, operand.values)
    try:
        return try_compiled(
            _copy(ndim),
            [operand],
            format,
            # What such a level makes up is zero too: only the others need a place.
            prune=operand.format.is_dense
            or any(level.bounded for level in format.levels),
            index_dtype=index_dtype,
            merging=merging,
        )
    except (UnsupportedError, DTypeError, PatternError):
        # Levels that a result cannot be appended to; NumPy names an entry without room.
        return None


def assign_entries(
    coords: npt.NDArray[Any],
    values: npt.NDArray[Any],
    shape: tuple[int, ...],
    format: Format,
    *,
    zero_fill: bool,
    merging: str = "",
) -> Stored | None:
    """Compute ``B[i,j,...]`` from coordinates in any order, repeated ones added up.

    Parameters
    ----------
    coords : int[ndim, n]
        Checked against the shape.
    values : dtype[n]
        One per column.
    shape : tuple of int
        Extent of each dimension.
    format : Format
        What to make.
    zero_fill : bool
        Whether the fill value is zero.
    merging : {"", "sort", "hash"}
        As for `assign_compiled`.

    Returns
    -------
    Stored or None
        None where `assign_compiled` gives None. It shares no memory with the arguments.
    """
    if not 1 <= format.ndim <= _MOST_DIMENSIONS or len(values) < _WORTH_COMPILING:
        return None
    made = narrowest_index_dtype(shape, len(values))
    kept = coords.dtype if coords.dtype in INDEX_DTYPES else np.dtype(np.int64)
    rows = [np.ascontiguousarray(row, dtype=kept) for row in coords]
    listed = _list_of_entries(format.dimension_order)
    levels = tuple({"crd": rows[dimension]} for dimension in listed.order)
    levels[0]["pos"] = np.array([0, len(values)], dtype=kept)
    operand = Stored(listed, shape, levels, np.ascontiguousarray(values))
    return assign_compiled(
        operand,
        format,
        zero_fill=zero_fill,
        index_dtype=made.name,
        merging=merging,
    )


@lru_cache(maxsize=128)
def _list_of_entries(order: tuple[int, ...]) -> Format:
    """Return the format of coordinates in any order, which may be repeated."""
    rest = (Singleton(unique=False, ordered=False),) * (len(order) - 1)
    return Format((Compressed(unique=False, ordered=False), *rest), order)


@lru_cache(maxsize=16)
def _copy(ndim: int) -> Expression:
    indices = ",".join(map(index_name, range(ndim)))
    return assignment_expression(f"B[{indices}] = A[{indices}]")
