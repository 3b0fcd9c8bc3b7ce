"""From an expression and its operands to the kernels that compute it.

The road of a call: expression text → canonical assignment (kept) → problem, by the
operands' formats and dtypes → plan → kernels. All of it is remembered by (expression,
formats, dtypes, size classes), so that a warm call costs one look-up.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.targets import host_target
from sparray.compiler import names
from sparray.compiler.index_notation.canonical import canonicalize, separate_accesses
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.einsum import parse_einsum
from sparray.compiler.index_notation.nodes import Access, Assignment
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.simplify import accesses
from sparray.compiler.index_notation.verify import verify
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
from sparray.execution import IndexWidthError, Operand, PlanRunner, Stored
from sparray.formats.format import Format
from sparray.formats.named import named_format

__all__ = [
    "Expression",
    "assignment_expression",
    "dense_operand",
    "einsum_expression",
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


@dataclass(frozen=True)
class Expression:
    """An assignment in canonical names, and which operand each access reads.

    Attributes
    ----------
    text : str
        What the user wrote, for messages.
    assignment : Assignment
        Every access has an operand of its own.
    tensors : tuple of str
        The user's tensors in the order in which operands are given.
    operands : tuple of (str, int)
        Each of the assignment's operands and which given one it reads.
    """

    text: str
    assignment: Assignment
    tensors: tuple[str, ...]
    operands: tuple[tuple[str, int], ...]

    @property
    def axes(self) -> tuple[tuple[Access, int], ...]:
        """Each access with the number of the given operand that it reads."""
        reads = dict(self.operands)
        found = dict.fromkeys(accesses(self.assignment.value))
        return tuple((access, reads[access.tensor]) for access in found)


@lru_cache(maxsize=4096)
def einsum_expression(subscripts: str, n_operands: int) -> Expression:
    """Return the expression of an einsum string."""
    return _expression(subscripts, parse_einsum(subscripts, n_operands))


@lru_cache(maxsize=4096)
def assignment_expression(text: str) -> Expression:
    """Return the expression of ``"C[i,j] = A[i,k] * B[k,j]"``."""
    return _expression(text, parse_assignment(text))


def _expression(text: str, stated: Assignment) -> Expression:
    verify(stated)
    renamed, renaming = canonicalize(stated)
    users = {canonical: user for user, canonical in renaming.tensors.items()}
    assignment, reads = separate_accesses(renamed)
    tensors = tuple(
        user for canonical, user in users.items() if canonical != names.OUTPUT
    )
    operands = tuple(
        (name, tensors.index(users[tensor])) for name, tensor in reads.items()
    )
    return Expression(text, assignment, tensors, operands)


@dataclass(slots=True)
class _Call:
    """Everything that a warm call needs.

    ``slots`` has, for each given operand, the number of the index of each dimension.
    """

    runner: PlanRunner
    names: tuple[tuple[str, int], ...]
    indices: tuple[str, ...]
    slots: tuple[tuple[int, tuple[int, ...]], ...]
    kernel_slots: tuple[int, ...] | None


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


def evaluate(
    subscripts: str,
    *operands: Operand | npt.NDArray[Any],
    format: Format | None = None,
) -> Stored:
    """Compute an einsum string; see `evaluate_expression`."""
    expression = einsum_expression(subscripts, len(operands))
    return evaluate_expression(expression, operands, format)


def evaluate_expression(
    expression: Expression,
    operands: Sequence[Operand | npt.NDArray[Any]],
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
    given = [
        dense_operand(operand) if isinstance(operand, np.ndarray) else operand
        for operand in operands
    ]
    return _evaluate(expression, given, format, prune, must_compile=False)  # type: ignore[return-value]


def try_compiled(
    expression: Expression,
    operands: Sequence[Operand],
    format: Format,
    *,
    prune: bool = False,
) -> Stored | None:
    """Compute an expression if its kernels can be compiled; None if they cannot.

    For callers that have a faster road of their own than the interpreter.
    """
    return _evaluate(expression, operands, format, prune, must_compile=True)


def _evaluate(
    expression: Expression,
    given: Sequence[Operand],
    format: Format | None,
    prune: bool,
    must_compile: bool,
) -> Stored | None:
    key = (expression.text, format, prune, *map(_operand_key, given))
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = _prepare(expression, given, format, prune, None)
    if must_compile and not call.runner.is_compiled:
        return None
    extents = _extents(expression, call.indices, call.slots, given)
    try:
        return _run(call, given, extents)
    except IndexWidthError:
        call = _calls[key] = _prepare(expression, given, format, prune, "int64")
        return _run(call, given, extents)


def _operand_key(operand: Operand) -> Hashable:
    values = operand.values
    if operand.format.is_dense:
        return operand.format, values.dtype.str
    size = len(values).bit_length() // 6
    return operand.format, values.dtype.str, _index_dtype(operand), size


def _index_dtype(operand: Operand) -> str:
    for buffers in operand._levels:
        for buffer in buffers.values():
            return buffer.dtype.name
    return "int64"


def _run(call: _Call, given: Sequence[Operand], extents: Sequence[int]) -> Stored:
    single = call.runner.single
    if single is not None and call.kernel_slots is not None:
        ordered = [given[number] for _, number in call.names]
        return single.run(ordered, [extents[slot] for slot in call.kernel_slots])
    named = {name: given[number] for name, number in call.names}
    return call.runner.run(named, dict(zip(call.indices, extents, strict=True)))


def _extents(
    expression: Expression,
    indices: tuple[str, ...],
    slots: tuple[tuple[int, tuple[int, ...]], ...],
    given: Sequence[Operand],
) -> list[int]:
    """Return each index's extent; every access must agree on it."""
    found = [-1] * len(indices)
    for number, dimensions in slots:
        shape = given[number].shape
        if len(shape) != len(dimensions):
            raise ExpressionError(
                f"{expression.text}: expected {len(dimensions)} dimensions for "
                f"{expression.tensors[number]}, got shape {shape}"
            )
        for slot, extent in zip(dimensions, shape, strict=True):
            if found[slot] != extent:
                if found[slot] >= 0:
                    _raise_extents(expression, slots, slot, given)
                found[slot] = extent
    return found


def _raise_extents(
    expression: Expression,
    slots: tuple[tuple[int, tuple[int, ...]], ...],
    slot: int,
    given: Sequence[Operand],
) -> None:
    seen = [
        f"{given[number].shape[axis]} in axis {axis} of {expression.tensors[number]} "
        f"(shape {given[number].shape})"
        for number, dimensions in slots
        for axis, other in enumerate(dimensions)
        if other == slot
    ]
    raise ShapeError(
        f"{expression.text}: expected one extent for each index, got {', '.join(seen)}"
    )


def _prepare(
    expression: Expression,
    given: Sequence[Operand],
    format: Format | None,
    prune: bool,
    index_dtype: str | None,
) -> _Call:
    indices, slots = _index_slots(expression, given)
    extents = _extents(expression, indices, slots, given)
    sizes = dict(zip(indices, extents, strict=True))
    compiled = plan_problem(expression, given, sizes, format, prune, index_dtype)
    runner = PlanRunner(compiled)
    kernel_slots = None
    if runner.single is not None:
        order = runner.single.spec.index_order
        kernel_slots = tuple(indices.index(index) for index in order)
    return _Call(runner, expression.operands, indices, slots, kernel_slots)


def _index_slots(
    expression: Expression, given: Sequence[Operand]
) -> tuple[tuple[str, ...], tuple[tuple[int, tuple[int, ...]], ...]]:
    """Return the indices, and for each access which of them its dimensions are."""
    if len(given) != len(expression.tensors):
        raise ExpressionError(
            f"{expression.text}: expected {len(expression.tensors)} operands, got "
            f"{len(given)}"
        )
    indices = tuple(
        dict.fromkeys(i for access, _ in expression.axes for i in access.indices)
    )
    slots = tuple(
        (number, tuple(indices.index(index) for index in access.indices))
        for access, number in expression.axes
    )
    return indices, slots


def operands_plan(
    expression: Expression,
    operands: Sequence[Operand | npt.NDArray[Any]],
    format: Format | None = None,
) -> CompiledPlan:
    """Return the plan of an expression for operands, without compiling anything."""
    given = [
        dense_operand(operand) if isinstance(operand, np.ndarray) else operand
        for operand in operands
    ]
    indices, slots = _index_slots(expression, given)
    extents = _extents(expression, indices, slots, given)
    sizes = dict(zip(indices, extents, strict=True))
    return plan_problem(expression, given, sizes, format)


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
