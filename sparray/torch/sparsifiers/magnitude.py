"""Keep what is largest."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.selection import kept_of, largest
from sparray.torch.tensor import SparseTensor, values_of

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

    def works_on_entries(self) -> bool:
        """Whether stored values are enough: what is not stored is smallest."""
        return type(self) is Magnitude

    def keep_stored(self, x: SparseTensor) -> Tensor:
        """Return which stored entries are kept, of all elements' fraction."""
        if not self.works_on_entries():
            return super().keep_stored(x)
        return self._of_entries([x])[0]

    def _of_entries(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return which stored entries are kept of tensors as one set of elements."""
        orders, scores = [], []
        for x in tensors:
            if isinstance(x, SparseTensor):
                # Of equal ones the first are kept, whatever order they are stored in.
                orders.append(torch.from_numpy(x.pattern.numbered()[1]))
                scores.append(self.scores(x.values().detach())[orders[-1]])
            else:
                scores.append(self.scores(x.detach()).reshape(-1))
                orders.append(torch.arange(x.numel()))
        joined = torch.cat(scores) if len(scores) == 1 else _joined(scores)
        count = kept_of(sum(x.numel() for x in tensors), self.fraction)
        kept = largest(joined, min(count, len(joined)))
        parts = torch.split(kept, [len(s) for s in scores])
        made = []
        for x, order, part in zip(tensors, orders, parts, strict=True):
            mask = torch.zeros(len(values_of(x).reshape(-1)), dtype=torch.bool)
            mask[order] = part
            made.append(mask)
        return made

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
            One for each, of its shape; of a sparse one a bool for each stored value.
        """
        masks = self._of_entries(tensors)
        return [
            mask if isinstance(x, SparseTensor) else mask.reshape(x.shape)
            for mask, x in zip(masks, tensors, strict=True)
        ]


def _joined(scores: Sequence[Tensor]) -> Tensor:
    return torch.cat([s.to(torch.float64) for s in scores])
