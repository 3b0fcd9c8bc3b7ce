"""What else changes when a parameter becomes sparse: the optimizer's state of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sparray.torch.gradient_formats import attach
from sparray.torch.pattern import Pattern
from sparray.torch.tensor import SparseTensor, dense_of

__all__ = ["follow", "onto", "rechoose"]


def onto(x: Tensor, pattern: Pattern) -> SparseTensor:
    """Return the entries of a tensor that a pattern stores; what it lacks is 0."""
    if isinstance(x, SparseTensor):
        if x.pattern.same_as(pattern):
            return x
        return SparseTensor(pattern, _shared(x, pattern))
    ones = torch.ones(pattern.n_values, dtype=x.dtype)
    made: SparseTensor = SparseTensor(pattern, ones) * dense_of(x)  # type: ignore[assignment]
    return made


def _shared(x: SparseTensor, pattern: Pattern) -> Tensor:
    """Return the values of a sparse tensor at the entries of a pattern.

    Entries of both are numbered row by row and joined; nothing becomes dense.
    """
    (given, given_places), (numbers, places) = x.pattern.numbered(), pattern.numbered()
    _, mine, theirs = np.intersect1d(
        numbers, given, assume_unique=True, return_indices=True
    )
    made = x.values().new_zeros(pattern.n_values)
    found = x.values()[torch.from_numpy(given_places[theirs])]
    return made.index_put((torch.from_numpy(places[mine]),), found)


def rechoose(parameter: SparseTensor, made: SparseTensor) -> None:
    """Give a sparse parameter another pattern and values; it stays the same object.

    What holds it, modules and optimizers, need not know. Its gradient is dropped.
    """
    values = made.values().detach().clone()
    values.requires_grad_(parameter.requires_grad)
    parameter._pattern = made.pattern
    parameter._stored = values
    parameter._fill = made.fill_value
    parameter._anchor = None
    if made._rule is not None:
        parameter._rule = made._rule
    attach(parameter)


def follow(
    optimizer: torch.optim.Optimizer | None,
    old: Tensor,
    new: Tensor,
    change: Callable[[Tensor], Tensor],
) -> None:
    """Let an optimizer step on a new parameter in place of an old one.

    Parameters
    ----------
    optimizer : Optimizer or None
        Whose state of the old parameter, if any, becomes that of the new one.
    old, new : Parameter
        They may be the same.
    change : callable
        Applied to each tensor of the state that has the parameter's shape.
    """
    if optimizer is None:
        return
    for group in optimizer.param_groups:
        group["params"] = [new if p is old else p for p in group["params"]]
    state: dict[str, Any] | None = optimizer.state.pop(old, None)
    if state is not None:
        optimizer.state[new] = {
            name: _with_rule(change(value).detach(), new)
            if _is_like(value, old)
            else value
            for name, value in state.items()
        }


def _with_rule(state: Tensor, parameter: Tensor) -> Tensor:
    """Return state that takes gradients in the format that the parameter has them."""
    if isinstance(state, SparseTensor) and isinstance(parameter, SparseTensor):
        state._rule = parameter.grad_format
    return state


def _is_like(value: Any, parameter: Tensor) -> bool:
    return isinstance(value, Tensor) and value.shape == parameter.shape != ()


def as_parameter(made: Tensor, like: Tensor) -> nn.Parameter:
    """Return a parameter outside every graph that trains if another one does."""
    return nn.Parameter(made.detach(), requires_grad=like.requires_grad)
