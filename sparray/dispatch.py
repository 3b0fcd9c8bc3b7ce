"""From an expression and its operands to the kernels that compute it.

The road of a call: expression text → canonical assignment (kept) → problem, by the
operands' formats and dtypes → plan → kernels. All of it is remembered by (expression,
formats, dtypes, size classes), so that a warm call costs one look-up.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sparray.collection import collection_paused
from sparray.evaluation.expression import Expression, einsum_expression
from sparray.evaluation.stored import (
    IndexWidthError,
    Operand,
    Stored,
    count_class,
    dense_operand,
    rows_aligned,
    stored_operand,
)
from sparray.formats.format import Format
from sparray.formats.level import Locatable, PositionIterable
from sparray.formats.named import named_format

if TYPE_CHECKING:
    from sparray.compiler.pipeline import CompiledPlan
    from sparray.evaluation.direct_call import DirectCall
    from sparray.evaluation.execution import PlanRunner, Runner
    from sparray.evaluation.joining import Joining

__all__ = [
    "JoinedRunner",
    "check_memory",
    "direct_call",
    "evaluate",
    "evaluate_expression",
    "forget_plans",
    "joined_runner",
    "given_key",
    "plans_forgotten",
    "planned_call",
    "try_compiled",
]


Given = Operand | npt.NDArray[Any]

_NARROW = (32,)
"""Shorter rows of a dense operand are not packed."""
_FEW_INDICES = 8
"""Indices up to which nobody asks whether some could be one."""
_SMALL = 2**20
"""Product of all extents below which everything fits in memory."""
_WIDE = 2**16
"""Coordinates along a level that is searched, per slot of its array, from which on they
are too many to look each of them up."""


@dataclass(slots=True)
class _Call:
    """Everything that a warm call needs.

    Attributes
    ----------
    runner : PlanRunner
        The compiled steps.
    single : Runner or None
        The only step, if there is one only: then a call needs no names.
    operands : tuple of int
        Which given operand each of the kernel's operands is.
    extents : tuple of int
        Which of the expression's indices each of the kernel's extents is.
    fitting : sequence of int
        Extents of which results and workspaces are known to fit in memory.
    """

    runner: "PlanRunner | JoinedRunner"
    single: "Runner | None"
    operands: tuple[int, ...]
    extents: tuple[int, ...]
    fitting: Sequence[int] = ()


@dataclass(slots=True)
class JoinedRunner:
    """Computes an expression of many indices as one of few.

    Attributes
    ----------
    joining : Joining
        What is computed.
    format : Format
        Of the result.
    prune : bool
        Whether a sparse result leaves out values that are zero.
    """

    joining: "Joining"
    format: Format
    prune: bool
    is_compiled = True

    @property
    def made_format(self) -> Format:
        """Of what is computed with few indices, of which the result is made."""
        if not self.joining.changes_target:
            return self.format
        target = self.joining.expression.assignment.target
        return named_format("csf", len(target.indices))

    def run(
        self, operands: Mapping[str, Operand], extents: Mapping[str, int]
    ) -> Stored:
        """Compute the result."""
        given, places = self.joining.operands(operands)
        made = evaluate_expression(
            self.joining.expression, given, self.made_format, prune=self.prune
        )
        if not self.joining.changes_target:
            return made
        shape = tuple(extents[index] for index in self.joining.target)
        return self.joining.result(made, places, self.format, shape)


_calls: dict[Hashable, _Call] = {}


def evaluate(subscripts: str, *operands: Given, format: Format | None = None) -> Stored:
    """Compute an einsum string; see `evaluate_expression`."""
    expression = einsum_expression(subscripts, operands)
    return evaluate_expression(expression, operands, format)


def evaluate_expression(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None = None,
    *,
    prune: bool = False,
) -> Stored:
    """Compute an expression.

    Parameters
    ----------
    expression : Expression
        What to compute.
    operands : sequence of SparseArray, Stored or ndarray
        One for each of the expression's tensors.
    format : Format, optional
        Of the result; inferred from the operands' formats if not given.
    prune : bool
        Whether a sparse result leaves out values that are zero; copies only.

    Returns
    -------
    Stored
        New buffers; an operand's ``pos`` and ``crd`` are shared where the result has
        its pattern.

    Raises
    ------
    ExpressionError, ShapeError
        If the operands do not fit the expression.
    DTypeError
        If a dtype is not one that kernels are compiled for.
    UnsupportedError
        If sparray knows no way to compute it.
    """
    return _run(_find(expression, operands, format, prune), expression, operands)


def try_compiled(
    expression: Expression,
    operands: Sequence[Given],
    format: Format,
    *,
    prune: bool = False,
    index_dtype: str | None = None,
    merging: str = "",
) -> Stored | None:
    """Compute an expression if its kernels can be compiled; None if they cannot.

    For callers that have a faster road of their own than the interpreter.
    """
    call = _find(expression, operands, format, prune, index_dtype, merging)
    if not call.runner.is_compiled:
        return None
    return _run(call, expression, operands)


def _find(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None,
    prune: bool,
    index_dtype: str | None = None,
    merging: str = "",
) -> _Call:
    asked = prune, index_dtype, merging
    key = (expression.road, format, *asked, *map(given_key, operands))
    call = _calls.get(key)
    if call is None:
        made = _prepare(expression, operands, format, *asked)
        call = _calls[key] = made
    return call


def given_key(operand: Given) -> Hashable:
    """Return everything that a plan depends on of an operand."""
    if type(operand) is np.ndarray:
        # C order, Fortran order and alignment: all that decides how it is read.
        size, last = count_class(operand.size), operand.shape[-1:]
        narrow = last < _NARROW
        flags = operand.flags.num & 0x103
        aligned = not narrow and rows_aligned(operand)
        return operand.dtype, operand.ndim, flags, size, narrow, aligned
    if isinstance(operand, np.ndarray):
        return given_key(operand.view(np.ndarray))
    return operand._key


def _run(call: _Call, expression: Expression, operands: Sequence[Given]) -> Stored:
    extents = expression.extents(operands)
    if extents != call.fitting:
        if not isinstance(call.runner, JoinedRunner):
            check_memory(expression, call.runner.compiled, extents)
        call.fitting = extents
    given: list[Operand] = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            operand = dense_operand(operand)
        given.append(operand)
    try:
        if call.single is not None:
            return call.single.run(
                [given[number] for number in call.operands],
                [extents[slot] for slot in call.extents],
            )
        named = {name: given[number] for name, number in expression.operands}
        sizes = dict(zip(expression.sizes, extents, strict=True))
        return call.runner.run(named, sizes)
    except IndexWidthError:
        if isinstance(call.runner, JoinedRunner):
            raise
        format = call.runner.compiled.plan.problem.output.format
        prune = call.runner.compiled.plan.problem.prune
        wide = _prepare(expression, operands, format, prune, "int64")
        return _run(wide, expression, operands)


@collection_paused()
def _prepare(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None,
    prune: bool,
    index_dtype: str | None,
    merging: str = "",
) -> _Call:
    # Imported when there is something to plan: `import sparray` is to be quick.
    from sparray.evaluation.planning import operands_plan

    fused = joined_runner(expression, operands, format, prune)
    if fused is not None:
        return _Call(fused, None, (), ())
    compiled = operands_plan(
        expression,
        operands,
        format,
        prune=prune,
        index_dtype=index_dtype,
        merging=merging,
    )
    # Nobody waits for a kernel that cannot run.
    check_memory(expression, compiled, expression.extents(operands))
    return _call_of(expression, compiled)


def check_memory(
    expression: Expression, compiled: "CompiledPlan", extents: Sequence[int]
) -> None:
    """Raise an error if a plan's results or workspaces would not fit in memory.

    ``extents`` are those of ``expression.sizes``.

    Raises
    ------
    KernelMemoryError
        With the expression, and the place in it.
    """
    if math.prod(max(1, extent) for extent in extents) <= _SMALL:
        return
    # Imported where something is large: `import sparray` is to be quick.
    from sparray.evaluation.footprint import check_plan

    sizes = dict(zip(expression.sizes, extents, strict=True))
    check_plan(compiled.plan, expression.user_names, sizes)


def planned_call(
    expression: Expression, compiled: "CompiledPlan"
) -> Callable[[Sequence[Given]], Stored]:
    """Return what computes an expression by a plan that was made for it.

    Its kernels are compiled, or found compiled, now.
    """
    call = _call_of(expression, compiled)
    return lambda operands: _run(call, expression, operands)


def direct_call(
    expression: Expression, operands: Sequence[Given], format: Format | None = None
) -> "DirectCall | None":
    """Return the one kernel that computes an expression, to be called by addresses.

    None if there are more steps, or its result is not one dense array. It holds for
    operands of the same keys and extents until plans are forgotten.
    """
    call = _find(expression, operands, format, False)
    if call.single is None:
        return None
    from sparray.evaluation.direct_call import direct_call_of  # as execution is

    extents = expression.extents(operands)
    ordered = [extents[slot] for slot in call.extents]
    return direct_call_of(call.single, call.operands, ordered)


class _Forgotten:
    """How often plans were forgotten, for those who remember what came of one."""

    times = 0


def plans_forgotten() -> int:
    """Return how often plans were forgotten."""
    return _Forgotten.times


def forget_plans() -> None:
    """Plan every expression anew when it is next computed: something was learned."""
    _calls.clear()
    _Forgotten.times += 1


def _call_of(expression: Expression, compiled: "CompiledPlan") -> _Call:
    from sparray.evaluation.execution import PlanRunner

    runner = PlanRunner(compiled)
    single = runner.single
    if single is None:
        return _Call(runner, None, (), ())
    reads = dict(expression.operands)
    numbers = tuple(reads[name] for name, _ in single.problem.operands)
    places = {index: n for n, index in enumerate(expression.sizes)}
    extents = tuple(places[index] for index in single.spec.index_order)
    return _Call(runner, single, numbers, extents)


def joined_runner(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None,
    prune: bool,
) -> JoinedRunner | None:
    """Return the way to compute an expression that has too many indices; else None.

    Or one of tables that hold little of a large extent: a kernel looks every coordinate
    of the extent up in them.
    """
    if expression.schedule is not None or expression.sources:
        # It is about the loops of the expression as it stands; and an index that only
        # windows have is not one along which operands are alike.
        return None
    tables = any(_is_wide_table(operand) for operand in operands)
    if len(expression.indices) <= _FEW_INDICES and not tables:
        return None
    from sparray.compiler.scheduler.output_format import infer_format
    from sparray.evaluation.joining import join_indices
    from sparray.evaluation.planning import operand_specs

    given = [*map(stored_operand, operands)]
    specs = operand_specs(expression, given)
    joining = join_indices(expression, specs, at_once=tables)
    if joining is None:
        return None
    wanted = format
    if wanted is None:
        wanted = infer_format(expression.assignment, tuple(specs.items()))
    if joining.changes_target and wanted.is_full:
        return None
    return JoinedRunner(joining, wanted, prune)


def _is_wide_table(operand: Given) -> bool:
    """Tell whether looking every coordinate up takes far longer than walking."""
    if isinstance(operand, np.ndarray) or operand.format.is_dense:
        return False
    format = operand.format
    extents = format.level_extents(operand.shape)
    return any(
        isinstance(level, Locatable)
        and isinstance(level, PositionIterable)
        and extent > _WIDE * max(1, len(operand.values))
        for level, extent in zip(format.levels, extents, strict=True)
    )
