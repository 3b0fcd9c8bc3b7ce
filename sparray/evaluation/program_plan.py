"""Plan a program: which of its statements are one kernel, by the cost model."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from sparray._kernels.available import workspace_bytes
from sparray._kernels.runtime import num_threads
from sparray._kernels.targets import host_target
from sparray.compiler import names
from sparray.compiler.index_notation.extents import sizes_of
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.index_notation.unify import Unified, unify_statements
from sparray.compiler.pipeline import CompiledPlan, KernelSpec
from sparray.compiler.problem import TensorSpec
from sparray.compiler.scheduler.cost_model import COSTS
from sparray.compiler.scheduler.decision import Decision, Reason
from sparray.compiler.scheduler.joined import JoinError, schedule_joined
from sparray.compiler.scheduler.result_size import result_entries
from sparray.compiler.scheduler.statistics import Statistics, bucket
from sparray.compiler.scheduler.steps import KernelStep
from sparray.compiler.scheduler.temporaries import searched_operands
from sparray.errors import UnsupportedError
from sparray.evaluation.planning import Described, check_dtypes, described_plan
from sparray.evaluation.program_steps import ProgramStep
from sparray.evaluation.rows_first import rows_first
from sparray.formats.format import Format

__all__ = ["Group", "plan_program"]

_MOST_JOINED = 12
"""Statements up to which all that could be one kernel is tried."""


_CANONICAL = re.compile(r"\b(t[0-9]+|out|[A-Z][0-9]*)\b")


@dataclass(frozen=True)
class Group:
    """Statements that are computed together.

    Attributes
    ----------
    steps : tuple of ProgramStep
        Alone, or those of one kernel, the one that makes its result last.
    plan : CompiledPlan or None
        Of a statement alone.
    kernel : KernelSpec or None
        Of statements together.
    operands : tuple of (str, str)
        Each of the kernel's operands, and the array that it reads.
    reasons : tuple of Reason
        Why these statements, and no others, are computed together.
    sources : tuple of (str, str)
        What coordinates of the kernel with a parameter were: windows, constants.
    """

    steps: tuple[ProgramStep, ...]
    plan: CompiledPlan | None
    kernel: KernelSpec | None = None
    operands: tuple[tuple[str, str], ...] = ()
    reasons: tuple[Reason, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Grouper:
    """What is known while statements are grouped."""

    described: dict[str, Described]
    formats: Mapping[str, Format]
    shared: Mapping[str, int]
    plans: dict[str, CompiledPlan] = field(default_factory=dict)
    entries: dict[str, float] = field(default_factory=dict)


def plan_program(
    steps: Sequence[ProgramStep],
    outputs: Collection[str],
    operands: Mapping[str, Described],
    formats: Mapping[str, Format],
    shared: Mapping[str, int],
) -> tuple[Group, ...]:
    """Group the statements of a program.

    Parameters
    ----------
    steps : sequence of ProgramStep
        In the order in which they run.
    outputs : collection of str
        The results.
    operands : mapping of str to Described
        What is given.
    formats : mapping of str to Format
        Of results and temporaries, where they are asked for.
    shared : mapping of str to int
        Operands whose levels are the same buffers have the same number.

    Returns
    -------
    tuple of Group
        In an order in which they can run.

    Notes
    -----
    The last statement is joined with all that it needs and nothing else does; what
    stands in the way is computed before it, with what that needs, and so on. Joined
    statements are one kernel if that is no dearer than each by itself, with its
    temporary written and read. Where there would be several kernels, sparse operands
    without rows along the result's first index are converted, if that costs less.
    """
    given = outputs, operands, formats, shared
    groups, cost = _planned(steps, *given)
    if len(groups) == 1:
        return groups
    by_rows = rows_first(steps, operands)
    if by_rows is not None:
        others, less = _planned(by_rows, *given)
        if less < cost:
            return others
    return groups


def _planned(
    steps: Sequence[ProgramStep],
    outputs: Collection[str],
    operands: Mapping[str, Described],
    formats: Mapping[str, Format],
    shared: Mapping[str, int],
) -> tuple[tuple[Group, ...], float]:
    """Return the groups of steps, and what they cost."""
    asked = {step.target: step.format for step in steps if step.format is not None}
    grouper = _Grouper(dict(operands), {**asked, **formats}, shared)
    for step in steps:
        _plan_alone(grouper, step)
    groups = tuple(_groups(grouper, list(steps), set(outputs)))
    cost = 0.0
    for group in groups:
        target = group.steps[-1].target
        if group.kernel is None:
            cost += _cost(grouper.plans[target])
        else:
            cost += group.kernel.decision.cost
        if target not in outputs:
            # It is written and read.
            cost += 2 * grouper.entries[target]
    return groups, cost + COSTS["step"] * len(groups)


def _plan_alone(grouper: _Grouper, step: ProgramStep) -> None:
    """Plan one statement, and note what it will make."""
    expression = step.expression
    given = [grouper.described[name] for name in expression.tensors]
    extents = expression.extents(given)
    sizes = dict(zip(expression.sizes, extents, strict=True))
    wanted = grouper.formats.get(step.target)
    plan = described_plan(expression, given, sizes, wanted)
    spec = plan.plan.problem.output
    shape = tuple(sizes[index] for index in expression.assignment.target.indices)
    positions = {name: given[number].positions for name, number in expression.operands}
    extents_known = Statistics({i: bucket(n) for i, n in sizes.items()}, positions)
    if spec.format.is_dense:
        stored = prod(shape)
    else:
        problem = plan.plan.problem
        searched = searched_operands(problem.assignment, problem.operands)
        problem = replace(problem, operands=searched)
        stored = round(result_entries(problem, extents_known))
    grouper.described[step.target] = Described(
        spec, shape, tuple(_positions(spec.format, shape, stored))
    )
    grouper.plans[step.target] = plan
    grouper.entries[step.target] = float(stored)


def _positions(format: Format, shape: Sequence[int], stored: int) -> list[int]:
    counts, parents = [], 1
    for level, extent in zip(format.levels, format.level_extents(shape), strict=True):
        parents = parents * extent if level.full else stored
        counts.append(max(1, parents))
    return counts


def _groups(
    grouper: _Grouper, steps: list[ProgramStep], needed: set[str]
) -> list[Group]:
    if not steps:
        return []
    last, reasons = steps[-1], list[Reason]()
    joined = _closure(last, steps)
    if len(joined) > _MOST_JOINED or last.alone:
        joined = [last]
    while len(joined) > 1:
        single = next((step for step in joined if step.alone), None)
        if single is not None:
            why = "it has a mask or a schedule of its own"
            if single.format is not None:
                why = "the others are one kernel where operands are stored by rows"
            reasons.append(Reason(f"compute {single.target} first", why))
            joined = _without(joined, single)
            continue
        shared = _read_elsewhere(joined, steps, needed)
        if shared is not None:
            why = "it is a result, or statements read it that are computed elsewhere"
            reasons.append(Reason(f"compute {shared.target} first", why))
            joined = _without(joined, shared)
            continue
        made = _join(grouper, joined, reasons)
        if isinstance(made, Group):
            rest = [step for step in steps if step not in joined]
            reads = {name for step in joined for name in step.expression.tensors}
            return [*_groups(grouper, rest, needed | reads), made]
        joined = _without(joined, made)
    alone = Group((last,), grouper.plans[last.target], reasons=tuple(reasons))
    before = needed | set(last.expression.tensors)
    return [*_groups(grouper, steps[:-1], before), alone]


def _closure(last: ProgramStep, steps: Sequence[ProgramStep]) -> list[ProgramStep]:
    """Return a step and the steps that it depends on, in their order."""
    wanted, found = {last.target}, []
    for step in reversed(steps):
        if step.target in wanted:
            found.append(step)
            wanted |= set(step.expression.tensors)
    return found[::-1]


def _without(joined: list[ProgramStep], step: ProgramStep) -> list[ProgramStep]:
    """Return the steps that are left when one is computed before them."""
    gone = _closure(step, joined)
    return [other for other in joined if other not in gone]


def _read_elsewhere(
    joined: Sequence[ProgramStep], steps: Sequence[ProgramStep], needed: set[str]
) -> ProgramStep | None:
    others = {n for s in steps if s not in joined for n in s.expression.tensors}
    return next((step for step in joined[:-1] if step.target in needed | others), None)


def _join(
    grouper: _Grouper, joined: list[ProgramStep], reasons: list[Reason]
) -> Group | ProgramStep:
    """Return the group of all steps, or the step that has to be computed before."""
    last = joined[-1]
    try:
        unified = unify_statements([step.statement for step in joined])
        decision = _schedule(grouper, joined, unified)
    except JoinError as error:
        blamed = error.tensor
        number = len(joined) - 1 if blamed == names.OUTPUT else int(blamed[1:]) - 1
        step = joined[number]
        why = _in_user_names(str(error), joined, unified)
        if step is last:
            step = joined[-2]
        reasons.append(Reason(f"compute {step.target} first", why))
        return step
    except UnsupportedError as error:
        reasons.append(Reason(f"compute {joined[0].target} first", str(error)))
        return joined[0]
    apart = sum(_cost(grouper.plans[step.target]) for step in joined)
    moved = sum(2 * grouper.entries[step.target] for step in joined[:-1])
    if decision.cost > apart + moved:
        why = (
            f"one kernel would cost {decision.cost:.3g}, each by itself "
            f"{apart:.3g}, and {moved:.3g} to write and read temporaries"
        )
        reasons.append(Reason(f"compute {joined[0].target} first", why))
        return joined[0]
    named = " ".join(step.target for step in joined)
    why = (
        f"it costs {decision.cost:.3g}, each by itself {apart:.3g}, and {moved:.3g} to "
        "write and read temporaries"
    )
    reasons.append(Reason(f"compute {named} in one kernel", why))
    vector_bytes = host_target().vector_bytes
    return Group(
        tuple(joined),
        None,
        KernelSpec(decision, vector_bytes),
        unified.operands,
        tuple(reasons),
        unified.sources,
    )


def _schedule(
    grouper: _Grouper, joined: Sequence[ProgramStep], unified: Unified
) -> Decision:
    given = {name: grouper.described[tensor] for name, tensor in unified.operands}
    read = [
        (access, given[access.tensor].shape)
        for statement in unified.statements
        for access in accesses(statement.value)
        if access.tensor in given
    ]
    extents = sizes_of(read, dict(unified.sources))
    for step in joined:
        tensors = step.expression.tensors
        check_dtypes(step.expression, [grouper.described[name] for name in tensors])
    last = joined[-1]
    format = grouper.formats.get(last.target)
    ndim = len(last.statement.target.indices)
    statistics = Statistics(
        {index: bucket(size) for index, size in extents.items()},
        {
            **{name: one.positions for name, one in given.items()},
            names.OUTPUT: [1] * (ndim if format is None else format.n_levels),
        },
        workspace_bytes(num_threads()),
        parallel=num_threads() > 1,
    )
    return schedule_joined(
        unified.statements,
        _with_patterns(grouper, unified),
        format,
        statistics,
        host_target().vector_bytes,
        exact=last.expression.missing == "fill",
    )


def _with_patterns(grouper: _Grouper, unified: Unified) -> list[tuple[str, TensorSpec]]:
    """Return the specs of operands; those with the same levels say so."""
    first: dict[int, str] = {}
    specs = []
    for name, tensor in unified.operands:
        spec = grouper.described[tensor].spec
        if tensor in grouper.shared:
            owner = first.setdefault(grouper.shared[tensor], name)
            spec = spec if owner == name else replace(spec, pattern=owner)
        specs.append((name, spec))
    return specs


def _cost(plan: CompiledPlan) -> float:
    return sum(
        step.decision.cost for step in plan.plan.steps if isinstance(step, KernelStep)
    )


def _in_user_names(
    message: str, joined: Sequence[ProgramStep], unified: Unified
) -> str:
    """Return a message about canonical tensors with the user's names in it."""
    users = dict(unified.operands)
    for step, statement in zip(joined, unified.statements, strict=True):
        users[statement.target.tensor] = step.target
    return re.sub(
        r"\b(t[0-9]+|out|[A-Z][0-9]*)\b", lambda m: users.get(m[0], m[0]), message
    )
