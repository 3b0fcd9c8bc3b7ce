"""Keep what the loss depends on, by the diagonal of the Fisher matrix."""

from torch import Tensor

from sparray.torch.sparsifiers.by_gradients import ByGradients

__all__ = ["Fisher"]


class Fisher(ByGradients):
    """Drop the fraction of the elements without which the loss would rise least.

    ``Fisher(fraction)`` is to `observe` a weight after each backward, of one example or
    of one small batch.

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

    def part(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """Return squares of gradients."""
        return gradient.abs().square()

    def scores(self, x: Tensor) -> Tensor:
        """Return by how much the loss rises without each element, nearly."""
        mean = self._tally.sum(x.shape) / self._tally.count
        return x.abs().square() * mean / 2
