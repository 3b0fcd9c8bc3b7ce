"""Torch's functions that differentiate: they see the values of sparse tensors."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sparray.torch.gradient_formats import grad_leaf, shown
from sparray.torch.table import implements
from sparray.torch.tensor import SparseTensor

__all__: list[str] = []

Tensors = Tensor | Sequence[Tensor | None] | None


@implements([torch.autograd.grad])
def _grad(
    outputs: Tensors, inputs: Tensors, grad_outputs: Tensors = None, **options: Any
) -> tuple[Tensor | None, ...]:
    """Return the gradient of each sparse input in its ``grad_format``."""
    given = inputs if isinstance(inputs, Sequence) else (inputs,)
    grads = torch.autograd.grad(
        _values(outputs), _leaves(given), _values(grad_outputs), **options
    )
    return tuple(
        shown(one, grad) if isinstance(one, SparseTensor) and grad is not None else grad
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
    upstream = _values(grad_tensors)
    leaves: Any = None
    if inputs is not None:
        given = inputs if isinstance(inputs, Sequence) else (inputs,)
        # Both leaves of a tensor that has two.
        leaves = list(dict.fromkeys([*_leaves(given), *_values(given)]))
    torch.autograd.backward(_values(tensors), upstream, inputs=leaves, **options)


def _leaves(tensors: Sequence[Tensor | None]) -> tuple[Any, ...]:
    return tuple(grad_leaf(t) if isinstance(t, SparseTensor) else t for t in tensors)


def _values(tensors: Tensors) -> Any:
    if isinstance(tensors, SparseTensor):
        return tensors.values()
    if isinstance(tensors, Sequence):
        return tuple(map(_values, tensors))
    return tensors
