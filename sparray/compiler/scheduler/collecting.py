"""What it costs to collect sums whose coordinates come in no order.

A list workspace has an element for every value of its index. Where these do not fit in
a cache, each new coordinate waits for memory; and every task maps fresh pages, however
few coordinates it meets. A hashed one has slots for what a row brings: they stay near,
and each product pays for its hash.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from sparray.compiler.kernel_facts.chunks import CHUNKS_PER_THREAD, WORK_PER_THREAD
from sparray.compiler.kernel_facts.workspaces import (
    LISTED_BYTES,
    SLOT_BYTES,
    SLOTS_PER_SUM,
)
from sparray.compiler.scheduler.cost_model import COSTS
from sparray.formats.format import Format
from sparray.records import dataclass

__all__ = ["Collected", "collecting_costs", "is_collected", "table_bytes"]

_PASSED = 0.5
"""What a product costs at least that is passed over before it is computed."""
_SAVED = 1.3
"""What it saves at most (A B of 5,000² at 1 to 64 random places of a row, 16 and 64
entries a row: the filtered list takes half of the time of dot products where it is
cheaper by these estimates, and 1.4 and 3 times theirs where it is not)."""
_NEAR_BYTES = 2**20
"""Half of a second-level cache of 2 MiB: what is used beside a workspace needs some."""
_FAR_BYTES = 2**25
"""Memory of which little is in a cache that all cores share."""
_NEARER = 0.15
"""Share of a miss that a line of that cache costs."""
_PAGE_BYTES = 4096
_ZEROED_PER_LEAF = 32
"""Bytes that are zeroed in the time of a multiply-add."""
_TASKS = 2 * CHUNKS_PER_THREAD
"""Tasks that allocate a workspace each, on two threads."""
_RETURNED_BYTES = 2**25
"""Size from which on the C library gives freed memory back to the system each time."""
_SLOTS_PER_PRODUCT = 1.5 * SLOTS_PER_SUM
"""Between as many and twice as many: a power of two."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Sums in the making.

    Attributes
    ----------
    products : float
        How many values come, in all.
    entries : float
        How many sums they are added up to.
    units : float
        How often the workspace is used: a row each time.
    extent : float
        Number of values of its index.
    itemsize : int
        Bytes of a value.
    counting : float
        What the loops around that over the index cost: a table has to know how many
        products may come to a row, so they run once more.
    filters : tuple of (str, float)
        Operands at whose entries alone sums are wanted, and how many these are.
    each : float
        What a product costs with its share of the loops.
    """

    products: float
    entries: float
    units: float
    extent: float
    itemsize: int
    counting: float = 0.0
    filters: tuple[tuple[str, float], ...] = ()
    each: float = 0.0

    @property
    def per_unit(self) -> float:
        """The products of one row."""
        return self.products / max(1.0, self.units)


def is_collected(format: Format) -> bool:
    """Tell whether a result that is appended to takes each coordinate once.

    Or in order: either way products are added up before.
    """
    return format.is_sorted or format.unique


def collecting_costs(sums: Collected, most_bytes: int) -> Mapping[str, float]:
    """Return the cost of each kind of workspace, in multiply-adds.

    Parameters
    ----------
    sums : Collected
        What is collected.
    most_bytes : int
        What a workspace may take of memory.
    """
    each = sums.itemsize + LISTED_BYTES
    costs = {"hashed": _table_cost(sums)}
    # Extents are known to a power of two only.
    if 2 * each * sums.extent <= most_bytes:
        costs["list"] = _list_cost(sums)
        for tensor, stored in sums.filters:
            costs[f"list among {tensor}"] = _filtered_cost(sums, stored)
    return costs


def table_bytes(per_unit: float, extent: float, itemsize: int) -> int:
    """Return about how many bytes a table has for a number of products."""
    return ceil(_SLOTS_PER_PRODUCT * min(per_unit, extent) * (SLOT_BYTES + itemsize))


def _list_cost(sums: Collected) -> float:
    tasks = 1 if sums.products < WORK_PER_THREAD else _TASKS
    held = sums.extent * sums.itemsize
    if held + sums.extent <= _NEAR_BYTES:
        # It is used again and again, whatever it took to get it.
        return _listed(sums)
    pages = held / _PAGE_BYTES * (tasks if held > _RETURNED_BYTES else 1)
    return (
        _listed(sums)
        + _missed(held + sums.extent) * sums.entries
        + tasks * sums.extent / _ZEROED_PER_LEAF
        + COSTS["page"] * min(pages, sums.entries)
    )


def _filtered_cost(sums: Collected, stored: float) -> float:
    """Return the cost of a list that holds an operand's coordinates only.

    Each of them is marked before, and its mark cleared after; each product looks
    whether there is one, and is not computed where there is none.
    """
    kept = replace(sums, entries=min(sums.entries, stored))
    passed = sums.products * (1 - kept.entries / max(1.0, sums.entries))
    saved = min(_SAVED, max(0.0, sums.each - _PASSED)) * passed
    return _list_cost(kept) + 2 * stored - saved


def _table_cost(sums: Collected) -> float:
    held = table_bytes(sums.per_unit, sums.extent, sums.itemsize)
    each = COSTS["hashed"] + _missed(held)
    return _listed(sums) + each * sums.products + sums.counting


def _listed(sums: Collected) -> float:
    """Return what it costs to list the entries, and to sort the list."""
    return COSTS["list"] * sums.entries


def _missed(held: float) -> float:
    """Return what a random place in so much memory costs beside one in cache."""
    return COSTS["miss"] * (
        _NEARER * max(0.0, 1 - _NEAR_BYTES / max(1.0, held))
        + (1 - _NEARER) * max(0.0, 1 - _FAR_BYTES / max(1.0, held))
    )
