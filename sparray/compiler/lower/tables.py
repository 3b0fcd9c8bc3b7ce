"""Memory of a hashed workspace: a table of the coordinates that were met.

Its memory, and the time to clear it, are those of the coordinates that it holds,
whatever the extent of its index. How many these can be is known before each use
(`insertions.py`), so that nothing moves while entries come in.

Source: Fibonacci hashing, Knuth, The Art of Computer Programming 3, section 6.4; linear
probing, ibid., algorithm L; hash tables for rows of sparse products: Nagasaka et al.
2018, "High-performance sparse matrix-matrix products on Intel KNL and multicore
architectures", section 4.2.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from sparray.compiler.kernel_facts.workspaces import SLOTS_PER_SUM
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    Builder,
    add,
    equal,
    less,
    literal,
    logical_and,
    mul,
    sub,
)
from sparray.records import dataclass

__all__ = ["TableBuffers", "home_slot"]

_LEAST_SLOTS = 16
"""Slots that a table has at least."""

_FACTOR = 0x9E3779B97F4A7C15
"""2**64 by the golden ratio, odd: neighbours are far apart in the upper bits."""


@dataclass(frozen=True, slots=True)
class TableBuffers:
    """A table with several slots for each coordinate that may come.

    Attributes
    ----------
    values : ir.Buffer or None
        The sum of each slot's coordinate.
    keys : ir.Buffer
        A slot's coordinate and 1, or 0 where it is empty: fresh memory is empty.
    slots : ir.Buffer
        The slots that are taken, in the order in which they were.
    coordinates : ir.Buffer
        The coordinates in these, until they are sorted.
    count : ir.Var
        How many coordinates were met.
    room, mask : ir.Var
        How many slots there is memory for; one less than those that are in use, which
        is a power of two.
    """

    values: ir.Buffer | None
    keys: ir.Buffer
    slots: ir.Buffer
    coordinates: ir.Buffer
    count: ir.Var
    room: ir.Var
    mask: ir.Var

    @classmethod
    def allocated(cls, name: str, dtype: str | None, b: Builder) -> "TableBuffers":
        """Emit the allocation of an empty table, which grows when it is opened."""
        room = b.declare(f"{name}_room", literal(_LEAST_SLOTS))
        least = literal(_LEAST_SLOTS // SLOTS_PER_SUM)
        return cls(
            None if dtype is None else b.allocate(f"{name}_values", dtype, room),
            b.allocate(f"{name}_keys", "int64", room, zeroed=True),
            b.allocate(f"{name}_slots", "int64", least),
            b.allocate(f"{name}_list", "int64", least),
            b.declare(f"{name}_count", literal(0)),
            room,
            b.declare(f"{name}_mask", sub(room, literal(1))),
        )

    def open(self, most: ir.Expr, b: Builder) -> None:
        """Emit the choice of as many slots as a number of coordinates needs.

        They are few for a short row, whatever a longer one needed: what is near is used
        again.
        """
        most = b.declare("at_most", most)
        needed = b.declare("needed", literal(_LEAST_SLOTS))
        with b.loop_while(less(needed, mul(literal(SLOTS_PER_SUM), most))):
            b.assign(needed, mul(literal(2), needed))
        b.assign(self.mask, sub(needed, literal(1)))
        with b.branch(less(self.room, needed)):
            sums = ir.Binary("floordiv", needed, literal(SLOTS_PER_SUM), "int64")
            if self.values is not None:
                b.renew(self.values, needed)
            b.renew(self.keys, needed, zeroed=True)
            b.renew(self.slots, sums)
            b.renew(self.coordinates, sums)
            b.assign(self.room, needed)

    def if_held(self, coordinate: ir.Expr, b: Builder) -> AbstractContextManager[None]:
        """Surround what is done at a coordinate: nothing, it holds every one."""
        return nullcontext()

    def update(
        self,
        coordinate: ir.Expr,
        value: ir.Var | None,
        combined: Callable[[ir.Expr], ir.Expr],
        b: Builder,
    ) -> None:
        """Emit an update at a coordinate, which takes a slot the first time."""
        key = b.declare("key", add(coordinate, literal(1)))
        slot, held = self._first(coordinate, b)
        taken = ir.Binary("ne", held, literal(0), "bool")
        with b.loop_while(logical_and(taken, _differs(held, key))):
            self._next(slot, held, b)
        with b.branch(equal(held, literal(0))):
            b.store(self.keys, slot, key)
            b.store(self.slots, self.count, slot)
            b.store(self.coordinates, self.count, coordinate)
            b.increment(self.count)
            if self.values is not None and value is not None:
                b.store(self.values, slot, value)
        if self.values is not None and value is not None:
            with b.otherwise():
                b.store(self.values, slot, combined(ir.Load(self.values, slot)))

    def element(self, coordinate: ir.Expr, b: Builder) -> ir.Expr:
        """Emit the search for a coordinate that was met; return its slot."""
        key = b.declare("key", add(coordinate, literal(1)))
        slot, held = self._first(coordinate, b)
        with b.loop_while(_differs(held, key)):
            self._next(slot, held, b)
        return slot

    def sort(self, b: Builder) -> None:
        """Emit the sorting of the list."""
        b.emit(ir.Sort(self.coordinates, self.count))

    def clear(self, b: Builder) -> None:
        """Emit the emptying of all slots that are taken."""
        with b.loop("q", literal(0), self.count) as q:
            b.store(self.keys, ir.Load(self.slots, q), literal(0))

    def release(self, b: Builder) -> None:
        """Emit the release of its memory."""
        if self.values is not None:
            b.free(self.values)
        for buffer in (self.keys, self.slots, self.coordinates):
            b.free(buffer)

    def _first(self, coordinate: ir.Expr, b: Builder) -> tuple[ir.Var, ir.Var]:
        slot = b.declare("slot", home_slot([coordinate], self.mask))
        return slot, b.declare("held", ir.Load(self.keys, slot))

    def _next(self, slot: ir.Var, held: ir.Var, b: Builder) -> None:
        after = add(slot, literal(1))
        b.assign(slot, ir.Binary("mask", after, self.mask, "int64"))
        b.assign(held, ir.Load(self.keys, slot))


def home_slot(coordinates: list[ir.Expr], mask: ir.Expr) -> ir.Expr:
    """Return the slot at which the search for coordinates begins.

    ``mask`` is one less than the number of slots, a power of two.
    """
    mixed: ir.Expr | None = None
    for coordinate in coordinates:
        joined: ir.Expr = ir.Cast(coordinate, "uint64")
        if mixed is not None:
            joined = ir.Binary("add", mixed, joined, "uint64")
        # Unsigned: a product that is too long wraps around.
        mixed = ir.Binary("mul", joined, ir.Literal(_FACTOR, "uint64"), "uint64")
    if mixed is None:
        return literal(0)
    half = ir.Literal(32, "uint64")
    upper = ir.Binary("right_shift", mixed, half, "uint64")
    return ir.Binary("mask", ir.Cast(upper, "int64"), mask, "int64")


def _differs(held: ir.Expr, key: ir.Expr) -> ir.Expr:
    return ir.Binary("ne", held, key, "bool")
