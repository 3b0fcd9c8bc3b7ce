"""Plan a problem: one kernel, or several with temporaries between them."""

from typing import TYPE_CHECKING

from sparray.compiler import names
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.decision import Reason
from sparray.compiler.scheduler.main_part import main_part
from sparray.compiler.scheduler.planner import (
    compute,
    compute_alone,
    follow,
    follow_by_hand,
    ways_of,
)
from sparray.compiler.scheduler.preparation import arranged, prepared
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.steps import Plan
from sparray.compiler.scheduler.ways import Way

if TYPE_CHECKING:
    from sparray.compiler.scheduler.by_hand import ByHand

__all__ = ["plan", "plan_ways"]


def plan(
    problem: Problem,
    statistics: Statistics,
    vector_bytes: int,
    way: "Way | ByHand | None" = None,
) -> Plan:
    """Return the cheapest plan that the cost model finds.

    Parameters
    ----------
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of the operands.
    vector_bytes : int
        Width of the target's vector registers.
    way : Way or ByHand, optional
        One of `plan_ways`, to be taken instead; or a schedule that a user wrote for the
        one kernel.

    Returns
    -------
    Plan
        Steps and reasons.

    Raises
    ------
    UnsupportedError
        If no sequence of steps that sparray knows computes the problem.
    ScheduleError
        If the user's schedule does not fit it.

    Notes
    -----
    Considered: a single kernel; an operand converted first; the result in another
    order of levels, then converted; the result's entries collected as a list of
    coordinates, sorted, then packed; each sum as a temporary of its own. All by the
    cost model, conversions included.
    """
    if way is not None and not isinstance(way, Way):
        return _plan_by_hand(problem, statistics, vector_bytes, way)
    planner = prepared(problem, statistics, vector_bytes)
    main = main_part(planner)
    if way is not None:
        follow(planner, main.problem, way, main.result)
        planner.reasons.append(Reason(str(way), "measured as the best, or asked for"))
    elif main.alone:
        compute_alone(planner, main.problem, main.result)
    else:
        compute(planner, main.problem, main.result)
    main.finish()
    return Plan(
        problem,
        tuple(planner.steps),
        tuple(planner.reasons),
        tuple(planner.weighed),
    )


def _plan_by_hand(
    problem: Problem, statistics: Statistics, vector_bytes: int, by_hand: "ByHand"
) -> Plan:
    planner = arranged(problem, statistics, vector_bytes)
    follow_by_hand(planner, planner.problem, by_hand, names.OUTPUT)
    return Plan(problem, tuple(planner.steps), tuple(planner.reasons))


def plan_ways(
    problem: Problem, statistics: Statistics, vector_bytes: int
) -> tuple[Way, ...]:
    """Return every legal decision for a problem, the cheapest first.

    Parameters
    ----------
    problem : Problem
        What to compute.
    statistics : Statistics
        Sizes of the operands.
    vector_bytes : int
        Width of the target's vector registers.

    Returns
    -------
    tuple of Way
        Loop orders × ways of assembly × conversions × workspaces × tiles × unrolling ×
        prefetching × threads; always in the same order.

    Notes
    -----
    What comes before the main part (operands that must be sorted, sums inside others)
    and conversions on the way are planned as always; estimates leave the former out.
    """
    planner = prepared(problem, statistics, vector_bytes)
    main = main_part(planner)
    return ways_of(planner, main.problem, alone=main.alone)
