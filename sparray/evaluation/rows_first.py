"""Operands of a program by rows first, so that its statements can be one kernel.

Joined statements share their outermost loop, and each of its iterations has a row of
every sparse operand. One that is stored along other dimensions first, as a list or in
blocks has no rows: it is converted by a statement of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparray.compiler.index_notation.canonical import index_name
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.traversal import accesses, rename_tensors
from sparray.compiler.index_notation.unify import unify_statements
from sparray.errors import UnsupportedError
from sparray.evaluation.expression import assignment_expression
from sparray.evaluation.planning import Described
from sparray.evaluation.program_steps import ProgramStep
from sparray.formats.compressed import Compressed
from sparray.formats.dense import Dense
from sparray.formats.format import Format

__all__ = ["rows_first"]

_MOST_ROWS = 4
"""Rows for each stored entry up to which an array has a place for every row."""


def rows_first(
    steps: Sequence[ProgramStep], operands: Mapping[str, Described]
) -> tuple[ProgramStep, ...] | None:
    """Return steps that read some operands by rows, after those that convert them.

    Returns
    -------
    tuple of ProgramStep or None
        None if every sparse operand has rows along the result's outermost index.
    """
    if any(step.alone for step in steps):
        return None
    try:
        unified = unify_statements([step.statement for step in steps])
    except UnsupportedError:
        return None
    target = unified.statements[-1].target.indices
    tensors = dict(unified.operands)
    wanted: dict[str, Format] = {}
    for statement in unified.statements:
        for access in accesses(statement.value):
            tensor = tensors.get(access.tensor)
            if tensor is None or not target or target[0] not in access.indices:
                continue
            first = access.indices.index(target[0])
            if _may_convert(operands[tensor], first):
                wanted.setdefault(tensor, _by_rows(first, len(access.indices)))
    if not wanted:
        return None
    taken = {name for step in steps for name in (step.target, *step.expression.tensors)}
    names = {tensor: _free(f"{tensor}_rows", taken) for tensor in wanted}
    missing = steps[0].expression.missing
    copies = [
        _copy(tensor, names[tensor], format, missing)
        for tensor, format in wanted.items()
    ]
    return (*copies, *(_renamed(step, names) for step in steps))


def _may_convert(operand: Described, first: int) -> bool:
    """Tell whether an operand has no rows along a dimension, and may have them."""
    stored, extent = operand.spec.format, operand.shape[first]
    if stored.is_dense or stored.ndim < 2 or stored == _by_rows(first, stored.ndim):
        return False
    return extent <= _MOST_ROWS * operand.positions[-1]


def _by_rows(first: int, ndim: int) -> Format:
    """Return the format of rows along a dimension: all of them, each compressed."""
    order = (first, *(n for n in range(ndim) if n != first))
    return Format([Dense(), *[Compressed()] * (ndim - 1)], order)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _copy(tensor: str, name: str, format: Format, missing: str) -> ProgramStep:
    indices = ",".join(map(index_name, range(format.ndim)))
    text = f"{name}[{indices}] = {tensor}[{indices}]"
    expression = assignment_expression(text, missing)
    return ProgramStep(name, parse_assignment(text), expression, True, format)


def _renamed(step: ProgramStep, names: Mapping[str, str]) -> ProgramStep:
    expression = step.expression
    tensors = tuple(names.get(name, name) for name in expression.tensors)
    value = rename_tensors(step.statement.value, names)
    return replace(
        step,
        statement=replace(step.statement, value=value),
        expression=replace(expression, tensors=tensors),
    )
