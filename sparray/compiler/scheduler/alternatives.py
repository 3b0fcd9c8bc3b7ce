"""What the scheduler did not choose: other loop orders and other plans, and why not."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from sparray.compiler import names
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.candidates import judge
from sparray.compiler.scheduler.decision import Decision
from sparray.compiler.scheduler.loop_order import (
    allowed_orders,
    constraints,
    violated,
)
from sparray.compiler.scheduler.options import Option
from sparray.compiler.scheduler.shape import shape_of, stored_order
from sparray.compiler.scheduler.steps import Weighed
from sparray.records import dataclass

__all__ = ["Alternative", "other_options", "other_orders"]

_MOST_PERMUTED = 5


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something that was not chosen: its cost, or why it cannot be done."""

    what: str
    cost: float | None
    why: str = ""


def other_orders(decision: Decision) -> list[Alternative]:
    """Return the loop orders that were rejected, the cheapest first.

    All of them for up to five loops; of more, those that the operands' levels suggest.
    """
    problem = decision.problem
    shape = shape_of(problem)
    # Blocks of an index are cut from an order of whole ones.
    stored = {part for parts in shape.parts.values() for part in parts}
    loops = [loop.index for loop in decision.loops]
    whole = [index if index in stored else names.whole(index) for index in loops]
    chosen = tuple(dict.fromkeys(whole))
    found = []
    for order in _orders(chosen, problem):
        if order == chosen:
            continue
        what = f"loop order {' '.join(order)}"
        breaks = _broken(order, problem)
        judged = breaks or judge(order, shape, problem, decision.statistics)
        if isinstance(judged, str):
            found.append(Alternative(what, None, judged))
        else:
            found.append(Alternative(what, judged.cost))
    return _ranked(found)


def other_options(weighed: Weighed) -> list[Alternative]:
    """Return the plans for an array that were rejected, the cheapest first."""
    found = [
        Alternative(_described(option, weighed.problem), cost)
        for option, cost in zip(weighed.options, weighed.costs, strict=True)
        if option is not weighed.chosen
    ]
    if weighed.split is not None and weighed.chosen is not None:
        found.append(Alternative("each sum as an array first", weighed.split))
    if weighed.pairs is not None:
        found.append(Alternative("factors multiplied in pairs", weighed.pairs))
    return _ranked(found)


def _ranked(found: list[Alternative]) -> list[Alternative]:
    return sorted(found, key=lambda one: (one.cost is None, one.cost or 0.0, one.what))


def _orders(chosen: tuple[str, ...], problem: Problem) -> Iterator[tuple[str, ...]]:
    if len(chosen) <= _MOST_PERMUTED:
        yield from permutations(chosen)
        return
    found = [problem.assignment.target, *accesses(problem.assignment.value)]
    pairs = frozenset[tuple[str, str]]().union(
        *(constraints(a, problem.specs[a.tensor], chosen) for a in found[1:])
    )
    wishes = [stored_order(access, problem) for access in found]
    # More than six are as many orders as there are wishes.
    yield from allowed_orders(chosen, pairs, wishes)


def _broken(order: Sequence[str], problem: Problem) -> str:
    """Return which operand's levels an order does not follow; empty if it does."""
    found = []
    for access in accesses(problem.assignment.value):
        pairs = constraints(access, problem.specs[access.tensor], order)
        wrong = sorted(pair for pair in pairs if violated(order, frozenset([pair])))
        if wrong:
            outer, inner = wrong[0]
            found.append(f"{access.tensor} stores {inner} below {outer}")
    return "; ".join(found)


def _described(option: Option, problem: Problem) -> str:
    parts = [
        f"convert {name} to {spec.format}" for name, spec in option.convert.items()
    ]
    parts.append(f"loop order {' '.join(option.candidate.order) or '(none)'}")
    made = option.problem.output
    if option.sort:
        table = ", added up in a hash table" if option.table else ""
        parts.append(f"the result as a list of entries{table}, sorted")
    elif option.final is not None and made.format != problem.output.format:
        parts.append(f"the result as {_text(made)}, then converted")
    return ", ".join(parts)


def _text(spec: TensorSpec) -> str:
    return str(spec.format)
