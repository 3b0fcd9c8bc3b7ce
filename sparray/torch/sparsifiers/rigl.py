"""Grow where the gradient is largest."""

from typing import ClassVar

from torch import Tensor

from sparray.torch.sparsifiers.observing import Tally
from sparray.torch.sparsifiers.regrow import Regrow
from sparray.torch.sparsifiers.sparsifier import Observed

__all__ = ["RigL"]


class RigL(Regrow):
    """Drop the smallest stored entries, and store those of the largest gradients.

    Parameters
    ----------
    fraction : float
        Of the stored entries that are exchanged, from 0 to 1.

    Raises
    ------
    ScoreError
        If the fraction is none, or it is called before `observe`.

    Notes
    -----
    An entry that is dropped may come back at once, as 0. Source: Evci et al. 2019,
    "Rigging the lottery: making all tickets winners" (arXiv 1911.11134).

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> W = spt.tensor(torch.tensor([[1.0, 5.0], [0.0, 0.0]]))
    >>> rigl = spt.RigL(0.5)
    >>> rigl.observe(torch.tensor([[0.0, 1.0], [9.0, 2.0]]))
    >>> rigl(W).to_dense(), rigl(W).nnz
    (tensor([[0., 5.],
            [0., 0.]]), 2)
    """

    observes: ClassVar[Observed | None] = Observed.GROWTH

    def __init__(self, fraction: float) -> None:
        super().__init__(fraction)
        self._tally = self._fresh()

    @staticmethod
    def _fresh() -> Tally:
        return Tally("RigL", "call observe(gradient) with that of the dense weight")

    def observe(self, gradient: Tensor) -> None:
        """Take account of the gradient of every element, stored or not.

        Parameters
        ----------
        gradient : Tensor
            Dense; those of several calls are added, until `forget`.
        """
        self._tally.add(gradient)

    def forget(self) -> None:
        """Start anew: what was observed counts no longer."""
        self._tally = self._fresh()

    def growth(self, x: Tensor) -> Tensor:
        """Return absolute values of the gradient."""
        return self._tally.sum(x.shape).abs()
