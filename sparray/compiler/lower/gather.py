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

from functools import reduce

from sparray.compiler import names
from sparray.compiler.kernel_facts.gather_spec import REHASH, GatherSpec
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
from sparray.compiler.lower.expression import combine
from sparray.compiler.lower.tables import home_slot

__all__ = ["lower_gather"]


_ENTRIES = ir.Var("n_entries")
_SLOTS = ir.Var("n_slots")
_ROOM = ir.Var("n_room")
_KNOWN = ir.Var("n_known")
_THREADS = ir.Var(names.THREADS)
_TABLE = ir.Buffer("table", "int64", writable=True)
_STATE = ir.Buffer("state", "int64", writable=True)


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


def lower_gather(spec: GatherSpec) -> tuple[ir.Function, ...]:
    """Return the functions in loop IR."""
    return (_rehash(spec), _gather(spec))
