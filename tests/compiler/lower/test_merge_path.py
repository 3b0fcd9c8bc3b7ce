"""Chunks of the merge path: every stage, on rows of all kinds, and what is refused."""

import numpy as np
import pytest
from oracle_check import Question, check_stages

import sparray as sp
from sparray.compiler.hand_schedule import Schedule
from sparray.errors import ScheduleError

RNG = np.random.default_rng(0)
MERGE = Schedule().parallelize("i", "merge")


def matrix(kind):
    dense = RNG.integers(1, 4, (12, 17)) * (RNG.random((12, 17)) < 0.2)
    if kind == "one dense row":
        dense[5] = 3
    elif kind == "dense last row":
        dense[:-1], dense[-1] = 0, 2
    elif kind == "empty rows":
        dense[2:9] = 0
    elif kind == "nothing":
        dense[:] = 0
    elif kind == "one row":
        dense = dense[:1] + 1
    elif kind == "no rows":
        dense = dense[:0]
    elif kind == "no columns":
        dense = dense[:, :0]
    return dense


KINDS = [
    *("random", "one dense row", "dense last row", "empty rows", "nothing", "one row"),
    *("no rows", "no columns"),
]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_all_kinds(kind, threads):
    a = sp.array(matrix(kind), format="csr", dtype="float64")
    x = RNG.integers(-3, 4, a.shape[1]).astype(float)
    check_stages(Question("ij,j->i", (a, x), schedule=MERGE), threads=threads)


@pytest.mark.parametrize("dtype", ["bool", "int32", "complex128", "float32"])
def test_other_dtypes_and_several_sums(dtype):
    a = sp.array(matrix("one dense row"), format="csr", dtype=dtype)
    x = np.ones(17, dtype)
    check_stages(Question("ij,j->i", (a, x), schedule=MERGE.unroll("j", 4)))
    check_stages(Question("ij->i", (a,), schedule=MERGE))


def test_loops_below_the_entries():
    dense = RNG.integers(-3, 4, (6, 5, 4)) * (RNG.random((6, 5, 4)) < 0.5)
    dense[3] = 1
    levels = "(i, j, k) -> (i: dense, j: compressed, k: compressed)"
    a = sp.array(dense, format=sp.Format.parse(levels), dtype="float64")
    y = RNG.integers(-3, 4, (5, 4)).astype(float)
    check_stages(Question("ijk,jk->i", (a, y), schedule=MERGE))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("y[i] = 2 * sum(j, A[i,j])", "csr"),
        ("y[i] = A[i,j] + x[i]", "csr"),
        ("y[i] = A[i,j] * B[i,j]", "csr"),
        ("y[i] = A[i,j]", "dense"),
        ("C[i,j] = A[i,j] + A[i,j]", "csr"),
    ],
)
def test_what_has_no_rows_to_split(text, format):
    a = sp.array(matrix("random"), format=format, dtype="float64")
    given = {"A": a, "B": sp.array(a.todense(), format="csr"), "x": np.ones(12)}
    with pytest.raises(ScheduleError, match="to split rows"):
        sp.compute(
            text, schedule=MERGE, **{n: given[n] for n in "ABx" if f"{n}[" in text}
        )


def test_compiled_on_several_threads():
    dense = RNG.integers(-3, 4, (3000, 400)) * (RNG.random((3000, 400)) < 0.02)
    dense[1234] = 1
    dense[2000:] = 0
    a = sp.array(np.tile(dense, (1, 5)), format="csr", dtype="float64")
    assert a.nnz > 2 * 2**15
    x = RNG.integers(-3, 4, 2000).astype(float)
    before = sp.num_threads()
    try:
        for threads in (1, 2, 3):
            sp.set_num_threads(threads)
            found = sp.einsum("ij,j->i", a, x, schedule=MERGE.unroll("j", 4))
            np.testing.assert_array_equal(found, a.todense() @ x)
    finally:
        sp.set_num_threads(before)
