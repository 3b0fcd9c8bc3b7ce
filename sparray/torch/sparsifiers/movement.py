"""Keep what moves away from zero."""

from torch import Tensor

from sparray.torch.sparsifiers.by_gradients import ByGradients

__all__ = ["Movement"]


class Movement(ByGradients):
    """Drop the fraction of the elements that training moves towards zero most.

    ``Movement(fraction)`` is to `observe` a weight after each backward.

    Raises
    ------
    ScoreError
        If the fraction is none, or it is called before `observe`.

    Notes
    -----
    The score is the sum of ``-weight * gradient`` over the steps that were observed.
    Source: Sanh, Wolf, Rush 2020, "Movement pruning: adaptive sparsity by fine-tuning"
    (arXiv 2005.07683).

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> w = torch.tensor([[1.0, -2.0]], requires_grad=True)
    >>> (w * torch.tensor([[3.0, 3.0]])).sum().backward()
    >>> movement = spt.Movement(0.5)
    >>> movement.observe(w)
    >>> movement(w).to_dense().detach()
    tensor([[ 0., -2.]])
    """

    def part(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """Return how far a step moves each element away from zero."""
        return -weight * gradient

    def scores(self, x: Tensor) -> Tensor:
        """Return how far each element was moved away from zero."""
        return self._tally.sum(x.shape)
