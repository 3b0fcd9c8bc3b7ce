"""Keep elements by chance."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sparray.torch.sparsifiers.selection import check_fraction, kept_of
from sparray.torch.sparsifiers.sparsifier import Needs, Sparsifier

__all__ = ["RandomFraction"]


@dataclass(frozen=True, slots=True)
class RandomFraction(Sparsifier):
    """Drop a fraction of the elements, each as likely as the others.

    Attributes
    ----------
    fraction : float
        Of the elements, from 0 to 1.
    seed : int
        Of the generator: the same seed keeps the same elements of a shape.

    Raises
    ------
    ScoreError
        If the fraction is none.
    """

    needs: ClassVar[Needs] = Needs.MATERIALIZING

    fraction: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_fraction("RandomFraction", self.fraction)

    def keep(self, x: Tensor) -> Tensor:
        """Return true for the elements that are drawn."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = torch.randperm(x.numel(), generator=generator)
        mask = torch.zeros(x.numel(), dtype=torch.bool)
        mask[drawn[: kept_of(x.numel(), self.fraction)]] = True
        return mask.reshape(x.shape)
