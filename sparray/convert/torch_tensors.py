"""Torch tensors in and out: values and buffers, without autograd."""

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.convert.compressed_parts import (
    CompressedParts,
    adopt_parts,
    compressed_parts,
    entries_of_parts,
    spread_blocks,
)
from sparray.convert.entries import (
    cast_values,
    convert_format,
    from_coords,
    from_dense,
)
from sparray.convert.scipy_arrays import interchange_format, refuse_fill
from sparray.convert.torch_memory import as_ndarray, as_strided_tensor
from sparray.errors import InvalidBufferError, SettingError, UnsupportedError
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.sparse_array import SparseArray

if TYPE_CHECKING:
    import torch

__all__ = ["from_torch", "strided_ndarray", "to_torch"]


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
        that is not coalesced are added up, dense dimensions are entries one by one.
        Malformed index tensors are refused, which torch does not do.
    format : str or Format, optional
        By default its own: ``csr``, ``csc``, ``bcsr`` or ``bcsc`` with its blocks,
        ``batched_csr`` and so on for a batch, ``coo`` for coo and for dense dimensions,
        and that of `from_dense` for a strided tensor.
    dtype : dtype, optional
        Values are converted to it before any are added up.
    fill_value : scalar, optional
        0 by default; only a strided tensor may have another one.
    copy : bool
        False shares the buffers of a compressed tensor that is sorted.

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
    SettingError
        If it is no tensor.
    """
    import torch

    if not isinstance(tensor, torch.Tensor):
        raise SettingError(
            f"tensor: expected a torch.Tensor, got {type(tensor).__name__} "
            "(sparray.array takes any array)"
        )
    _check_device(tensor)
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
        coords, values = spread_blocks(coords, values)
        made = from_coords(coords, values, tuple(tensor.shape), dtype=dtype)
    else:
        made = _from_compressed(tensor, dtype, copy)
    return (
        made if format is None else convert_format(made, as_format(format, made.ndim))
    )


def strided_ndarray(tensor: "torch.Tensor") -> npt.NDArray[Any]:
    """Return a dense torch tensor as an array that shares its memory.

    Raises
    ------
    DTypeError
        If NumPy has no such dtype.
    UnsupportedError
        If the tensor is on another device than the CPU.
    """
    _check_device(tensor)
    return _to_numpy(tensor.detach())


def _check_device(tensor: "torch.Tensor") -> None:
    if tensor.device.type != "cpu":
        raise UnsupportedError(
            f"tensor: expected one on the CPU, got device {tensor.device} "
            "(tensor.cpu() copies it)"
        )


def to_torch(array: SparseArray, copy: bool = False) -> "torch.Tensor":
    """Return a torch tensor with the same entries.

    Parameters
    ----------
    array : SparseArray
        Its fill value must be 0, unless its format is dense.
    copy : bool
        False shares the buffers of ``csr``, ``csc``, ``bcsr``, ``bcsc`` and ``dense``
        arrays and of batches, and the values of ``coo`` ones. Torch has no read-only
        tensors: do not write to the indices.

    Returns
    -------
    torch.Tensor
        Strided for ``dense``, sparse_csr for ``csr`` and ``batched_csr``, sparse_bsr
        for ``bcsr`` and ``batched_bcsr``, and so by column; any other array of two
        dimensions becomes csr or csc, and sparse_coo (coalesced) stands for the rest:
        also for batches of blocks that do not divide the shape, and of matrices with
        different numbers of entries, which torch does not have.

    Raises
    ------
    UnsupportedError
        If the fill value is not 0, or torch cannot hold the shape.
    """
    import torch

    given = array
    if not array.format.is_dense:
        refuse_fill(array, "to_torch")
        if compressed_parts(array) is None:
            array = convert_format(array, interchange_format(array))
    if copy and array is given:
        array = array.copy()
    if array.format.is_dense:
        values = _from_numpy(array.values)
        stored = values.reshape([array.shape[d] for d in array.format.order])
        return stored.permute(np.argsort(array.format.order).tolist())
    parts = compressed_parts(array)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Sparse .* tensor support.*")
            if parts is not None:
                return torch.sparse_compressed_tensor(
                    _from_numpy(parts.pos),
                    _from_numpy(parts.crd),
                    _from_numpy(parts.values),
                    array.shape,
                    layout=_layout(parts),
                    check_invariants=False,
                )
            coords = np.array([buffers["crd"] for buffers in array._levels], np.int64)
            return torch.sparse_coo_tensor(
                _from_numpy(coords),
                _from_numpy(array.values),
                array.shape,
                is_coalesced=True,
                check_invariants=False,
            )
    except (RuntimeError, TypeError) as error:
        raise UnsupportedError(
            f"to_torch: expected an array that torch can hold, got shape "
            f"{array.shape} of {array.dtype} ({error})"
        ) from None


def _layout(parts: CompressedParts) -> "torch.layout":
    import torch

    if parts.block:
        return torch.sparse_bsr if parts.by_row else torch.sparse_bsc
    return torch.sparse_csr if parts.by_row else torch.sparse_csc


def _from_compressed(
    tensor: "torch.Tensor", dtype: npt.DTypeLike | None, copy: bool
) -> SparseArray:
    """Make an array of a csr, csc, bsr or bsc tensor, or of a batch of them."""
    import torch

    by_row = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    has_blocks = tensor.layout in (torch.sparse_bsr, torch.sparse_bsc)
    pos = _to_numpy(tensor.crow_indices() if by_row else tensor.ccol_indices())
    crd = _to_numpy(tensor.col_indices() if by_row else tensor.row_indices())
    values = cast_values(_to_numpy(tensor.values()), dtype)
    shape = tuple(tensor.shape)
    if pos.shape[:-1] != crd.shape[:-1] or crd.shape != values.shape[: crd.ndim]:
        raise InvalidBufferError(
            "tensor: expected indices and values of one batch shape, got "
            f"{pos.shape}, {crd.shape} and {values.shape}"
        )
    inner = crd.ndim + 2 * has_blocks
    try:
        if values.ndim == inner:
            parts = CompressedParts(by_row, pos, crd, values)
            made = adopt_parts(parts, shape)
            return made.copy() if copy else made
        # Each value is an array of the dense dimensions: their entries are numbered.
        numbers = np.arange(1, math.prod(values.shape[:inner]) + 1)
        parts = CompressedParts(by_row, pos, crd, numbers.reshape(values.shape[:inner]))
        matrices = shape[: pos.ndim + 1]
        coords, places = entries_of_parts(parts, matrices)
    except InvalidBufferError as error:
        raise InvalidBufferError(f"tensor: {error}") from None
    dense = values.reshape(-1, *values.shape[inner:])[places - 1]
    return from_coords(*spread_blocks(coords, dense), shape)


def _to_numpy(tensor: "torch.Tensor") -> npt.NDArray[Any]:
    """Return a CPU tensor as a NumPy array that shares its memory."""
    return as_ndarray(tensor.resolve_conj().resolve_neg())


def _from_numpy(buffer: npt.NDArray[Any]) -> "torch.Tensor":
    """Return a tensor that shares a buffer, read-only or not."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable")
        return as_strided_tensor(buffer)
