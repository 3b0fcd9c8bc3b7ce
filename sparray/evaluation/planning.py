"""Plan an expression for operands: what dispatch does the first time it sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.available import workspace_bytes
from sparray._kernels.runtime import can_load, num_threads
from sparray._kernels.targets import host_target
from sparray._kernels.tuned import recall
from sparray.compiler import names
from sparray.compiler.absence import fill_of
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.exact import without_annihilators
from sparray.compiler.index_notation.masks import state_outside
from sparray.compiler.index_notation.nodes import Assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.pipeline import CompiledPlan, compile_problem
from sparray.compiler.problem import Problem, TensorSpec, absence_of, result_spec
from sparray.compiler.scheduler.output_format import infer_format
from sparray.compiler.scheduler.plan import plan_ways
from sparray.compiler.scheduler.statistics import Statistics, bucket
from sparray.compiler.scheduler.ways import Way
from sparray.errors import (
    DTypeError,
    ExpressionError,
    SparrayError,
)
from sparray.evaluation.entry_counts import overlap_factors, position_counts
from sparray.evaluation.expression import Expression
from sparray.evaluation.product_repeats import product_repeats
from sparray.evaluation.stored import (
    Operand,
    count_class,
    index_dtype,
    rows_aligned,
    stored_operand,
)
from sparray.formats.format import Format
from sparray.formats.repetition import distinct_coordinates
from sparray.formats.unevenness import unevenness
from sparray.records import dataclass

__all__ = [
    "Described",
    "check_dtypes",
    "describe",
    "described_plan",
    "operand_spec",
    "operand_specs",
    "operands_plan",
    "operands_problem",
    "state_problem",
    "stated_assignment",
    "tuning_key",
]

_INT32_MAX = 2**31 - 1
_COMPILED = frozenset(
    {
        *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
        *("bool", "float16", "bfloat16", "float32", "float64"),
        *("complex64", "complex128"),
    }
)


def operands_plan(
    expression: Expression,
    operands: Sequence[Operand | npt.NDArray[Any]],
    format: Format | None = None,
    *,
    prune: bool = False,
    index_dtype: str | None = None,
    merging: str = "",
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
    merging : {"", "sort", "hash"}
        How repeated coordinates of an operand meet; by default the cheaper way.
    """
    problem, statistics = operands_problem(
        expression, operands, format, prune=prune, index_dtype=index_dtype
    )
    if merging:
        statistics = replace(statistics, merging=merging)
    vector_bytes = host_target().vector_bytes
    # What a user wrote by hand is not for measurements to replace.
    way = expression.by_hand or _tuned_way(problem, statistics, operands)
    compiled = compile_problem(problem, vector_bytes, statistics, way)
    if way is None and not can_load(kernel.key for kernel in compiled.all_kernels):
        # Kernels that came with the package are those of the usual settings.
        usual = replace(statistics, known=False, parallel=True)
        compiled = compile_problem(problem, vector_bytes, usual)
    return compiled


def tuning_key(
    problem: Problem, operands: Sequence[Operand | npt.NDArray[Any]]
) -> tuple[str, ...]:
    """Return what identifies a problem and its sizes to what was tuned for it.

    Sizes are classed as `sparray.dispatch` classes them, so that what is remembered
    holds for just those calls that share a plan.
    """
    classes = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            counts = [operand.size]
        else:
            counts = [len(operand.values)]
            if not operand.format.is_dense:
                counts.append(max(operand.shape, default=0))
        levels = () if isinstance(operand, np.ndarray) else operand._levels
        uneven = unevenness(levels, counts[0])
        aligned = isinstance(operand, np.ndarray) and rows_aligned(operand)
        classes.append((*map(count_class, counts), uneven, aligned))
    return problem.describe(), str(classes)


def _tuned_way(
    problem: Problem,
    statistics: Statistics,
    operands: Sequence[Operand | npt.NDArray[Any]],
) -> Way | None:
    """Return the way that was measured to be the best for a problem, if one was."""
    entry = recall(*tuning_key(problem, operands))
    if entry is None:
        return None
    ways = plan_ways(problem, statistics, host_target().vector_bytes)
    return next((way for way in ways if str(way) == entry.way), None)


def operands_problem(
    expression: Expression,
    operands: Sequence[Operand | npt.NDArray[Any]],
    format: Format | None = None,
    *,
    prune: bool = False,
    index_dtype: str | None = None,
) -> tuple[Problem, Statistics]:
    """Return what the compiler is asked for operands: see `operands_plan`."""
    if len(operands) != len(expression.tensors):
        raise ExpressionError(
            f"{expression.text}: expected {len(expression.tensors)} operands, got "
            f"{len(operands)}"
        )
    sizes = dict(zip(expression.sizes, expression.extents(operands), strict=True))
    given = [*map(stored_operand, operands)]
    described = tuple(map(describe, given))
    problem, statistics = state_problem(
        expression, described, sizes, format, prune, index_dtype
    )
    indices = {a.tensor: a.indices for a in accesses(expression.assignment.value)}
    named = {name: (indices[name], given[n]) for name, n in expression.operands}
    known = replace(
        statistics, overlaps=overlap_factors(named), repeats=product_repeats(named)
    )
    distinct = {
        name: estimate
        for name, n in expression.operands
        if (estimate := _distinct(given[n])) is not None
    }
    aligned = frozenset(
        name
        for name, n in expression.operands
        if isinstance(operand := operands[n], np.ndarray) and rows_aligned(operand)
    )
    return problem, replace(known, distinct=distinct, aligned=aligned)


def _distinct(operand: Operand) -> int | None:
    return distinct_coordinates(operand.format, operand._levels, len(operand.values))


def operand_specs(
    expression: Expression, given: Sequence[Operand]
) -> dict[str, TensorSpec]:
    """Return what an expression's operands are, by name."""
    return {name: operand_spec(given[number]) for name, number in expression.operands}


@dataclass(frozen=True, slots=True)
class Described:
    """What a plan needs to know of an operand, which need not exist yet.

    Attributes
    ----------
    spec : TensorSpec
        Format, dtypes and fill value.
    shape : tuple of int
        Extent of each dimension.
    positions : tuple of int
        Number of positions of each level.
    """

    spec: TensorSpec
    shape: tuple[int, ...]
    positions: tuple[int, ...]


def describe(operand: Operand) -> Described:
    """Return what a plan needs to know of an operand."""
    return Described(
        operand_spec(operand), operand.shape, tuple(position_counts(operand))
    )


def described_plan(
    expression: Expression,
    given: Sequence[Described],
    sizes: Mapping[str, int],
    format: Format | None,
    prune: bool = False,
    result_index_dtype: str | None = None,
) -> CompiledPlan:
    """Return the plan of an expression for operands like the given ones."""
    problem, statistics = state_problem(
        expression, given, sizes, format, prune, result_index_dtype
    )
    return compile_problem(
        problem, host_target().vector_bytes, statistics, expression.by_hand
    )


def state_problem(
    expression: Expression,
    given: Sequence[Described],
    sizes: Mapping[str, int],
    format: Format | None,
    prune: bool = False,
    result_index_dtype: str | None = None,
) -> tuple[Problem, Statistics]:
    """Return what the compiler is asked for operands like the given ones."""
    check_dtypes(expression, given)
    specs = tuple((name, given[number].spec) for name, number in expression.operands)
    dtypes = {name: spec.dtype for name, spec in specs}
    try:
        assignment = stated_assignment(expression, specs)
        dtype = result_dtype(assignment.value, dtypes)
    except SparrayError as error:
        raise type(error)(f"{expression.text}: {error}") from error
    if format is None:
        format = infer_format(assignment, specs)
    ndim = len(assignment.target.indices)
    if format.ndim != ndim:
        raise ExpressionError(
            f"{expression.text}: expected a format of {ndim} dimensions, got {format}"
        )
    wide = result_index_dtype or _result_index_dtype(expression, specs, sizes)
    output = (
        TensorSpec(format, dtype)
        if _no_buffers(format)
        else TensorSpec(format, dtype, wide)
    )
    output = result_spec(assignment.value, specs, output)
    problem = Problem(assignment, specs, output, prune)
    positions = {name: given[number].positions for name, number in expression.operands}
    statistics = Statistics(
        {index: bucket(size) for index, size in sizes.items()},
        {**positions, names.OUTPUT: [1] * format.n_levels},
        workspace_bytes(num_threads()),
        parallel=num_threads() > 1,
    )
    return problem, statistics


def stated_assignment(
    expression: Expression, specs: tuple[tuple[str, TensorSpec], ...]
) -> Assignment:
    """Return what an expression means for operands of some dtypes and fill values.

    That is what is missing in products, and what the result is outside of a mask.
    """
    assignment = expression.assignment
    if expression.missing == "fill":
        dtypes = {name: spec.dtype for name, spec in specs}
        exact = without_annihilators(assignment.value, dtypes)
        assignment = Assignment(assignment.target, exact)
    if expression.mask is None:
        return assignment
    semiring = expression.semiring
    return state_outside(
        assignment,
        absence_of(specs),
        (lambda dtype: 0) if semiring is None else semiring.zero_of,
        complement=expression.complement,
    )


def check_dtypes(expression: Expression, given: Sequence[Described]) -> None:
    """Raise an error if no kernel is compiled for a dtype."""
    for number, operand in enumerate(given):
        name = expression.tensors[number]
        dtype = operand.spec.dtype
        if dtype not in _COMPILED:
            raise DTypeError(
                f"{expression.text}: expected a dtype that kernels are compiled for "
                f"({', '.join(sorted(_COMPILED))}), got {dtype} in {name}"
            )


def operand_spec(operand: Operand) -> TensorSpec:
    """Return what an operand is to a kernel."""
    dtype = operand.values.dtype.name
    if _no_buffers(operand.format):
        return TensorSpec(operand.format, dtype)
    fill = fill_of(operand.fill_value)
    return TensorSpec(operand.format, dtype, index_dtype(operand).name, fill)


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
