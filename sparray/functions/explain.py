"""Explain how an expression is computed: what was chosen, and why."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from sparray.compiler.index_notation.printer import print_access, print_assignment
from sparray.compiler.index_notation.semiring import Semiring, as_semiring
from sparray.compiler.pipeline import CompiledPlan
from sparray.compiler.problem import Problem
from sparray.dispatch import (
    Given,
    JoinedRunner,
    joined_runner,
)
from sparray.errors import ExpressionError
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    check_missing,
    einsum_expression,
    mask_kind,
)
from sparray.evaluation.planning import operands_plan
from sparray.evaluation.program_texts import is_program
from sparray.evaluation.readings import read_operands
from sparray.evaluation.stored import stored_operand
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import as_operand, with_mask
from sparray.functions.explained_steps import plan_sections
from sparray.functions.explanation import Explanation
from sparray.functions.option_names import naming_options
from sparray.functions.program_arguments import stated_program
from sparray.functions.schedule import Schedule, as_only_schedule
from sparray.view.labels import count_text
from sparray.view.section import Section

__all__ = ["explain", "explain_expression", "planned_road"]


@naming_options
def explain(
    expression: str,
    /,
    *operands: Any,
    format: str | Format | None = None,
    source: bool = False,
    missing: Literal["zero", "fill"] = "zero",
    schedule: Schedule | str | Mapping[str, Schedule | str] | None = None,
    semiring: Semiring | str | None = None,
    mask: Any = None,
    complement: bool = False,
    outputs: Sequence[str] | None = None,
    **named: Any,
) -> Explanation:
    """Say how an expression would be computed for given operands.

    Parameters
    ----------
    expression : str
        An einsum string with ``operands``, or an assignment with ``named`` ones; or
        several, of which all but the last are computed, to know what they make.
    *operands : SparseArray, ndarray, SciPy or torch sparse array
        As for `einsum`.
    format : str or Format, optional
        Of the result.
    source : bool
        Whether the text has the loop IR and the Cython source of each kernel; HTML
        always has them, closed.
    missing : {"zero", "fill"}
        As for `einsum`.
    schedule : Schedule or str, or a mapping of them, optional
        As for `compute`.
    semiring : str or Semiring, optional
        As for `compute`.
    mask, complement
        As for `compute`.
    outputs : sequence of str, optional
        As for `compute`.
    **named
        As for `compute`.

    Returns
    -------
    Explanation
        A str: index notation and formats; for each step its loops with estimated
        iterations, operations and bytes, workspaces with their sizes, the reason for
        every decision, what was rejected at which cost, and the concrete index
        notation before and after each schedule command. ``html()`` and notebooks show
        it as HTML; ``loops`` and ``source`` have the sources.

    Notes
    -----
    Nothing is computed and nothing compiled, but for what earlier parts of a program
    make, whose sizes the last one depends on. Operands of many dimensions are numbered,
    as they are when the expression is computed. In the table of loops, each row counts
    the loops inside it too, and bytes are those that loads and stores take, whatever
    of them a cache may hold.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> print(sp.explain("ij,j->i", A, [1.0, 1.0]))  # doctest: +ELLIPSIS
    ij,j->i
      out[i] = sum(j, A[i,j] * B[j])
    ...
    """
    check_missing(missing)
    if not isinstance(expression, str):
        raise ExpressionError(
            f"expression: expected a str, got {type(expression).__name__}"
        )
    if outputs is not None or is_program(expression):
        # It explains what is left of a program by this module.
        from sparray.functions.explained_program import explain_program

        stated = stated_program(
            expression,
            named,
            outputs=outputs,
            format=format,
            missing=missing,
            schedule=schedule,
            semiring=semiring,
            mask=mask,
            complement=complement,
        )
        return explain_program(
            stated.program,
            stated.arrays,
            stated.formats,
            source=source,
            options=stated.options,
        )
    by_hand, over = as_only_schedule(schedule, expression), as_semiring(semiring)
    kind = mask_kind(mask, complement)
    if "=" in expression:
        parsed = assignment_expression(expression, missing, by_hand, over, kind)
        given = [
            as_operand(name, named[name]) for name in parsed.tensors if name in named
        ]
    else:
        given = [as_operand(f"operands[{n}]", x) for n, x in enumerate(operands)]
        parsed = einsum_expression(expression, given, missing, by_hand, over, kind)
    wanted = None
    if format is not None:
        wanted = as_format(format, len(parsed.assignment.target.indices))
    return explain_expression(parsed, with_mask(parsed, given, mask), wanted, source)


def explain_expression(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None,
    source: bool,
) -> Explanation:
    """Say how an expression would be computed; see `explain`."""
    given = read_operands(expression, operands)
    joinings, final, compiled = planned_road(expression, given, format)
    build = partial(_sections, expression, format, joinings, final, compiled)
    kernels = [kernel for kernel in compiled.kernels if kernel is not None]
    return Explanation(build, kernels, source=source)


Final = tuple[Expression, Sequence[Given]]
Joinings = list[tuple[JoinedRunner, dict[str, int]]]


def planned_road(
    expression: Expression, operands: Sequence[Given], format: Format | None
) -> tuple[Joinings, Final, CompiledPlan]:
    """Return the way of a call: index joinings, what they lead to, and its plan.

    It is the way that `sparray.dispatch` takes.
    """
    joinings: Joinings = []
    if len(operands) == len(expression.tensors):
        runner = joined_runner(expression, operands, format, False)
        while runner is not None:
            expression.extents(operands)
            given = [*map(stored_operand, operands)]
            named = {name: given[n] for name, n in expression.operands}
            made, places = runner.joining.operands(named)
            counts = {index: table.shape[1] for index, table in places.items()}
            joinings.append((runner, counts))
            expression, operands = runner.joining.expression, made
            format = runner.made_format
            runner = joined_runner(expression, operands, format, False)
    return joinings, (expression, operands), operands_plan(expression, operands, format)


def _sections(
    parsed: Expression,
    wanted: Format | None,
    joinings: Joinings,
    final: Final,
    compiled: CompiledPlan,
    source: bool,
) -> list[Section]:
    """Return the sections of an explanation."""
    expression, operands = final
    problem = compiled.plan.problem
    first = [print_assignment(parsed.assignment)]
    sections = []
    if joinings:
        sections = [*_fused(joinings)]
    else:
        first += _formats(problem, wanted, _users_names(parsed))
    extents = dict(zip(expression.sizes, expression.extents(operands), strict=True))
    shapes = {name: operands[n].shape for name, n in expression.operands}
    return [
        Section(parsed.text, tuple(first)),
        *sections,
        *([Section("then", tuple(_formats(problem, wanted, {})))] if joinings else []),
        *plan_sections(compiled, shapes, extents, source=source),
    ]


def _fused(joinings: Joinings) -> Iterator[Section]:
    for runner, counts in joinings:
        joining = runner.joining
        lines = [
            f"{' '.join(members)} as {index}, over {count_text(counts[index])} places: "
            "the different coordinates that operands store along them"
            for index, members in joining.groups.items()
        ]
        read = dict(zip(joining.expression.tensors, joining.reads, strict=True))
        lines += [
            f"{print_access(access)} is numbered as {name}"
            for name, access in read.items()
            if any(index in joining.groups for index in access.indices)
        ]
        lines.append(print_assignment(joining.expression.assignment))
        if joining.changes_target:
            lines.append("then the numbers in its result become coordinates again")
        yield Section("indices that occur together are computed as one", tuple(lines))


def _users_names(expression: Expression) -> dict[str, str]:
    """Return what the user calls each operand, where that is something else."""
    return {
        name: f"{name} ({expression.tensors[number]})"
        for name, number in expression.operands
        if expression.tensors[number] != name
    }


def _formats(
    problem: Problem, wanted: Format | None, shown: Mapping[str, str]
) -> Iterator[str]:
    for name, spec in (*problem.operands, ("out", problem.output)):
        facts = f"{spec.format} {spec.dtype}, {spec.index_dtype} indices"
        line = f"{shown.get(name, name)}: {facts}"
        if not spec.fill.is_zero:
            line = f"{line}, fill value {spec.fill}"
        yield line
    if wanted is not None:
        yield "out has the format that was asked for"
    elif problem.output.format.is_dense:
        yield "out is dense: every element may have a value of its own"
    else:
        yield "out is sparse: where no operand has an entry there is nothing to store"
