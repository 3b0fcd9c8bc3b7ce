"""The steps of a plan in the making: kernels, conversions, sums as temporaries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod

from sparray.compiler import names
from sparray.compiler.cin.concretize import Reduction, split_reductions
from sparray.compiler.index_notation.dtypes import accumulated_dtype
from sparray.compiler.index_notation.nodes import (
    Access,
    Apply,
    Assignment,
    Expr,
    Reduce,
)
from sparray.compiler.index_notation.simplify import (
    accesses,
    free_indices,
    substitute,
)
from sparray.compiler.index_notation.traversal import marks
from sparray.compiler.problem import Problem, TensorSpec, result_spec
from sparray.compiler.scheduler.by_hand import ByHand
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.contraction import (
    contraction_factors,
    contraction_path,
    occupied,
)
from sparray.compiler.scheduler.conversions import conversion, conversion_statistics
from sparray.compiler.scheduler.cost_model import COSTS
from sparray.compiler.scheduler.decision import Reason, decide_widely
from sparray.compiler.scheduler.knobs import Knobs, best_knobs
from sparray.compiler.scheduler.listed_result import ordering_steps
from sparray.compiler.scheduler.options import Option, options, result_entries
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.steps import KernelStep, Step, Weighed
from sparray.compiler.scheduler.temporaries import temporary_format
from sparray.compiler.scheduler.ways import Way, kernel_ways
from sparray.errors import InternalError, UnsupportedError
from sparray.formats.format import Format
from sparray.formats.named import named_format

__all__ = [
    "Planner",
    "bind",
    "compute",
    "compute_alone",
    "convert",
    "converted",
    "follow",
    "follow_by_hand",
    "part_of",
    "used_operands",
    "ways_of",
]


_PAIRS_SHARE = 0.75
"""Share of the cost of one kernel below which factors are multiplied in pairs: what the
estimates leave out is memory for the products, and that they are written and read."""


@dataclass(slots=True)
class Planner:
    """A plan in the making.

    ``bindings`` has the array of each operand of ``problem``, ``converted`` what is
    known of them in other specs; ``cost`` is that of the steps so far.
    """

    problem: Problem
    statistics: Statistics
    vector_bytes: int
    bindings: dict[str, str]
    steps: list[Step] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    weighed: list[Weighed] = field(default_factory=list)
    converted: dict[tuple[str, TensorSpec], str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    cost: float = 0.0
    direct_only: bool = False

    def fresh(self) -> str:
        """Return the name of a new temporary."""
        return f"T{next(self.numbers)}"

    def replace_operand(self, name: str, array: str, spec: TensorSpec) -> None:
        """Read another array, which is something else, as an operand."""
        self.bindings[name] = array
        operands = tuple(
            (other, spec if other == name else old)
            for other, old in self.problem.operands
        )
        self.problem = replace(self.problem, operands=operands)

    def branch(self) -> "Planner":
        """Return a planner that goes on from here without changing this one."""
        return replace(
            self,
            bindings=dict(self.bindings),
            steps=list(self.steps),
            reasons=list(self.reasons),
            weighed=list(self.weighed),
            converted=dict(self.converted),
        )

    def take(self, other: "Planner") -> None:
        """Go on from where another planner is."""
        self.statistics, self.bindings = other.statistics, other.bindings
        self.steps, self.reasons = other.steps, other.reasons
        self.weighed = other.weighed
        self.converted, self.cost = other.converted, other.cost


def compute(planner: Planner, problem: Problem, result: str) -> None:
    """Append the cheapest steps that compute a problem under a name."""
    best: Planner | None = None
    found = tuple(options(problem, planner.statistics, direct_only=planner.direct_only))
    option = min(found, key=lambda one: _settled(planner, one)[1], default=None)
    if option is not None:
        best = planner.branch()
        _append(best, problem, option, result)
    split = _try_split(planner, problem, result, needed=best is None)
    if split is not None and (best is None or split.cost < best.cost):
        best, option = split, None
    pairs, pairs_cost = _try_pairs(planner, problem, result), None
    if pairs is not None:
        pairs_cost = pairs.cost - planner.cost
        if best is None or pairs_cost < _PAIRS_SHARE * (best.cost - planner.cost):
            best, option, pairs_cost = pairs, None, None
    if best is None:
        raise UnsupportedError(
            "expected an expression that sparray can schedule, got\n"
            f"{problem.describe()}"
        )
    cost = None if split is None else split.cost - planner.cost
    planner.take(best)
    planner.weighed.append(Weighed(result, problem, found, cost, option, pairs_cost))


def _settled(planner: Planner, option: Option) -> tuple[Knobs, float]:
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
        split = _try_split(planner, problem, names.OUTPUT, needed=False)
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
    value, reductions = split_reductions(problem.assignment.value)
    _split(planner, problem, value, reductions, result)


def follow_by_hand(
    planner: Planner, problem: Problem, by_hand: ByHand, result: str
) -> None:
    """Append the kernel that a user scheduled under a name."""
    decision = by_hand.decide(problem, planner.statistics, planner.vector_bytes)
    planner.reasons.extend(decision.reasons)
    operands = tuple(planner.bindings[name] for name, _ in problem.operands)
    made = decision.problem.output
    name = result if made == problem.output else planner.fresh()
    planner.steps.append(KernelStep(decision, operands, name))
    if name != result:
        convert(planner, name, made, problem.output, result)


def _try_split(
    planner: Planner, problem: Problem, result: str, *, needed: bool
) -> Planner | None:
    """Return a planner with each sum computed for itself, if that is possible."""
    value, reductions = split_reductions(problem.assignment.value)
    if not _may_split(problem, value, reductions):
        return None
    split = planner.branch()
    try:
        _split(split, problem, value, reductions, result)
    except UnsupportedError:
        # A part may walk an operand in no order beside a temporary: as a whole the
        # problem needed no order.
        if needed:
            raise
        return None
    return split


def _try_pairs(planner: Planner, problem: Problem, result: str) -> Planner | None:
    """Return a planner that multiplies many factors pair by pair, if that may be."""
    factors = contraction_factors(problem)
    if not factors or planner.direct_only:
        return None
    path = contraction_path(factors, problem, planner.statistics)
    pairs = planner.branch()
    try:
        done = bool(path) and _multiply(pairs, problem, list(factors), path, result)
    except UnsupportedError:
        return None
    return pairs if done else None


def _multiply(
    planner: Planner,
    problem: Problem,
    factors: list[Access],
    path: Sequence[Sequence[int]],
    result: str,
) -> bool:
    """Append the steps of a contraction path; False where a temporary cannot be."""
    target = problem.assignment.target
    along = dict.fromkeys(i for access in factors for i in access.indices)
    order: list[str] = []
    for step in path[:-1]:
        pair = [factors[place] for place in sorted(step)]
        left = [f for place, f in enumerate(factors) if place not in step]
        outside = {i for access in (target, *left) for i in access.indices}
        found = [i for i in along if any(i in access.indices for access in pair)]
        indices = tuple(i for i in found if i in outside)
        if len(step) != 2 or not indices:
            # A number cannot say that nothing was added up.
            return False
        value = _summed(pair, indices)
        part = _pair_part(problem, value, indices)
        # No operand has such a name, no workspace, and no variable.
        made = Access(f"pair{len(order) + 1}", indices)
        bind(planner, part, made.tensor)
        order.append(f"{made.tensor} = {pair[0].tensor} * {pair[1].tensor}")
        _note_entries(planner, part, made)
        operands = (*problem.operands, (made.tensor, part.output))
        problem = replace(problem, operands=operands)
        factors = [*left, made]
    order.append(f"then {factors[0].tensor} * {factors[1].tensor}")
    planner.reasons.append(
        Reason(
            f"multiply in pairs: {', '.join(order)}",
            "far fewer products than one kernel over all indices has",
        )
    )
    last = _summed(factors, target.indices)
    final = replace(
        problem,
        assignment=Assignment(target, last),
        operands=used_operands(problem.operands, last),
    )
    compute(planner, final, result)
    return True


def _summed(factors: Sequence[Access], kept: Sequence[str]) -> Expr:
    """Return the sum of a product over every index that is not kept."""
    product: Expr = Apply("mul", tuple(factors))
    summed = tuple(i for i in free_indices(product) if i not in kept)
    return Reduce("add", summed, product) if summed else product


def _pair_part(problem: Problem, value: Expr, indices: tuple[str, ...]) -> Problem:
    """Return the problem of a product, sparse where the whole result is.

    A dense one would have entries where the whole has none.
    """
    used = used_operands(problem.operands, value)
    format = infer_format(Assignment(Access(names.OUTPUT, indices), value), used)
    has_sparse = any(not spec.format.is_dense for _, spec in used)
    if format.is_dense and has_sparse and not problem.output.format.is_dense:
        format = named_format("csf", len(indices))
    return part_of(problem, value, indices, format)


def _note_entries(planner: Planner, part: Problem, made: Access) -> None:
    """Add what is expected of a product to what is known of operands."""
    places = prod(planner.statistics.extent(index) for index in made.indices)
    entries = occupied(result_entries(part, planner.statistics), places)
    positions = planner.statistics.positions_in(
        part.output.format, part.assignment.target.indices, entries
    )
    known = {**planner.statistics.positions, made.tensor: positions}
    planner.statistics = replace(planner.statistics, positions=known)


def _may_split(
    problem: Problem, value: Expr, reductions: tuple[Reduction, ...]
) -> bool:
    """Tell whether each reduction can be an array of its own.

    A temporary without dimensions cannot say that nothing was added up, on which the
    pattern of a sparse result may depend. Nor may it be part of what a mask lets
    through: it would pass for the constant that the result is elsewhere.
    """
    if not reductions or isinstance(value, Access):
        return False
    if marks(value) and not all(free_indices(item.reduce) for item in reductions):
        return False
    return problem.output.format.is_dense or not any(
        not free_indices(item.reduce)
        and any(
            not problem.specs[a.tensor].format.is_dense for a in accesses(item.reduce)
        )
        for item in reductions
    )


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
        old = problem.specs[name]
        arrays[name] = converted(planner, planner.bindings[name], old, spec)
    best, cost = _settled(planner, option)
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
        for step, reason in ordering_steps(made, spec, option.table, planner.fresh):
            planner.steps.append(step)
            planner.reasons.append(reason)
            made, spec = step.result, step.spec
    convert(planner, made, spec, final, result)


def converted(
    planner: Planner, source: str, spec: TensorSpec, wanted: TensorSpec
) -> str:
    """Return the name of an array in another spec; converted once."""
    known = planner.converted.get((source, wanted))
    if known is None:
        known = planner.converted[source, wanted] = planner.fresh()
        convert(planner, source, spec, wanted, known)
    return known


def convert(
    planner: Planner, source: str, spec: TensorSpec, wanted: TensorSpec, result: str
) -> None:
    """Append ``result = source``; the option that asks for it counts its cost."""
    problem = conversion(spec, wanted)
    inner = Planner(
        problem,
        conversion_statistics(planner.statistics, problem),
        planner.vector_bytes,
        {"A": source},
        numbers=planner.numbers,
        direct_only=True,
    )
    compute(inner, problem, result)
    planner.steps.extend(inner.steps)
    planner.reasons.extend(inner.reasons)
    planner.weighed.extend(inner.weighed)


def _split(
    planner: Planner,
    problem: Problem,
    value: Expr,
    reductions: tuple[Reduction, ...],
    result: str,
) -> None:
    """Compute each reduction as a temporary, then the rest of the expression."""
    planner.reasons.append(
        Reason(
            "compute the sums first",
            "they need other loops than the rest of the expression",
        )
    )
    specs, terms = dict(problem.operands), {}
    positions = dict(planner.statistics.positions)
    for item in reductions:
        kept = free_indices(item.reduce)
        indices = [i for i in problem.assignment.target.indices if i in kept]
        format = temporary_format(problem.output.format, len(indices))
        part = part_of(problem, item.reduce, indices, format)
        if not part.has_known_fill:
            # Every entry is stored, so it may as well be dense.
            dense = named_format("dense", len(indices))
            part = part_of(problem, item.reduce, indices, dense)
        name = item.workspace.tensor
        bind(planner, part, name)
        specs[name] = part.output
        terms[item.workspace] = Access(name, part.assignment.target.indices)
        entries = round(result_entries(part, planner.statistics))
        positions[name] = [entries] * part.output.format.ndim
    planner.statistics = replace(planner.statistics, positions=positions)
    rest = substitute(value, terms)
    final = replace(
        problem,
        assignment=Assignment(problem.assignment.target, rest),
        operands=used_operands(tuple(specs.items()), rest),
    )
    compute(planner, final, result)


def bind(planner: Planner, part: Problem, name: str) -> None:
    """Append the steps of a part, whose result is an operand of that name."""
    array = planner.fresh()
    compute(planner, part, array)
    planner.bindings[name] = array


def part_of(
    problem: Problem, reduce: Expr, indices: Sequence[str], format: Format
) -> Problem:
    """Return the problem of one reduction, or of another part of an expression."""
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    dtype = accumulated_dtype(reduce, dtypes)
    used = used_operands(problem.operands, reduce)
    output = TensorSpec(format, dtype, problem.output.index_dtype)
    return Problem(
        Assignment(Access(names.OUTPUT, tuple(indices)), reduce),
        used,
        result_spec(reduce, used, output),
    )


def used_operands(
    operands: Sequence[tuple[str, TensorSpec]], expr: Expr
) -> tuple[tuple[str, TensorSpec], ...]:
    """Return the operands that an expression reads."""
    read = {access.tensor for access in accesses(expr)}
    return tuple((name, spec) for name, spec in operands if name in read)
