"""How many threads kernels use."""

import operator
import os
import re

from sparray._kernels.notices import warn_once
from sparray.errors import SettingError

__all__ = ["MAX_THREADS", "num_threads", "set_num_threads"]

MAX_THREADS = 1024


def num_threads() -> int:
    """Return the number of threads that a kernel may use.

    Returns
    -------
    int
        What `set_num_threads` set; else ``OMP_NUM_THREADS``; else the number of
        CPUs that this process may run on. In a forked child always 1.
    """
    return _setting.count


def set_num_threads(n: int) -> None:
    """Set the number of threads that a kernel may use.

    Parameters
    ----------
    n : int
        From 1 to 1024.

    Raises
    ------
    SettingError
        If `n` is not an integer in that range.

    Notes
    -----
    In a forked child the number stays 1, with one warning: the threads of the
    parent's OpenMP pool do not exist there, and a parallel region would wait
    for them for ever.
    """
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if not 1 <= count <= MAX_THREADS:
        raise SettingError(
            f"n: expected a number of threads from 1 to {MAX_THREADS}, got {n!r}"
        )
    if _setting.forked and count > 1:
        warn_once(
            "threads after fork",
            "kernels run with one thread in a forked child: OpenMP's threads do "
            "not survive a fork (the start method 'spawn' has no such limit)",
        )
        return
    _setting.count = count


class _Setting:
    """The number in force, and whether this process is a forked child."""

    def __init__(self) -> None:
        self.count = _default()
        self.forked = False


def _default() -> int:
    # OMP_NUM_THREADS may list a number per nesting level; the first counts here.
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if re.fullmatch("[0-9]{1,9}", first) and int(first) > 0:
        return min(int(first), MAX_THREADS)
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return min(count, MAX_THREADS)


def _use_one_thread() -> None:
    _setting.count = 1
    _setting.forked = True


_setting = _Setting()
os.register_at_fork(after_in_child=_use_one_thread)
