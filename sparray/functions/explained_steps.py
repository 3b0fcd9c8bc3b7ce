"""The steps of a plan as sections: loops, workspaces, stages, what was rejected."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sparray._kernels.sizes import byte_text
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.pipeline import CompiledPlan, KernelSpec
from sparray.compiler.problem import Problem
from sparray.compiler.scheduler.alternatives import (
    Alternative,
    other_options,
    other_orders,
)
from sparray.compiler.scheduler.decision import Decision, Reason
from sparray.compiler.scheduler.loop_tree import (
    WorkspaceSize,
    loop_tree,
    workspace_sizes,
)
from sparray.compiler.scheduler.options import HOPELESS
from sparray.compiler.scheduler.steps import (
    CutStep,
    GatherStep,
    KernelStep,
    PackStep,
    SortStep,
)
from sparray.functions.explanation import cython_source
from sparray.view.section import Section, Table

__all__ = ["plan_sections"]

_MOST_REJECTED = 6

Shapes = dict[str, tuple[int, ...]]


def plan_sections(
    compiled: CompiledPlan,
    shapes: Mapping[str, tuple[int, ...]],
    extents: Mapping[str, int],
    *,
    source: bool,
) -> Iterator[Section]:
    """Yield a section for each step of a plan, then one about the whole.

    Parameters
    ----------
    compiled : CompiledPlan
        What to show.
    shapes : mapping of str to tuple of int
        Of each operand of the plan's problem.
    extents : mapping of str to int
        Of each index of the plan's problem.
    source : bool
        Whether to add the loop IR and the Cython source of each kernel.
    """
    known: Shapes = dict(shapes)
    steps = zip(compiled.plan.steps, compiled.kernels, strict=True)
    for number, (step, spec) in enumerate(steps, 1):
        if not isinstance(step, KernelStep):
            known[step.result] = known[step.source]
            yield Section(f"step {number}: {_said(step)}")
            continue
        problem = step.decision.problem
        sizes = _extents(problem, step, known, extents)
        target = problem.assignment.target
        known[step.result] = tuple(sizes[index] for index in target.indices)
        title = f"step {number}: {step.result} from {', '.join(step.operands)}"
        yield _kernel(title, step, spec, sizes, source)
    yield _decisions(compiled)


def _said(step: SortStep | GatherStep | PackStep | CutStep) -> str:
    """Return what a step does that is not a kernel of its own."""
    if isinstance(step, SortStep):
        return f"sort the entries of {step.source}"
    if isinstance(step, GatherStep):
        return f"add up the repeated coordinates of {step.source} in a hash table"
    if isinstance(step, CutStep):
        return f"cut {step.source} into slices as {step.spec.format}"
    return f"pack {step.source} as {step.spec.format}"


def _extents(
    problem: Problem, step: KernelStep, shapes: Shapes, outer: Mapping[str, int]
) -> dict[str, int]:
    """Return the extents of a kernel's indices."""
    found = dict(outer)
    arrays = {
        name: shapes[array]
        for (name, _), array in zip(problem.operands, step.operands, strict=True)
    }
    for access in problem.reads:
        if access.tensor not in arrays:
            # A temporary, whose indices operands have too.
            continue
        found.update(zip(access.indices, arrays[access.tensor], strict=True))
    return found


def _kernel(
    title: str,
    step: KernelStep,
    spec: KernelSpec | None,
    extents: Mapping[str, int],
    source: bool,
) -> Section:
    decision = step.decision
    inside = [
        Section("loops", (), _loops(decision)),
        _workspaces(workspace_sizes(decision, extents)),
        Section("decisions", _reasons(decision.reasons)),
        _rejected("rejected loop orders", _other_orders(decision)),
        Section("concrete index notation", inside=tuple(_stages(decision))),
    ]
    if source and spec is not None:
        inside += [
            Section("loop IR", (spec.loops,), is_open=False),
            Section("Cython", (cython_source(spec),), is_open=False),
        ]
    lines = (
        f"schedule: {decision.schedule}",
        f"estimated cost: {decision.cost:.3g} multiply-adds",
    )
    return Section(title, lines, inside=tuple(filter(_says_something, inside)))


def _other_orders(decision: Decision) -> Sequence[Alternative]:
    # Each of several statements has an order of its own.
    return [] if decision.problem.temporaries else other_orders(decision)


def _says_something(section: Section) -> bool:
    return bool(section.lines or section.table or section.inside)


def _loops(decision: Decision) -> Table:
    root = loop_tree(decision)
    rows = [
        (
            "  " * depth + loop.head,
            f"{loop.iterations:.3g}",
            f"{loop.flops:.3g}",
            byte_text(round(loop.n_bytes)),
            loop.visits,
            loop.why,
        )
        for depth, loop in root.walk()
    ]
    header = ("loop", "iterations", "flops", "bytes", "visits", "its place")
    return Table(header, tuple(rows), frozenset({1, 2, 3}))


def _workspaces(sizes: Sequence[WorkspaceSize]) -> Section:
    lines = []
    for size in sizes:
        workspace = size.workspace
        name = f"{workspace.name}[{','.join(workspace.indices)}]".removesuffix("[]")
        kind = _KINDS.get(workspace.kind, workspace.kind)
        lines.append(f"{name}: {kind}, {byte_text(size.n_bytes)} of {workspace.dtype}")
    return Section("workspaces, for each thread", tuple(lines))


_KINDS = {
    "scalar": "one number in a register",
    "registers": "a tile in vector registers",
    "list": "an array with marks and a list of its coordinates",
    "hashed": "a hash table and a list of its coordinates",
    "dense": "an array",
    "row": "an array of one row",
    "pattern": "a value for each entry of a row",
}


def _stages(decision: Decision) -> Iterator[Section]:
    """Yield the statement at first and after each command."""
    labels = ["at first", *(f"after {command}" for command in decision.commands)]
    for label, stage in zip(labels, decision.stages, strict=True):
        yield Section(label, (print_statement(stage),))


def _reasons(reasons: Iterable[Reason]) -> tuple[str, ...]:
    return tuple(f"{reason.what}: {reason.why}" for reason in reasons)


def _rejected(title: str, found: Sequence[Alternative]) -> Section:
    lines = [
        f"{one.what}: {one.why or f'{one.cost:.3g} multiply-adds'}"
        for one in found[:_MOST_REJECTED]
    ]
    if len(found) > _MOST_REJECTED:
        lines.append(f"and {len(found) - _MOST_REJECTED} more")
    return Section(title, tuple(lines))


def _decisions(compiled: CompiledPlan) -> Section:
    """Return what was decided about the plan as a whole, and what was rejected."""
    plan = compiled.plan
    kernels = [step.decision for step in plan.steps if isinstance(step, KernelStep)]
    told = {reason for decision in kernels for reason in decision.reasons}
    lines = _reasons(reason for reason in plan.reasons if reason not in told)
    rejected = [
        _rejected(
            f"rejected ways to compute {weighed.result}, in place of one at "
            f"{weighed.cost:.3g} multiply-adds",
            other_options(weighed),
        )
        for weighed in plan.weighed
    ]
    found = tuple(filter(_says_something, rejected))
    if not lines:
        count = len(plan.steps)
        lines = (
            f"{count} step{'s' if count > 1 else ''}: the cheapest plan; ways with "
            f"conversions that cost over {HOPELESS:g} times as much were not weighed",
        )
    return Section("decisions", lines, inside=found)
