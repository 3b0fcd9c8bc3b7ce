"""Results within bounds that operands give: assembled in one pass, by any threads."""

import numpy as np
import pytest

import sparray as sp
from sparray.compiler import names
from sparray.dispatch import evaluate_expression
from sparray.evaluation import execution, one_pass
from sparray.evaluation.expression import assignment_expression
from sparray.evaluation.one_pass import closed_up
from sparray.formats.named import named_format
from tests.oracle.oracle_check import interpreted


@pytest.mark.parametrize(
    ("chunks", "left"),
    [
        ([0, 3], [0, 1, 2]),
        ([0, 2, 4, 9], [0, 1, 4, 5, 6, 7, 8]),
        ([0, 0, 4, 5, -1, -1, 8, 10], [4, 8, 9]),
        ([-1, -1], []),
        ([0, 10], list(range(10))),
    ],
)
def test_what_chunks_leave_out_is_closed(chunks, left):
    arrays = (np.arange(10), np.arange(10) * 0.5)
    crd, values = closed_up(arrays, np.array(chunks))
    assert crd.tolist() == left
    assert values.tolist() == [0.5 * n for n in left]


def calls_of(monkeypatch):
    found = []
    call = execution.Runner._call

    def noted(self, name, *rest):
        found.append(name)
        call(self, name, *rest)

    monkeypatch.setattr(execution.Runner, "_call", noted)
    return found


def compute(text, *operands, format="csr"):
    with interpreted(threads=3):
        made = evaluate_expression(
            assignment_expression(text), operands, named_format(format, 2)
        )
    # Buffers that are given are checked: their lengths, and that they ascend.
    return sp.from_buffers(made.format, made.shape, list(made._levels), made.values)


def matrix(shape, share, format, seed):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random(shape) < share, rng.random(shape), 0)
    return sp.array(dense, format=format)


@pytest.mark.parametrize("shape", [(7, 5), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sums_and_products_count_nothing(monkeypatch, shape, share, format):
    found = calls_of(monkeypatch)
    A, B = (matrix(shape, share, format, seed) for seed in (1, 2))
    dense = [X.todense() for X in (A, B)]
    for text, wanted in [
        ("C[i,j] = A[i,j] + B[i,j]", dense[0] + dense[1]),
        ("C[i,j] = A[i,j] * B[i,j]", dense[0] * dense[1]),
        ("C[i,j] = A[i,j] * B[i,j] - A[i,j]", dense[0] * dense[1] - dense[0]),
    ]:
        made = compute(text, A, B, format=format)
        np.testing.assert_array_equal(made.todense(), wanted)
    assert set(found) == {names.FILL}


@pytest.mark.parametrize("others", ["coo", "dcsr", "bitmap", "csc"])
def test_fibres_that_no_loop_comes_to_are_counted(monkeypatch, others):
    found = calls_of(monkeypatch)
    A, B = matrix((6, 5), 0.3, "csr", 1), matrix((6, 5), 0.3, others, 2)
    for op in "+*":
        made = compute(f"C[i,j] = A[i,j] {op} B[i,j]", A, B)
        left, right = A.todense(), B.todense()
        wanted = left + right if op == "+" else left * right
        np.testing.assert_array_equal(made.todense(), wanted)
    assert names.COUNT in found


def test_a_bound_beyond_32_bits_takes_64(monkeypatch):
    A, B = (matrix((6, 5), 0.5, "csr", seed) for seed in (1, 2))
    monkeypatch.setattr(one_pass, "_INT32_MAX", A.nnz)
    made = compute("C[i,j] = A[i,j] + B[i,j]", A, B)
    assert made.levels[1]["crd"].dtype == np.int64
