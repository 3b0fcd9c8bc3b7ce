"""Torch tensors in and out: values and buffers, without autograd."""

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.convert.entries import (
    cast_values,
    convert_format,
    from_coords,
    from_dense,
)
from sparray.convert.scipy_arrays import (
    adopt_compressed,
    interchange_format,
    refuse_fill,
)
from sparray.convert.torch_memory import as_ndarray, as_strided_tensor
from sparray.errors import InvalidBufferError, UnsupportedError
from sparray.formats.compressed import Compressed
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.sparse_array import SparseArray

if TYPE_CHECKING:
    import torch

__all__ = ["from_torch", "to_torch"]

Entries = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def from_torch(
    tensor: "torch.Tensor",
    format: str | Format | None = None,
    dtype: npt.DTypeLike | None = None,
    fill_value: Any = None,
    copy: bool = True,
) -> SparseArray:
    """Make an array of a torch tensor of any layout, dense and sparse dimensions.

    Parameters
    ----------
    tensor : torch.Tensor
        On the CPU. Sparse layouts give their stored entries: duplicates of a tensor
        that is not coalesced are added up, blocks and dense dimensions are entries
        one by one. Malformed index tensors are refused, which torch does not do.
    format : str or Format, optional
        By default ``csr`` for csr and bsr, ``csc`` for csc and bsc, ``coo`` for coo and
        for batches, and that of `from_dense` for a strided tensor.
    dtype : dtype, optional
        Values are converted to it before any are added up.
    fill_value : scalar, optional
        0 by default; only a strided tensor may have another one.
    copy : bool
        False shares the buffers of a csr or csc tensor that is sorted.

    Returns
    -------
    SparseArray
        Values only: it is not part of the autograd graph.

    Raises
    ------
    UnsupportedError
        If the tensor is on another device, or sparse with another fill value.
    DTypeError
        If NumPy has no such dtype.
    MissingExtraError
        If it is bfloat16, and ml_dtypes is not installed.
    InvalidBufferError, CoordinateError
        If the index tensors are malformed.
    """
    import torch

    if tensor.device.type != "cpu":
        raise UnsupportedError(
            f"tensor: expected one on the CPU, got device {tensor.device} "
            "(tensor.cpu() copies it)"
        )
    tensor = tensor.detach()
    if tensor.layout == torch.strided:
        fill = 0 if fill_value is None else fill_value
        return from_dense(_to_numpy(tensor), format, dtype, fill, copy)
    if fill_value is not None and fill_value != 0:
        raise UnsupportedError(
            f"fill_value: expected 0, the one of a sparse tensor, got {fill_value!r}"
        )
    if tensor.layout == torch.sparse_coo:
        coords, values = _to_numpy(tensor._indices()), _to_numpy(tensor._values())
        coords, values = _spread_blocks(coords, values)
        made = from_coords(coords, values, tuple(tensor.shape), dtype=dtype)
    else:
        made = _from_compressed(tensor, dtype, copy)
    return (
        made if format is None else convert_format(made, as_format(format, made.ndim))
    )


def to_torch(array: SparseArray, copy: bool = False) -> "torch.Tensor":
    """Return a torch tensor with the same entries.

    Parameters
    ----------
    array : SparseArray
        Its fill value must be 0, unless its format is dense.
    copy : bool
        False shares the buffers of ``csr``, ``csc`` and ``dense`` arrays and the values
        of ``coo`` ones. Torch has no read-only tensors: do not write to the indices.

    Returns
    -------
    torch.Tensor
        Strided for ``dense``, sparse_csr for ``csr``, sparse_csc for ``csc``; any other
        array of two dimensions becomes one of these, and sparse_coo (coalesced)
        stands for the rest.

    Raises
    ------
    UnsupportedError
        If the fill value is not 0, or torch cannot hold the shape.
    """
    import torch

    given = array
    if not array.format.is_dense:
        refuse_fill(array, "to_torch")
        array = convert_format(array, interchange_format(array))
    if copy and array is given:
        array = array.copy()
    values = _from_numpy(array.values)
    if array.format.is_dense:
        stored = values.reshape([array.shape[d] for d in array.format.order])
        return stored.permute(np.argsort(array.format.order).tolist())
    levels = array._levels
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Sparse CS[RC].*beta")
            if array.format.name == "coo":
                coords = np.array([buffers["crd"] for buffers in levels], np.int64)
                return torch.sparse_coo_tensor(
                    _from_numpy(coords),
                    values,
                    array.shape,
                    is_coalesced=True,
                    check_invariants=False,
                )
            make = (
                torch.sparse_csr_tensor
                if array.format.name == "csr"
                else torch.sparse_csc_tensor
            )
            pos, crd = _from_numpy(levels[1]["pos"]), _from_numpy(levels[1]["crd"])
            return make(pos, crd, values, array.shape, check_invariants=False)
    except (RuntimeError, TypeError) as error:
        raise UnsupportedError(
            f"to_torch: expected an array that torch can hold, got shape "
            f"{array.shape} of {array.dtype} ({error})"
        ) from None


def _from_compressed(
    tensor: "torch.Tensor", dtype: npt.DTypeLike | None, copy: bool
) -> SparseArray:
    """Make an array of a csr, csc, bsr or bsc tensor."""
    import torch

    by_row = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    has_blocks = tensor.layout in (torch.sparse_bsr, torch.sparse_bsc)
    pos = _to_numpy(tensor.crow_indices() if by_row else tensor.ccol_indices())
    crd = _to_numpy(tensor.col_indices() if by_row else tensor.row_indices())
    values = cast_values(_to_numpy(tensor.values()), dtype)
    shape = tuple(tensor.shape)
    order = (0, 1) if by_row else (1, 0)
    if values.ndim == 1:
        made = adopt_compressed(shape, order, pos, crd, values)
        return made.copy() if copy else made
    batch_ndim = pos.ndim - 1
    block = values.shape[batch_ndim + 1 : batch_ndim + 3] if has_blocks else (1, 1)
    rows, columns = shape[batch_ndim : batch_ndim + 2]
    _check_parts(pos, crd, values, (rows, columns), block)
    grid = (rows // block[0], columns // block[1])
    parts = [
        _batch_entries(batch, grid, order, pos[batch], crd[batch], values[batch])
        for batch in np.ndindex(*pos.shape[:-1])
    ]
    no_coords = np.empty((values.ndim + 1, 0), dtype=np.int64)
    table = np.concatenate([no_coords, *(part[0] for part in parts)], axis=1)
    flat = np.concatenate([values[:0].reshape(-1), *(part[1] for part in parts)])
    if has_blocks:
        table = _join_blocks(table, batch_ndim, block)
    format = ("csr" if by_row else "csc") if len(shape) == 2 else "coo"
    return from_coords(table, flat, shape, format)


def _check_parts(
    pos: npt.NDArray[Any],
    crd: npt.NDArray[Any],
    values: npt.NDArray[Any],
    extents: tuple[int, int],
    block: tuple[int, ...],
) -> None:
    """Check that the parts of a tensor fit together, which torch may have skipped."""
    if pos.shape[:-1] != crd.shape[:-1] or crd.shape != values.shape[: crd.ndim]:
        raise InvalidBufferError(
            "tensor: expected indices and values of one batch shape, got "
            f"{pos.shape}, {crd.shape} and {values.shape}"
        )
    if len(block) != 2 or any(
        size < 1 or extent % size for extent, size in zip(extents, block, strict=True)
    ):
        raise InvalidBufferError(
            f"tensor: expected blocks that divide {extents}, got blocks of {block}"
        )


def _batch_entries(
    batch: tuple[int, ...],
    grid: tuple[int, int],
    order: tuple[int, int],
    pos: npt.NDArray[Any],
    crd: npt.NDArray[Any],
    values: npt.NDArray[Any],
) -> Entries:
    """List the entries of one matrix of a batch: batch, row, column, rest."""
    level = Compressed(unique=False, ordered=False)
    buffers = {"pos": np.ascontiguousarray(pos), "crd": np.ascontiguousarray(crd)}
    n_outer, n_inner = grid[order[0]], grid[order[1]]
    try:
        count = level.check(buffers, n_outer, n_inner)
    except InvalidBufferError as error:
        raise InvalidBufferError(f"tensor, batch {batch}: {error}") from None
    if count != len(values):
        raise InvalidBufferError(
            f"tensor, batch {batch}: expected {count} values, got {len(values)}"
        )
    entries = level.unpack(buffers, n_outer, n_inner)
    pair = (entries.parents, entries.coordinates)
    prefix = [np.full(count, number) for number in batch]
    table = np.array([*prefix, pair[order[0]], pair[order[1]]], dtype=np.int64)
    return _spread_blocks(table, values)


def _spread_blocks(coords: npt.NDArray[Any], values: npt.NDArray[Any]) -> Entries:
    """Turn values that are blocks into one entry for each of their elements.

    ``coords`` gets a row for every dimension of the blocks.
    """
    block = values.shape[1:]
    if not block:
        return coords, values
    size = math.prod(block)
    inner = np.indices(block).reshape(len(block), size)
    table = [np.repeat(coords, size, axis=1), np.tile(inner, len(values))]
    return np.concatenate(table), values.reshape(-1)


def _join_blocks(
    table: npt.NDArray[Any], batch_ndim: int, block: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Turn block row, block column, row in block, column in block into two rows."""
    at = batch_ndim
    row = table[at] * block[0] + table[at + 2]
    column = table[at + 1] * block[1] + table[at + 3]
    return np.concatenate([table[:at], [row, column], table[at + 4 :]])


def _to_numpy(tensor: "torch.Tensor") -> npt.NDArray[Any]:
    """Return a CPU tensor as a NumPy array that shares its memory."""
    return as_ndarray(tensor.resolve_conj().resolve_neg())


def _from_numpy(buffer: npt.NDArray[Any]) -> "torch.Tensor":
    """Return a tensor that shares a buffer, read-only or not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable")
        return as_strided_tensor(buffer)
