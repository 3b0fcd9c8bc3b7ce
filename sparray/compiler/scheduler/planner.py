"""The steps of a plan: the cheapest of kernels, conversions and temporaries."""

from typing import TYPE_CHECKING

from sparray.compiler import names
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.conversions import (
    Sizes,
    conversion,
    operand_sizes,
    result_sizes,
)
from sparray.compiler.scheduler.cost_model import COSTS
from sparray.compiler.scheduler.decision import Reason, decide_widely
from sparray.compiler.scheduler.draft import Planner
from sparray.compiler.scheduler.knobs import Knobs, best_knobs
from sparray.compiler.scheduler.options import Option, options
from sparray.compiler.scheduler.steps import KernelStep, Weighed
from sparray.compiler.scheduler.sums_first import sums_first, try_sums_first
from sparray.compiler.scheduler.ways import Way, kernel_ways
from sparray.errors import InternalError, UnsupportedError

if TYPE_CHECKING:
    from sparray.compiler.scheduler.by_hand import ByHand

__all__ = [
    "compute",
    "compute_alone",
    "convert",
    "convert_result",
    "converted",
    "follow",
    "follow_by_hand",
    "ways_of",
]


_FEWEST_FACTORS = 3
"""Factors of a product from which on it may be multiplied in pairs."""


def compute(planner: Planner, problem: Problem, result: str) -> None:
    """Append the cheapest steps that compute a problem under a name."""
    best: Planner | None = None
    found = tuple(options(problem, planner.statistics, direct_only=planner.direct_only))
    costs = tuple(_settled(one)[1] + COSTS["step"] for one in found)
    option = found[costs.index(min(costs))] if found else None
    if option is not None:
        best = planner.branch()
        _append(best, problem, option, result)
    split = try_sums_first(planner, problem, result, compute, needed=best is None)
    if split is not None and (best is None or split.cost < best.cost):
        best, option = split, None
    pairs_cost = None
    if len(set(accesses(problem.assignment.value))) >= _FEWEST_FACTORS:
        # Imported for products of many: the first call of others is to be quick.
        from sparray.compiler.scheduler.pairs import PAIRS_SHARE, try_pairs

        pairs = try_pairs(planner, problem, result, compute)
        if pairs is not None:
            pairs_cost = pairs.cost - planner.cost
            if best is None or pairs_cost < PAIRS_SHARE * (best.cost - planner.cost):
                best, option, pairs_cost = pairs, None, None
    if best is None:
        raise UnsupportedError(
            "expected an expression that sparray can schedule, got\n"
            f"{problem.describe()}"
        )
    cost = None if split is None else split.cost - planner.cost
    spent = best.cost - planner.cost
    planner.take(best)
    planner.weighed.append(
        Weighed(result, problem, found, costs, cost, option, pairs_cost, spent)
    )


def _settled(option: Option) -> tuple[Knobs, float]:
    """Return the best settings known of an option's kernel, and its cost with them."""
    candidate = option.candidate
    knobs, cost = best_knobs(candidate, option.problem, option.statistics)
    return knobs, option.cost - candidate.cost + cost


def compute_alone(planner: Planner, problem: Problem, result: str) -> None:
    """Append the cheapest single kernel that computes a problem under a name."""
    candidate = best_candidate(problem, planner.statistics)
    if candidate is None:
        raise InternalError(f"expected a kernel for\n{problem.describe()}")
    direct = Option(problem, planner.statistics, candidate, candidate.cost, {})
    _append(planner, problem, direct, result)


def ways_of(
    planner: Planner, problem: Problem, *, alone: bool = False
) -> tuple[Way, ...]:
    """Return every way to compute a problem, the cheapest first.

    Parameters
    ----------
    planner : Planner
        The plan so far, which is not changed.
    problem : Problem
        What to compute.
    alone : bool
        Whether it must be a single kernel, without conversions.
    """
    known = kernel_ways(problem, planner.statistics, planner.vector_bytes, alone=alone)
    # Conversions that are found twice have the same text.
    found: dict[str, Way] = {}
    for way in known:
        found.setdefault(str(way), way)
    if not alone:
        split = try_sums_first(planner, problem, names.OUTPUT, compute, needed=False)
        if split is not None:
            # A kernel alone is counted without what it costs to take a step.
            cost = split.cost - planner.cost - COSTS["step"]
            way = Way(None, Knobs(), cost)
            found[str(way)] = way
    return tuple(sorted(found.values(), key=lambda way: way.cost))


def follow(planner: Planner, problem: Problem, way: Way, result: str) -> None:
    """Append the steps of one of `ways_of` a problem under a name."""
    if way.option is not None:
        _append(planner, problem, way.option, result, way.knobs)
        return
    sums_first(planner, problem, result, compute)


def follow_by_hand(
    planner: Planner, problem: Problem, by_hand: "ByHand", result: str
) -> None:
    """Append the kernel that a user scheduled under a name."""
    decision = by_hand.decide(problem, planner.statistics, planner.vector_bytes)
    planner.reasons.extend(decision.reasons)
    operands = tuple(planner.bindings[name] for name, _ in problem.operands)
    made = decision.problem.output
    name = result if made == problem.output else planner.fresh()
    planner.steps.append(KernelStep(decision, operands, name))
    if name != result:
        convert_result(planner, problem, name, made, result)


def _append(
    planner: Planner,
    problem: Problem,
    option: Option,
    result: str,
    knobs: Knobs | None = None,
) -> None:
    """Append an option's steps."""
    arrays = dict(planner.bindings)
    for name, spec in option.convert.items():
        planner.reasons.append(
            Reason(
                f"convert {name} to {spec.format}",
                "its levels stand in an order that no loop order of the expression "
                "follows as cheaply",
            )
        )
        source, old = planner.bindings[name], problem.specs[name]
        sizes = operand_sizes(name, problem, planner.statistics)
        arrays[name] = converted(planner, source, old, spec, sizes)
    best, cost = _settled(option)
    planner.cost += cost + COSTS["step"]
    wanted, final = option.problem.output, option.final
    decision = decide_widely(
        option.problem,
        option.candidate,
        option.statistics,
        planner.vector_bytes,
        best if knobs is None else knobs,
    )
    if final is None and decision.problem.output != wanted:
        final = wanted
    planner.reasons.extend(decision.reasons)
    changed = decision.problem
    operands = tuple(arrays[name] for name, _ in changed.operands)
    if final is None:
        planner.steps.append(KernelStep(decision, operands, result))
        return
    made = planner.fresh()
    planner.steps.append(KernelStep(decision, operands, made))
    spec = changed.output
    if option.sort:
        from sparray.compiler.scheduler.listed_result import ordering_steps

        for step, reason in ordering_steps(made, spec, option.table, planner.fresh):
            planner.steps.append(step)
            planner.reasons.append(reason)
            made, spec = step.result, step.spec
    sizes = result_sizes(option.problem, spec, option.statistics)
    convert(planner, made, spec, final, result, sizes)


def convert_result(
    planner: Planner, problem: Problem, source: str, spec: TensorSpec, result: str
) -> None:
    """Append the conversion of a problem's result to the spec that it is to have."""
    sizes = result_sizes(problem, spec, planner.statistics)
    convert(planner, source, spec, problem.output, result, sizes)


def converted(
    planner: Planner, source: str, spec: TensorSpec, wanted: TensorSpec, sizes: Sizes
) -> str:
    """Return the name of an array in another spec; converted once."""
    known = planner.converted.get((source, wanted))
    if known is None:
        known = planner.converted[source, wanted] = planner.fresh()
        convert(planner, source, spec, wanted, known, sizes)
    return known


def convert(
    planner: Planner,
    source: str,
    spec: TensorSpec,
    wanted: TensorSpec,
    result: str,
    sizes: Sizes,
) -> None:
    """Append ``result = source``; the option that asks for it counts its cost."""
    problem = conversion(spec, wanted)
    inner = Planner(
        problem,
        sizes.statistics(problem, planner.statistics),
        planner.vector_bytes,
        {"A": source},
        numbers=planner.numbers,
        direct_only=True,
    )
    compute(inner, problem, result)
    planner.append(inner)
