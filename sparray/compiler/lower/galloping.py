"""Move a walker ahead to a coordinate: in steps that double, then by binary search.

Where all operands must be present, what one of them lacks need not be visited in the
others: a merge of a short and a long operand takes the length of the short one, times
the logarithm of how far the long one has to move.

Source: Bentley, Yao 1976, "An almost optimal algorithm for unbounded searching",
Information Processing Letters 5(3).
"""

from collections.abc import Sequence

from sparray.compiler.loop_ir import nodes as ir
from sparray.compiler.loop_ir.builder import (
    Builder,
    add,
    less,
    literal,
    minimum,
    mul,
    sub,
)
from sparray.compiler.lower.context import Context
from sparray.compiler.lower.walker import LevelWalker, Walker
from sparray.formats.level import Searchable

__all__ = ["can_gallop", "gallop", "uneven"]

_MUCH_LONGER = 16
"""How many times longer than the shortest the longest operand is to gallop in it."""


def can_gallop(walkers: Sequence[Walker]) -> bool:
    """Tell whether each level can be searched and has each coordinate once."""
    return all(
        isinstance(w, LevelWalker) and isinstance(w.level, Searchable) and w.unique
        for w in walkers
    )


def uneven(
    positions: Sequence[ir.Expr], ends: Sequence[ir.Expr], builder: Builder
) -> ir.Expr:
    """Return whether the longest of some ranges is much longer than the shortest."""
    sizes = [
        builder.declare("size", sub(end, begin))
        for begin, end in zip(positions, ends, strict=True)
    ]
    shortest: ir.Expr = sizes[0]
    longest: ir.Expr = sizes[0]
    for size in sizes[1:]:
        shortest = minimum(shortest, size)
        longest = ir.Binary("max", longest, size, "int64")
    return less(mul(shortest, literal(_MUCH_LONGER)), longest)


def gallop(w: Walker, p: ir.Var, end: ir.Expr, v: ir.Expr, ctx: Context) -> None:
    """Emit the move of a position, whose coordinate is below ``v``, to the first not.

    That is ``end`` if all are below.
    """
    if not isinstance(w, LevelWalker) or not isinstance(w.level, Searchable):
        return
    b = ctx.builder
    step = b.declare("step", literal(1))
    ahead = b.declare("ahead", add(p, literal(1)))
    below = b.declare("below", less(ahead, end))
    with b.loop_while(below):
        b.assign(below, less(w.coordinate(ahead), v))
        with b.branch(below):
            b.assign(p, ahead)
            b.assign(step, mul(step, literal(2)))
            b.assign(ahead, add(p, step))
            b.assign(below, less(ahead, end))
    last = b.declare("stop", minimum(ahead, end))
    located = w.level.search(w.view, add(p, literal(1)), last, v)
    b.emit(*located.setup)
    b.assign(p, located.position)
