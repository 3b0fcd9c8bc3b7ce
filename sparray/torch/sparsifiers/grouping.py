"""Give each column of a chunk a pattern, so that every pattern has as many columns.

The assignment that keeps most is a transportation problem. It is solved nearly: each
column takes the pattern that is best for it while there is room, those that would lose
most first; then pairs of columns change places while that keeps more. All chunks are
solved side by side. Scores lie pattern by pattern, so that every step over them runs
through memory in order; what competes for the same pattern is put in order by one sort
of integers that hold the chunk, the pattern, the loss and the column.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["group_columns"]

Numbers = npt.NDArray[np.int64]

# Of a key for sorting, which is an int64 that is not negative.
_KEY_BITS = 63
_FLOAT_BITS = 31
# Below every score that holds a pattern's number.
_NO_ROOM = -1


def group_columns(scores: Tensor, room: int, swaps: int) -> Tensor:
    """Return a pattern for each column of each chunk.

    Parameters
    ----------
    scores : Tensor, floating[chunks, columns, patterns]
        What a column keeps with a pattern, compared in float32. There are ``room``
        times as many columns as patterns. Best if patterns are outermost in memory.
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
    n_chunks, width, n_patterns = scores.shape
    if n_patterns == 1 or not scores.numel():
        return torch.zeros((n_chunks, width), dtype=torch.int64)
    flat = scores.permute(2, 0, 1).reshape(n_patterns, -1).to(torch.float32)
    members = _members(_assign(flat, width, room), n_patterns, room)
    for _ in range(swaps):
        if not _exchange(flat, members):
            break
    chosen = torch.empty(n_chunks * width, dtype=torch.int64)
    chosen[members] = torch.arange(n_patterns).expand(members.shape)
    return chosen.reshape(n_chunks, width)


def _assign(scores: Tensor, width: int, room: int) -> Numbers:
    """Give columns their best pattern that has room, largest loss first.

    Returns
    -------
    int64[columns of all chunks]
        The number of the pattern among those of all chunks.
    """
    n_patterns, n_columns = scores.shape
    n_chunks = n_columns // width
    free = np.full(n_chunks * n_patterns, room)
    chosen = np.empty(n_columns, np.int64)
    begins = np.repeat(np.arange(n_chunks) * n_patterns, width)
    columns, packed = np.arange(n_columns), _packed(scores)
    left = packed
    while len(columns):
        wanted, loss = _best(left, n_patterns)
        wanted += begins[columns]
        place, columns = _in_order(wanted, loss, columns, n_columns)
        new = np.ones(len(place), bool)
        np.not_equal(place[1:], place[:-1], out=new[1:])
        first = np.flatnonzero(new)
        count = np.diff(first, append=len(place))
        room_there = free[place[first]]
        # Those behind the last one that there is room for go on.
        rank = np.arange(len(place)) - np.repeat(first, count)
        taken = rank < np.repeat(room_there, count)
        chosen[columns[taken]] = place[taken]
        free[place[first]] -= np.minimum(count, room_there)
        columns = columns[~taken]
        left = packed.index_select(1, torch.from_numpy(columns))
        is_full = free.reshape(-1, n_patterns).T == 0
        of_columns = is_full[:, begins[columns] // n_patterns]
        left.masked_fill_(torch.from_numpy(of_columns), _NO_ROOM)
    return chosen


def _packed(scores: Tensor) -> Tensor:
    """Return scores as integers that hold the pattern, the first one the largest.

    The bits of floats that are not negative are in the order of the floats. The last of
    them make place for the pattern's number.
    """
    n_patterns = len(scores)
    low = (n_patterns - 1).bit_length()
    numbers = torch.arange(n_patterns - 1, -1, -1, dtype=torch.int32)
    packed = scores.view(torch.int32) & ~((1 << low) - 1)
    return packed.bitwise_or_(numbers[:, None])


def _best(packed: Tensor, n_patterns: int) -> tuple[Numbers, Numbers]:
    """Return the best pattern of each column, and what the second best one loses."""
    best, second = torch.maximum(packed[0], packed[1]), packed[:2].amin(0)
    lower = torch.empty_like(best)
    for one in packed[2:]:
        torch.minimum(best, one, out=lower)
        torch.maximum(second, lower, out=second)
        torch.maximum(best, one, out=best)
    ones = (1 << (n_patterns - 1).bit_length()) - 1
    wanted = (n_patterns - 1) - (best & ones)
    first, other = ((x & ~ones).view(torch.float32) for x in (best, second))
    loss = (first - other).masked_fill_(second == _NO_ROOM, torch.inf)
    return wanted.to(torch.int64).numpy(), loss.view(torch.int32).long().numpy()


def _in_order(
    place: Numbers, loss: Numbers, columns: Numbers, n_columns: int
) -> tuple[Numbers, Numbers]:
    """Return places and columns: by place, largest loss first, then first column.

    Where there is no room for all bits of losses, those that nearly are the same count
    as the same.
    """
    low = (n_columns - 1).bit_length()
    spare = _KEY_BITS - low - int(place.max()).bit_length()
    bits = max(0, min(spare, _FLOAT_BITS))
    key = place << bits
    key += (1 << bits) - 1
    key -= loss >> (_FLOAT_BITS - bits)
    key <<= low
    key |= columns
    key.sort()
    return key >> (bits + low), key & ((1 << low) - 1)


def _members(chosen: Numbers, n_patterns: int, room: int) -> Tensor:
    """Return the columns of each pattern: ``int64[room, chunks, patterns]``."""
    low = (len(chosen) - 1).bit_length()
    key = (chosen << low) + np.arange(len(chosen))
    key.sort()
    columns = torch.from_numpy(key & ((1 << low) - 1))
    return columns.reshape(-1, n_patterns, room).permute(2, 0, 1).contiguous()


def _exchange(scores: Tensor, members: Tensor) -> bool:
    """Exchange columns of pairs of patterns in place; tell whether there was a gain."""
    n_patterns = len(scores)
    own = torch.arange(n_patterns)
    flat = members.reshape(-1)
    of_members = scores.index_select(1, flat).reshape(n_patterns, *members.shape)
    kept = of_members[own, :, :, own].permute(1, 2, 0)
    # What one column of pattern p gains if it changes to pattern q: the best column.
    gains, which = (of_members - kept).max(dim=1)
    both = gains + gains.transpose(0, 2)
    both[own, :, own] = 0
    gain, partner = both.max(dim=0)
    mutual = partner.gather(1, partner) == own
    # Above what rounding makes of nothing, so that exchanges end.
    large = gain > 1e-6 * kept.amax(dim=(0, 2))[:, None]
    chunk, first = torch.nonzero(mutual & large & (own < partner), as_tuple=True)
    if not len(chunk):
        return False
    second = partner[chunk, first]
    one = which[second, chunk, first], chunk, first
    other = which[first, chunk, second], chunk, second
    members[one], members[other] = members[other], members[one]
    return True
