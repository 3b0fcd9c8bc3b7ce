"""The n-combinations of m things, in an order in which neighbours share all but one."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["combinations", "ranks_of_combinations"]

Numbers = npt.NDArray[np.int64]


@lru_cache(maxsize=64)
def combinations(n: int, m: int) -> tuple[tuple[int, ...], ...]:
    """Return every choice of n of the numbers below m, in revolving-door order.

    From one combination to the next one number leaves and one comes; from the last to
    the first, too. The numbers of a combination ascend.

    Notes
    -----
    O(n) for each combination. **Source**: algorithm R of Knuth, The Art of Computer
    Programming 4A, section 7.2.1.3.

    Examples
    --------
    >>> combinations(2, 4)
    ((0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (0, 3))
    """
    if n == m or n == 0:
        return (tuple(range(n)),)
    chosen = [*range(n), m]
    found = [tuple(chosen[:n])]
    while _step(chosen, n):
        found.append(tuple(chosen[:n]))
    return tuple(found)


def _step(chosen: list[int], n: int) -> bool:
    """Go on to the next combination; False behind the last one.

    ``chosen`` ends with the number of things, which is never left.
    """
    at = 1
    if n % 2:
        if chosen[0] + 1 < chosen[1]:
            chosen[0] += 1
            return True
        decrease = True
    else:
        if chosen[0] > 0:
            chosen[0] -= 1
            return True
        decrease = False
    # chosen[:at] is as small as it gets, or as large: try the number behind it.
    while at < n:
        if decrease and chosen[at] >= at + 1:
            chosen[at] = chosen[at - 1]
            chosen[at - 1] = at - 1
            return True
        if not decrease and chosen[at] + 1 < chosen[at + 1]:
            chosen[at - 1] = chosen[at]
            chosen[at] += 1
            return True
        decrease = not decrease
        at += 1
    return False


def ranks_of_combinations(chosen: Numbers, m: int) -> Numbers:
    """Return the place of each combination in the order of `combinations`.

    Parameters
    ----------
    chosen : int64[k, n]
        Ascending numbers below ``m`` in each row.
    """
    n = chosen.shape[1]
    listed = np.array(combinations(n, m), dtype=np.int64).reshape(-1, n)
    places = np.empty(len(listed), dtype=np.int64)
    places[_colex(listed, m)] = np.arange(len(listed))
    found: Numbers = places[_colex(chosen, m)]
    return found


def _colex(chosen: Numbers, m: int) -> Numbers:
    """Return the number of each combination in colexicographic order.

    It is the sum of ``binomial(c, k)`` over its k-th smallest numbers ``c``, which
    passes no number of combinations.
    """
    n = chosen.shape[1]
    rank = np.zeros(len(chosen), dtype=np.int64)
    column = np.ones(m, dtype=np.int64)  # binomial(c, 0)
    for k in range(n):
        # binomial(c, k + 1) is the sum of binomial(b, k) over all b < c. Those that
        # no k-th number reaches may wrap around; they are not looked up.
        column = np.concatenate([[0], np.cumsum(column)[:-1]])
        rank += column[chosen[:, k]]
    return rank
