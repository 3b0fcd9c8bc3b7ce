"""Keep what the loss depends on, by the diagonal of the Fisher matrix."""

from typing import ClassVar

from torch import Tensor

from sparray.torch.sparsifiers.observing import Tally, weight_and_gradient
from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.sparsifier import Observed

__all__ = ["Fisher"]


class Fisher(Scored):
    """Drop the fraction of the elements whose loss would rise least.

    Parameters
    ----------
    fraction : float
        Of the elements, from 0 to 1.

    Raises
    ------
    ScoreError
        If the fraction is none, or it is called before `observe`.

    Notes
    -----
    The score is ``weight**2 * f / 2``, with ``f`` the mean of the squared gradients
    that were observed: the diagonal of the empirical Fisher matrix, in place of the
    second derivative of the loss. Source: Singh, Alistarh 2020, "WoodFisher: efficient
    second-order approximation for neural network compression" (arXiv 2004.14340).
    """

    observes: ClassVar[Observed | None] = Observed.GRADIENTS

    def __init__(self, fraction: float) -> None:
        super().__init__(fraction)
        self._tally = Tally("Fisher", "call observe(weight) after each backward")

    def observe(self, weight: Tensor) -> None:
        """Take account of a weight's gradient, after backward.

        Parameters
        ----------
        weight : Tensor or SparseTensor
            With a gradient, of one example or one small batch.

        Raises
        ------
        ScoreError
            If it has no gradient.
        ShapeError
            If it has another shape than before.
        """
        _, slope = weight_and_gradient("Fisher", weight)
        self._tally.add(slope.abs().square())

    def scores(self, x: Tensor) -> Tensor:
        """Return by how much the loss rises without each element, nearly."""
        mean = self._tally.sum(x.shape) / self._tally.count
        return x.abs().square() * mean / 2
