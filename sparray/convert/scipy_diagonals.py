"""SciPy's diagonals: stored by column there, by row in ``dia``.

``data[k, j]`` of a ``dia_array`` is the element of diagonal ``k`` in column ``j``. That
is the layout of ``(i, j) -> (i - j: compressed, j: range)``, the format of a transposed
``dia`` array, whose diagonals ascend in ``i - j``: SciPy's offsets descend then.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import cast_values
from sparray.errors import InvalidBufferError
from sparray.formats.coordinates import as_shape
from sparray.formats.named import named_format
from sparray.formats.packing import narrowest_index_dtype
from sparray.sparse_array import SparseArray

if TYPE_CHECKING:
    import scipy.sparse

__all__ = ["by_rows", "from_dia", "has_diagonals", "to_dia"]


def from_dia(matrix: Any, dtype: npt.DTypeLike | None, copy: bool) -> SparseArray:
    """Make an array of a SciPy dia array, its diagonals stored by column.

    Parameters
    ----------
    matrix : scipy.sparse.dia_array or dia_matrix
        Every element of its diagonals inside the shape becomes an entry.
    dtype : dtype, optional
        Of the values.
    copy : bool
        False shares the values if the offsets descend and there is a value for each
        column.

    Raises
    ------
    InvalidBufferError
        If it is malformed.
    """
    n_rows, n_columns = shape = as_shape(matrix.shape)
    data, offsets = cast_values(np.asarray(matrix.data), dtype), matrix.offsets
    if data.ndim != 2 or offsets.shape != (len(data),) or offsets.dtype.kind != "i":
        raise InvalidBufferError(
            "dia: expected integer offsets and a row of data for each, got shapes "
            f"{offsets.shape} and {data.shape}"
        )
    order = np.argsort(-offsets.astype(np.int64))
    order = order[(offsets[order] > -n_rows) & (offsets[order] < n_columns)]
    found = offsets[order].astype(np.int64)
    if np.any(found[1:] == found[:-1]):
        raise InvalidBufferError("dia: expected each offset once, got one twice")
    if not np.array_equal(order, np.arange(len(data))):
        data = data[order]
    if data.shape[1] != n_columns:
        width = min(data.shape[1], n_columns)
        given = data[:, :width]
        data = np.zeros((len(given), n_columns), dtype=given.dtype)
        data[:, :width] = given
    values = np.ascontiguousarray(data).reshape(-1)
    if copy and np.may_share_memory(values, matrix.data):
        values = values.copy()
    return _diagonals(shape, n_columns - 1 - found, values, by_row=False)


def by_rows(array: SparseArray) -> SparseArray:
    """Return an array of diagonals stored by column as one of format ``dia``.

    O(diagonals * rows), in NumPy.
    """
    n_rows, n_columns = array.shape
    crd = array._levels[0]["crd"].astype(np.int64)[::-1]
    stored = array.values.reshape(len(crd), n_columns)[::-1]
    columns = np.arange(n_rows) + (n_columns - 1 - crd)[:, np.newaxis]
    inside = (columns >= 0) & (columns < n_columns)
    values = np.zeros((len(crd), n_rows), dtype=array.dtype)
    which = np.broadcast_to(np.arange(len(crd))[:, np.newaxis], inside.shape)
    values[inside] = stored[which[inside], columns[inside]]
    crd = n_rows + n_columns - 2 - crd
    return _diagonals((n_rows, n_columns), crd, values.reshape(-1), by_row=True)


def has_diagonals(array: SparseArray) -> bool:
    """Tell whether an array stores diagonals, by row or by column."""
    dia = named_format("dia", 2)
    return array.format in (dia, dia.transposed)


def to_dia(array: SparseArray, copy: bool) -> "scipy.sparse.dia_array":
    """Return a SciPy dia array of an array of diagonals.

    Values that are stored by column are shared, unless ``copy``.
    """
    import scipy.sparse

    if array.format == named_format("dia", 2):
        array = by_rows(array.T).T
    elif copy:
        array = array.copy()
    n_columns = array.shape[1]
    crd = array._levels[0]["crd"]
    data = array.values.reshape(len(crd), n_columns)
    offsets = n_columns - 1 - crd.astype(np.int64)
    return scipy.sparse.dia_array((data, offsets), shape=array.shape, copy=False)


def _diagonals(
    shape: tuple[int, ...],
    crd: npt.NDArray[np.int64],
    values: npt.NDArray[Any],
    *,
    by_row: bool,
) -> SparseArray:
    """Make an array of diagonals that are known to be right."""
    format = named_format("dia", 2)
    if not by_row:
        format = format.transposed
    width = narrowest_index_dtype(format.level_extents(shape), len(values))
    pos = np.array([0, len(crd)], dtype=width)
    levels: tuple[dict[str, Any], ...] = (
        {"pos": pos, "crd": crd.astype(width)},
        {},
    )
    zero = values.dtype.type(0)
    return SparseArray._from_trusted(format, shape, levels, values, zero)
