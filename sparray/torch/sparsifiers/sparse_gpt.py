"""Drop weights, and let the others make up for it."""

from typing import ClassVar

import torch
from torch import Tensor

from sparray.errors import ScoreError, ShapeError
from sparray.torch.sparsifiers.observing import Tally
from sparray.torch.sparsifiers.selection import check_fraction, kept_of, largest
from sparray.torch.sparsifiers.sparsifier import Observed, Sparsifier
from sparray.torch.sparsifiers.wanda import as_rows
from sparray.torch.tensor import SparseTensor, dense_of

__all__ = ["SparseGPT"]


class SparseGPT(Sparsifier):
    """Drop a fraction of a layer's weights, and change the others to make up for it.

    Parameters
    ----------
    fraction : float
        Of the elements, from 0 to 1; of each block of columns the same.
    block : int
        Columns among which weights are compared.
    damping : float
        Added to the diagonal of the inputs' second moments, relative to its mean.

    Raises
    ------
    ScoreError
        If the fraction is none, a parameter is not positive, or it is called before
        `observe`.
    ShapeError
        If the weight is no matrix of as many columns as inputs have features.

    Notes
    -----
    Values that are kept are new: chosen so that the layer's outputs for the inputs that
    were observed change little. The result is no part of the graph of its input.
    Source: Frantar, Alistarh 2023, "SparseGPT: massive language models can be
    accurately pruned in one-shot" (arXiv 2301.00774).
    """

    observes: ClassVar[Observed | None] = Observed.INPUTS

    def __init__(
        self, fraction: float, block: int = 128, damping: float = 0.01
    ) -> None:
        check_fraction("SparseGPT", fraction)
        if block < 1 or not damping > 0:
            raise ScoreError(
                "SparseGPT: expected block >= 1 and damping > 0, got "
                f"{block} and {damping}"
            )
        self.fraction, self.block, self.damping = fraction, block, damping
        self._tally = Tally("SparseGPT", "call observe(inputs) with calibration data")

    def observe(self, inputs: Tensor) -> None:
        """Take account of inputs of the layer.

        Parameters
        ----------
        inputs : Tensor, dtype[..., k]
            Of the layer whose weight is to be chosen from.

        Raises
        ------
        ShapeError
            If they have another number of features than before.
        """
        rows = as_rows("SparseGPT", inputs).to(torch.float64)
        self._tally.add(rows.T @ rows, len(rows))

    def keep(self, x: Tensor) -> Tensor:
        """Return true for the weights that are kept."""
        return self._reconstruct(x)[0]

    def decide(self, x: Tensor | SparseTensor) -> tuple[Tensor, Tensor]:
        """Return which weights are kept, and what they become."""
        dense = dense_of(x)
        with torch.no_grad():
            mask, values = self._reconstruct(dense.detach())
        return mask, values.to(dense.dtype)

    def _reconstruct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if x.dim() != 2:
            raise ShapeError(
                f"SparseGPT: expected a matrix, got shape {tuple(x.shape)}"
            )
        inverse = self._inverse(x.shape[1])
        weights = x.to(torch.float64, copy=True)
        mask = torch.empty_like(x, dtype=torch.bool)
        for first in range(0, x.shape[1], self.block):
            last = min(first + self.block, x.shape[1])
            part, root = weights[:, first:last], inverse[first:last, first:last]
            scores = (part / root.diagonal()).square()
            count = kept_of(scores.numel(), self.fraction)
            mask[:, first:last] = largest(scores.reshape(-1), count).reshape(part.shape)
            errors = torch.zeros_like(part)
            for j in range(last - first):
                lost = part[:, j].masked_fill(mask[:, first + j], 0) / root[j, j]
                part[:, j:] -= torch.outer(lost, root[j, j:])
                errors[:, j] = lost
            weights[:, last:] -= errors @ inverse[first:last, last:]
        return mask, weights.masked_fill(~mask, 0)

    def _inverse(self, features: int) -> Tensor:
        """Return the upper Cholesky factor of the inverse of the second moments."""
        moments = self._tally.sum(torch.Size((features, features))).clone()
        mean = moments.diagonal().mean()
        # Features that are always 0 have no influence: any positive number serves.
        moments.diagonal().add_(self.damping * mean if mean > 0 else 1)
        factor = torch.linalg.cholesky(moments)
        inverse = torch.cholesky_inverse(factor)
        made: Tensor = torch.linalg.cholesky(inverse, upper=True)
        return made

    def __repr__(self) -> str:
        return f"SparseGPT({self.fraction}, block={self.block})"
