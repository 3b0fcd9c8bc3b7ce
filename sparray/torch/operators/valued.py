"""One tensor's value with the gradient of another."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["valued"]


def valued(graph: Tensor, value: Tensor) -> Tensor:
    """Return a tensor with the value of one and the gradient of another.

    A reduction by what is not a sum picks elements; a weighted sum of those that it
    picked has its gradient, but not always its value: not where that is infinite.
    """
    made: Tensor = _Valued.apply(graph, value)  # type: ignore[no-untyped-call]
    return made


class _Valued(torch.autograd.Function):
    """One tensor's value with the gradient of another."""

    @staticmethod
    def forward(ctx: Any, graph: Tensor, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *upstreams: Tensor) -> tuple[Tensor, None]:
        return upstreams[0], None
