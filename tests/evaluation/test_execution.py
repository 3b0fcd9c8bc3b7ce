"""Running plans: threads, chunks, index widths, memory, duplicates, order."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from oracle_check import (
    Question,
    check_result,
    check_stages,
    densify,
    interpreted,
)

import sparray as sp
from sparray import dispatch
from sparray.compiler.kernel_facts.chunks import WORK_PER_THREAD
from sparray.dispatch import evaluate, evaluate_expression
from sparray.errors import KernelMemoryError
from sparray.evaluation import execution
from sparray.evaluation.expression import assignment_expression, einsum_expression
from sparray.evaluation.stored import Stored
from sparray.formats import Format, named_format


@pytest.fixture
def threads():
    """Set the number of threads, and give back the old one."""
    before = sp.num_threads()
    yield sp.set_num_threads
    sp.set_num_threads(before)


def uneven(rows, columns, seed=0):
    """A CSR array whose rows are empty, short or full, the last third of them empty."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, 3, columns], rows, p=[0.3, 0.4, 0.28, 0.02])
    lengths[2 * rows // 3 :] = 0
    at = np.repeat(np.arange(rows), lengths)
    crd = np.concatenate([rng.permutation(columns)[:n] for n in lengths])
    values = rng.integers(-3, 4, len(crd)).astype(float)
    return sp.from_coords([at, crd], values, (rows, columns), "csr")


PARALLEL = [
    ("ij,j->i", 1), ("ij,jk->ik", 2), ("ij,kj->ik", 3), ("ij->i", 0),
]  # fmt: skip


def large(subscripts, kind):
    a = uneven(3000, 300)
    others = {0: (), 1: (np.arange(300.0),), 2: (np.ones((300, 40)),)}
    if kind == 3:
        return (a, uneven(40, 300, seed=5))
    return (a, *others[kind])


@pytest.mark.parametrize(("subscripts", "kind"), PARALLEL)
def test_threads_change_nothing(subscripts, kind, threads):
    operands = large(subscripts, kind)
    assert len(operands[0].values) * 40 > 2 * WORK_PER_THREAD
    results = []
    for count in (1, 2, 2, 7):
        threads(count)
        results.append(evaluate(subscripts, *operands))
    check_result(Question(subscripts, operands), results[0])
    for other in results[1:]:
        assert other.values.tobytes() == results[0].values.tobytes()
        for mine, theirs in zip(other._levels, results[0]._levels, strict=True):
            assert all(np.array_equal(mine[role], theirs[role]) for role in mine)


@pytest.mark.parametrize("count", [2, 5, 64])
@pytest.mark.parametrize("empty", ["front", "back", "all", "none"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_chunks_take_every_row_once(count, empty, index):
    rows = 11
    kept = {
        "front": range(7, 11), "back": range(3), "all": (), "none": range(11)
    }[empty]  # fmt: skip
    at = np.repeat(np.array(kept, int), 2)
    crd = np.tile([0, 2], len(kept))
    a = sp.from_coords([at, crd], np.arange(1.0, len(at) + 1), (rows, 3), "csr")
    if index == "int64":
        levels = [{r: b.astype(index) for r, b in level.items()} for level in a.levels]
        a = sp.from_buffers(a.format, a.shape, levels, a.values)
    x = np.arange(1.0, 4)
    check_stages(Question("ij,j->i", (a, x)), threads=count)
    check_stages(Question("ij,kj->ik", (a, a)), threads=count)
    check_stages(Question("C[i,j] = A[i,j] + B[i,j]", (a, a.copy())), threads=count)
    check_stages(Question("C[i,j] = 2 * A[i,j]", (a,)), threads=count)


@pytest.mark.parametrize("format", ["csr", "coo", "csf", "dcsc"])
def test_a_result_that_outgrows_its_index_dtype(format, monkeypatch):
    a = uneven(30, 20)
    wanted = named_format(format, 2)
    expression = einsum_expression("ij,kj->ik", 2)
    with interpreted():
        narrow = evaluate_expression(expression, [a, a], wanted)
        assert narrow._levels[-1]["crd"].dtype == np.int32
        monkeypatch.setattr(execution, "_INT32_MAX", 40)
        wide = evaluate_expression(expression, [a, a], wanted)
    assert wide._levels[-1]["crd"].dtype == np.int64
    check_result(Question("ij,kj->ik", (a, a), wanted), wide)


def test_a_result_that_does_not_fit_in_memory():
    n = 2**40
    a = sp.from_coords([[1], [2]], [1.0], (n, n), "dcsr")
    with pytest.raises(KernelMemoryError, match=rf"shape \({n},\), dense float64"):
        evaluate("ij->i", a)
    with pytest.raises(KernelMemoryError, match="dense float64, to fit in memory"):
        evaluate("ij->ij", a, format=named_format("dense", 2))
    with pytest.raises(KernelMemoryError, match="i: dense, j: compressed"):
        evaluate("ij->ij", a, format=named_format("csr", 2))


def test_entries_that_do_not_fit_in_memory(monkeypatch):
    def full(size, dtype):
        raise KernelMemoryError(f"expected elements of {np.dtype(dtype)} to fit")

    a = uneven(30, 20)
    with interpreted():
        monkeypatch.setattr(execution, "empty", full)
        with pytest.raises(KernelMemoryError, match="elements of int32 to fit"):
            evaluate("ij,kj->ik", a, a)


COO = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
COO_3D = (
    "(i, j, k) -> (i: compressed(nonunique), j: singleton(nonunique), "
    "k: singleton(nonunique))"
)


@pytest.mark.parametrize("dtype", ["float64", "bool", "int32"])
def test_repeated_coordinates_are_one_entry_of_a_unique_result(dtype):
    coords = [[2, 0, 2, 2, 0], [1, 3, 1, 0, 3]]
    values = np.array([1, 2, 3, 4, 0]).astype(dtype)
    a = sp.from_coords(coords, values, (4, 4), COO, duplicates="keep")
    assert a.nnz == 5
    for subscripts in ("ij->ij", "ij->ji", "ij->i", "ij->j", "ij->", "ij,kj->ik"):
        operands = (a,) * (2 if "," in subscripts else 1)
        check_stages(Question(subscripts, operands))
    b = sp.array(np.ones((4, 4), dtype), format="csr")
    check_stages(Question("C[i,j] = A[i,j] * B[i,j]", (a, b)))
    check_stages(Question("C[i,j] = A[i,j] + B[i,j]", (b, a)))


def test_repeated_coordinates_in_every_level():
    rng = np.random.default_rng(0)
    coords = rng.integers(0, 2, (3, 20))
    a = sp.from_coords(coords, np.ones(20), (2, 3, 2), COO_3D, duplicates="keep")
    for subscripts in ("ijk->ijk", "ijk->kji", "ijk->ik", "ijk->j"):
        check_stages(Question(subscripts, (a,)))


@pytest.mark.parametrize("unique", [True, False])
def test_entries_in_any_order(unique):
    words = "unordered" if unique else "nonunique, unordered"
    format = Format.parse(
        f"(i, j) -> (i: compressed(nonunique, unordered), j: singleton({words}))"
    )
    levels = [
        {"pos": np.array([0, 4]), "crd": np.array([2, 0, 1, 0])},
        {"crd": np.array([1, 3, 0, 0 if unique else 3])},
    ]
    a = sp.from_buffers(format, (3, 4), levels, np.array([1.0, 2.0, 4.0, 8.0]))
    for subscripts in ("ij->ij", "ij->ji", "ij->i", "ij->"):
        check_stages(Question(subscripts, (a,)))
    b = sp.array(np.ones((3, 4)))
    check_stages(Question("C[i,j] = A[i,j] + B[i,j]", (a, b)))
    check_stages(Question("ij,kj->ik", (a, b)))
    check_stages(Question("ij->ij", (b,), format))


def test_unordered_rows():
    format = Format.parse("(i, j) -> (i: dense, j: compressed(unordered))")
    levels = [{}, {"pos": np.array([0, 3, 3, 4]), "crd": np.array([3, 0, 2, 1])}]
    a = sp.from_buffers(format, (3, 4), levels, np.arange(1.0, 5))
    check_stages(Question("ij,j->i", (a, np.arange(4.0))))
    check_stages(Question("C[i,j] = A[i,j] + B[i,j]", (a, sp.array(np.eye(3, 4)))))


def test_a_sum_of_bools_is_their_disjunction():
    a = sp.array(np.array([[True, True], [False, False]]))
    made = evaluate("ij->i", a)
    assert made.values.dtype == bool
    assert made.values.tolist() == [True, False]
    x = np.array([2.0, 3.0])
    text = "y[i] = x[i] * A[i,j]"
    check_stages(Question(text, (x, a)))
    check_stages(Question("y[i] = x[i] * sum(j, A[i,j])", (x, a)))
    check_stages(Question("C[i,j] = A[i,j] + B[i,j] + x[i]", (a, a.copy(), x)))


def test_calls_from_several_threads():
    arrays = [uneven(40, 30, seed) for seed in range(8)]
    dispatch._calls.clear()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda a: evaluate("ij,kj->ik", a, a), arrays))
    for array, result in zip(arrays, results, strict=True):
        check_result(Question("ij,kj->ik", (array, array)), result)


def test_a_step_whose_sum_is_a_number():
    a, x = uneven(12, 9), np.arange(9.0)
    check_stages(Question("C[i,j] = A[i,j] * sum(k, x[k])", (a, x)))
    nothing = sp.from_coords(np.zeros((1, 0), int), np.zeros(0), (9,), "csf")
    check_stages(Question("C[i,j] = A[i,j] * sum(k, x[k])", (a, nothing)))
    check_stages(Question("C[i,j] = A[i,j] + sum(k, x[k])", (a, nothing)))


def test_results_are_independent_of_their_operands():
    a = uneven(12, 9)
    made = evaluate_expression(assignment_expression("C[i,j] = 2 * A[i,j]"), [a])
    before = densify(made).copy()
    a.values[:] = 0
    np.testing.assert_array_equal(densify(made), before)


def test_stored_arrays_are_operands():
    a, b = uneven(12, 9), uneven(9, 9, seed=2)
    made = evaluate("ij,jk->ik", a, b)
    assert isinstance(made, Stored)
    again = evaluate("ij,jk->ik", made, b)
    expected = a.todense() @ b.todense() @ b.todense()
    np.testing.assert_array_equal(densify(again), expected)


def test_operands_stay_referenced_during_a_call():
    a = uneven(12, 9)
    held = sys.getrefcount(a.values)
    for _ in range(5):
        evaluate("ij,j->i", a, np.ones(9))
    assert sys.getrefcount(a.values) <= held + 1
