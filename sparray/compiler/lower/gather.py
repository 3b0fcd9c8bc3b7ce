"""Add up the repeated coordinates of a list: kernels with a hash table of coordinates.

A table has a slot for each coordinate that has been met, and at least as many empty
ones: the number of the coordinate in the order in which they came first. The entries
are read once, in their order; each is added to its coordinate's value, or, the first
time, goes to the end of the result. Levels have a buffer each there too: coordinates
are never joined to one number.

What is new may be more than the table has room for. Then the function returns; its
caller makes a larger table, has it filled again, and goes on from the entry that was
next. So memory grows with the coordinates that differ, not with the entries.
"""

from dataclasses import dataclass
from functools import reduce

from sparray.compiler import names
from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    Builder,
    add,
    cast,
    equal,
    less,
    less_equal,
    literal,
    logical_and,
    sub,
)
from sparray.compiler.loop_ir.dtypes import computed_dtype
from sparray.compiler.lower.expression import combine
from sparray.compiler.lower.list_kernel import ListSpec
from sparray.compiler.lower.tables import home_slot

__all__ = ["REHASH", "GatherSpec"]

REHASH = "rehash"
"""The entry point that fills a larger table."""

_ENTRIES = ir.Var("n_entries")
_SLOTS = ir.Var("n_slots")
_ROOM = ir.Var("n_room")
_KNOWN = ir.Var("n_known")
_THREADS = ir.Var(names.THREADS)
_TABLE = ir.Buffer("table", "int64", writable=True)
_STATE = ir.Buffer("state", "int64", writable=True)


@dataclass(frozen=True)
class GatherSpec(ListSpec):
    """The kernels that add up what has the same coordinates in a list.

    Attributes
    ----------
    n_levels : int
        Coordinates per entry.
    given, made : str
        The index dtypes of the list and of the result.
    dtype : str
        Of the values; those of the result have the dtype in which it is added up.

    Notes
    -----
    Parameters, after the list's coordinates and values (``A``, ``evaluate`` only), and
    before the number of threads:

    - ``evaluate``: ``table : int64[n_slots]``, the result's coordinates and values
      (``out``, each of ``n_room``), ``state``, ``n_entries``, ``n_slots``, ``n_room``.
    - ``rehash``: ``table``, the result's coordinates, ``n_known``, ``n_slots``.

    An empty slot holds -1. ``n_slots`` is a power of two up to 2**32, and at least
    twice ``n_room``. ``state : int64[2]`` has the next entry, and how many coordinates
    are known.
    """

    dtype: str

    def describe(self) -> str:
        """Return everything that the kernels' source depends on."""
        return f"gather {self.n_levels} {self.given} {self.made} {self.dtype}"

    def lower(self) -> tuple[ir.Function, ...]:
        """Return the functions in loop IR."""
        return (_rehash(self), _gather(self))

    @property
    def header(self) -> tuple[str, ...]:
        """Lines that say what the generated module came from."""
        return (
            f"add up repeated coordinates in a list of {self.n_levels} {self.given} "
            f"coordinates and {self.dtype} values",
        )

    @property
    def summed(self) -> str:
        """The dtype in which values are added up."""
        return computed_dtype(self.dtype)

    def values(self, tensor: str) -> ir.Buffer:
        """Return the values of the list or of the result."""
        made = tensor == names.OUTPUT
        dtype = self.summed if made else self.dtype
        return ir.Buffer(names.values(tensor), dtype, made)


def _next(b: Builder, slot: ir.Var, number: ir.Var) -> None:
    """Emit a step to the slot behind one, from the last to the first."""
    after = add(slot, literal(1))
    b.assign(slot, ir.Binary("mask", after, sub(_SLOTS, literal(1)), "int64"))
    b.assign(number, ir.Load(_TABLE, slot))


def _rehash(spec: GatherSpec) -> ir.Function:
    """Return the function that puts known coordinates into an empty table."""
    crds = spec.crds(names.OUTPUT)
    given: tuple[ir.Buffer | ir.Var, ...] = (_TABLE, *crds, _KNOWN, _SLOTS, _THREADS)
    b = Builder([p.name for p in given])
    with b.loop("q", literal(0), _KNOWN) as q:
        here = [b.declare("here", cast(ir.Load(crd, q), "int64")) for crd in crds]
        slot = b.declare("slot", home_slot([*here], sub(_SLOTS, literal(1))))
        number = b.declare("number", ir.Load(_TABLE, slot))
        with b.loop_while(less_equal(literal(0), number)):
            _next(b, slot, number)
        b.store(_TABLE, slot, q)
    return ir.Function(REHASH, given, b.block())


def _gather(spec: GatherSpec) -> ir.Function:
    """Return the function that adds entries to the values of their coordinates."""
    given: tuple[ir.Buffer | ir.Var, ...] = (
        *spec.crds("A"),
        spec.values("A"),
        _TABLE,
        *spec.crds(names.OUTPUT),
        spec.values(names.OUTPUT),
        _STATE,
        *(_ENTRIES, _SLOTS, _ROOM),
        _THREADS,
    )
    b = Builder([p.name for p in given])
    p = b.declare("p", ir.Load(_STATE, literal(0)))
    known = b.declare("known", ir.Load(_STATE, literal(1)))
    both = ir.Binary("and", less(p, _ENTRIES), less(known, _ROOM), "bool")
    with b.loop_while(both):
        _add_entry(spec, b, p, known)
        b.increment(p)
    b.store(_STATE, literal(0), p)
    b.store(_STATE, literal(1), known)
    return ir.Function(names.FILL, given, b.block())


def _add_entry(spec: GatherSpec, b: Builder, p: ir.Var, known: ir.Var) -> None:
    """Emit the search for an entry's coordinates, and what happens to its value."""
    crds, values = spec.crds(names.OUTPUT), spec.values(names.OUTPUT)
    here = [b.declare("here", cast(ir.Load(crd, p), "int64")) for crd in spec.crds("A")]
    slot = b.declare("slot", home_slot([*here], sub(_SLOTS, literal(1))))
    number = b.declare("number", ir.Load(_TABLE, slot))
    # An empty slot has no coordinates to compare with.
    other = b.declare("other", less_equal(literal(0), number))

    def compare() -> None:
        with b.branch(other):
            b.assign(other, _differ(crds, number, here))

    compare()
    with b.loop_while(other):
        _next(b, slot, number)
        b.assign(other, less_equal(literal(0), number))
        compare()
    value = b.declare("value", cast(ir.Load(spec.values("A"), p), values.dtype))
    with b.branch(less(number, literal(0))):
        b.store(_TABLE, slot, known)
        for crd, coordinate in zip(crds, here, strict=True):
            b.store(crd, known, cast(coordinate, crd.dtype))
        b.store(values, known, value)
        b.increment(known)
    with b.otherwise():
        op = "or" if values.dtype == "bool" else "add"
        old = ir.Load(values, number)
        b.store(values, number, combine(op, old, value, values.dtype))


def _differ(crds: tuple[ir.Buffer, ...], number: ir.Var, here: list[ir.Var]) -> ir.Expr:
    """Return whether known coordinates are not those of an entry."""
    found = [cast(ir.Load(crd, number), "int64") for crd in crds]
    same = [equal(old, new) for old, new in zip(found, here, strict=True)]
    return ir.Unary("not", reduce(logical_and, same), "bool")
