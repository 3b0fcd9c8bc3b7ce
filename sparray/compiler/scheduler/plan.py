"""Plan a problem: one kernel, or several with temporaries between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from sparray.compiler import names
from sparray.compiler.cin.concretize import Reduction, split_reductions
from sparray.compiler.index_notation.dtypes import accumulated_dtype, settle_literals
from sparray.compiler.index_notation.nodes import Access, Assignment, Expr, Reduce
from sparray.compiler.index_notation.simplify import (
    accesses,
    free_indices,
    simplify_typed,
    substitute,
)
from sparray.compiler.problem import Problem, TensorSpec, result_spec
from sparray.compiler.scheduler.candidates import best_candidate
from sparray.compiler.scheduler.conversions import (
    conversion,
    conversion_statistics,
    is_direct,
)
from sparray.compiler.scheduler.decision import Reason, decide_widely
from sparray.compiler.scheduler.factor import factor_invariants
from sparray.compiler.scheduler.nested import inner_reduction, replace_expression
from sparray.compiler.scheduler.options import Option, options, result_entries
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.statistics import Statistics
from sparray.compiler.scheduler.steps import (
    KernelStep,
    PackStep,
    Plan,
    Step,
    sort_step,
)
from sparray.compiler.scheduler.temporaries import (
    can_assemble,
    can_search,
    coordinate_list,
    has_blocks,
    is_coordinate_list,
    sorted_spec,
    temporary_format,
    without_blocks,
)
from sparray.compiler.scheduler.unsorted import walked_unsorted
from sparray.errors import UnsupportedError
from sparray.formats.format import Format
from sparray.formats.named import named_format

__all__ = ["plan"]


@dataclass(slots=True)
class _Planner:
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
    converted: dict[tuple[str, TensorSpec], str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    cost: float = 0.0
    direct_only: bool = False

    def fresh(self) -> str:
        """Return the name of a new temporary."""
        return f"T{next(self.numbers)}"

    def branch(self) -> "_Planner":
        """Return a planner that goes on from here without changing this one."""
        return replace(
            self,
            bindings=dict(self.bindings),
            steps=list(self.steps),
            reasons=list(self.reasons),
            converted=dict(self.converted),
        )

    def take(self, other: "_Planner") -> None:
        """Go on from where another planner is."""
        self.statistics, self.bindings = other.statistics, other.bindings
        self.steps, self.reasons = other.steps, other.reasons
        self.converted, self.cost = other.converted, other.cost


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
    coordinates, sorted, then packed; each sum as a temporary of its own. All by the
    cost model, conversions included.
    """
    bindings = {name: name for name, _ in problem.operands}
    planner = _Planner(problem, statistics, vector_bytes, bindings)
    _rewrite(planner)
    _prepare_diagonals(planner)
    _sort_operands(planner)
    _compute_nested(planner)
    if can_assemble(planner.problem.output.format):
        _compute(planner, planner.problem, names.OUTPUT)
    else:
        _inherit_or_pack(planner)
    return Plan(problem, tuple(planner.steps), tuple(planner.reasons))


def _inherit_or_pack(planner: _Planner) -> None:
    """Compute a result whose levels no kernel makes.

    It has an operand's pattern, and so that operand's levels, or its blocks are filled
    one by one; or its entries are computed as rows of entries or as a coordinate list,
    of which the result is made then.
    """
    problem = planner.problem
    candidate = best_candidate(problem, planner.statistics)
    if candidate is not None:
        direct = Option(problem, candidate, candidate.cost, {})
        _append(planner, problem, direct, names.OUTPUT)
        return
    if has_blocks(problem.output.format):
        rows, made = without_blocks(problem.output), planner.fresh()
        planner.reasons.append(
            Reason(
                "compute the entries first, then their blocks",
                "the operands are not stored along rows of blocks",
            )
        )
        _compute(planner, replace(problem, output=rows), made)
        _convert(planner, made, rows, problem.output, names.OUTPUT)
        return
    ndim = problem.output.format.ndim
    listed = replace(problem.output, format=named_format("coo", ndim))
    made = planner.fresh()
    planner.reasons.append(
        Reason(
            f"pack the entries as {problem.output.format}",
            "its levels are made of all entries at once",
        )
    )
    _compute(planner, replace(problem, output=listed), made)
    if is_direct(planner.statistics, listed, problem.output):
        _convert(planner, made, listed, problem.output, names.OUTPUT)
        return
    planner.steps.append(PackStep(made, names.OUTPUT, problem.output))


def _rewrite(planner: _Planner) -> None:
    """Simplify, and move invariant factors out of sums: decisions see the result."""
    problem = planner.problem
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    target = problem.assignment.target
    settled = settle_literals(problem.assignment.value, dtypes)
    value = simplify_typed(settled, dtypes)
    # inf * (a + b) is not inf * a + inf * b: no sum of numbers, but maybe of fills.
    if all(np.isfinite(spec.fill.value) for _, spec in problem.operands):
        value = factor_invariants(value, lambda expr: accumulated_dtype(expr, dtypes))
    planner.problem = replace(problem, assignment=Assignment(target, value))


def _prepare_diagonals(planner: _Planner) -> None:
    """Convert operands that are read with a repeated index to levels to be searched."""
    read = accesses(planner.problem.assignment.value)
    for name, spec in planner.problem.operands:
        repeated = any(
            len(set(access.indices)) < len(access.indices)
            for access in read
            if access.tensor == name
        )
        if not repeated or can_search(spec.format):
            continue
        levels = named_format(
            "csr" if spec.format.ndim == 2 else "csf", spec.format.ndim
        )
        wanted = replace(
            spec, format=Format(levels.levels, spec.format.dimension_order)
        )
        source = planner.bindings[name]
        planner.bindings[name] = _converted(planner, source, spec, wanted)
        planner.reasons.append(
            Reason(
                f"convert {name} to {wanted.format}",
                "it is read along a diagonal, for which its levels cannot be searched",
            )
        )
        planner.problem = _with_spec(planner.problem, name, wanted)


def _with_spec(problem: Problem, name: str, spec: TensorSpec) -> Problem:
    """Return a problem in which an operand is something else."""
    operands = tuple(
        (other, spec if other == name else old) for other, old in problem.operands
    )
    return replace(problem, operands=operands)


def _sort_operands(planner: _Planner) -> None:
    """Replace operands whose levels are not ordered by sorted ones.

    Not those that a single kernel walks as they are.
    """
    problem = planner.problem
    read = {access.tensor for access in accesses(problem.assignment.value)}
    unsorted = {
        name: spec
        for name, spec in problem.operands
        if not spec.format.is_sorted and name in read
    }
    walked = walked_unsorted(problem, unsorted, planner.statistics)
    for name, spec in unsorted.items():
        if name in walked:
            continue
        source = planner.bindings[name]
        if not is_coordinate_list(spec.format):
            listed = coordinate_list(spec, unique=spec.format.unique)
            source, spec = _converted(planner, source, spec, listed), listed
        result = planner.fresh()
        ordered = replace(
            sorted_spec(spec), index_dtype=_width_once_sorted(name, spec, problem)
        )
        planner.steps.append(sort_step(source, result, spec, ordered))
        planner.reasons.append(
            Reason(f"sort {name}", "its coordinates are not in the order of its levels")
        )
        planner.bindings[name] = result
        planner.problem = _with_spec(planner.problem, name, ordered)


def _width_once_sorted(name: str, spec: TensorSpec, problem: Problem) -> str:
    """Return the index dtype of a sorted operand: the result's, if that holds it.

    A result with every index of the operand has extents that hold its coordinates.
    """
    kept = set(problem.assignment.target.indices)
    held = all(
        set(access.indices) <= kept
        for access in accesses(problem.assignment.value)
        if access.tensor == name
    )
    return problem.output.index_dtype if held else spec.index_dtype


def _compute(planner: _Planner, problem: Problem, result: str) -> None:
    """Append the cheapest steps that compute a problem under a name."""
    best: _Planner | None = None
    found = options(problem, planner.statistics, direct_only=planner.direct_only)
    option = min(found, key=lambda option: option.cost, default=None)
    if option is not None:
        best = planner.branch()
        _append(best, problem, option, result)
    value, reductions = split_reductions(problem.assignment.value)
    if _may_split(problem, value, reductions):
        split = planner.branch()
        try:
            _split(split, problem, value, reductions, result)
        except UnsupportedError:
            # A part may walk an operand in no order beside a temporary: as a whole the
            # problem needed no order.
            if best is None:
                raise
        else:
            if best is None or split.cost < best.cost:
                best = split
    if best is None:
        raise UnsupportedError(
            "expected an expression that sparray can schedule, got\n"
            f"{problem.describe()}"
        )
    planner.take(best)


def _may_split(
    problem: Problem, value: Expr, reductions: tuple[Reduction, ...]
) -> bool:
    """Tell whether each reduction can be an array of its own.

    A temporary without dimensions cannot say that nothing was added up, on which the
    pattern of a sparse result may depend.
    """
    if not reductions or isinstance(value, Access):
        return False
    return problem.output.format.is_dense or not any(
        not free_indices(item.reduce)
        and any(
            not problem.specs[a.tensor].format.is_dense for a in accesses(item.reduce)
        )
        for item in reductions
    )


def _append(planner: _Planner, problem: Problem, option: Option, result: str) -> None:
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
        arrays[name] = _converted(planner, planner.bindings[name], old, spec)
    planner.cost += option.cost
    wanted, final = option.problem.output, option.final
    decision = decide_widely(
        option.problem, option.candidate, planner.statistics, planner.vector_bytes
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
        planner.reasons.append(
            Reason(
                "sort the result's entries",
                "no loop order makes them in the order of its levels",
            )
        )
        ordered = sorted_spec(spec)
        source, made = made, planner.fresh()
        planner.steps.append(sort_step(source, made, spec, ordered))
        spec = ordered
    _convert(planner, made, spec, final, result)


def _converted(
    planner: _Planner, source: str, spec: TensorSpec, wanted: TensorSpec
) -> str:
    """Return the name of an array in another spec; converted once."""
    known = planner.converted.get((source, wanted))
    if known is None:
        known = planner.converted[source, wanted] = planner.fresh()
        _convert(planner, source, spec, wanted, known)
    return known


def _convert(
    planner: _Planner, source: str, spec: TensorSpec, wanted: TensorSpec, result: str
) -> None:
    """Append ``result = source``; the option that asks for it counts its cost."""
    problem = conversion(spec, wanted)
    inner = _Planner(
        problem,
        conversion_statistics(planner.statistics, problem),
        planner.vector_bytes,
        {"A": source},
        numbers=planner.numbers,
        direct_only=True,
    )
    _compute(inner, problem, result)
    planner.steps.extend(inner.steps)
    planner.reasons.extend(inner.reasons)


def _split(
    planner: _Planner,
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
        part = _part(problem, item.reduce, indices, format)
        if not part.has_known_fill:
            # Every entry is stored, so it may as well be dense.
            dense = named_format("dense", len(indices))
            part = _part(problem, item.reduce, indices, dense)
        name = item.workspace.tensor
        _bind(planner, part, name)
        specs[name] = part.output
        terms[item.workspace] = Access(name, part.assignment.target.indices)
        entries = round(result_entries(part, planner.statistics))
        positions[name] = [entries] * part.output.format.ndim
    planner.statistics = replace(planner.statistics, positions=positions)
    rest = substitute(value, terms)
    final = replace(
        problem,
        assignment=Assignment(problem.assignment.target, rest),
        operands=_used(tuple(specs.items()), rest),
    )
    _compute(planner, final, result)


def _compute_nested(planner: _Planner) -> None:
    """Compute reductions that stand inside others, the innermost first."""
    while True:
        problem = planner.problem
        inner = inner_reduction(problem.assignment.value)
        if inner is None:
            return
        indices = free_indices(inner)
        used = _used(problem.operands, inner)
        format = infer_format(Assignment(Access(names.OUTPUT, indices), inner), used)
        part = _part(problem, inner, indices, format)
        if format.is_dense and part.has_known_fill:
            format = temporary_format(problem.output.format, len(indices))
            part = _part(problem, inner, indices, format)
        # No operand has such a name, no workspace, and no variable.
        name = f"inner{len(problem.operands)}"
        planner.reasons.append(
            Reason(f"compute {name} first", "it is a sum inside another one")
        )
        _bind(planner, part, name)
        entries = round(result_entries(part, planner.statistics))
        positions = {**planner.statistics.positions, name: [entries] * format.ndim}
        planner.statistics = replace(planner.statistics, positions=positions)
        value = replace_expression(
            problem.assignment.value, inner, Access(name, indices)
        )
        assignment = Assignment(problem.assignment.target, value)
        operands = (*problem.operands, (name, part.output))
        planner.problem = replace(problem, assignment=assignment, operands=operands)


def _bind(planner: _Planner, part: Problem, name: str) -> None:
    """Append the steps of a part, whose result is an operand of that name."""
    array = planner.fresh()
    _compute(planner, part, array)
    planner.bindings[name] = array


def _part(
    problem: Problem, reduce: Reduce, indices: Sequence[str], format: Format
) -> Problem:
    """Return the problem of one reduction."""
    dtypes = {name: spec.dtype for name, spec in problem.operands}
    dtype = accumulated_dtype(reduce, dtypes)
    used = _used(problem.operands, reduce)
    output = TensorSpec(format, dtype, problem.output.index_dtype)
    return Problem(
        Assignment(Access(names.OUTPUT, tuple(indices)), reduce),
        used,
        result_spec(reduce, used, output),
    )


def _used(
    operands: Sequence[tuple[str, TensorSpec]], expr: Expr
) -> tuple[tuple[str, TensorSpec], ...]:
    read = {access.tensor for access in accesses(expr)}
    return tuple((name, spec) for name, spec in operands if name in read)
