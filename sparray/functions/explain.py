"""Explain how an expression is computed: what was chosen, and why."""

from typing import Any, Literal

from sparray.compiler.cin.printer import print_statement
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.pipeline import KernelSpec
from sparray.compiler.scheduler.steps import KernelStep, PackStep, SortStep
from sparray.expression import (
    Expression,
    assignment_expression,
    einsum_expression,
)
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import as_operand
from sparray.planning import operands_plan

__all__ = ["explain"]


def explain(
    expression: str,
    *operands: Any,
    format: str | Format | None = None,
    source: bool = False,
    missing: Literal["zero", "fill"] = "zero",
    **named: Any,
) -> str:
    """Say how an expression would be computed for given operands.

    Parameters
    ----------
    expression : str
        An einsum string with ``operands``, or an assignment with ``named`` ones.
    *operands : SparseArray, ndarray, SciPy or torch sparse array
        As for `einsum`.
    format : str or Format, optional
        Of the result.
    source : bool
        Whether to add the loop IR of each kernel.
    missing : {"zero", "fill"}
        As for `einsum`.
    **named
        As for `compute`.

    Returns
    -------
    str
        Index notation, formats, each step's CIN before and after scheduling, loops with
        estimated iterations, cost, and the reason for every decision. Nothing is
        computed and nothing compiled.

    Examples
    --------
    >>> import sparray as sp
    >>> A = sp.array([[0.0, 2.0], [3.0, 0.0]], format="csr")
    >>> print(sp.explain("ij,j->i", A, [1.0, 1.0]))  # doctest: +ELLIPSIS
    ij,j->i
      out[i] = sum(j, A[i,j] * B[j])
    ...
    """
    if "=" in expression:
        parsed = assignment_expression(expression, missing)
        given = [
            as_operand(name, named[name]) for name in parsed.tensors if name in named
        ]
    else:
        parsed = einsum_expression(expression, len(operands), missing)
        given = [as_operand(f"operands[{n}]", x) for n, x in enumerate(operands)]
    wanted = None
    if format is not None:
        wanted = as_format(format, len(parsed.assignment.target.indices))
    compiled = operands_plan(parsed, given, wanted)
    lines = [parsed.text, f"  {print_assignment(parsed.assignment)}"]
    lines += _formats(parsed, compiled.plan.problem)
    number = 0
    for step, spec in zip(compiled.plan.steps, compiled.kernels, strict=True):
        number += 1
        if isinstance(step, SortStep):
            lines.append(f"step {number}: sort the entries of {step.source}")
            continue
        if isinstance(step, PackStep):
            lines.append(f"step {number}: pack {step.source} as {step.spec.format}")
            continue
        lines += _kernel(number, step, spec, source)
    lines.append("decisions:")
    lines += [f"  {reason.what}: {reason.why}" for reason in compiled.plan.reasons]
    return "\n".join(lines)


def _formats(parsed: Expression, problem: Any) -> list[str]:
    lines = []
    for name, spec in (*problem.operands, ("out", problem.output)):
        line = f"  {name}: {spec.format} {spec.dtype}, {spec.index_dtype} indices"
        lines.append(line if spec.fill.is_zero else f"{line}, fill value {spec.fill}")
    return lines


def _kernel(
    number: int, step: KernelStep, spec: KernelSpec | None, source: bool
) -> list[str]:
    decision = step.decision
    lines = [f"step {number}: {step.result} from {', '.join(step.operands)}"]
    lines += _indented("before", print_statement(decision.stages[0]))
    lines += _indented("after ", print_statement(decision.statement))
    lines.append(f"  schedule: {decision.schedule}")
    for depth, loop in enumerate(decision.loops):
        indent = "  " * (depth + 1)
        lines.append(
            f"{indent}for {loop.index}: about {loop.iterations:.3g} iterations"
        )
    lines.append(f"  estimated cost: {decision.cost:.3g} multiply-adds")
    if source and spec is not None:
        lines += [f"  {line}" for line in spec.loops.splitlines()]
    return lines


def _indented(label: str, text: str) -> list[str]:
    first, *rest = text.splitlines()
    return [f"  {label}: {first}", *(f"    {line}" for line in rest)]
