"""Factors that a sum does not depend on, outside of it."""

import numpy as np
import pytest

from sparray.compiler.index_notation.dtypes import accumulated_dtype
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.nodes import Assignment
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_expression
from sparray.compiler.scheduler.factor import factor_invariants


def factored(text, **dtypes):
    value = parse_assignment(text).value
    made = factor_invariants(value, lambda expr: accumulated_dtype(expr, dtypes))
    return print_expression(made)


def test_invariant_factors_leave_the_sum():
    text = "Y[i] = A[i] * B[i,k] * C[k] * D[i]"
    same = dict.fromkeys("ABCD", "float64")
    assert factored(text, **same) == "A[i] * D[i] * sum(k, B[i,k] * C[k])"
    assert factored("Y[i] = A[i,k] * C[k]", **same) == "sum(k, A[i,k] * C[k])"


def test_a_mask_of_bools_leaves_it_and_bools_alone_do_not():
    text = "Y[i] = M[i] * A[i,k] * B[k]"
    mask = {"M": "bool", "A": "float32", "B": "float32"}
    assert factored(text, **mask) == "M[i] * sum(k, A[i,k] * B[k])"
    flags = dict.fromkeys("AB", "bool") | {"M": "float32"}
    assert factored(text, **flags).startswith("sum(k, ")


def test_sums_of_16_bit_floats_are_float32():
    text = "Y[i] = M[i] * A[i,k] * B[k]"
    dtypes = {"M": "float32", "A": "bfloat16", "B": "bfloat16"}
    assert factored(text, **dtypes) == "M[i] * sum(k, A[i,k] * B[k])"


NARROW = {"P": "int8", "Q": "int64", "R": "int8"}


@pytest.mark.parametrize(
    ("text", "dtypes"),
    [
        ("Y[k] = P[k] * P[j] * Q[k,j]", {"P": "uint8", "Q": "complex64"}),
        ("Y[k] = P[j] * P[k] * Q[k,j]", {"P": "uint8", "Q": "float32"}),
        ("Y[k] = Q[k,j] * P[k] * P[j]", {"P": "uint8", "Q": "float32"}),
        (
            "Y[k] = R[k] * P[j] * P[j] * Q[k,j]",
            {"P": "int8", "Q": "int64", "R": "int8"},
        ),
        (
            "Y[k] = R[k] * Q[k,j] * P[j] * P[k]",
            {"P": "int8", "Q": "int64", "R": "int8"},
        ),
    ],
)
def test_integers_wrap_around_where_numpy_wraps_them(text, dtypes):
    rng = np.random.default_rng(0)
    shapes = {"P": 4, "Q": (4, 4), "R": 4}
    arrays = {
        name: rng.integers(90, 120, shapes[name]).astype(dtype)
        for name, dtype in dtypes.items()
    }
    stated = parse_assignment(text)
    made = factor_invariants(stated.value, lambda expr: accumulated_dtype(expr, dtypes))
    found = evaluate(Assignment(stated.target, made), arrays)
    expected = evaluate(stated, arrays)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
