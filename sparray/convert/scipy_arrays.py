"""SciPy sparse arrays in and out."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half
from sparray.convert.compressed_parts import (
    CompressedParts,
    adopt_parts,
    compressed_parts,
)
from sparray.convert.entries import cast_values, convert_format, from_coords
from sparray.convert.scipy_diagonals import by_rows, from_dia, has_diagonals, to_dia
from sparray.errors import DTypeError, SettingError, UnsupportedError
from sparray.formats.coordinates import as_shape
from sparray.formats.format import Format
from sparray.formats.named import as_format, named_format
from sparray.sparse_array import SparseArray, read_only

if TYPE_CHECKING:
    import scipy.sparse

__all__ = [
    "from_scipy",
    "interchange_format",
    "refuse_fill",
    "to_scipy",
]


def from_scipy(
    matrix: Any,
    format: str | Format | None = None,
    dtype: npt.DTypeLike | None = None,
    copy: bool = True,
) -> SparseArray:
    """Make an array of a SciPy sparse array or matrix, which is not changed.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix
        Unsorted indices are sorted and duplicates added up, in new buffers. SciPy's
        flags about that are not believed: the indices are checked.
    format : str or Format, optional
        By default its own for csr, csc, coo and dia, ``bcsr`` with its blocks for bsr,
        ``csr`` for lil, else ``coo``.
    dtype : dtype, optional
        Values are converted to it before any are added up.
    copy : bool
        False shares the buffers of a csr, csc or bsr array that is sorted, and the
        values of a dia array where the format is that of `from_dia`.

    Raises
    ------
    InvalidBufferError, CoordinateError
        If the buffers of the SciPy array are malformed.
    SettingError
        If it is something else.
    """
    if not hasattr(matrix, "format") or not hasattr(matrix, "tocoo"):
        raise SettingError(
            f"matrix: expected a SciPy sparse array, got {type(matrix).__name__} "
            "(sparray.array takes any array)"
        )
    if matrix.format in ("csr", "csc", "bsr") and matrix.ndim == 2:
        parts = CompressedParts(
            matrix.format != "csc",
            np.asarray(matrix.indptr),
            np.asarray(matrix.indices),
            cast_values(np.asarray(matrix.data), dtype),
        )
        made = adopt_parts(parts, as_shape(matrix.shape))
        if copy:
            made = made.copy()
    elif matrix.format == "dia":
        by_row = named_format("dia", 2)
        wanted = by_row if format is None else as_format(format, 2)
        made = from_dia(matrix, dtype, copy)
        if wanted != made.format:
            made = by_rows(made)
        format = wanted
    else:
        default = "csr" if matrix.format == "lil" else "coo"
        entries = matrix.tocoo()
        coords = getattr(entries, "coords", None)
        if coords is None:
            coords = (entries.row, entries.col)
        made = from_coords(
            [np.asarray(row) for row in coords],
            entries.data,
            matrix.shape,
            default if format is None else format,
            dtype=dtype,
        )
    return (
        made if format is None else convert_format(made, as_format(format, made.ndim))
    )


def to_scipy(array: SparseArray, copy: bool = False) -> "scipy.sparse.sparray":
    """Return a SciPy sparse array with the same entries.

    Parameters
    ----------
    array : SparseArray
        Its fill value must be 0.
    copy : bool
        False shares values and index buffers of ``csr``, ``csc``, ``coo`` and of
        ``bcsr`` whose blocks divide the shape, and the values of diagonals stored by
        column, as `from_dia` makes them. SciPy gets the index buffers as read-only
        views.

    Returns
    -------
    csr_array, csc_array, coo_array, bsr_array or dia_array
        Two-dimensional arrays of other formats, and of blocks that do not divide the
        shape, become csr or csc, whichever has the order of their levels; arrays of
        one, or of more than two dimensions coo.

    Raises
    ------
    UnsupportedError
        If the fill value is not 0, or SciPy has no array of that number of dimensions.
    DTypeError
        If SciPy has no sparse arrays of that dtype.
    """
    refuse_fill(array, "to_scipy")
    if is_half(array.dtype):
        raise DTypeError(f"to_scipy: expected a dtype SciPy has, got {array.dtype}")
    if array.ndim == 0:
        raise UnsupportedError("to_scipy: expected 1 dimension or more, got 0")
    if has_diagonals(array):
        return to_dia(array, copy)
    given = array
    parts = compressed_parts(array)
    if array.ndim != 2 or parts is None or (parts.block and not parts.by_row):
        array = convert_format(array, interchange_format(array))
        parts = compressed_parts(array)
    if copy and array is given:
        array = array.copy()
        parts = compressed_parts(array)
    made = _to_coo(array) if parts is None else _to_compressed(parts, array.shape)
    made.has_canonical_format = True
    return made


def interchange_format(array: SparseArray) -> Format:
    """Return the format that other libraries take: the array's own where they can.

    That is csr or csc, whichever has the order of its levels, or coo.
    """
    if array.ndim != 2:
        return named_format("coo", array.ndim)
    if array.format.name in ("csr", "csc", "coo"):
        return array.format
    by_row = array.format.dimension_order == (0, 1)
    return named_format("csr" if by_row else "csc", 2)


def refuse_fill(array: SparseArray, caller: str) -> None:
    """Raise if unstored entries are not zero, which other libraries take for granted.

    Raises
    ------
    UnsupportedError
        If the fill value is not 0.
    """
    if array.fill_value != 0:
        raise UnsupportedError(
            f"{caller}: expected fill value 0, got {array.fill_value} "
            "(todense makes a dense array)"
        )


def _to_compressed(parts: CompressedParts, shape: tuple[int, ...]) -> Any:
    """Make a csr_array, csc_array or bsr_array."""
    import scipy.sparse

    container = scipy.sparse.csr_array if parts.by_row else scipy.sparse.csc_array
    if parts.block:
        container = scipy.sparse.bsr_array
    arrays = (parts.values, read_only(parts.crd), read_only(parts.pos))
    made = container(arrays, shape=shape, copy=False)
    made.has_sorted_indices = True
    return made


def _to_coo(array: SparseArray) -> Any:
    """Make a coo_array, for which old versions of SciPy need two dimensions."""
    import scipy.sparse

    coords = tuple(read_only(buffers["crd"]) for buffers in array._levels)
    try:
        return scipy.sparse.coo_array(
            (array.values, coords), shape=array.shape, copy=False
        )
    except (TypeError, ValueError) as error:
        raise UnsupportedError(
            f"to_scipy: expected a number of dimensions that SciPy "
            f"{scipy.__version__} has, got {array.ndim} ({error})"
        ) from None
