"""Keep the weights that matter for the inputs they meet."""

from typing import ClassVar

from torch import Tensor

from sparray.errors import ShapeError
from sparray.torch.sparsifiers.observing import Tally
from sparray.torch.sparsifiers.scored import Scored
from sparray.torch.sparsifiers.selection import kept_of, largest
from sparray.torch.sparsifiers.sparsifier import Observed

__all__ = ["Wanda", "as_rows"]


def as_rows(owner: str, inputs: Tensor) -> Tensor:
    """Return the inputs of a linear layer as a matrix of rows of features.

    Raises
    ------
    ShapeError
        If they have no features.
    """
    if inputs.dim() < 1:
        raise ShapeError(f"{owner}.observe: expected inputs[..., k], got a scalar")
    return inputs.detach().reshape(-1, inputs.shape[-1])


class Wanda(Scored):
    """Drop a fraction of each row: weights times norms of inputs that are smallest.

    Parameters
    ----------
    fraction : float
        Of the elements of each row, from 0 to 1.

    Raises
    ------
    ScoreError
        If the fraction is none, or it is called before `observe`.
    ShapeError
        If the weight is no matrix of as many columns as inputs have features.

    Notes
    -----
    The score of ``W[o,i]`` is ``abs(W[o,i]) * norm(x[:,i])``, compared within a row.
    Source: Sun et al. 2023, "A simple and effective pruning approach for large language
    models" (arXiv 2306.11695).
    """

    observes: ClassVar[Observed | None] = Observed.INPUTS

    def __init__(self, fraction: float) -> None:
        super().__init__(fraction)
        self._tally = Tally("Wanda", "call observe(inputs) with data for calibration")

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
        rows = as_rows("Wanda", inputs)
        self._tally.add(rows.abs().square().sum(0), len(rows))

    def scores(self, x: Tensor) -> Tensor:
        """Return absolute values times the norms of the inputs they meet."""
        if x.dim() != 2:
            raise ShapeError(f"Wanda: expected a matrix, got shape {tuple(x.shape)}")
        return x.abs() * self._tally.sum(x.shape[1:]).sqrt()

    def keep(self, x: Tensor) -> Tensor:
        """Return true for the largest scores of each row."""
        scores = self.scores(x)
        return largest(scores, kept_of(scores.shape[-1], self.fraction))
