"""Sparse tensors from other arrays and tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from sparray import convert
from sparray.formats.buffers import plain
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.sparse_array import SparseArray
from sparray.torch.autograd import check_operand
from sparray.torch.operators.conversions import to_format
from sparray.torch.pattern import Pattern, as_numpy, as_tensor_of
from sparray.torch.tensor import SparseTensor, check_differentiable

__all__ = ["as_tensor", "from_buffers", "tensor"]


def tensor(
    x: Any,
    format: str | Format | None = None,
    requires_grad: bool = False,
    dtype: torch.dtype | None = None,
    grad_format: Any = None,
) -> SparseTensor:
    """Make a sparse tensor of any array, with values of its own.

    Parameters
    ----------
    x : torch.Tensor, SparseArray, SciPy sparse array or array_like
        Of a dense one, the elements that are not 0 are stored; of a sparse one, the
        entries that it stores.
    format : str or Format, optional
        A name, a format string or a format. By default that of a sparse ``x``, and
        ``csr`` (2 dimensions) or ``csf`` for a dense one.
    requires_grad : bool
        Whether the values' gradient is computed.
    dtype : torch.dtype, optional
        By default that of ``x``.
    grad_format : str, Format, Sparsifier or Sparse, optional
        In which format the gradient is: by default in the tensor's own pattern. See
        `SparseTensor.grad_format`.

    Returns
    -------
    SparseTensor
        A leaf: it has no part in the graph of ``x``. The pattern of a SparseArray is
        shared, its values are copied.

    Raises
    ------
    FormatError
        If the format is none, stores every element, or may repeat coordinates.
    DTypeError
        If kernels are not compiled for the dtype, or it has no gradients and they are
        asked for.
    DeviceError
        If ``x`` is not on the CPU.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> W = spt.tensor(torch.tensor([[0.0, 2.0], [3.0, 0.0]]), requires_grad=True)
    >>> (W @ torch.ones(2)).sum().backward()
    >>> W.grad.values()
    tensor([1., 1.])
    """
    with torch.no_grad():
        made = as_tensor(x, format, dtype)
        values = made.values().detach().clone()
    check_differentiable(values, requires_grad)
    values.requires_grad_(requires_grad)
    tensor = SparseTensor(made.pattern, values, made.fill_value)
    tensor.grad_format = grad_format if grad_format is not None else made._rule
    return tensor


def as_tensor(
    x: Any, format: str | Format | None = None, dtype: torch.dtype | None = None
) -> SparseTensor:
    """Make a sparse tensor that shares memory with ``x`` where that is possible.

    Parameters
    ----------
    x, format, dtype
        As for `tensor`.

    Returns
    -------
    SparseTensor
        Part of the graph of ``x``, if that is a torch tensor: dense, or sparse in
        csr, csc or coo layout. In the format of ``x``, values are shared.

    Raises
    ------
    FormatError, DTypeError, DeviceError
        As `tensor`.
    """
    if isinstance(x, SparseTensor):
        made = x
    elif isinstance(x, torch.Tensor):
        made = _from_torch(x, format)
    else:
        array = convert.array(x, format=format, copy=False)
        made = _from_array(array)
    if format is not None:
        made = to_format(made, format)
    if dtype is not None and dtype != made.dtype:
        made = made.to(dtype)  # type: ignore[assignment]
    return made


def _from_array(array: SparseArray) -> SparseTensor:
    values = as_tensor_of(array.values)
    check_operand("x", values)
    return SparseTensor(Pattern(array), values, array.fill_value.item())


def _from_torch(x: torch.Tensor, format: str | Format | None) -> SparseTensor:
    check_operand("x", x)
    if x.layout == torch.strided:
        return _from_strided(x, format)
    if x.layout == torch.sparse_coo:
        x = x.coalesce()
    values = x.values()
    if values.dim() != 1:
        # Blocks and batches: their entries one by one, without the graph.
        return _from_array(convert.array(x.detach(), format=format, copy=False))
    # The entries' numbers, converted, say where each value goes.
    numbers = torch.arange(1, len(values) + 1)
    array = convert.array(_with_values(x.detach(), numbers), copy=False)
    if not np.array_equal(array.values, as_numpy(numbers)):
        values = values.index_select(0, as_tensor_of(array.values - 1))
    return SparseTensor(Pattern(array), values)


def _with_values(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    options: Any = {"size": tuple(x.shape), "check_invariants": False}
    if x.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(
            x.indices(), values, is_coalesced=True, **options
        )
    if x.layout == torch.sparse_csr:
        return torch.sparse_csr_tensor(
            x.crow_indices(), x.col_indices(), values, **options
        )
    return torch.sparse_csc_tensor(x.ccol_indices(), x.row_indices(), values, **options)


def _from_strided(x: torch.Tensor, format: str | Format | None) -> SparseTensor:
    wanted = as_format(format, x.dim()) if format is not None else None
    array = convert.from_dense(as_numpy(x), wanted, copy=False)
    if not x.requires_grad:
        return _from_array(array)
    coords, _ = array.to_coords()
    return SparseTensor(Pattern(array), x[tuple(torch.from_numpy(coords))])


def from_buffers(
    format: str | Format,
    shape: Sequence[int],
    levels: Sequence[Mapping[str, Any]],
    values: Any,
) -> SparseTensor:
    """Make a sparse tensor of level buffers and values that are part of a graph.

    Parameters
    ----------
    format : str or Format
        A name, a format string or a format.
    shape : sequence of int
        Extent of each dimension.
    levels : sequence of mapping
        The buffers of each level by role: ``{"pos": ..., "crd": ...}``, arrays or
        tensors, or whatever else speaks DLPack.
    values : torch.Tensor, dtype[n]
        One for each stored entry. They stay in their graph. Or what speaks DLPack.

    Raises
    ------
    InvalidBufferError
        If the buffers break an invariant of their level.
    FormatError, DTypeError, DeviceError
        As `tensor`.

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> v = torch.tensor([2.0, 3.0], requires_grad=True)
    >>> W = spt.from_buffers("csr", (2, 2), [{}, {"pos": [0, 1, 2], "crd": [1, 0]}], v)
    >>> (W**2).sum().backward()
    >>> v.grad
    tensor([4., 6.])
    """
    if not isinstance(values, torch.Tensor) and hasattr(values, "__dlpack__"):
        values = torch.utils.dlpack.from_dlpack(values)
    check_operand("values", values)
    buffers = [
        {
            role: as_numpy(b) if isinstance(b, torch.Tensor) else _as_ndarray(role, b)
            for role, b in level.items()
        }
        for level in levels
    ]
    array = convert.from_buffers(format, shape, buffers, as_numpy(values))
    pattern = Pattern(array)
    pattern.check_values(values)
    return SparseTensor(pattern, values)


def _as_ndarray(role: str, buffer: Any) -> Any:
    """Return a buffer as an array; its memory is shared where it speaks DLPack."""
    return np.asarray(plain(role, buffer))
