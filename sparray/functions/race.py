"""Time several calls against each other, in turns, within a budget."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["race"]

_SAMPLE_S = 2e-4
_LEAST_SAMPLES = 3
_MOST_SAMPLES = 200
_CLOSE = 1.25


def race(
    calls: Sequence[Callable[[], Any]],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the median time of each call.

    Parameters
    ----------
    calls : sequence of callable
        What to time; each is called at least once more than it is timed, so that what
        it loads and allocates the first time does not count.
    seconds : float
        When it is spent, no further round begins; each call is timed at least once.
    clock : callable
        What tells the time.

    Returns
    -------
    list of float
        Seconds that one call takes, in the order of the calls.

    Notes
    -----
    Calls alternate, because the speed of a machine drifts, and the direction changes
    from round to round. Successive halving: after every third round the slower half is
    left out, except for those that are close to the fastest (within a quarter).
    """
    samples: list[list[float]] = [[] for _ in calls]
    numbers = [0] * len(calls)
    end = clock() + seconds
    for which, call in enumerate(calls):
        once = _timed(call, 1, clock)
        if once > seconds / 4:
            # There is no time to run it again.
            samples[which].append(once)
            continue
        once = _timed(call, 1, clock)
        samples[which].append(once)
        numbers[which] = max(1, math.ceil(_SAMPLE_S / max(once, 1e-9)))
    alive = [which for which in range(len(calls)) if numbers[which]]
    rounds = 0
    enough = 1 if len(calls) == 1 else 2
    while len(alive) >= enough and clock() < end and rounds < _MOST_SAMPLES:
        for which in alive if rounds % 2 else reversed(alive):
            samples[which].append(_timed(calls[which], numbers[which], clock))
        rounds += 1
        if rounds % _LEAST_SAMPLES == 0:
            alive = _faster_half(alive, samples)
    return [statistics.median(times) for times in samples]


def _faster_half(alive: list[int], samples: Sequence[list[float]]) -> list[int]:
    medians = {which: statistics.median(samples[which]) for which in alive}
    ranked = sorted(alive, key=medians.__getitem__)
    close = _CLOSE * medians[ranked[0]]
    half = set(ranked[: max(2, -(-len(ranked) // 2))])
    return [which for which in alive if which in half or medians[which] <= close]


def _timed(call: Callable[[], Any], number: int, clock: Callable[[], float]) -> float:
    begin = clock()
    for _ in range(number):
        call()
    return (clock() - begin) / number
