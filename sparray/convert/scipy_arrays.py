"""SciPy sparse arrays in and out."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.compiler.loop_ir.dtypes import is_half
from sparray.convert.entries import cast_values, convert_format, from_coords
from sparray.errors import DTypeError, InvalidBufferError, UnsupportedError
from sparray.formats.compressed import Compressed
from sparray.formats.coordinates import as_shape
from sparray.formats.dense import Dense
from sparray.formats.format import Format
from sparray.formats.named import as_format, named_format
from sparray.formats.packing import LevelBuffers, check_buffers
from sparray.sparse_array import SparseArray, read_only

if TYPE_CHECKING:
    import scipy.sparse

__all__ = [
    "adopt_compressed",
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
        By default its own for csr, csc and coo, ``csr`` for bsr and lil, else ``coo``.
    dtype : dtype, optional
        Values are converted to it before any are added up.
    copy : bool
        False shares the buffers of a csr or csc array that is sorted.

    Raises
    ------
    InvalidBufferError, CoordinateError
        If the buffers of the SciPy array are malformed.
    """
    if matrix.format in ("csr", "csc") and matrix.ndim == 2:
        order = (0, 1) if matrix.format == "csr" else (1, 0)
        made = adopt_compressed(
            as_shape(matrix.shape),
            order,
            matrix.indptr,
            matrix.indices,
            cast_values(matrix.data, dtype),
        )
        if copy:
            made = made.copy()
    else:
        default = "csr" if matrix.format in ("bsr", "lil") else "coo"
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


def adopt_compressed(
    shape: tuple[int, ...],
    order: tuple[int, int],
    pos: npt.NDArray[Any],
    crd: npt.NDArray[Any],
    values: npt.NDArray[Any],
) -> SparseArray:
    """Make a csr or csc array of buffers that may be unsorted, with duplicates.

    Buffers are shared where they are canonical, and longer than ``pos`` says where
    their owner kept some space.

    Raises
    ------
    InvalidBufferError
        If they are malformed in any other way.
    """
    width = np.result_type(pos, crd)
    end = max(int(pos[-1]), 0) if pos.size else 0
    levels: LevelBuffers = (
        {},
        {
            "pos": np.ascontiguousarray(pos, dtype=width),
            "crd": np.ascontiguousarray(crd[:end], dtype=width),
        },
    )
    values = np.ascontiguousarray(values[:end])
    loose = Format([Dense(), Compressed(unique=False, ordered=False)], order)
    check_buffers(loose, shape, levels, values)
    canonical = Format([Dense(), Compressed()], order)
    zero = values.dtype.type(0)
    try:
        check_buffers(canonical, shape, levels, values)
    except InvalidBufferError:
        unsorted = SparseArray._from_trusted(loose, shape, levels, values, zero)
        return convert_format(unsorted, canonical)
    return SparseArray._from_trusted(canonical, shape, levels, values, zero)


def to_scipy(array: SparseArray, copy: bool = False) -> "scipy.sparse.sparray":
    """Return a SciPy sparse array with the same entries.

    Parameters
    ----------
    array : SparseArray
        Its fill value must be 0.
    copy : bool
        False shares values and index buffers of ``csr``, ``csc`` and ``coo``; SciPy
        gets the index buffers as read-only views.

    Returns
    -------
    csr_array, csc_array or coo_array
        Two-dimensional arrays of other formats become csr or csc, whichever has the
        order of their levels; arrays of one, or of more than two dimensions coo.

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
    given = array
    array = convert_format(array, interchange_format(array))
    if copy and array is given:
        array = array.copy()
    levels = [
        {role: read_only(buffer) for role, buffer in buffers.items()}
        for buffers in array._levels
    ]
    import scipy.sparse

    if array.format.name == "coo":
        made = _to_coo(array, tuple(buffers["crd"] for buffers in levels))
    else:
        container = (
            scipy.sparse.csr_array
            if array.format.name == "csr"
            else scipy.sparse.csc_array
        )
        made = container(
            (array.values, levels[1]["crd"], levels[1]["pos"]),
            shape=array.shape,
            copy=False,
        )
        made.has_sorted_indices = True
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


def _to_coo(array: SparseArray, coords: tuple[npt.NDArray[Any], ...]) -> Any:
    """Make a coo_array, for which old versions of SciPy need two dimensions."""
    import scipy.sparse

    try:
        return scipy.sparse.coo_array(
            (array.values, coords), shape=array.shape, copy=False
        )
    except (TypeError, ValueError) as error:
        raise UnsupportedError(
            f"to_scipy: expected a number of dimensions that SciPy "
            f"{scipy.__version__} has, got {array.ndim} ({error})"
        ) from None
