"""Keep what moves away from zero."""

from typing import ClassVar

from torch import Tensor

from sparray.torch.sparsifiers.observing import Tally, weight_and_gradient
from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.sparsifier import Observed

__all__ = ["Movement"]


class Movement(Scored):
    """Drop the fraction of the elements that training moves towards zero most.

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

    observes: ClassVar[Observed | None] = Observed.GRADIENTS

    def __init__(self, fraction: float) -> None:
        super().__init__(fraction)
        self._tally = Tally("Movement", "call observe(weight) after each backward")

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
        value, slope = weight_and_gradient("Movement", weight)
        self._tally.add(-value * slope)

    def scores(self, x: Tensor) -> Tensor:
        """Return how far each element was moved away from zero."""
        return self._tally.sum(x.shape)
