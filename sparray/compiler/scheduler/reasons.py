"""Why a schedule is what it is, in words."""

from collections.abc import Sequence

from sparray.compiler.cin.nodes import Stmt
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.kernel_facts.workspaces import list_workspaces
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.loop_order import constraints
from sparray.compiler.scheduler.shape import Shape, stored_order
from sparray.compiler.scheduler.walks import walked_at
from sparray.records import dataclass

__all__ = [
    "Reason",
    "why_collected",
    "why_order",
    "why_serial",
    "why_workspaces",
]


@dataclass(frozen=True, slots=True)
class Reason:
    """One decision of the scheduler and why it was taken."""

    what: str
    why: str


def why_order(problem: Problem, order: Sequence[str]) -> str:
    """Return why loops run in an order: which operands ask for it."""
    fixed = [
        f"{access.tensor} is stored along {' '.join(stored_order(access, problem))}"
        for access in accesses(problem.assignment.value)
        if constraints(access, problem.specs[access.tensor], order)
    ]
    if len(order) <= 1:
        return "there is no other"
    if not fixed:
        return "the cheapest of all orders: it runs along contiguous memory"
    return "the cheapest order that the levels allow: " + "; ".join(fixed)


def why_serial(order: Sequence[str], shape: Shape, problem: Problem) -> str:
    """Return why no loop runs on several threads."""
    if not order:
        return "there is no loop"
    first = order[0]
    if first in shape.reduced:
        return (
            f"{first}, the outermost loop, is reduced over: threads would write the "
            "same values"
        )
    walked, _ = walked_at(shape.merged, first, problem)
    if len(walked) > 1:
        found = " and ".join(access.tensor for access in walked)
        return (
            f"{first}, the outermost loop, merges {found}: no place cuts them both in "
            "halves"
        )
    return f"where the entries of one {first} go is known after those before it only"


def why_workspaces(statement: Stmt) -> list[Reason]:
    """Return why sums are kept in lists of coordinates."""
    reasons = []
    for place in list_workspaces(statement):
        made = place.workspace
        name, inside = made.name, " ".join(made.indices)
        how = "takes a slot of a table" if made.kind == "hashed" else "is marked"
        if made.among:
            how = f"that {made.among} stores is marked"
        why = (
            f"the loop over {inside} stands inside a sum, so its coordinates come in "
            f"no order and more than once: each {how} and is listed when it first "
            "comes, and the list is sorted before it is stored"
        )
        reasons.append(Reason(f"{made.kind} workspace {name} over {inside}", why))
    return reasons


def why_collected(kind: str, costs: Sequence[tuple[str, float]]) -> str:
    """Return why a kind of workspace collects sums, of those with these costs."""
    known = dict(costs)
    compared = " and ".join(
        f"{cost:.3g} in a {'table' if other == 'hashed' else other}"
        for other, cost in known.items()
    )
    if kind not in known:
        return "asked for, where the sums could stay elsewhere"
    if len(known) == 1:
        return "a list of every value of its index might not fit in memory"
    memory = "a list has memory for every value of its index, a table for one row's"
    return f"multiply-adds to collect the sums: {compared}; {memory}"
