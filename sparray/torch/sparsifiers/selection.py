"""Which elements have the largest scores: the same answer in every run."""

import torch
from torch import Tensor

from sparray.errors import ScoreError

__all__ = ["check_fraction", "kept_of", "largest"]


def check_fraction(name: str, fraction: float) -> None:
    """Raise unless a fraction of elements to drop is one.

    Raises
    ------
    ScoreError
        If it is no number from 0 to 1.
    """
    if not 0 <= fraction <= 1:
        raise ScoreError(
            f"{name}: expected a fraction to drop from 0 to 1, got {fraction}"
        )


def kept_of(count: int, fraction: float) -> int:
    """Return how many of some elements are kept when a fraction is dropped."""
    return count - round(count * fraction)


def largest(scores: Tensor, count: int) -> Tensor:
    """Return where the largest scores of each row are.

    Parameters
    ----------
    scores : Tensor, dtype[..., n]
        Real numbers.
    count : int
        How many to keep along the last dimension, at most ``n``.

    Returns
    -------
    Tensor, bool[..., n]
        True ``count`` times in each row. Of equal scores the first ones are kept.

    Raises
    ------
    ScoreError
        If a score is NaN: it is neither larger nor smaller than another one.

    Notes
    -----
    Selection, not a sort: linear in the number of scores.
    """
    if scores.is_floating_point() and scores.isnan().any():
        raise ScoreError(
            "scores: expected numbers that can be ordered, got NaN; replace them by "
            "torch.nan_to_num, or drop them by masking"
        )
    n = scores.shape[-1]
    if count <= 0 or n == 0:
        return torch.zeros_like(scores, dtype=torch.bool)
    if count >= n:
        return torch.ones_like(scores, dtype=torch.bool)
    limit = scores.kthvalue(n - count + 1, dim=-1, keepdim=True).values
    mask = scores > limit
    ties = scores == limit
    free = count - mask.sum(-1, keepdim=True)
    mask |= ties & (ties.cumsum(-1) <= free)
    return mask
