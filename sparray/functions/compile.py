"""Compile an expression for formats, before there is any operand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sparray._kernels.targets import host_target
from sparray.compiler.cin.printer import print_statement
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.pipeline import KernelSpec, compile_problem
from sparray.compiler.problem import Problem, TensorSpec, result_spec
from sparray.compiler.scheduler.output_format import infer_format
from sparray.convert import array
from sparray.dispatch import evaluate_expression
from sparray.errors import ExpressionError
from sparray.execution import PlanRunner
from sparray.expression import Expression, assignment_expression
from sparray.formats.coordinates import as_dtype
from sparray.formats.format import Format
from sparray.formats.named import as_format
from sparray.functions.einsum import Operand, as_operand
from sparray.results import wrap_result
from sparray.sparse_array import SparseArray

__all__ = ["Kernel", "compile"]


@dataclass(frozen=True)
class Kernel:
    """A compiled expression for operands of given formats and one dtype.

    Attributes
    ----------
    expression : Expression
        What it computes.
    runner : PlanRunner
        Its compiled steps; one unless the scheduler needed a temporary.
    """

    expression: Expression
    runner: PlanRunner

    def __call__(self, *operands: Any) -> Operand:
        """Compute the result for operands of the compiled formats and dtypes."""
        formats = dict(self.runner.compiled.plan.problem.operands)
        if len(operands) != len(self.expression.tensors):
            raise ExpressionError(
                f"{self.expression.text}: expected {len(self.expression.tensors)} "
                f"operands, got {len(operands)}"
            )
        made = []
        for number, value in enumerate(operands):
            name = next(n for n, m in self.expression.operands if m == number)
            spec = formats[name]
            operand = as_operand(self.expression.tensors[number], value)
            if spec.format.is_dense:
                if isinstance(operand, np.ndarray):
                    operand = operand.astype(spec.dtype, copy=False)
            made.append(_fitting(operand, spec))
        format = self.runner.compiled.plan.problem.output.format
        return wrap_result(
            evaluate_expression(self.expression, made, format), SparseArray
        )

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
        """The commands that the scheduler applied, a line per kernel."""
        return "\n".join(spec.decision.schedule for spec in self._specs)

    @property
    def index_notation(self) -> str:
        """The canonical assignment."""
        return print_assignment(self.expression.assignment)

    @property
    def cin(self) -> str:
        """The scheduled concrete index notation."""
        return "\n".join(
            print_statement(spec.decision.statement) for spec in self._specs
        )

    @property
    def loops(self) -> str:
        """The loop IR."""
        return "\n\n".join(spec.loops for spec in self._specs)


def _fitting(operand: Operand, spec: TensorSpec) -> Operand:
    if isinstance(operand, np.ndarray):
        if spec.format.is_dense:
            return operand
        operand = array(operand, format=spec.format)
    if operand.dtype != spec.dtype:
        operand = operand.astype(spec.dtype)
    return operand.to_format(spec.format)


def compile(
    expression: str,
    *,
    dtype: npt.DTypeLike = "float64",
    index_dtype: str = "int32",
    **formats: str | Format,
) -> Kernel:
    """Compile an assignment for operands of given formats, without any operand.

    Parameters
    ----------
    expression : str
        ``"C[i,j] = A[i,k] * B[k,j]"``.
    dtype : dtype
        Of every operand.
    index_dtype : {"int32", "int64"}
        Of every sparse operand's ``pos`` and ``crd``.
    **formats : str or Format
        The format of each operand (dense where not given), and of the result (inferred
        where not given).

    Returns
    -------
    Kernel
        Call it with operands; read its ``source``, ``schedule``, ``cin``, ``loops``.

    Examples
    --------
    >>> import sparray as sp
    >>> kernel = sp.compile("y[i] = A[i,j] * x[j]", A="csr", dtype="float32")
    >>> kernel.schedule
    'reorder(i j).unroll(j, 4).parallelize(i).assemble(insert)'
    """
    parsed = assignment_expression(expression)
    stated = expression.partition("=")[0].partition("[")[0].strip()
    unknown = [n for n in formats if n not in (*parsed.tensors, stated)]
    if unknown:
        raise ExpressionError(
            f"{expression}: expected formats of {', '.join(parsed.tensors)} and "
            f"{stated}, got {', '.join(unknown)}"
        )
    name = as_dtype(dtype).name
    reads = {access.tensor: len(access.indices) for access, _ in parsed.axes}
    operands = tuple(
        (
            operand,
            _spec(
                formats.get(parsed.tensors[number]), reads[operand], name, index_dtype
            ),
        )
        for operand, number in parsed.operands
    )
    target = parsed.assignment.target
    if stated in formats:
        made = as_format(formats[stated], len(target.indices))
    else:
        made = infer_format(parsed.assignment, operands)
    dtypes = {operand: name for operand, _ in operands}
    result = result_dtype(parsed.assignment.value, dtypes)
    output = _spec(made, len(target.indices), result, index_dtype)
    output = result_spec(parsed.assignment.value, operands, output)
    problem = Problem(parsed.assignment, operands, output)
    compiled = compile_problem(problem, host_target().vector_bytes)
    return Kernel(parsed, PlanRunner(compiled))


def _spec(
    format: str | Format | None, ndim: int, dtype: str, index_dtype: str
) -> TensorSpec:
    made = as_format("dense" if format is None else format, ndim)
    if any(level.roles for level in made.levels):
        return TensorSpec(made, dtype, index_dtype)
    return TensorSpec(made, dtype)
