"""Give each column of a chunk a pattern, so that every pattern has as many columns.

The assignment that keeps most is a transportation problem. It is solved nearly: each
column takes the pattern that is best for it while there is room, those that would lose
most first; then pairs of columns change places while that keeps more. All chunks are
solved side by side, by the same few tensor operations.
"""

import torch
from torch import Tensor

__all__ = ["group_columns"]


def group_columns(scores: Tensor, room: int, swaps: int) -> Tensor:
    """Return a pattern for each column of each chunk.

    Parameters
    ----------
    scores : Tensor, floating[chunks, columns, patterns]
        What a column keeps with a pattern. There are ``room`` times as many columns as
        patterns.
    room : int
        How many columns each pattern takes.
    swaps : int
        How many times pairs of columns may change places; each time every pattern
        takes part in one exchange at most.

    Returns
    -------
    Tensor, int64[chunks, columns]
        The number of the pattern; each one comes exactly ``room`` times in a chunk.
    """
    if scores.shape[-1] == 1:
        return torch.zeros(scores.shape[:2], dtype=torch.int64)
    chosen = _assign(scores, room)
    for _ in range(swaps):
        if not _exchange(scores, chosen, room):
            break
    return chosen


def _assign(scores: Tensor, room: int) -> Tensor:
    """Give columns their best pattern that has room, largest loss first."""
    n_chunks, n_columns, n_patterns = scores.shape
    chosen = torch.full((n_chunks, n_columns), -1)
    free = torch.full((n_chunks, n_patterns), room)
    # The chunks that still have columns without a pattern, and these columns.
    chunk, column = torch.nonzero(chosen < 0, as_tuple=True)
    while len(chunk):
        left = scores[chunk, column].masked_fill(free[chunk] == 0, -torch.inf)
        best, second = left.topk(2).values.unbind(-1)
        wanted = left.argmax(-1)
        # Those that lose most without it come first; of equal ones the first column.
        order = (best - second).sort(descending=True, stable=True).indices
        place = chunk * n_patterns + wanted
        order = order[place[order].sort(stable=True).indices]
        place = place[order]
        rank = torch.arange(len(place)) - torch.searchsorted(place, place)
        taken = torch.empty_like(place, dtype=torch.bool)
        taken[order] = rank < free.reshape(-1)[place]
        chosen[chunk[taken], column[taken]] = wanted[taken]
        given = (chunk * n_patterns + wanted)[taken]
        free -= torch.bincount(given, minlength=free.numel()).reshape(free.shape)
        chunk, column = chunk[~taken], column[~taken]
    return chosen


def _exchange(scores: Tensor, chosen: Tensor, room: int) -> bool:
    """Exchange columns of pairs of patterns in place; tell whether there was a gain."""
    n_chunks, _, n_patterns = scores.shape
    # Columns by pattern: the same number of each.
    members = chosen.sort(dim=1, stable=True).indices
    members = members.reshape(n_chunks, n_patterns, room)
    rows = torch.arange(n_chunks)[:, None, None]
    of_members = scores[rows, members]
    own = torch.arange(n_patterns)
    kept = of_members[:, own, :, own].permute(1, 0, 2)
    # What one column of pattern p gains if it changes to pattern q: the best column.
    gains, which = (of_members - kept[..., None]).max(dim=2)
    both = gains + gains.transpose(1, 2)
    both[:, own, own] = 0
    gain, partner = both.max(dim=2)
    mutual = partner.gather(1, partner) == own
    # Above what rounding makes of nothing, so that exchanges end.
    large = gain > 1e-6 * kept.abs().amax(dim=(1, 2))[:, None]
    chunk, first = torch.nonzero(mutual & large & (own < partner), as_tuple=True)
    if not len(chunk):
        return False
    second = partner[chunk, first]
    for p, q in ((first, second), (second, first)):
        chosen[chunk, members[chunk, p, which[chunk, p, q]]] = q
    return True
