"""Into how many chunks a parallel loop is cut."""

from sparray.compiler.schedule.assemble import Assembly

__all__ = ["CHUNKS_PER_THREAD", "WORK_PER_THREAD", "chunks_of", "chunks_per_thread"]


CHUNKS_PER_THREAD = 8
"""Chunks that a thread takes one after the other; more chunks balance better, each
costs about 0.2 µs."""


WORK_PER_THREAD = 32768
"""Inner iterations below which another thread costs more than it saves: waking a
thread takes about as long as that many multiply-adds from cache (5 to 10 µs)."""


def chunks_per_thread(way: Assembly) -> int:
    """Return how many chunks each thread gets; a scattered result takes memory each."""
    return 1 if way is Assembly.SCATTER else CHUNKS_PER_THREAD


def chunks_of(way: Assembly, prefix: int, threads: int) -> int:
    """Return for how many chunks a parallel kernel needs counts of their own.

    Parameters
    ----------
    way : Assembly
        How the result is assembled, in two phases.
    prefix : int
        The number of located levels, whose positions have counts.
    threads : int
        The number of threads that the kernel is given.
    """
    if way is not Assembly.SCATTER and prefix > 0:
        return 1
    return threads * chunks_per_thread(way)
