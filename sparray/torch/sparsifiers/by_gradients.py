"""Sparsifiers whose scores come from gradients of training."""

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from sparray.torch.sparsifiers.observing import Tally, weight_and_gradient
from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.sparsifier import Observed

__all__ = ["ByGradients"]


class ByGradients(Scored):
    """Drop the fraction of the elements whose scores, added up, are smallest.

    Parameters
    ----------
    fraction : float
        Of the elements, from 0 to 1.

    Raises
    ------
    ScoreError
        If the fraction is none, or it is called before `observe`.
    """

    observes: ClassVar[Observed | None] = Observed.GRADIENTS

    def __init__(self, fraction: float) -> None:
        super().__init__(fraction)
        name = type(self).__name__
        self._tally = Tally(name, "call observe(weight) after each backward")

    @abstractmethod
    def part(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """Return what one backward adds to each element's score."""

    def observe(self, weight: Tensor) -> None:
        """Take account of a weight and its gradient, after backward.

        Parameters
        ----------
        weight : Tensor or SparseTensor
            With a gradient.

        Raises
        ------
        ScoreError
            If it has no gradient.
        ShapeError
            If it has another shape than before.
        """
        value, slope = weight_and_gradient(type(self).__name__, weight)
        self._tally.add(self.part(value, slope))
