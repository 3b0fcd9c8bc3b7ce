"""Compare two ways to compute the same thing, in one process, call by call.

A machine's speed drifts while it runs, so two absolute times that were taken one after
the other say little about each other. Here calls alternate and medians are compared.
"""

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

__all__ = ["ratio", "timed"]

Call = Callable[[], Any]

_SAMPLE_S = 1e-3
_BUDGET_S = 0.4
_MOST_REPEATS = 400


def ratio(ours: Call, theirs: Call, repeats: int = 9) -> float:
    """Return how many times as fast ``ours`` is as ``theirs``.

    Parameters
    ----------
    ours, theirs : callable
        Called without arguments, one after the other in turns.
    repeats : int
        The least number of turns; quick calls get more of them.

    Returns
    -------
    float
        Median time of ``theirs`` divided by that of ``ours``: above 1, ours is faster.
    """
    calls = (ours, theirs)
    for call in calls:
        # Compiles kernels, fills caches of plans, and wakes the threads.
        call()
    once = [timed(call) for call in calls]
    numbers = [max(1, math.ceil(_SAMPLE_S / max(one, 1e-9))) for one in once]
    samples: tuple[list[float], list[float]] = ([], [])
    begin = time.perf_counter()
    while len(samples[0]) < repeats or (
        time.perf_counter() - begin < _BUDGET_S and len(samples[0]) < _MOST_REPEATS
    ):
        # Whoever goes first changes, so that neither always finds the other's caches.
        turn = (0, 1) if len(samples[0]) % 2 == 0 else (1, 0)
        for which in turn:
            samples[which].append(timed(calls[which], numbers[which]))
    return statistics.median(samples[1]) / statistics.median(samples[0])


def timed(call: Call, number: int = 1) -> float:
    """Return the seconds that one of ``number`` calls takes."""
    begin = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - begin) / number
