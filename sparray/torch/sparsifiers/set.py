"""Grow by chance."""

import torch
from torch import Tensor

from sparray.torch.sparsifiers.regrow import Regrow

__all__ = ["SET"]


class SET(Regrow):
    """Drop the smallest stored entries, and store others by chance.

    Parameters
    ----------
    fraction : float
        Of the stored entries that are exchanged, from 0 to 1.
    seed : int
        Of the generator; each call draws other entries.

    Raises
    ------
    ScoreError
        If the fraction is none.

    Notes
    -----
    Source: Mocanu et al. 2018, "Scalable training of artificial neural networks with
    adaptive sparse connectivity inspired by network science" (arXiv 1707.04780).
    """

    def __init__(self, fraction: float, seed: int = 0) -> None:
        super().__init__(fraction)
        self._generator = torch.Generator().manual_seed(seed)

    def growth(self, x: Tensor) -> Tensor:
        """Return a random number for each element."""
        return torch.rand(x.shape, generator=self._generator)
