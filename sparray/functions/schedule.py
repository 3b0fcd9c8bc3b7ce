"""Schedules by hand: where they begin."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sparray.compiler.hand_schedule import Schedule, parse_schedule
from sparray.errors import ScheduleError

__all__ = ["Schedule", "as_only_schedule", "as_schedule", "schedule"]

# A warm call is to cost a look-up.
_parsed = lru_cache(maxsize=1024)(parse_schedule)


def schedule(text: str = "") -> Schedule:
    """Begin a schedule, or read one from text.

    Parameters
    ----------
    text : str
        What `Schedule` prints, and `Kernel.schedule`.

    Returns
    -------
    Schedule
        Its methods add commands.

    Raises
    ------
    ScheduleError
        If the text is not a schedule.

    Examples
    --------
    >>> import sparray as sp
    >>> by_hand = sp.schedule().reorder("i k j").tile("j", 32).parallelize("i")
    >>> kernel = sp.compile("C[i,j] = A[i,k] * B[k,j]", A="csr", schedule=by_hand)
    >>> kernel.schedule
    'reorder(i k j).tile(j, 32 16 8 4 2 1).parallelize(i).assemble(insert)'
    """
    return parse_schedule(text)


def as_schedule(given: Schedule | str | None) -> Schedule | None:
    """Return what was given as ``schedule=``; text is read."""
    if given is None or isinstance(given, Schedule):
        return given
    if isinstance(given, str):
        return _parsed(given)
    raise ScheduleError(
        f"schedule: expected a Schedule or text, got {type(given).__name__}"
    )


def as_only_schedule(given: Any, expression: str) -> Schedule | None:
    """Return what was given as ``schedule=`` beside a single statement.

    Raises
    ------
    ScheduleError
        If it is a mapping, or no schedule.
    """
    if isinstance(given, Mapping):
        raise ScheduleError(
            "schedule: expected the schedule of the only statement, got a mapping, "
            f"which is for several\n  expression: {expression}"
        )
    return as_schedule(given)
