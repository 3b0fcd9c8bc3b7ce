"""Gates that are learned: how likely each element is to be kept."""

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from sparray.errors import ScoreError, ShapeError
from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

__all__ = ["HardConcrete"]

# The stretched interval and the temperature that the source uses.
_LOW, _HIGH, _TEMPERATURE = -0.1, 1.1, 2 / 3
# A gate is open as often as a logistic variable is above this.
_SHUT = _TEMPERATURE * math.log(-_LOW / _HIGH)


class HardConcrete(Sparsifier):
    """Keep the elements whose gates are open; the gates are trained with the weights.

    Parameters
    ----------
    shape : sequence of int
        Of the tensor: a gate for each element.
    open : float
        How likely each gate is to be open at first, between 0 and 1.
    seed : int
        Of the noise that `sample` draws.

    Raises
    ------
    ScoreError
        If ``open`` is not between 0 and 1.

    Notes
    -----
    Source: Louizos, Welling, Kingma 2017, "Learning sparse neural networks through L0
    regularization" (arXiv 1712.01312).

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> gates = spt.HardConcrete((2, 2), open=0.5)
    >>> optimizer = torch.optim.Adam([gates.log_odds])
    >>> w = torch.ones(2, 2)
    >>> loss = (gates.sample(w) ** 2).sum() + 0.1 * gates.penalty()
    """

    needs: ClassVar[Needs] = Needs.STREAMING

    def __init__(self, shape: Sequence[int], open: float = 0.9, seed: int = 0) -> None:
        if not 0 < open < 1:
            raise ScoreError(f"HardConcrete: expected open between 0 and 1, got {open}")
        odds = math.log(open / (1 - open)) + _SHUT
        self.log_odds = torch.nn.Parameter(torch.full(tuple(shape), odds))
        self._generator = torch.Generator().manual_seed(seed)

    def sample(self, x: Tensor) -> Tensor:
        """Return a tensor times gates that are drawn: what training computes with.

        Parameters
        ----------
        x : Tensor
            Of the gates' shape.

        Raises
        ------
        ShapeError
            If it has another one.
        """
        self._check(x)
        noise = torch.rand(self.log_odds.shape, generator=self._generator)
        noise = noise.clamp(1e-6, 1 - 1e-6)
        drawn = torch.sigmoid((noise.logit() + self.log_odds) / _TEMPERATURE)
        return x * self._stretched(drawn)

    def penalty(self) -> Tensor:
        """Return the expected number of gates that are open, to be made small."""
        return torch.sigmoid(self.log_odds - _SHUT).sum()

    def gates(self) -> Tensor:
        """Return the gates without noise: from 0, which is shut, to 1."""
        return self._stretched(torch.sigmoid(self.log_odds))

    def keep(self, x: Tensor) -> Tensor:
        """Return true where gates are open."""
        self._check(x)
        return self.gates() > 0

    def values(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return elements times their gates."""
        return x * self.gates()

    def _check(self, x: Tensor) -> None:
        if x.shape != self.log_odds.shape:
            raise ShapeError(
                f"HardConcrete: expected shape {tuple(self.log_odds.shape)}, got "
                f"{tuple(x.shape)}"
            )

    @staticmethod
    def _stretched(gate: Tensor) -> Tensor:
        return (gate * (_HIGH - _LOW) + _LOW).clamp(0, 1)
