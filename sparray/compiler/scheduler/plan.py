"""Plan a problem: one kernel, or several with temporaries between them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, permutations

from sparray.compiler import names
from sparray.compiler.cin.concretize import split_reductions
from sparray.compiler.index_notation.canonical import index_name
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.printer import print_access
from sparray.compiler.index_notation.simplify import (
    accesses,
    contains_reduce,
    free_indices,
    simplify_typed,
    substitute,
)
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.cost_model import COSTS, estimate_loops
from sparray.compiler.scheduler.decision import (
    Candidate,
    Decision,
    Reason,
    best_candidate,
    decide,
)
from sparray.compiler.scheduler.factor import factor_invariants
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.temporaries import (
    coordinate_list,
    is_coordinate_list,
    reordered,
    sorted_spec,
    temporary_format,
)
from sparray.errors import UnsupportedError

__all__ = ["KernelStep", "Plan", "SortStep", "plan"]

_MOST_REORDERED = 4


@dataclass(frozen=True, slots=True)
class KernelStep:
    """Run one kernel.

    Attributes
    ----------
    decision : Decision
        The scheduled problem.
    operands : tuple of str
        Which arrays of the plan are the problem's operands.
    result : str
        The name of the array it makes; `names.OUTPUT` for the last one.
    """

    decision: Decision
    operands: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class SortStep:
    """Sort the entries of a coordinate list by its levels, outermost first."""

    source: str
    result: str
    spec: TensorSpec


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that compute a problem, in order, and what was decided."""

    problem: Problem
    steps: tuple[KernelStep | SortStep, ...]
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class _Planner:
    problem: Problem
    statistics: Statistics
    vector_bytes: int
    steps: list[KernelStep | SortStep]
    reasons: list[Reason]
    bindings: dict[str, str]
    direct_only: bool = False
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh(self) -> str:
        """Return the name of a new temporary."""
        return f"T{next(self.numbers)}"


def plan(problem: Problem, statistics: Statistics, vector_bytes: int) -> Plan:
    """Return the cheapest plan that the cost model finds.

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
    Plan
        Steps and reasons.

    Raises
    ------
    UnsupportedError
        If no sequence of steps that sparray knows computes the problem.

    Notes
    -----
    Considered: a single kernel; an operand converted first; the result in another
    order of levels, then converted; the result's entries collected as a list of
    coordinates, sorted, then packed. All by the cost model, conversions included.
    """
    planner = _Planner(problem, statistics, vector_bytes, [], [], {})
    for name, _ in problem.operands:
        planner.bindings[name] = name
    _check_diagonals(problem)
    _rewrite(planner)
    _sort_operands(planner)
    _compute(planner, planner.problem, names.OUTPUT)
    return Plan(problem, tuple(planner.steps), tuple(planner.reasons))


def _check_diagonals(problem: Problem) -> None:
    for access in accesses(problem.assignment.value):
        levels = problem.specs[access.tensor].format.levels
        repeated = len(set(access.indices)) != len(access.indices)
        if repeated and not all(level.full for level in levels):
            raise UnsupportedError(
                f"expected each index once in {print_access(access)}"
                f" of format {problem.specs[access.tensor].format}, got a diagonal"
            )


def _rewrite(planner: _Planner) -> None:
    """Simplify, and move invariant factors out of sums: decisions see the result."""
    problem = planner.problem
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    target = problem.assignment.target
    value = simplify_typed(problem.assignment.value, dtypes)
    factored = factor_invariants(value, lambda expr: result_dtype(expr, dtypes))
    planner.problem = replace(problem, assignment=Assignment(target, factored))


def _sort_operands(planner: _Planner) -> None:
    """Replace operands whose levels are not ordered by sorted ones."""
    problem = planner.problem
    read = {access.tensor for access in accesses(problem.assignment.value)}
    for name, spec in problem.operands:
        if spec.format.is_sorted or name not in read:
            continue
        source = planner.bindings[name]
        if not is_coordinate_list(spec.format):
            listed = coordinate_list(spec, unique=spec.format.unique)
            _copy(planner, name, spec, listed)
            source, spec = planner.bindings[name], listed
        result = planner.fresh()
        ordered = sorted_spec(spec)
        planner.steps.append(SortStep(source, result, ordered))
        planner.reasons.append(
            Reason(f"sort {name}", "its coordinates are not in the order of its levels")
        )
        planner.bindings[name] = result
        _respecify(planner, name, ordered)


def _respecify(planner: _Planner, name: str, spec: TensorSpec) -> None:
    operands = tuple(
        (other, spec if other == name else old)
        for other, old in planner.problem.operands
    )
    planner.problem = replace(planner.problem, operands=operands)


def _compute(planner: _Planner, problem: Problem, result: str) -> None:
    """Append the steps that compute a problem under a name."""
    options = list(_options(planner, problem))
    if not options:
        _split(planner, problem, result)
        return
    best = min(options, key=lambda option: option.cost)
    best.append_to(planner, result)


@dataclass(frozen=True, slots=True)
class _Option:
    """One way to compute a problem: what is converted, and the kernel's candidate."""

    problem: Problem
    candidate: Candidate
    cost: float
    convert: Mapping[str, TensorSpec]
    final: TensorSpec | None = None
    sort: bool = False

    def append_to(self, planner: _Planner, result: str) -> None:
        """Append the option's steps."""
        for name, spec in self.convert.items():
            old = dict(planner.problem.operands)[name]
            planner.reasons.append(
                Reason(
                    f"convert {name} to {spec.format}",
                    "its levels stand in an order that no loop order of the "
                    "expression follows as cheaply",
                )
            )
            _copy(planner, name, old, spec)
        problem = self.problem
        decision = decide(
            problem, self.candidate, planner.statistics, planner.vector_bytes
        )
        planner.reasons.extend(decision.reasons)
        operands = tuple(planner.bindings[name] for name, _ in problem.operands)
        if self.final is None:
            planner.steps.append(KernelStep(decision, operands, result))
            return
        made = planner.fresh()
        planner.steps.append(KernelStep(decision, operands, made))
        spec = problem.output
        if self.sort:
            planner.reasons.append(
                Reason(
                    "sort the result's entries",
                    "no loop order makes them in the order of its levels",
                )
            )
            spec = sorted_spec(spec)
            source, made = made, planner.fresh()
            planner.steps.append(SortStep(source, made, spec))
        _assign(planner, made, spec, self.final, result)


def _options(planner: _Planner, problem: Problem) -> Iterator[_Option]:
    direct = best_candidate(problem, planner.statistics)
    if direct is not None:
        yield _Option(problem, direct, direct.cost, {})
        if planner.direct_only:
            return
    yield from _converted_operands(planner, problem)
    if not problem.output.format.is_dense:
        entries = _result_entries(problem, planner.statistics)
        yield from _converted_result(planner, problem, entries)
        yield from _sorted_result(planner, problem, entries)


def _converted_operands(planner: _Planner, problem: Problem) -> Iterator[_Option]:
    """Yield an option for each other order of each sparse operand's levels."""
    for name, spec in problem.operands:
        if not 2 <= spec.format.ndim <= _MOST_REORDERED or spec.format.is_dense:
            continue
        stored = planner.statistics.positions[name][-1]
        for other in _other_orders(spec):
            cost = _conversion_cost(planner, spec, other)
            if cost is None:
                continue
            operands = tuple(
                (n, other if n == name else old) for n, old in problem.operands
            )
            changed = replace(problem, operands=operands)
            candidate = best_candidate(changed, planner.statistics)
            if candidate is not None:
                total = candidate.cost + cost * stored
                yield _Option(changed, candidate, total, {name: other})


def _converted_result(
    planner: _Planner, problem: Problem, entries: float
) -> Iterator[_Option]:
    """Yield an option for each other order of the result's levels."""
    if problem.output.format.ndim > _MOST_REORDERED:
        return
    for other in _other_orders(problem.output):
        cost = _conversion_cost(planner, other, problem.output)
        if cost is None:
            continue
        changed = replace(problem, output=other)
        candidate = best_candidate(changed, planner.statistics)
        if candidate is not None:
            total = candidate.cost + cost * entries
            yield _Option(changed, candidate, total, {}, problem.output)


def _sorted_result(
    planner: _Planner, problem: Problem, entries: float
) -> Iterator[_Option]:
    """Yield the option to collect the result's entries in a list and sort them."""
    output = problem.output
    if is_coordinate_list(output.format) and not output.format.is_sorted:
        return
    repeated = contains_reduce(problem.assignment.value)
    listed = coordinate_list(output, unique=not repeated)
    if not _is_direct(planner, sorted_spec(listed), output):
        return
    changed = replace(problem, output=listed)
    candidate = best_candidate(changed, planner.statistics)
    if candidate is not None:
        total = candidate.cost + COSTS["sort"] * entries
        yield _Option(changed, candidate, total, {}, output, True)


def _conversion_cost(
    planner: _Planner, spec: TensorSpec, wanted: TensorSpec
) -> float | None:
    """Return the cost per entry of a conversion; None where it may not be used.

    While a conversion is planned, it may use only conversions of a single kernel:
    so planning ends.
    """
    if _is_direct(planner, spec, wanted):
        return COSTS["convert"]
    return None if planner.direct_only else COSTS["convert"] + COSTS["sort"]


def _is_direct(planner: _Planner, spec: TensorSpec, wanted: TensorSpec) -> bool:
    """Tell whether one kernel converts a spec to another."""
    problem = _conversion(spec, wanted)
    statistics = _conversion_statistics(planner, problem.assignment.target.indices)
    return best_candidate(problem, statistics) is not None


def _conversion(spec: TensorSpec, wanted: TensorSpec) -> Problem:
    letters = tuple(map(index_name, range(spec.format.ndim)))
    assignment = Assignment(Access(names.OUTPUT, letters), Access("A", letters))
    return Problem(assignment, (("A", spec),), wanted)


def _other_orders(spec: TensorSpec) -> Iterator[TensorSpec]:
    order = spec.format.order
    for permuted in permutations(order):
        if permuted != order:
            yield reordered(spec, permuted)


def _result_entries(problem: Problem, statistics: Statistics) -> float:
    value, reductions = split_reductions(problem.assignment.value)
    terms = {item.workspace: item.reduce.operand for item in reductions}
    order = [
        *problem.assignment.target.indices,
        *dict.fromkeys(i for item in reductions for i in item.reduce.indices),
    ]
    loops = estimate_loops(substitute(value, terms), order, problem, statistics)
    return loops[-1].iterations if loops else 1.0


def _copy(planner: _Planner, name: str, spec: TensorSpec, wanted: TensorSpec) -> None:
    """Append the conversion of an operand and bind the operand to its result."""
    result = planner.fresh()
    _assign(planner, planner.bindings[name], spec, wanted, result)
    planner.bindings[name] = result
    _respecify(planner, name, wanted)


def _assign(
    planner: _Planner, source: str, spec: TensorSpec, wanted: TensorSpec, result: str
) -> None:
    """Append ``result = source``, a conversion."""
    problem = _conversion(spec, wanted)
    inner = _Planner(
        problem,
        _conversion_statistics(planner, problem.assignment.target.indices),
        planner.vector_bytes,
        planner.steps,
        planner.reasons,
        {"A": source},
        True,
        planner.numbers,
    )
    _compute(inner, problem, result)


def _conversion_statistics(planner: _Planner, letters: tuple[str, ...]) -> Statistics:
    extent = max(planner.statistics.extents.values(), default=1)
    stored = max((c[-1] for c in planner.statistics.positions.values() if c), default=1)
    return Statistics(
        dict.fromkeys(letters, extent),
        {name: [stored] * len(letters) for name in ("A", names.OUTPUT)},
    )


def _split(planner: _Planner, problem: Problem, result: str) -> None:
    """Compute each reduction as a temporary, then the rest of the expression."""
    value, reductions = split_reductions(problem.assignment.value)
    if not reductions or isinstance(value, Access):
        raise UnsupportedError(
            "expected an expression that sparray can schedule, got\n"
            f"{problem.describe()}"
        )
    specs = dict(problem.operands)
    operands = []
    terms: dict[str, Access] = {}
    for item in reductions:
        kept = free_indices(item.reduce)
        target = problem.assignment.target.indices
        indices = tuple(index for index in target if index in kept)
        spec = TensorSpec(
            temporary_format(problem.output.format, len(indices)),
            result_dtype(item.reduce, {n: s.dtype for n, s in problem.operands}),
            problem.output.index_dtype,
        )
        used = {access.tensor for access in accesses(item.reduce)}
        part = Problem(
            Assignment(Access(names.OUTPUT, indices), item.reduce),
            tuple((n, s) for n, s in problem.operands if n in used),
            spec,
        )
        name = planner.fresh()
        _compute(planner, part, name)
        terms[item.workspace.tensor] = Access(item.workspace.tensor, indices)
        specs[item.workspace.tensor] = spec
        planner.bindings[item.workspace.tensor] = name
        operands.append(item.workspace.tensor)
    rest = substitute(
        value, {item.workspace: terms[item.workspace.tensor] for item in reductions}
    )
    used = {access.tensor for access in accesses(rest)}
    final = Problem(
        Assignment(problem.assignment.target, rest),
        tuple((n, s) for n, s in specs.items() if n in used),
        problem.output,
    )
    extended = dict(planner.statistics.positions)
    for name in operands:
        extended[name] = [1] * specs[name].format.ndim
    planner.statistics = Statistics(planner.statistics.extents, extended)
    planner.reasons.append(
        Reason(
            "compute the sums first",
            "they need another loop order than the rest of the expression",
        )
    )
    _compute(planner, final, result)
