"""Check one problem at every stage of the compiler against dense NumPy.

Dense NumPy = CIN at every stage of the schedule = loop IR = compiled kernel; the
stored pattern is what the operands' patterns say; the buffers are well-formed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from oracle_reference import reference_answer

from sparray import dispatch
from sparray.compiler import names
from sparray.compiler.absence import Absence, fill_of
from sparray.compiler.cin.interpreter import run as run_cin
from sparray.compiler.hand_schedule import Schedule
from sparray.compiler.index_notation.dtypes import result_dtype, settle_literals
from sparray.compiler.index_notation.exact import without_annihilators
from sparray.compiler.index_notation.interpreter import Evaluator, align, evaluate
from sparray.compiler.index_notation.nodes import Assignment, Reduce
from sparray.compiler.index_notation.pattern import evaluate_pattern
from sparray.compiler.index_notation.traversal import walk
from sparray.compiler.index_notation.verify import index_extents
from sparray.compiler.loop_ir import interpreter
from sparray.compiler.loop_ir.dtypes import is_half, numpy_dtype, widened
from sparray.compiler.lower import parallel
from sparray.compiler.pipeline import CompiledPlan, compile_problem
from sparray.compiler.scheduler.plan import plan_ways
from sparray.compiler.scheduler.statistics import assumed_statistics
from sparray.compiler.scheduler.steps import KernelStep
from sparray.compiler.scheduler.ways import Way
from sparray.errors import DTypeError, SparrayError, UnsupportedError
from sparray.evaluation import execution, planning
from sparray.evaluation.execution import PlanRunner
from sparray.evaluation.expression import (
    Expression,
    assignment_expression,
    einsum_expression,
)
from sparray.evaluation.reforming import take_step
from sparray.evaluation.stored import Stored, dense_operand
from sparray.formats import Format
from sparray.formats.packing import check_buffers, unpack_coordinates
from sparray.sparse_array import SparseArray

__all__ = [
    "Question",
    "check_dispatch",
    "check_stages",
    "counted",
    "check_ways",
    "densify",
    "interpreted",
    "pattern_of",
    "plan_of",
    "refusal",
    "ways_of",
]


@dataclass(frozen=True)
class Question:
    """A problem with its operands.

    Attributes
    ----------
    text : str
        An assignment, or einsum subscripts.
    operands : tuple of SparseArray or ndarray
        In the order of the expression's tensors.
    format : Format or None
        Of the result.
    assumed : bool
        Plan by assumed statistics instead of the operands' own.
    vector_bytes : int
        Width of the vector registers to plan for.
    schedule : Schedule or None
        Of the one kernel, by hand.
    """

    text: str
    operands: tuple[Any, ...]
    format: Format | None = None
    assumed: bool = False
    vector_bytes: int = 32
    missing: str = "zero"
    schedule: Schedule | None = None

    @property
    def expression(self) -> Expression:
        if "=" in self.text:
            return assignment_expression(self.text, self.missing, self.schedule)
        operands = self.operands
        return einsum_expression(self.text, operands, self.missing, self.schedule)

    @property
    def stated(self) -> Assignment:
        """The assignment as dense NumPy evaluates it."""
        return self.expression.assignment

    @property
    def meaning(self) -> Assignment:
        """The assignment, whose products say what a missing factor does to them."""
        assignment = self.expression.assignment
        if self.missing == "zero":
            return assignment
        numbers = dict(self.expression.operands)
        dtypes = {name: self.operands[n].dtype.name for name, n in numbers.items()}
        exact = without_annihilators(assignment.value, dtypes)
        return Assignment(assignment.target, exact)

    def __repr__(self) -> str:
        lines = [f"Question {self.text!r} -> {self.format}"]
        for operand in self.operands:
            if isinstance(operand, np.ndarray):
                lines.append(f"  ndarray {operand.dtype} {operand.tolist()}")
            else:
                coords, values = operand.to_coords()
                lines.append(
                    f"  {operand.format} {operand.shape} {operand.dtype} "
                    f"{operand.index_dtype} {coords.T.tolist()} {values.tolist()} "
                    f"fill {operand.fill_value}"
                )
        return "\n".join(
            [
                *lines,
                f"  {self.assumed=} {self.vector_bytes=} {self.missing=}",
                f"  schedule {self.schedule}",
            ]
        )


def _poisoned(size: int, dtype: Any) -> np.ndarray:
    """Return memory that is not initialised, with something to stumble over."""
    return np.full(size, 77, dtype)


@contextmanager
def interpreted(threads: int = 3) -> Iterator[None]:
    """Run kernels in the loop IR interpreter, in as many chunks as possible."""
    with (
        mock.patch.object(execution, "load_kernel", lambda key, make: None),
        mock.patch.object(execution, "num_threads", lambda: threads),
        mock.patch.object(execution, "empty", _poisoned),
        mock.patch.object(parallel, "WORK_PER_THREAD", 1),
        mock.patch.object(dispatch, "_calls", {}),
    ):
        yield


def densify(array: Any) -> np.ndarray:
    """Return every element; repeated coordinates are added up."""
    if isinstance(array, np.ndarray):
        return array.astype(array.dtype.newbyteorder("="))
    if array.format.is_dense:
        return Stored.as_ndarray(array)
    coords, values = unpack_coordinates(
        array.format,
        array.shape,
        array._levels,
        array.values,
        array.values.dtype.type(0),
    )
    dense = np.zeros(array.shape, values.dtype)
    if array.format.unique:
        dense[tuple(coords)] = values
    else:
        add = np.logical_or if dense.dtype == bool else np.add
        add.at(dense, tuple(coords), values)
    dense[~pattern_of(array)] = array.fill_value
    return dense


def pattern_of(array: Any) -> np.ndarray:
    """Return where an array stores an entry: everywhere, if it is dense."""
    if isinstance(array, np.ndarray) or array.format.is_dense:
        return np.ones(array.shape, bool)
    coords, _ = unpack_coordinates(
        array.format,
        array.shape,
        array._levels,
        array.values,
        array.values.dtype.type(0),
    )
    stored = np.zeros(array.shape, bool)
    stored[tuple(coords)] = True
    return stored


def counted(call: Callable[[], Any]) -> tuple[int, Any]:
    """Return the iterations of all loops of all kernels, and what a call gives."""
    counter: dict[str, int] = {}
    plain = interpreter.run

    def run(function: Any, arguments: Any) -> None:
        plain(function, arguments, counter=counter)

    with mock.patch.object(interpreter, "run", run), interpreted(threads=1):
        result = call()
    return sum(counter.values()), result


def plan_of(question: Question, way: Way | None = None) -> CompiledPlan:
    """Return the plan of a question, for its own vector width."""
    with mock.patch.object(
        planning,
        "compile_problem",
        lambda problem, _, statistics, by_hand: compile_problem(
            problem,
            question.vector_bytes,
            None if question.assumed else statistics,
            way if by_hand is None else by_hand,
        ),
    ):
        return planning.operands_plan(
            question.expression, question.operands, question.format
        )


def reference(question: Question) -> tuple[np.ndarray, np.ndarray]:
    """Return the answer of dense NumPy, and which entries of it are stored.

    The interpreter and the pattern evaluator of index notation say the same.
    """
    expression = question.expression
    operands = {n: question.operands[k] for n, k in expression.operands}
    arrays = {n: densify(operand) for n, operand in operands.items()}
    patterns = {n: pattern_of(operand) for n, operand in operands.items()}
    meaning = question.meaning
    dtypes = {n: array.dtype.name for n, array in arrays.items()}
    # Halves are computed as float32 and rounded once.
    settled = Assignment(meaning.target, settle_literals(meaning.value, dtypes))
    wide = {n: widened(array) for n, array in arrays.items()}
    expected, stored = reference_answer(settled, wide, patterns, expression.sources)
    with np.errstate(all="ignore"):
        expected = expected.astype(numpy_dtype(result_dtype(meaning.value, dtypes)))
    finite = all(np.isfinite(array).all() for array in wide.values())
    if finite or question.missing == "fill":
        with np.errstate(all="ignore"):
            plain = evaluate(question.stated, arrays, sources=expression.sources)
            # Of finite numbers a quotient alone may be NaN, where both are 0.
            same(np.where(plain == plain, plain, expected), expected)
    if not sums_over_nothing(question):
        absence = Absence(
            dtypes,
            {n: fill_of(getattr(a, "fill_value", 0)) for n, a in operands.items()},
            frozenset(n for n, array in arrays.items() if array.ndim == 0),
        )
        found = evaluate_pattern(
            meaning, patterns, absence=absence, sources=expression.sources
        )
        np.testing.assert_array_equal(found, stored)
    return expected, stored


def check_result(question: Question, result: Stored) -> None:
    """Compare a result with dense NumPy, its pattern, and its buffers."""
    expected, wanted = reference(question)
    assert result.shape == expected.shape
    assert result.values.dtype == expected.dtype
    if not result.format.is_dense:
        check_buffers(result.format, result.shape, result._levels, result.values)
    same(densify(result), expected)
    if result.format.is_dense:
        return
    stored = pattern_of(result)
    if any(level.bounded for level in result.format.levels):
        # Zeros have no place of their own there: others may be stored instead.
        wanted &= expected != 0
    if sums_over_nothing(question) or result.format.pads:
        # An empty sum may be stored as the zero that it is, and a block has padding.
        assert not (wanted & ~stored).any()
    else:
        assert np.array_equal(stored, wanted)
    if (
        result.format.unique
        and result.format.levels[-1].compact
        and not result.format.hides
    ):
        assert len(result.values) == wanted.sum() or sums_over_nothing(question)


def sums_over_nothing(question: Question) -> bool:
    """Tell whether an index that is summed over has no values."""
    expression = question.expression
    shapes = {n: question.operands[k].shape for n, k in expression.operands}
    extents = index_extents(expression.assignment, shapes, expression.sources)
    summed = [
        index
        for node in walk(expression.assignment.value)
        if isinstance(node, Reduce)
        for index in node.indices
    ]
    return any(extents[index] == 0 for index in summed)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare numbers: exactly, but for rounding in another order.

    A 16-bit result is rounded once, from float32: one unit in its last place. Products
    of complex numbers with infinite parts are infinite or NaN by the order of factors:
    either is right where the other is.
    """
    if expected.dtype.kind == "c":
        wild = ~np.isfinite(found) & ~np.isfinite(expected)
        found, expected = np.where(wild, 0, found), np.where(wild, 0, expected)
    if is_half(expected.dtype):
        last = {"float16": 2**-10, "bfloat16": 2**-7}[expected.dtype.name]
        wide = found.astype(np.float32), expected.astype(np.float32)
        np.testing.assert_allclose(*wide, rtol=last)
    elif expected.dtype.kind in "fc":
        single = expected.dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(found, expected, rtol=1e-4 if single else 1e-10)
    else:
        np.testing.assert_array_equal(found, expected)


def ways_of(question: Question) -> tuple[Way, ...]:
    """Return every way in which a question could be computed."""
    problem, statistics = planning.operands_problem(
        question.expression, question.operands, question.format
    )
    if question.assumed:
        statistics = assumed_statistics(problem)
    return plan_ways(problem, statistics, question.vector_bytes)


def check_ways(question: Question, *, most: int = 40) -> int:
    """Check every way to compute a question; evenly chosen ones if there are many."""
    ways = ways_of(question)
    for way in ways[:: -(-len(ways) // most) or 1]:
        try:
            check_stages(question, way=way)
        except Exception as error:
            error.add_note(f"by the way {way}")
            raise
    return len(ways)


def check_stages(
    question: Question, *, threads: int = 3, way: Way | None = None
) -> None:
    """Check every stage of every step of a question's plan, without a compiler.

    Of the scheduler's plan, or of another way that it could have chosen.
    """
    with interpreted(threads):
        compiled = plan_of(question, way)
        runner = PlanRunner(compiled)
        expression = question.expression
        given = {
            n: dense_operand(question.operands[k])
            if isinstance(question.operands[k], np.ndarray)
            else question.operands[k]
            for n, k in expression.operands
        }
        arrays: dict[str, Any] = dict(given)
        for step, kernel in runner.steps:
            if not isinstance(step, KernelStep):
                arrays[step.result] = take_step(arrays[step.source], step)
                continue
            operands = [arrays[name] for name in step.operands]
            outer = index_extents(
                expression.assignment,
                {n: a.shape for n, a in given.items()},
                expression.sources,
            )
            sizes = execution._extents(kernel, operands, outer)
            _check_cin(kernel, operands, sizes)
            arrays[step.result] = kernel.run(operands, sizes)
        check_result(question, arrays[names.OUTPUT])


def _check_cin(
    kernel: execution.Runner, operands: Sequence[Any], sizes: Sequence[int]
) -> None:
    """Every stage of a schedule computes what the step's problem says."""
    problem = kernel.problem
    dense = {
        name: densify(operand)
        for (name, _), operand in zip(problem.operands, operands, strict=True)
    }
    with np.errstate(all="ignore"):
        target = problem.assignment.target
        extents = dict(zip(kernel.spec.index_order, sizes, strict=True))
        shape = tuple(extents[index] for index in target.indices)
        # Not `evaluate`: a simplified sum may have lost an index, which it forbids.
        value = Evaluator(dense, extents).evaluate(problem.assignment.value)
        expected = np.broadcast_to(align(value, target.indices), shape)
        for stage in kernel.spec.decision.stages:
            found = run_cin(stage, dense, extents, problem.output.dtype, target=target)
            same(found, expected.astype(problem.output.dtype))


def check_dispatch(question: Question) -> Stored:
    """Check the answer of the whole road, with compiled kernels."""
    result = dispatch.evaluate_expression(
        question.expression, question.operands, question.format
    )
    check_result(question, result)
    return result


def refusal(
    question: Question, check: Callable[[Question], Any]
) -> SparrayError | None:
    """Check a question; return the refusal if it is one that is known of."""
    try:
        check(question)
    except UnsupportedError as error:
        known = ("got relu of complex",)
        assert any(text in str(error) for text in known), question
        return error
    except DTypeError as error:
        known = ("subtract", "out of bounds")
        assert any(text in str(error) for text in known), question
        return error
    except Exception as error:
        error.add_note(repr(question))
        raise
    return None


def wrap(result: Stored) -> SparseArray:
    """Return a result as an array."""
    zero = result.values.dtype.type(0)
    return SparseArray._from_trusted(
        result.format, result.shape, result._levels, result.values, zero
    )
