"""Torch's functions that differentiate: they see the values of sparse tensors."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

Tensors = Tensor | Sequence[Tensor | None] | None


@implements([torch.autograd.grad])
def _grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Tensors = None, **options: Any
) -> tuple[Tensor | None, ...]:
    """Return a SparseTensor with its pattern for each sparse input."""
    given = inputs if isinstance(inputs, Sequence) else (inputs,)
    grads = torch.autograd.grad(
        _values(outputs), _values(given), _values(grad_outputs), **options
    )
    return tuple(
        SparseTensor(one.pattern, grad)
        if isinstance(one, SparseTensor) and grad is not None
        else grad
        for one, grad in zip(given, grads, strict=True)
    )


@implements([torch.autograd.backward])
def _backward(
    tensors: Tensors,
    grad_tensors: Tensors = None,
    *,
    inputs: Tensors = None,
    **options: Any,
) -> None:
    upstream, leaves = _values(grad_tensors), _values(inputs)
    torch.autograd.backward(_values(tensors), upstream, inputs=leaves, **options)


def _values(tensors: Tensors) -> Any:
    if isinstance(tensors, SparseTensor):
        return tensors.values()
    if isinstance(tensors, Sequence):
        return tuple(map(_values, tensors))
    return tensors
