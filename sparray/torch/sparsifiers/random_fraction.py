"""Keep elements by chance."""

import torch
from torch import Tensor

from sparray.torch.sparsifiers.scored import Scored

__all__ = ["RandomFraction"]


class RandomFraction(Scored):
    """Drop a fraction of the elements, each as likely as the others.

    Parameters
    ----------
    fraction : float
        Of the elements, from 0 to 1.
    seed : int
        Of the generator: the same seed keeps the same elements of a shape, and of a
        larger fraction some of them.

    Raises
    ------
    ScoreError
        If the fraction is none.
    """

    def __init__(self, fraction: float, seed: int = 0) -> None:
        super().__init__(fraction)
        self.seed = seed

    def scores(self, x: Tensor) -> Tensor:
        """Return a number for each element, in random order."""
        generator = torch.Generator().manual_seed(self.seed)
        return torch.randperm(x.numel(), generator=generator).reshape(x.shape)

    def __repr__(self) -> str:
        return f"RandomFraction({self.fraction}, seed={self.seed})"
