"""Run several tasks on several threads: kernels compile on every core."""

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["compiler_threads", "run_together"]

T = TypeVar("T")


def compiler_threads() -> int:
    """Return how many kernels may compile at once: one on each core.

    Returns
    -------
    int
        The cores that this process may use.

    Notes
    -----
    Threads suffice: the C compiler, which takes most of the time, is a process of its
    own, and Cython, which is not, takes turns.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_together(
    tasks: Sequence[Callable[[], T]],
    workers: int,
    finished: Callable[[int], object] | None = None,
) -> list[T]:
    """Run tasks on several threads; return what each returned, in their order.

    Parameters
    ----------
    tasks : sequence of callable
        Run in this order, each on the next thread that is free.
    workers : int
        Threads, this one included; with one, nothing else runs meanwhile.
    finished : callable, optional
        Told the number of tasks that are done, each time that one is, by one thread at
        a time.

    Raises
    ------
    BaseException
        What the first task raised that failed, in the order of the tasks, once all that
        had begun are done; no other begins after a failure.
    """
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}
    lock = threading.Lock()
    waiting = iter(range(len(tasks)))

    def work() -> None:
        while True:
            with lock:
                number = None if errors else next(waiting, None)
            if number is None:
                return
            try:
                made = tasks[number]()
            except BaseException as error:
                errors[number] = error
                return
            with lock:
                results[number] = made
                if finished is not None:
                    finished(len(results))

    helpers = [
        threading.Thread(target=work, daemon=True)
        for _ in range(min(workers, len(tasks)) - 1)
    ]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(tasks))]
