"""Iterations that run side by side: every remainder, in whatever takes the results."""

import numpy as np
import pytest
from oracle_check import Question, interpreted, plan_of

import sparray as sp
from sparray.errors import ScheduleError

SDDMM = "C[i,j] = M[i,j] * A[i,k] * B[j,k]"
ROWS = range(10)
"""Entries of each row: two whole groups of four, and each remainder."""


def mask(format="csr", dtype="float64"):
    dense = np.zeros((len(ROWS), 12), dtype)
    for row, stored in enumerate(ROWS):
        dense[row, 1 : 1 + stored] = row + np.arange(1, 1 + stored)
    return dense, sp.array(dense, format)


def factors(features, dtype="float64"):
    rng = np.random.default_rng(features)
    return (
        rng.integers(-3, 4, (extent, features)).astype(dtype)
        for extent in (len(ROWS), 12)
    )


@pytest.mark.parametrize("features", [1, 3, 16, 17])
@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "coo", "bitmap", "ell"])
def test_every_remainder(format, features):
    dense, stored = mask(format)
    a, b = factors(features)
    with interpreted():
        found = sp.compute(SDDMM, M=stored, A=a, B=b)
    np.testing.assert_array_equal(found.todense(), dense * (a @ b.T))


@pytest.mark.parametrize("format", ["csr", "dcsr", "coo", "csc", "dense", "ell"])
def test_results_in_other_formats(format):
    dense, stored = mask()
    a, b = factors(5)
    with interpreted():
        found = sp.compute(SDDMM, M=stored, A=a, B=b, format=format)
    got = found if format == "dense" else found.todense()
    np.testing.assert_array_equal(got, dense * (a @ b.T))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_compiled(dtype):
    dense, stored = mask(dtype=dtype)
    a, b = factors(19, dtype)
    found = sp.compute(SDDMM, M=stored, A=a, B=b)
    np.testing.assert_allclose(found.todense(), dense * (a @ b.T), rtol=1e-2)


def test_one_loop_sums_for_all():
    _, stored = mask()
    a, b = factors(5)
    question = Question("ij,ik,jk->ij", (stored, a, b))
    (kernel,) = (k for k in plan_of(question).kernels if k is not None)
    text = kernel.loops
    assert text.count("for k") == 2
    first, rest = text.split("for k")[1:]
    assert first.count("B_values[") == 4
    assert rest.count("B_values[") == 1


@pytest.mark.parametrize("rows", range(10))
def test_loops_over_every_coordinate(rows):
    rng = np.random.default_rng(rows)
    a, x = rng.integers(-3, 4, (rows, 7)) * 1.0, rng.integers(-3, 4, 7) * 1.0
    schedule = "reorder(i k).vectorize(k).unroll(i, 4)"
    with interpreted():
        found = sp.compute("y[i] = A[i,k] * x[k]", A=a, x=x, schedule=schedule)
    np.testing.assert_array_equal(found, a @ x)


def test_a_maximum_of_sums():
    dense, stored = mask()
    a, b = factors(5)
    with interpreted():
        found = sp.compute(
            "y[i] = max(j, M[i,j] * sum(k, A[i,k] * B[j,k]))", M=stored, A=a, B=b
        )
    np.testing.assert_array_equal(found, (dense * (a @ b.T)).max(axis=1))


def test_a_loop_without_such_a_sum_is_refused():
    _, stored = mask()
    x = np.ones(12)
    for schedule in ("unroll(i, 4)", "reorder(i j).unroll(i, 4)"):
        with pytest.raises(ScheduleError, match=r"expected a loop.* around a sum"):
            sp.compute("y[i] = M[i,j] * x[j]", M=stored, x=x, schedule=schedule)


def test_sums_over_different_entries_do_not_run_side_by_side():
    _, stored = mask()
    with pytest.raises(ScheduleError, match="got i around entries along j"):
        sp.compute("y[i] = M[i,j]", M=stored, schedule="vectorize(j).unroll(i, 4)")
