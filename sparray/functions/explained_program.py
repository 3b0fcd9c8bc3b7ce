"""Explain a program: which statements are computed together, why, and how."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sparray.compiler import names
from sparray.compiler.index_notation.extents import sizes_of
from sparray.compiler.index_notation.program import Program
from sparray.compiler.pipeline import CompiledPlan, KernelSpec
from sparray.compiler.scheduler.steps import KernelStep, Plan
from sparray.dispatch import Given
from sparray.evaluation.program_plan import Group
from sparray.evaluation.program_steps import ProgramOptions
from sparray.evaluation.programs import check_names, group_runners
from sparray.formats.format import Format
from sparray.functions.explain import explain_expression
from sparray.functions.explained_steps import plan_sections
from sparray.functions.explanation import Explanation
from sparray.view.section import Section

__all__ = ["explain_program"]


def explain_program(
    program: Program,
    operands: Mapping[str, Given],
    formats: Mapping[str, Format],
    *,
    source: bool = False,
    options: ProgramOptions | None = None,
) -> Explanation:
    """Say how several statements would be computed, and which of them together.

    Parts before the last are computed, to know the sizes of what they make.

    Parameters
    ----------
    program : Program
        What to compute.
    operands : mapping of str to SparseArray, Stored or ndarray
        Each of its operands.
    formats : mapping of str to Format
        Of results and temporaries, where they are asked for.
    source : bool
        Whether to add the loop IR and the Cython source of each kernel.
    options : ProgramOptions, optional
        What is asked of the statements.
    """
    options = ProgramOptions() if options is None else options
    check_names(program, [name for name in operands if name != options.mask_tensor])
    arrays: dict[str, Given] = dict(operands)
    runners = group_runners(program, arrays, formats, options)
    parts = []
    if len(program.statements) > 1:
        parts.append(Explanation(lambda _: [_whole(program, runners)], ()))
    for number, runner in enumerate(runners, 1):
        group = runner.group
        if group.kernel is not None:
            parts.append(_joined(group, group.kernel, arrays, source))
        else:
            (step,) = group.steps
            given = [arrays[name] for name in step.expression.tensors]
            format = formats.get(step.target, step.format)
            parts.append(explain_expression(step.expression, given, format, source))
        if number < len(runners):
            runner.run(arrays, formats)
    return Explanation.joined(parts, source)


def _whole(program: Program, runners: Sequence[Any]) -> Section:
    """Return the statements, the parts that they are computed in, and why."""
    lines = [*program.text.splitlines(), f"results: {', '.join(program.outputs)}"]
    made = {step.target for runner in runners for step in runner.group.steps}
    gone = [s.target.tensor for s in program.statements if s.target.tensor not in made]
    if gone:
        lines.append(f"{', '.join(gone)}: put where it is read, or read nowhere")
    parts = []
    for number, runner in enumerate(runners, 1):
        targets = ", ".join(step.target for step in runner.group.steps)
        reasons = [f"{one.what}: {one.why}" for one in runner.group.reasons]
        parts.append(Section(f"part {number}: {targets}", tuple(reasons)))
    return Section("program", tuple(lines), inside=tuple(parts))


def _joined(
    group: Group, kernel: KernelSpec, arrays: Mapping[str, Given], source: bool
) -> Explanation:
    """Explain statements that are one kernel."""
    decision, reads = kernel.decision, dict(group.operands)
    problem = decision.problem
    operands = tuple(name for name, _ in problem.operands)
    plan = Plan(problem, (KernelStep(decision, operands, names.OUTPUT),), ())
    compiled = CompiledPlan(plan, (kernel,))
    given = {name: arrays[reads[name]] for name in operands}
    shapes = {name: tuple(array.shape) for name, array in given.items()}
    lines = [step.expression.text for step in group.steps]
    for name, spec in problem.operands:
        line = f"{name} ({reads[name]}): {spec.format} {spec.dtype}"
        if spec.pattern is not None:
            line += f", with the pattern of {spec.pattern}"
        lines.append(line)
    title = f"{', '.join(step.target for step in group.steps)} in one kernel"
    first = Section(title, tuple(lines))
    read = [(a, shapes[a.tensor]) for a in problem.reads if a.tensor in shapes]
    extents = sizes_of(read, dict(group.sources))
    build = partial(_sections, first, compiled, shapes, extents)
    return Explanation(build, (kernel,), source=source)


def _sections(
    first: Section,
    compiled: CompiledPlan,
    shapes: Mapping[str, tuple[int, ...]],
    extents: Mapping[str, int],
    source: bool,
) -> list[Section]:
    return [first, *plan_sections(compiled, shapes, extents, source=source)]
