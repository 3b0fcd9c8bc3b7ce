"""Drop some stored entries and store others: sparse from the start to the end."""

from abc import abstractmethod

import torch
from torch import Tensor

from sparray.errors import ScoreError, ShapeError, UnsupportedError
from sparray.torch.sparsifiers.selection import check_fraction, largest
from sparray.torch.sparsifiers.sparsifier import Sparsifier, stored_mask
from sparray.torch.tensor import SparseTensor

__all__ = ["Regrow"]


class Regrow(Sparsifier):
    """Drop the stored entries that are smallest, and store as many other ones.

    Parameters
    ----------
    fraction : float
        Of the stored entries, from 0 to 1.

    Raises
    ------
    ScoreError
        If the fraction is none.
    UnsupportedError
        If it is called with a dense tensor, which stores every element.
    """

    def __init__(self, fraction: float) -> None:
        check_fraction(type(self).__name__, fraction)
        self.fraction = fraction

    @abstractmethod
    def growth(self, x: Tensor) -> Tensor:
        """Return a score for each element: the larger the better to store."""

    def keep(self, x: Tensor) -> Tensor:
        """Raise: which entries a dense tensor stores is not known."""
        raise UnsupportedError(
            f"{self!r}: expected a SparseTensor, whose stored entries change, got a "
            "dense tensor; sparsify it first, as by RandomFraction"
        )

    def decide(self, x: Tensor | SparseTensor) -> tuple[Tensor, Tensor]:
        """Return what is stored afterwards; entries that are new are 0."""
        if not isinstance(x, SparseTensor):
            return self.keep(x), x
        dense = x.to_dense()
        with torch.no_grad():
            value = dense.detach().reshape(-1)
            stored = stored_mask(x).reshape(-1)
            count = round(int(stored.sum()) * self.fraction)
            # What is not stored is below every stored entry, and never kept.
            size = value.abs().masked_fill(~stored, -1)
            kept = largest(size, int(stored.sum()) - count) & stored
            score = self._checked(self.growth(dense.detach()), x).reshape(-1)
            grown = largest(score.masked_fill(kept, -torch.inf), count) & ~kept
        mask = (kept | grown).reshape(x.shape)
        return mask, dense.masked_fill(grown.reshape(x.shape), 0)

    def _checked(self, scores: Tensor, x: SparseTensor) -> Tensor:
        if scores.shape != x.shape:
            raise ShapeError(
                f"{self!r}: expected scores of shape {tuple(x.shape)}, got "
                f"{tuple(scores.shape)}"
            )
        if scores.isneginf().any():
            raise ScoreError(f"{self!r}: expected finite scores, got -inf")
        return scores

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fraction})"
