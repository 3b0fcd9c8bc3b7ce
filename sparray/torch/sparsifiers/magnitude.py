"""Keep what is largest."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.selection import kept_of, largest

__all__ = ["Magnitude"]


class Magnitude(Scored):
    """Drop the fraction of the elements whose absolute values are smallest.

    ``Magnitude(fraction)`` drops ``round(fraction * n)`` of ``n`` elements; of equal
    ones the last.

    Raises
    ------
    ScoreError
        If the fraction is none.

    Notes
    -----
    Source: Han et al. 2015, "Learning both weights and connections for efficient neural
    networks" (arXiv 1506.02626).

    Examples
    --------
    >>> import torch, sparray.torch as spt
    >>> spt.Magnitude(0.5)(torch.tensor([[1.0, -4.0], [3.0, 2.0]])).to_dense()
    tensor([[ 0., -4.],
            [ 3.,  0.]])
    """

    def scores(self, x: Tensor) -> Tensor:
        """Return absolute values."""
        return x.abs()

    def keep_of_all(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return which elements are kept when tensors are one set of elements.

        Parameters
        ----------
        tensors : sequence of Tensor
            The parameters of a model, say: a fraction of all their elements is
            dropped, more of one and less of another.

        Returns
        -------
        list of Tensor, bool
            One for each, of its shape.
        """
        scores = [self.scores(x.detach()).reshape(-1) for x in tensors]
        joined = torch.cat([s.to(torch.float64) for s in scores])
        mask = largest(joined, kept_of(joined.numel(), self.fraction))
        parts = torch.split(mask, [x.numel() for x in tensors])
        return [part.reshape(x.shape) for part, x in zip(parts, tensors, strict=True)]
