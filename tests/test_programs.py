"""Several statements: computed one after the other, or put together."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import ExpressionError, ShapeError

CHAIN = "T[i,k] = A[i,j] * B[j,k]; C[i,l] = T[i,k] * D[k,l]"


@pytest.fixture
def operands():
    random = np.random.default_rng(5)
    A = random.random((4, 5)) * (random.random((4, 5)) < 0.5)
    return {
        "A": sp.array(A, format="csr"),
        "B": random.random((5, 6)),
        "D": random.random((6, 3)),
    }


def test_a_temporary_is_computed_once(operands):
    A, B, D = operands["A"].todense(), operands["B"], operands["D"]
    np.testing.assert_allclose(sp.compute(CHAIN, **operands), A @ B @ D)


def test_named_outputs_come_as_a_tuple(operands):
    T, C = sp.compute(CHAIN, outputs=("T", "C"), **operands)
    np.testing.assert_allclose(C, T @ operands["D"])
    (alone,) = sp.compute("a = b + 1", outputs=["a"], b=np.float64(2))
    assert alone == 3


def test_a_result_has_the_format_that_is_asked_for(operands):
    text = CHAIN.replace("C[i,l] =", "C[i,l] = S[i,l] *")
    S = sp.array(np.eye(4, 3), format="csr")
    result = sp.compute(text, format="coo", S=S, **operands)
    assert result.format == sp.array(np.eye(2), format="coo").format
    with pytest.raises(ExpressionError, match="expected one result to have it, got 2"):
        sp.compute(CHAIN, format="csr", outputs=("T", "C"), **operands)


def test_operands_are_named_as_the_program_reads_them(operands):
    with pytest.raises(ExpressionError, match="'T', which the program assigns"):
        sp.compute(CHAIN, T=operands["D"], **operands)
    with pytest.raises(ExpressionError, match="expected the operands A, B, D, got A"):
        sp.compute(CHAIN, A=operands["A"])


def test_extents_are_checked_before_anything_is_computed(operands):
    operands["D"] = np.ones((5, 3))
    with pytest.raises(ShapeError, match=r"extent 6 in T\[i,k\] and 5 in D"):
        sp.compute(CHAIN, **operands)


def test_numbers_that_differ_in_type_are_different_programs():
    x = np.array([2], dtype=np.int8)
    for number, dtype in (("1", np.int8), ("1.0", np.float64)):
        text = f"a[i] = x[i] + {number}; b[i] = a[i] * a[i]"
        assert sp.compute(text, x=x).dtype == dtype
