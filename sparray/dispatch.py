"""From an expression and its operands to the kernels that compute it.

The road of a call: expression text → canonical assignment (kept) → problem, by the
operands' formats and dtypes → plan → kernels. All of it is remembered by (expression,
formats, dtypes, size classes), so that a warm call costs one look-up.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from sparray._kernels.targets import host_target
from sparray.compiler import names
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.nodes import Access
from sparray.compiler.pipeline import CompiledPlan, compile_problem
from sparray.compiler.problem import Problem, TensorSpec
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.statistics import Statistics, bucket
from sparray.errors import (
    DTypeError,
    ExpressionError,
    ShapeError,
    SparrayError,
    UnsupportedError,
)
from sparray.execution import (
    IndexWidthError,
    Operand,
    PlanRunner,
    Runner,
    Stored,
)
from sparray.expression import Expression, einsum_expression
from sparray.formats.format import Format
from sparray.formats.named import named_format

__all__ = [
    "dense_operand",
    "evaluate",
    "evaluate_expression",
    "operands_plan",
    "plan_problem",
    "try_compiled",
]

_INT32_MAX = 2**31 - 1
_COMPILED = frozenset(
    {
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        *("bool", "float32", "float64", "complex64", "complex128"),
    }
)


Given = Operand | npt.NDArray[Any]


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
    """

    runner: PlanRunner
    single: Runner | None
    operands: tuple[int, ...]
    extents: tuple[int, ...]


_calls: dict[Hashable, _Call] = {}


def dense_operand(array: npt.NDArray[Any]) -> Stored:
    """Return a NumPy array as an operand; copied only if it is not contiguous."""
    if array.flags.c_contiguous:
        format, flat = _row_major(array.ndim), array.reshape(-1)
    elif array.flags.f_contiguous:
        format, flat = _column_major(array.ndim), array.T.reshape(-1)
    else:
        format = _row_major(array.ndim)
        flat = np.ascontiguousarray(array).reshape(-1)
    if not flat.dtype.isnative or not flat.flags.aligned:
        flat = flat.astype(flat.dtype.newbyteorder("="), copy=True)
    return Stored(format, array.shape, ({},) * array.ndim, flat)


@lru_cache(maxsize=128)
def _row_major(ndim: int) -> Format:
    return named_format("dense", ndim)


@lru_cache(maxsize=128)
def _column_major(ndim: int) -> Format:
    return Format(named_format("dense", ndim).levels, tuple(reversed(range(ndim))))


def evaluate(subscripts: str, *operands: Given, format: Format | None = None) -> Stored:
    """Compute an einsum string; see `evaluate_expression`."""
    expression = einsum_expression(subscripts, len(operands))
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
) -> Stored | None:
    """Compute an expression if its kernels can be compiled; None if they cannot.

    For callers that have a faster road of their own than the interpreter.
    """
    call = _find(expression, operands, format, prune)
    if not call.runner.is_compiled:
        return None
    return _run(call, expression, operands)


def _find(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None,
    prune: bool,
) -> _Call:
    key = (expression, format, prune, *map(_operand_key, operands))
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = _prepare(expression, operands, format, prune, None)
    return call


def _operand_key(operand: Given) -> Hashable:
    if type(operand) is np.ndarray:
        # C order, Fortran order and alignment: all that decides how it is read.
        return operand.dtype, operand.ndim, operand.flags.num & 0x103
    if isinstance(operand, np.ndarray):
        return _operand_key(operand.view(np.ndarray))
    return operand._key


def _index_dtype(operand: Operand) -> str:
    for buffers in operand._levels:
        for buffer in buffers.values():
            return buffer.dtype.name
    return "int64"


def _run(call: _Call, expression: Expression, operands: Sequence[Given]) -> Stored:
    extents = _extents(expression, operands)
    given = [
        dense_operand(operand) if isinstance(operand, np.ndarray) else operand
        for operand in operands
    ]
    try:
        if call.single is not None:
            return call.single.run(
                [given[number] for number in call.operands],
                [extents[slot] for slot in call.extents],
            )
        named = {name: given[number] for name, number in expression.operands}
        sizes = dict(zip(expression.indices, extents, strict=True))
        return call.runner.run(named, sizes)
    except IndexWidthError:
        format = call.runner.compiled.plan.problem.output.format
        prune = call.runner.compiled.plan.problem.prune
        wide = _prepare(expression, operands, format, prune, "int64")
        return _run(wide, expression, operands)


def _extents(expression: Expression, operands: Sequence[Given]) -> list[int]:
    """Return each index's extent; every access must agree on it."""
    found = [-1] * len(expression.indices)
    for number, dimensions in expression.slots:
        shape = operands[number].shape
        if len(shape) != len(dimensions):
            raise ExpressionError(
                f"{expression.text}: expected {len(dimensions)} dimensions for "
                f"{expression.tensors[number]}, got shape {shape}"
            )
        for slot, extent in zip(dimensions, shape, strict=True):
            if found[slot] != extent:
                if found[slot] >= 0:
                    _raise_extents(expression, slot, operands)
                found[slot] = extent
    return found


def _raise_extents(
    expression: Expression, slot: int, given: Sequence[Given]
) -> NoReturn:
    seen = [
        f"{given[number].shape[axis]} in axis {axis} of {expression.tensors[number]} "
        f"(shape {given[number].shape})"
        for number, dimensions in expression.slots
        for axis, other in enumerate(dimensions)
        if other == slot
    ]
    raise ShapeError(
        f"{expression.text}: expected one extent for each index, got {', '.join(seen)}"
    )


def _prepare(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None,
    prune: bool,
    index_dtype: str | None,
) -> _Call:
    compiled = operands_plan(
        expression, operands, format, prune=prune, index_dtype=index_dtype
    )
    runner = PlanRunner(compiled)
    single = runner.single
    if single is None:
        return _Call(runner, None, (), ())
    reads = dict(expression.operands)
    numbers = tuple(reads[name] for name, _ in single.problem.operands)
    places = {index: n for n, index in enumerate(expression.indices)}
    extents = tuple(places[index] for index in single.spec.index_order)
    return _Call(runner, single, numbers, extents)


def operands_plan(
    expression: Expression,
    operands: Sequence[Given],
    format: Format | None = None,
    *,
    prune: bool = False,
    index_dtype: str | None = None,
) -> CompiledPlan:
    """Return the plan of an expression for operands, without compiling anything.

    Parameters
    ----------
    expression : Expression
        What to compute.
    operands : sequence of SparseArray, Stored or ndarray
        Their formats, dtypes and sizes decide.
    format : Format, optional
        Of the result.
    prune : bool
        Whether a sparse result leaves out values that are zero.
    index_dtype : {"int32", "int64"}, optional
        Of the result; by default the narrowest one that its extents need.
    """
    if len(operands) != len(expression.tensors):
        raise ExpressionError(
            f"{expression.text}: expected {len(expression.tensors)} operands, got "
            f"{len(operands)}"
        )
    sizes = dict(zip(expression.indices, _extents(expression, operands), strict=True))
    given = [
        dense_operand(operand) if isinstance(operand, np.ndarray) else operand
        for operand in operands
    ]
    return plan_problem(expression, given, sizes, format, prune, index_dtype)


def plan_problem(
    expression: Expression,
    given: Sequence[Operand],
    sizes: Mapping[str, int],
    format: Format | None,
    prune: bool = False,
    index_dtype: str | None = None,
) -> CompiledPlan:
    """Return the plan of an expression for operands like the given ones."""
    _check_operands(expression, given)
    specs = tuple((name, _spec(given[number])) for name, number in expression.operands)
    dtypes = {name: spec.dtype for name, spec in specs}
    try:
        dtype = result_dtype(expression.assignment.value, dtypes)
    except SparrayError as error:
        raise type(error)(f"{expression.text}: {error}") from error
    if format is None:
        format = infer_format(expression.assignment, specs)
    ndim = len(expression.assignment.target.indices)
    if format.ndim != ndim:
        raise ExpressionError(
            f"{expression.text}: expected a format of {ndim} dimensions, got {format}"
        )
    wide = index_dtype or _result_index_dtype(expression, specs, sizes)
    output = (
        TensorSpec(format, dtype)
        if _no_buffers(format)
        else TensorSpec(format, dtype, wide)
    )
    problem = Problem(expression.assignment, specs, output, prune)
    positions = {
        name: _positions(given[number]) for name, number in expression.operands
    }
    statistics = Statistics(
        {index: bucket(size) for index, size in sizes.items()},
        {**positions, names.OUTPUT: [1] * ndim},
    )
    return compile_problem(problem, host_target().vector_bytes, statistics)


def _check_operands(expression: Expression, given: Sequence[Operand]) -> None:
    copies = isinstance(expression.assignment.value, Access)
    for number, operand in enumerate(given):
        name = expression.tensors[number]
        dtype = operand.values.dtype.name
        if dtype not in _COMPILED:
            raise DTypeError(
                f"{expression.text}: expected a dtype that kernels are compiled for "
                f"({', '.join(sorted(_COMPILED))}), got {dtype} in {name}"
            )
        fill = getattr(operand, "fill_value", 0)
        if not copies and not fill == 0:
            raise UnsupportedError(
                f"{expression.text}: expected operands with fill value 0, got {fill} "
                f"in {name}"
            )


def _spec(operand: Operand) -> TensorSpec:
    dtype = operand.values.dtype.name
    if _no_buffers(operand.format):
        return TensorSpec(operand.format, dtype)
    return TensorSpec(operand.format, dtype, _index_dtype(operand))


def _no_buffers(format: Format) -> bool:
    return not any(level.roles for level in format.levels)


def _result_index_dtype(
    expression: Expression,
    specs: Sequence[tuple[str, TensorSpec]],
    sizes: Mapping[str, int],
) -> str:
    """Return int32 if every extent fits it and no operand asks for more."""
    largest = max((sizes[i] for i in expression.assignment.target.indices), default=0)
    wide = any(
        spec.index_dtype == "int64" for _, spec in specs if not _no_buffers(spec.format)
    )
    return "int64" if wide or largest > _INT32_MAX else "int32"


def _positions(operand: Operand) -> list[int]:
    """Return the number of positions of each level, as powers of two."""
    counts, parents = [], 1
    sizes = zip(
        operand.format.levels, operand._levels, operand.format.order, strict=True
    )
    for level, buffers, dimension in sizes:
        parents = level.count(buffers, parents, operand.shape[dimension])
        counts.append(parents)
    return counts
