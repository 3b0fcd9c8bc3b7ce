"""Results with blocks, and copies that keep an operand's entries, step by step."""

import numpy as np
import pytest
from oracle_check import Question, check_stages, interpreted, plan_of

import sparray as sp
from sparray.compiler.schedule.assemble import Assembly
from sparray.compiler.scheduler.steps import SortStep
from sparray.evaluation.execution import PlanRunner
from sparray.formats import as_format

SHAPES = ((9, 11), (8, 12), (1, 5), (13, 1), (0, 4), (3, 0))
COPY = "B[i,j] = A[i,j]"


def matrix(shape, seed=0):
    rng = np.random.default_rng((*shape, seed))
    return rng.integers(1, 9, shape) * (rng.random(shape) < 0.3) * 1.0


def copied(source, target, fill=0):
    """Return the question of a copy for each shape."""
    for shape in SHAPES:
        dense = matrix(shape) + fill
        array = sp.array(dense, source, fill_value=fill)
        yield Question(COPY, (array,), as_format(target, 2))


def ways(question):
    """Return how each step of a plan assembles its result."""
    return [
        "sort" if isinstance(step, SortStep) else kernel.decision.assemble.way
        for step, kernel in _steps(question)
    ]


def _steps(question):
    compiled = plan_of(question)
    return zip(compiled.plan.steps, compiled.kernels, strict=True)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("csr", "bcsr(2, 3)", [Assembly.BLOCKS]),
        ("csc", "bcsr(2, 3)", [Assembly.SCATTER]),
        ("csr", "bcsc(2, 3)", [Assembly.SCATTER]),
        ("bcsc(2, 3)", "bcsr(2, 3)", [Assembly.SCATTER]),
        ("bcsc(3, 2)", "bcsr(2, 3)", [Assembly.SCATTER]),
        ("csc", "(i, j) -> (i: dense, j // 4: compressed, j % 4: dense)", None),
        ("dcsr", "bcsr(2, 3)", [Assembly.APPEND, Assembly.BLOCKS]),
        ("dcsc", "bcsr(2, 3)", [Assembly.APPEND, Assembly.SCATTER]),
    ],
)
def test_copies_into_blocks(source, target, expected, fill):
    for question in copied(source, target, fill):
        check_stages(question)
        assert ways(question) == (expected or [Assembly.SCATTER])


def test_units_of_more_than_one_level():
    rng = np.random.default_rng(3)
    dense = rng.integers(1, 9, (5, 4, 7)) * (rng.random((5, 4, 7)) < 0.3)
    levels = "(k: dense, i: dense, j: compressed)"
    array = sp.array(dense, f"(i, j, k) -> {levels}")
    blocks = "(i // 2: dense, j: dense, k // 3: compressed, i % 2: dense, k % 3: dense)"
    target = as_format(f"(i, j, k) -> {blocks}", 3)
    question = Question("B[i,j,k] = A[i,j,k]", (array,), target)
    check_stages(question)
    assert ways(question) == [Assembly.SCATTER]


def test_repeated_entries_are_not_scattered_into_blocks():
    format = "(i, j) -> (j: dense, i: compressed(nonunique))"
    crd = np.array([0, 0, 2, 1, 1, 1], np.int32)
    levels = [{}, {"pos": np.array([0, 3, 6], np.int32), "crd": crd}]
    array = sp.from_buffers(format, (3, 2), levels, np.arange(1.0, 7))
    question = Question(COPY, (array,), as_format("bcsr(2, 2)", 2))
    check_stages(question)
    assert ways(question) != [Assembly.SCATTER]


@pytest.mark.parametrize(
    ("source", "target"),
    [("csr", "dcsr"), ("dcsr", "csr"), ("csc", "dcsc"), ("dcsc", "csc")],
)
def test_fibres_that_are_listed_another_way(source, target):
    for question in copied(source, target):
        check_stages(question)
        array = question.operands[0]
        with interpreted():
            runner = PlanRunner(plan_of(question))
            made = runner.run({"A": array}, dict(zip("ij", array.shape, strict=True)))
        # Patterns may be shared; values are the result's own.
        assert np.shares_memory(made._levels[-1]["crd"], array._levels[-1]["crd"]) or (
            array.nnz == 0
        )
        assert not np.shares_memory(made.values, array.values)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("csr", "B[i,j] = 2 * A[i,j]"),
        ("csr", "B[j,i] = A[i,j]"),
        ("csr", "B[i,j] = A[i,j] + A[i,j]"),
    ],
)
def test_other_entries_are_not_kept(source, text):
    array = sp.array(matrix((9, 9)), source)
    check_stages(Question(text, (array,), as_format("dcsr", 2)))


def test_values_of_a_temporary_are_not_copied():
    """A result takes them: nothing else has them."""
    array = sp.array(matrix((9, 11)), "bcsr(2, 3)")
    question = Question(COPY, (array,), as_format("dcsc", 2))
    check_stages(question)
    assert ways(question) == [Assembly.SCATTER, Assembly.APPEND]
    array = sp.array(matrix((9, 11)), "dcsc")
    check_stages(Question(COPY, (array,), as_format("bcsr(2, 3)", 2)))
    assert np.array_equal(array.todense(), matrix((9, 11)))


def test_padding_is_a_fill_value_that_is_known_when_the_kernel_runs():
    # The entries are put in order first, then into blocks.
    by_columns = "(i, j) -> (j: compressed(nonunique), i: singleton)"
    coords, values = np.array([[0, 0], [0, 1]]), np.array([False, True])
    A = sp.from_coords(coords, values, (4, 2), by_columns, fill_value=True)
    blocks = "(i, j) -> (j // 2: dense, i // 1: compressed, i % 1: dense, j % 2: dense)"
    format = as_format(blocks, 2)
    check_stages(Question("Y[i,l] = P[l,i] * Q", (A, np.array(-2.0)), format))
