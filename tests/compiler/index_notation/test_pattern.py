import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparray.compiler.absence import Absence, fill_of
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.pattern import evaluate_pattern
from sparray.compiler.index_notation.traversal import accesses
from sparray.errors import DTypeError

RNG = np.random.default_rng(2)
A, B, M = (RNG.random((5, 5)) < 0.4 for _ in range(3))
D = np.ones((5, 5), bool)
ALL = np.ones((5, 5), bool)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A[i,j] * B[i,j]", A & B),
        ("A[i,j] + B[i,j]", A | B),
        ("A[i,j] - B[i,j]", A | B),
        ("max(A[i,j], B[i,j])", A | B),
        ("A[i,j] * D[i,j]", A),
        ("A[i,j] + D[i,j]", ALL),
        ("A[i,j] * 2 + 0", A),
        ("relu(A[i,j])", A),
        ("expm1(A[i,j])", A),
        ("exp(A[i,j])", A),
        ("exp(A[i,j]) + D[i,j]", ALL),
        ("prod(k, A[i,k]) + 0 * A[i,j]", ALL),
        ("exp(A[i,j]) * B[i,j]", B),
        ("(A[i,j] + 1) * B[i,j] - B[i,j]", B),
        ("A[i,j] / D[i,j]", A),
        ("A[i,j] ** 2", A),
        ("A[i,j] < B[i,j]", A | B),
        ("A[i,j] >= B[i,j]", A | B),
        ("A[i,j] & B[i,j]", A & B),
        ("~A[i,j]", A),
        ("A[i,k] * B[k,j]", A @ B),
        ("M[i,j] * (A[i,k] * B[k,j])", M & (A @ B)),
        ("A[i,j] + sum(k, A[i,k] * B[k,j])", A | (A @ B)),
        ("A[i,j] * sum(k, B[i,k])", A & B.any(1)[:, None]),
        ("A[i,j] * A[j,i]", A & A.T),
        ("A[i,j] * B[i,i]", A & np.diagonal(B)[:, None]),
        ("A[i,j] * 0", ~ALL),
    ],
)
def test_patterns(text, expected):
    statement = parse_assignment(f"y[i,j] = {text}")
    patterns = {"A": A, "B": B, "D": D, "M": M}
    result = evaluate_pattern(statement, patterns, shape=(5, 5))
    assert result.dtype == bool
    np.testing.assert_array_equal(result, expected)


def test_a_product_over_nothing_is_stored():
    statement = parse_assignment("y[i] = prod(j, A[i,j])")
    assert evaluate_pattern(statement, {"A": np.ones((2, 0), bool)}).all()
    statement = parse_assignment("y[i] = sum(j, A[i,j])")
    assert not evaluate_pattern(statement, {"A": np.ones((2, 0), bool)}).any()


@given(data=st.data())
def test_what_is_not_stored_is_one_constant(safe_assignments, extents, data):
    statement = data.draw(safe_assignments)
    rng = np.random.default_rng(0)
    arrays, patterns = {}, {}
    for access in accesses(statement.value):
        shape = [extents[i] for i in access.indices]
        patterns[access.tensor] = rng.random(shape) < 0.5
        values = rng.integers(-3, 4, shape).astype(float)
        arrays[access.tensor] = np.where(patterns[access.tensor], values, 0.0)
    shape = tuple(extents[i] for i in statement.target.indices)
    try:
        values = evaluate(statement, arrays, shape=shape)
    except DTypeError:
        return
    stored = evaluate_pattern(statement, patterns, shape=shape)
    zero = dict.fromkeys(arrays, fill_of(0))
    absence = Absence(dict.fromkeys(arrays, "float64"), zero)
    constant = absence.constant(statement.value)
    if constant is None:
        assert stored.all()
    else:
        np.testing.assert_array_equal(values[~stored], constant.value)
