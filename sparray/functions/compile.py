"""Compile an expression for formats, before there is any operand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.targets import host_target
from sparray.compiler.absence import fill_of
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.semiring import (
    Semiring,
    as_semiring,
    refuse_without_zero,
)
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.pipeline import CompiledPlan, KernelSpec, compile_problem
from sparray.compiler.problem import Problem, TensorSpec, result_spec
from sparray.compiler.scheduler.output_format import infer_format
from sparray.convert import array
from sparray.dispatch import check_memory, evaluate_expression
from sparray.errors import DTypeError, ExpressionError
from sparray.evaluation.execution import PlanRunner
from sparray.evaluation.expression import Expression, assignment_expression, mask_kind
from sparray.evaluation.joining import Joining, join_indices
from sparray.evaluation.planning import operand_specs, stated_assignment
from sparray.evaluation.program_texts import is_program
from sparray.evaluation.programs import parsed_program
from sparray.evaluation.readings import Given, mask_operand, read_operands
from sparray.evaluation.stored import IndexWidthError, Stored, stored_operand
from sparray.formats.coordinates import as_dtype
from sparray.formats.format import Format
from sparray.formats.named import as_format, named_format
from sparray.functions.compile_program import (
    PlannedProgram,
    ProgramKernel,
    planned_program,
)
from sparray.functions.einsum import Operand, as_operand, with_mask
from sparray.functions.kernel_texts import KernelTexts
from sparray.functions.option_names import naming_options
from sparray.functions.program_arguments import program_options
from sparray.functions.schedule import Schedule, as_only_schedule, as_schedule
from sparray.records import dataclass
from sparray.results import wrap_result
from sparray.sparse_array import SparseArray

__all__ = [
    "Kernel",
    "PlannedKernel",
    "compile",
    "plan_kernel",
    "plan_program_kernel",
]


@dataclass(frozen=True)
class Kernel(KernelTexts):
    """A compiled expression for operands of given formats and one dtype.

    Attributes
    ----------
    expression : Expression
        What it computes.
    runner : PlanRunner
        Its compiled steps; one unless the scheduler needed a temporary.
    problem : Problem
        What it computes of operands of which formats.
    joining : Joining or None
        The expression that the steps compute, where indices that occur together are
        computed as one.
    """

    expression: Expression
    runner: PlanRunner
    problem: Problem
    joining: Joining | None = None

    def __call__(self, *operands: Any, mask: Any = None) -> Operand:
        """Compute the result for operands of the compiled formats and dtypes."""
        formats = dict(self.problem.operands)
        tensors = self.expression.tensors
        named = [name for name in tensors if name != self.expression.mask]
        if len(operands) != len(named) or (mask is None) != (named == [*tensors]):
            masked = "" if named == [*tensors] else " and a mask"
            raise ExpressionError(
                f"{self.expression.text}: expected {len(named)} operands{masked}, got "
                f"{len(operands)}{'' if mask is None else ' and a mask'}"
            )
        given = with_mask(self.expression, list(operands), mask)
        made: list[Given] = []
        for number, value in enumerate(given):
            name = next(n for n, m in self.expression.operands if m == number)
            if tensors[number] == self.expression.mask:
                made.append(_mask_fitting(value, formats[name]))
                continue
            operand = as_operand(tensors[number], value)
            made.append(_fitting_dtype(operand, formats[name]))
        return wrap_result(self._run(read_operands(self.expression, made)), SparseArray)

    def _run(self, operands: Sequence[Given]) -> Stored:
        """Run the kernels that are shown, if they are for such operands."""
        format = self.problem.output.format
        stored = [*map(stored_operand, operands)]
        specs = operand_specs(self.expression, stored)
        if self.joining is None and specs == dict(self.problem.operands):
            extents = self.expression.extents(stored)
            named = {name: stored[n] for name, n in self.expression.operands}
            check_memory(self.expression, self.runner.compiled, extents)
            sizes = dict(zip(self.expression.sizes, extents, strict=True))
            try:
                return self.runner.run(named, sizes)
            except IndexWidthError:
                pass
        # Of another index dtype or fill value, or in Fortran's order.
        return evaluate_expression(self.expression, operands, format)

    @property
    def _specs(self) -> Sequence[KernelSpec]:
        return [spec for spec in self.runner.compiled.kernels if spec is not None]

    @property
    def source(self) -> str:
        """The Cython source of each of its kernels."""
        kernels = [
            runner.kernel for _, runner in self.runner.steps if runner is not None
        ]
        return "\n".join(kernel.source for kernel in kernels if kernel is not None)

    @property
    def schedule(self) -> str:
        """The commands that were applied, a line per kernel.

        Of a single kernel they are in the expression's own index names, and
        ``schedule=`` takes them.
        """
        if len(self._specs) == 1 and self.joining is None:
            return self.expression.user_names.schedule(self._specs[0].decision)
        return super().schedule

    @property
    def index_notation(self) -> str:
        """The canonical assignment."""
        expression = (
            self.expression if self.joining is None else self.joining.expression
        )
        return print_assignment(expression.assignment)


def _fitting_dtype(operand: Operand, spec: TensorSpec) -> Operand:
    if spec.format.is_dense and isinstance(operand, np.ndarray):
        operand = operand.astype(spec.dtype, copy=False)
    return _fitting(operand, spec)


def _mask_fitting(mask: Given, spec: TensorSpec) -> Given:
    if isinstance(mask, np.ndarray):
        return mask
    made = SparseArray._from_trusted(
        mask.format, mask.shape, mask._levels, mask.values, np.False_
    )
    return mask_operand(made.to_format(spec.format))


def _fitting(operand: Operand, spec: TensorSpec) -> Operand:
    if isinstance(operand, np.ndarray):
        if spec.format.is_dense:
            return operand
        operand = array(operand, format=spec.format)
    if operand.dtype != spec.dtype:
        operand = operand.astype(spec.dtype)
    return operand.to_format(spec.format)


@naming_options
def compile(
    expression: str,
    /,
    *,
    dtype: npt.DTypeLike = "float64",
    index_dtype: str = "int32",
    schedule: Schedule | str | Mapping[str, Schedule | str] | None = None,
    semiring: Semiring | str | None = None,
    mask: str | Format | None = None,
    complement: bool = False,
    **formats: str | Format,
) -> Kernel | ProgramKernel:
    """Compile an assignment for operands of given formats, without any operand.

    Or a program of several, whose operands are given in the order in which they are
    read first.

    Parameters
    ----------
    expression : str
        ``"C[i,j] = A[i,k] * B[k,j]"``.
    dtype : dtype
        Of every operand.
    index_dtype : {"int32", "int64"}
        Of every sparse operand's ``pos`` and ``crd``.
    schedule : Schedule or str, or a mapping of them, optional
        By hand; see `sparray.schedule`. Of several statements, by what they assign.
    semiring : str or Semiring, optional
        As for `sparray.einsum`.
    mask : str or Format, optional
        The format of a mask, which calls then take as ``mask=``.
    complement : bool
        As for `sparray.einsum`.
    **formats : str or Format
        The format of each operand (dense where not given), and of the result (inferred
        where not given).

    Returns
    -------
    Kernel or ProgramKernel
        Call it with operands; read its ``source``, ``schedule``, ``cin``, ``loops``.

    Raises
    ------
    ExpressionError
        If the text cannot be read, or a format is of no tensor in it.
    ScheduleError
        If the schedule does not fit the expression and the formats.

    Examples
    --------
    >>> import sparray as sp
    >>> kernel = sp.compile("y[i] = A[i,j] * x[j]", A="csr", dtype="float32")
    >>> kernel.schedule
    'reorder(i j).unroll(j, 4).parallelize(i).assemble(insert)'
    """
    if is_program(expression):
        program = plan_program_kernel(
            expression,
            dtype=dtype,
            index_dtype=index_dtype,
            schedule=schedule,
            semiring=semiring,
            mask=mask,
            complement=complement,
            formats=formats,
        )
        return program.compile(_fitting_dtype)
    planned = plan_kernel(
        expression,
        dtype=dtype,
        index_dtype=index_dtype,
        schedule=as_only_schedule(schedule, expression),
        semiring=semiring,
        mask=mask,
        complement=complement,
        formats=formats,
    )
    runner = PlanRunner(planned.steps)
    return Kernel(planned.expression, runner, planned.problem, planned.joining)


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    """All that a `Kernel` is made of, before anything is compiled.

    Attributes
    ----------
    expression : Expression
        What it computes.
    steps : CompiledPlan
        The kernels that it needs.
    problem : Problem
        Formats and dtypes.
    joining : Joining or None
        As for `Kernel`.
    """

    expression: Expression
    steps: CompiledPlan
    problem: Problem
    joining: Joining | None = None


def plan_kernel(
    expression: str,
    *,
    dtype: npt.DTypeLike = "float64",
    index_dtype: str = "int32",
    schedule: Schedule | str | None = None,
    semiring: Semiring | str | None = None,
    mask: str | Format | None = None,
    complement: bool = False,
    formats: Mapping[str, str | Format],
) -> PlannedKernel:
    """Return what `compile` would compile for the same arguments."""
    over = as_semiring(semiring)
    parsed = assignment_expression(
        expression,
        schedule=as_schedule(schedule),
        semiring=over,
        mask=mask_kind(mask, complement),
    )
    stated = expression.partition("=")[0].partition("[")[0].strip()
    tensors = [tensor for tensor in parsed.tensors if tensor != parsed.mask]
    unknown = [n for n in formats if n not in (*tensors, stated)]
    if unknown:
        raise ExpressionError(
            f"{expression}: expected formats of {', '.join(tensors)} and "
            f"{stated}, got {', '.join(unknown)}"
        )
    if parsed.mask is not None and mask is not None:
        formats = {**formats, parsed.mask: mask}
    name = as_dtype(dtype).name
    reads = {access.tensor: len(access.indices) for access, _ in parsed.axes}
    ndims = {parsed.tensors[n]: reads[operand] for operand, n in parsed.operands}
    _check_zero(expression, over, {n: ndims[n] for n in tensors}, formats)
    operands = tuple(
        (
            operand,
            _spec(
                formats.get(parsed.tensors[number]),
                reads[operand],
                "bool" if parsed.tensors[number] == parsed.mask else name,
                index_dtype,
                None if parsed.tensors[number] == parsed.mask else over,
            ),
        )
        for operand, number in parsed.operands
    )
    assignment = stated_assignment(parsed, operands)
    target = assignment.target
    if stated in formats:
        made = as_format(formats[stated], len(target.indices))
    else:
        made = infer_format(assignment, operands)
    dtypes = {operand: spec.dtype for operand, spec in operands}
    result = result_dtype(assignment.value, dtypes)
    output = _spec(made, len(target.indices), result, index_dtype)
    output = result_spec(assignment.value, operands, output)
    problem = Problem(assignment, operands, output)
    vector_bytes = host_target().vector_bytes
    joining = None
    if parsed.schedule is None:
        joining = join_indices(parsed, dict(operands))
    if joining is not None and not (joining.changes_target and made.is_full):
        steps = compile_problem(_fused_problem(joining, problem), vector_bytes)
        return PlannedKernel(parsed, steps, problem, joining)
    steps = compile_problem(problem, vector_bytes, way=parsed.by_hand)
    return PlannedKernel(parsed, steps, problem)


def plan_program_kernel(
    text: str,
    *,
    dtype: npt.DTypeLike = "float64",
    index_dtype: str = "int32",
    schedule: Any = None,
    semiring: Semiring | str | None = None,
    mask: str | Format | None = None,
    complement: bool = False,
    formats: Mapping[str, str | Format],
) -> PlannedProgram:
    """Return what `compile` would compile of several statements."""
    program = parsed_program(text)
    options = program_options(program, "zero", schedule, semiring, mask, complement)
    name, over = as_dtype(dtype).name, options.semiring
    reads = [a for s in program.statements for a in accesses(s.value)]
    ndims = {a.tensor: len(a.indices) for a in reads if a.tensor in program.operands}
    _check_zero(program.text, over, ndims, formats)
    mask_spec = None
    if mask is not None:
        (result,) = program.outputs
        target = next(s.target for s in program.statements if s.target.tensor == result)
        mask_spec = _spec(mask, len(target.indices), "bool", index_dtype)
    return planned_program(
        program,
        formats,
        lambda format, ndim: _spec(format, ndim, name, index_dtype, over),
        options,
        mask_spec,
    )


def _check_zero(
    text: str,
    semiring: Semiring | None,
    ndims: Mapping[str, int],
    formats: Mapping[str, str | Format],
) -> None:
    """Raise an error if sparse operands have no number where nothing is stored."""
    if semiring is None or semiring.zero is not None:
        return
    for tensor, ndim in ndims.items():
        if tensor in formats and not as_format(formats[tensor], ndim).is_dense:
            raise refuse_without_zero(text, tensor)


def _fused_problem(joining: Joining, problem: Problem) -> Problem:
    """Return what is computed in place of a problem: of numbered operands."""
    specs = problem.specs
    expression = joining.expression
    operands = []
    for (name, _), read in zip(expression.operands, joining.reads, strict=True):
        spec = specs[read.tensor]
        access = next(a for a, _ in expression.axes if a.tensor == name)
        if access.indices != read.indices:
            # A place's number fits int32 where each coordinate does.
            levels = named_format("csf", len(access.indices))
            spec = replace(spec, format=levels, index_dtype="int32")
        operands.append((name, spec))
    target = expression.assignment.target
    output = problem.output
    if joining.changes_target:
        output = replace(output, format=named_format("csf", len(target.indices)))
    return Problem(expression.assignment, tuple(operands), output)


def _spec(
    format: str | Format | None,
    ndim: int,
    dtype: str,
    index_dtype: str,
    semiring: Semiring | None = None,
) -> TensorSpec:
    if index_dtype not in ("int32", "int64"):
        raise DTypeError(f"index_dtype: expected int32 or int64, got {index_dtype!r}")
    made = as_format("dense" if format is None else format, ndim)
    if any(level.roles for level in made.levels):
        zero = 0 if semiring is None else semiring.zero_of(dtype)
        return TensorSpec(made, dtype, index_dtype, fill_of(zero))
    return TensorSpec(made, dtype)
