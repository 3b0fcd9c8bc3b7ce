"""Sparsifiers whose scores come from what they saw of training or of data."""

import torch
from torch import Tensor

from sparray.errors import ScoreError, ShapeError
from sparray.torch.tensor import dense_of

__all__ = ["Tally", "weight_and_gradient"]


class Tally:
    """A sum that grows with each observation, and how many there were.

    Parameters
    ----------
    owner, how : str
        Whose it is and how it is fed, for messages.
    """

    def __init__(self, owner: str, how: str) -> None:
        self._owner, self._how = owner, how
        self._sum: Tensor | None = None
        self.count = 0

    def add(self, part: Tensor, count: int = 1) -> None:
        """Add a part of a number of observations.

        Raises
        ------
        ShapeError
            If it has another shape than the parts before.
        """
        part = part.detach()
        if self._sum is None:
            self._sum = torch.zeros_like(part)
        elif self._sum.shape != part.shape:
            raise ShapeError(
                f"{self._owner}.observe: expected shape {tuple(self._sum.shape)} as "
                f"before, got {tuple(part.shape)}"
            )
        self._sum += part
        self.count += count

    def sum(self, shape: torch.Size | None = None) -> Tensor:
        """Return the sum, for a tensor of a shape.

        Raises
        ------
        ScoreError
            If there was no observation.
        ShapeError
            If the observations were of another shape.
        """
        if self._sum is None:
            raise ScoreError(
                f"{self._owner}: expected observations before it chooses, got none; "
                f"{self._how}"
            )
        if shape is not None and self._sum.shape != shape:
            raise ShapeError(
                f"{self._owner}: expected a tensor of shape {tuple(self._sum.shape)}, "
                f"as observed, got {tuple(shape)}"
            )
        return self._sum


def weight_and_gradient(owner: str, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return a weight and its gradient, both dense and outside the graph.

    Raises
    ------
    ScoreError
        If it has no gradient.
    """
    gradient = weight.grad
    if gradient is None:
        raise ScoreError(
            f"{owner}.observe: expected a tensor with a gradient, got one without; "
            "call it after backward"
        )
    return dense_of(weight.detach()), dense_of(gradient.detach())
