"""What it costs that entries with the same coordinates of a list meet."""

from sparray.compiler.scheduler.cost_model import COSTS

__all__ = ["gather_cost", "sort_cost", "takes_table"]

_NEAR = 2**13
"""Coordinates up to which a table and what it points to stay in a second-level cache:
about 50 bytes each."""


def gather_cost(entries: float, distinct: float) -> float:
    """Return the cost of a hash table for a list, and of sorting what is left."""
    far = max(0.0, 1.0 - _NEAR / max(1.0, distinct))
    each = COSTS["gather"] + far * COSTS["miss"]
    return each * entries + sort_cost(distinct)


def sort_cost(entries: float) -> float:
    """Return the cost of sorting a list."""
    return COSTS["sort"] * entries


def takes_table(by_table: float, by_sort: float, merging: str) -> bool:
    """Tell whether entries meet in a table: as ``merging`` says, or the cheaper way."""
    return merging == "hash" if merging else by_table < by_sort
