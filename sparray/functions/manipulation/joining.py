"""Arrays put together: side by side, on top of each other, in blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparray.convert import array as as_array
from sparray.errors import ShapeError, WouldDensifyError
from sparray.formats.coordinates import differs
from sparray.functions.creation import asarray
from sparray.functions.indexing.axes import checked_axis
from sparray.functions.indexing.getitem import getitem
from sparray.functions.manipulation.dimensions import expand_dims
from sparray.functions.manipulation.joined_buffers import joined_buffers
from sparray.functions.manipulation.repacked import entries, moved_format, repacked
from sparray.functions.manipulation.shapes import reshape
from sparray.sparse_array import SparseArray

__all__ = ["block", "block_diag", "concat", "hstack", "stack", "unstack", "vstack"]


def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> SparseArray:
    """Join arrays along an axis that they have.

    Parameters
    ----------
    arrays : sequence of SparseArray or array-like
        Of one shape but for the axis. Any formats; their fill values are the same.
    axis : int or None
        Along which axis; None joins all elements in C order.

    Returns
    -------
    SparseArray
        In the format of the first sparse array, but for those that have room for a
        fixed number of entries; dense only if all are.

    Raises
    ------
    ShapeError
        If there is no array, no such axis, or shapes differ beside it.
    WouldDensifyError
        If fill values differ: all elements of one would be stored.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0, 2], [1, 0]], format="csr")
    >>> sp.concat([A, A], axis=1).todense()
    array([[0, 2, 0, 2],
           [1, 0, 1, 0]])
    """
    given = _operands(arrays)
    if axis is None:
        given, axis = [reshape(x, (-1,)) for x in given], 0
    first = given[0]
    along = checked_axis(axis, first.shape)
    for other in given[1:]:
        same = other.ndim == first.ndim and all(
            d == along or n == m
            for d, (n, m) in enumerate(zip(other.shape, first.shape, strict=False))
        )
        if not same:
            raise ShapeError(
                f"concat: expected shapes that agree but for axis {along}, got "
                f"{first.shape} and {other.shape}"
            )
    return _joined(given, along)


def _operands(arrays: Sequence[Any]) -> list[SparseArray]:
    """Return the arrays that are joined, of which there is at least one."""
    given = [_operand(x) for x in arrays]
    if not given:
        raise ShapeError("arrays: expected at least one array, got none")
    return given


def _operand(x: Any) -> SparseArray:
    """Return an array; NumPy's stay dense, so that no fill value is theirs."""
    if isinstance(x, np.ndarray):
        return as_array(x, format="dense", copy=False)
    return asarray(x)


def _joined(given: list[SparseArray], along: int) -> SparseArray:
    dtype = np.result_type(*(x.dtype for x in given))
    sparse = [x for x in given if not x.format.is_dense]
    like = (sparse or given)[0]
    fill = np.asarray(like.fill_value).astype(dtype)[()]
    format = moved_format(like.format, like.ndim)
    extents = [x.shape[along] for x in given]
    shape = (*like.shape[:along], sum(extents), *like.shape[along + 1 :])
    for other in sparse:
        _check_fill("concat", other, fill)
    joined = joined_buffers(given, along, dtype) if len(sparse) == len(given) else None
    if joined is not None:
        levels, elements = joined
        return SparseArray._from_trusted(format, shape, levels, elements, fill)
    before = np.cumsum([0, *extents])
    tables, values = [], []
    for x, offset in zip(given, before, strict=False):
        coords, own = entries(x, fill)
        coords = coords.copy()
        coords[along] += offset
        tables.append(coords)
        values.append(own.astype(dtype, copy=False))
    coords = np.concatenate(tables, axis=1)
    return repacked(format, shape, coords, np.concatenate(values), fill)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> SparseArray:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : sequence of SparseArray or array-like
        Of one shape and fill value.
    axis : int
        Where the new axis is in the result.

    Returns
    -------
    SparseArray
        In the format that ``x[None]`` of the first sparse array has.

    Raises
    ------
    ShapeError
        If there is no array, no such axis, or shapes differ.
    WouldDensifyError
        If fill values differ: all elements of one would be stored.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.stack([sp.array([0, 2]), sp.array([1, 0])], axis=1).todense()
    array([[0, 1],
           [2, 0]])
    """
    given = _operands(arrays)
    for other in given[1:]:
        if other.shape != given[0].shape:
            raise ShapeError(
                f"stack: expected arrays of one shape, got {given[0].shape} and "
                f"{other.shape}"
            )
    along = checked_axis(axis, given[0].shape, more=1)
    return concat([expand_dims(x, axis=along) for x in given], axis=along)


def unstack(x: Any, /, axis: int = 0) -> tuple[SparseArray, ...]:
    """Return the slices of an array along an axis.

    Parameters
    ----------
    x : SparseArray or array-like
        At least one dimension.
    axis : int
        Along which axis.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import sparray as sp
    >>> [row.todense().tolist() for row in sp.unstack(sp.array([[0, 2], [1, 0]]))]
    [[0, 2], [1, 0]]
    """
    array = asarray(x)
    along = checked_axis(axis, array.shape)
    before = [slice(None)] * along
    extent = array.shape[along]
    if array.ndim == 1:
        # An index of an integer alone is an element.
        parts = (getitem(array, slice(n, n + 1)) for n in range(extent))
        return tuple(reshape(part, ()) for part in parts)
    return tuple(getitem(array, (*before, n)) for n in range(extent))


def block(arrays: Any) -> SparseArray:
    """Put an array together from blocks.

    Parameters
    ----------
    arrays : nested lists of SparseArray or array-like
        As for `numpy.block`: blocks of the innermost lists are joined along the last
        axis, those of the lists around them along the one before, and so on.

    Raises
    ------
    ShapeError
        If lists are nested to different depths or empty, or blocks do not fit.
    WouldDensifyError
        If fill values differ: all elements of one would be stored.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[1, 2]], format="csr")
    >>> sp.block([[A, A], [sp.zeros((1, 4), dtype="int64")]]).todense()
    array([[1, 2, 1, 2],
           [0, 0, 0, 0]])
    """
    depth = _depth(arrays)
    return _block(arrays, depth, max(depth, _most_dimensions(arrays)))


def block_diag(arrays: Sequence[Any]) -> SparseArray:
    """Put matrices along the diagonal of one that has nothing else.

    Parameters
    ----------
    arrays : sequence of SparseArray or array-like
        Of two dimensions each.

    Raises
    ------
    ShapeError
        If there is none, or one has not two dimensions.
    WouldDensifyError
        If fill values differ: all elements of one would be stored.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.block_diag([[[1, 2]], [[3], [4]]]).todense()
    array([[1, 2, 0],
           [0, 0, 3],
           [0, 0, 4]])
    """
    given = [asarray(one) for one in arrays]
    if not given or any(one.ndim != 2 for one in given):
        shapes = ", ".join(str(one.shape) for one in given) or "none"
        raise ShapeError(f"block_diag: expected matrices, got {shapes}")
    dtype = np.result_type(*(one.dtype for one in given))
    fill = np.asarray(given[0].fill_value).astype(dtype)[()]
    tables, values, corner = [], [], np.zeros(2, dtype=np.int64)
    for one in given:
        _check_fill("block_diag", one, fill)
        coords, own = entries(one, fill)
        tables.append(coords + corner[:, np.newaxis])
        values.append(own.astype(dtype, copy=False))
        corner += one.shape
    format = moved_format(given[0].format, 2)
    shape = int(corner[0]), int(corner[1])
    coords = np.concatenate(tables, axis=1)
    return repacked(format, shape, coords, np.concatenate(values), fill)


def _check_fill(name: str, array: SparseArray, fill: Any) -> None:
    """Raise if an array has another fill value than what it is joined with."""
    if bool(differs(np.asarray(array.fill_value).astype(np.asarray(fill).dtype), fill)):
        raise WouldDensifyError(
            f"{name}: expected arrays with one fill value, got {fill} and "
            f"{array.fill_value}: all {array.size * array.dtype.itemsize} bytes of "
            "one would be stored; convert it by sparray.array(x.todense(), "
            "fill_value=...)"
        )


def hstack(arrays: Sequence[Any]) -> SparseArray:
    """Join arrays along their columns: axis 1, or 0 of one dimension.

    Parameters
    ----------
    arrays : sequence of SparseArray or array-like
        As for `numpy.hstack`.

    Raises
    ------
    ShapeError
        If there is none, or other dimensions differ.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.hstack([sp.eye(2), [[5.0], [6.0]]]).shape
    (2, 3)
    """
    given = _operands(arrays)
    return concat(given, axis=min(1, max(0, given[0].ndim - 1)))


def vstack(arrays: Sequence[Any]) -> SparseArray:
    """Join arrays along their rows: axis 0; arrays of one dimension are rows.

    Parameters
    ----------
    arrays : sequence of SparseArray or array-like
        As for `numpy.vstack`.

    Raises
    ------
    ShapeError
        If there is none, or other dimensions differ.

    Examples
    --------
    >>> import sparray as sp
    >>> sp.vstack([sp.eye(2), sp.eye(2)]).shape
    (4, 2)
    """
    given = _operands(arrays)
    if all(one.ndim == 1 for one in given):
        return stack(given, axis=0)
    return concat(given, axis=0)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(one) for one in arrays}
    if len(depths) != 1:
        raise ShapeError(
            "arrays: expected lists that are nested to one depth and not empty, got "
            f"depths {sorted(depths)}"
        )
    return depths.pop() + 1


def _most_dimensions(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(_most_dimensions(one) for one in arrays)
    return asarray(arrays).ndim


def _block(arrays: Any, depth: int, ndim: int) -> SparseArray:
    if depth == 0:
        array = _operand(arrays)
        new = ndim - array.ndim
        return expand_dims(array, axis=tuple(range(new))) if new else array
    parts = [_block(one, depth - 1, ndim) for one in arrays]
    return concat(parts, axis=-depth)
