"""Dimensions in another order: buffers are shared, only the format changes."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sparray.errors import ShapeError
from sparray.torch.gradient_formats import carry
from sparray.torch.operators.operands import dimension
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__ = ["permuted"]


def permuted(tensor: SparseTensor, dimensions: Sequence[int]) -> SparseTensor:
    """Return the tensor with its dimensions in another order."""
    values = tensor.values()
    if values.requires_grad:
        # A view of a leaf is none itself, as of any tensor in torch.
        values = values.view_as(values)
    pattern = tensor.pattern.permuted(dimensions)
    made = SparseTensor(pattern, values, tensor.fill_value)
    return carry(tensor, made, lambda anchor: anchor.permute(*dimensions))


@implements([torch.t, Tensor.t])
def _t(input: SparseTensor) -> SparseTensor:
    if input.dim() > 2:
        raise ShapeError(
            f"t: expected at most 2 dimensions, got shape {tuple(input.shape)} "
            "(permute takes any number)"
        )
    return permuted(input, range(input.dim() - 1, -1, -1))


@implements([Tensor.T.__get__])  # type: ignore[attr-defined]
def _reversed(input: SparseTensor) -> SparseTensor:
    return permuted(input, range(input.dim() - 1, -1, -1))


@implements(
    [
        torch.transpose,
        Tensor.transpose,
        torch.swapaxes,
        Tensor.swapaxes,
        torch.swapdims,
        Tensor.swapdims,
    ]
)
def _transpose(input: SparseTensor, *dims: int, **named: int) -> SparseTensor:
    first, second = (*dims, *named.values())
    ndim = input.dim()
    order = list(range(ndim))
    a, b = dimension("dim0", first, ndim), dimension("dim1", second, ndim)
    order[a], order[b] = order[b], order[a]
    return permuted(input, order)


@implements([Tensor.mT.__get__])  # type: ignore[attr-defined]
def _matrix_transposed(input: SparseTensor) -> Any:
    return _transpose(input, -2, -1)


@implements([torch.permute, Tensor.permute])
def _permute(input: SparseTensor, *dims: Any, **named: Any) -> SparseTensor:
    given = named.get("dims", dims)
    if len(given) == 1 and not isinstance(given[0], int):
        given = given[0]
    ndim = input.dim()
    order = [dimension("dims", int(d), ndim) for d in given]
    if sorted(order) != list(range(ndim)):
        raise ShapeError(
            f"dims: expected each of the {ndim} dimensions once, got {tuple(given)}"
        )
    return permuted(input, order)
