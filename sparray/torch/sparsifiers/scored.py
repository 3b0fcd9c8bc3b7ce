"""Sparsifiers that keep the elements with the largest scores."""

from abc import abstractmethod

from torch import Tensor

from sparray.torch.sparsifiers.selection import check_fraction, kept_of, largest
from sparray.torch.sparsifiers.sparsifier import Sparsifier

__all__ = ["Scored"]


class Scored(Sparsifier):
    """Drop the fraction of the elements whose scores are smallest.

    Parameters
    ----------
    fraction : float
        Of the elements, from 0 to 1: ``round(fraction * n)`` of ``n`` are dropped. Of
        equal scores the last ones are.

    Raises
    ------
    ScoreError
        If the fraction is none.
    """

    def __init__(self, fraction: float) -> None:
        check_fraction(type(self).__name__, fraction)
        self.fraction = fraction

    @abstractmethod
    def scores(self, x: Tensor) -> Tensor:
        """Return a real number for each element: the larger the better to keep."""

    def keep(self, x: Tensor) -> Tensor:
        """Return true for the elements with the largest scores."""
        scores = self.scores(x).reshape(-1)
        count = kept_of(scores.numel(), self.fraction)
        return largest(scores, count).reshape(x.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fraction})"
