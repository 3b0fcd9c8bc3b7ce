import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparray.compiler.index_notation.apply import apply_operator, reduction_identity
from sparray.compiler.index_notation.dtypes import result_dtype
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.nodes import Access, Literal, Reduce
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.traversal import accesses, children
from sparray.errors import DTypeError, ExpressionError, ShapeError


def scalar(expr, arrays, extents, at):
    """Evaluate at one coordinate: independent of axes and broadcasting."""
    if isinstance(expr, Access):
        return arrays[expr.tensor][tuple(at[i] for i in expr.indices)]
    if isinstance(expr, Literal):
        return expr.value
    if not isinstance(expr, Reduce):
        operands = [scalar(child, arrays, extents, at) for child in children(expr)]
        return apply_operator(expr.op, *operands)
    total = None
    for point in itertools.product(*(range(extents[i]) for i in expr.indices)):
        inner = {**at, **dict(zip(expr.indices, point, strict=True))}
        value = np.asarray(scalar(expr.operand, arrays, extents, inner))
        total = value if total is None else apply_operator(expr.op, total, value)
    return total


@settings(max_examples=200)
@given(data=st.data())
def test_agrees_with_loops_over_coordinates(safe_assignments, extents, data):
    statement = data.draw(safe_assignments)
    rng = np.random.default_rng(0)
    arrays = {
        a.tensor: rng.integers(-3, 4, [extents[i] for i in a.indices]).astype(float)
        for a in accesses(statement.value)
    }
    shape = tuple(extents[i] for i in statement.target.indices)
    try:
        result = evaluate(statement, arrays, shape=shape)
    except DTypeError:
        return
    dtypes = {name: array.dtype.name for name, array in arrays.items()}
    assert result.dtype == result_dtype(statement.value, dtypes)
    assert result.shape == shape
    for point in np.ndindex(*shape):
        at = dict(zip(statement.target.indices, point, strict=True))
        expected = scalar(statement.value, arrays, extents, at)
        np.testing.assert_allclose(result[point], expected)


RNG = np.random.default_rng(1)
A, B, T = RNG.random((3, 4)), RNG.random((4, 5)), RNG.random((3, 4, 2))
x, S = RNG.random(4), RNG.random((4, 4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C[i,j] = A[i,k] * B[k,j]", A @ B),
        ("C[j,i] = A[i,k] * B[k,j]", (A @ B).T),
        ("y[i] = A[i,j] * x[j] + A[i,j] * x[j]", 2 * A @ x),
        ("y[i] = S[i,i]", np.diagonal(S)),
        ("y = S[i,i] * x[i]", np.diagonal(S) @ x),
        ("y[j,i] = T[i,j,k]", T.sum(2).T),
        ("y[i] = max(j, A[i,j]) - min(j, A[i,j])", np.ptp(A, axis=1)),
        ("y[i] = min(j, A[i,j] + x[j])", (A + x).min(1)),
        ("y = prod(i, x[i])", x.prod()),
        ("y[i] = any(j, A[i,j] > 0.5)", (A > 0.5).any(1)),
        ("y[i] = sum(j, x[i] + S[i,j])", 4 * x + S.sum(1)),
        ("y[i] = exp(x[i]) / sum(j, exp(x[j]))", np.exp(x) / np.exp(x).sum()),
        ("y = 2", np.asarray(2)),
        ("y[i] = x[i] ** 2 * 3", x**2 * 3),
    ],
)
def test_known_statements(text, expected):
    statement = parse_assignment(text)
    every = {"A": A, "B": B, "T": T, "x": x, "S": S}
    used = {a.tensor: every[a.tensor] for a in accesses(statement.value)}
    result = evaluate(statement, used)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected)


def test_the_result_is_new():
    statement = parse_assignment("y[i] = x[i]")
    result = evaluate(statement, {"x": x})
    assert not np.shares_memory(result, x)
    assert result.flags.writeable and result.flags.c_contiguous


@pytest.mark.parametrize("word", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_reduction_of_nothing_is_the_identity(word, dtype):
    statement = parse_assignment(f"y[i] = {word}(j, A[i,j])")
    result = evaluate(statement, {"A": np.zeros((2, 0), dtype)})
    op = {"sum": "add", "prod": "mul"}.get(word, word)
    assert result.dtype == dtype
    assert (result == reduction_identity(op, dtype)).all()


@pytest.mark.parametrize("op", ["add", "mul", "min", "max", "and", "or"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex64"])
def test_the_identity_changes_nothing(op, dtype):
    values = np.array([0, 1, 3], dtype)
    if op in ("and", "or"):
        values = values.astype(bool)
    identity = reduction_identity(op, values.dtype)
    assert identity.dtype == values.dtype
    np.testing.assert_array_equal(apply_operator(op, identity, values), values)


def test_nan_and_inf_pass_through():
    values = np.array([np.nan, np.inf, -np.inf, 1.0])
    result = evaluate(parse_assignment("y[i] = relu(x[i])"), {"x": values})
    np.testing.assert_array_equal(result, [np.nan, np.inf, 0, 1])
    total = evaluate(parse_assignment("y = max(i, x[i])"), {"x": values})
    assert np.isnan(total)


def test_many_dimensions():
    indices = ",".join(f"x{n}" for n in range(64))
    array = np.full((1,) * 64, 3.0)
    result = evaluate(
        parse_assignment(f"y[{indices}] = 2 * T[{indices}]"), {"T": array}
    )
    assert result.shape == array.shape and result.item() == 6


def test_errors_reach_the_caller():
    with pytest.raises(ShapeError):
        evaluate(parse_assignment("C[i,j] = A[i,k] * B[k,j]"), {"A": B, "B": A})
    with pytest.raises(ExpressionError, match="absent on the right"):
        evaluate(parse_assignment("C[i,j] = x[i]"), {"x": x})
    with pytest.raises(DTypeError, match="'sub' is not defined for dtype bool"):
        flags = np.ones(3, bool)
        evaluate(parse_assignment("y[i] = a[i] - b[i]"), {"a": flags, "b": flags})


@pytest.mark.parametrize(
    ("text", "dtypes", "expected"),
    [
        ("a[i] * b[i]", {"a": "int8", "b": "int8"}, "int8"),
        ("a[i] * b[i]", {"a": "int64", "b": "float32"}, "float64"),
        ("a[i] * 2", {"a": "int8"}, "int8"),
        ("a[i] * 2.5", {"a": "float32"}, "float32"),
        ("a[i] * 2j", {"a": "float32"}, "complex64"),
        ("a[i] * (2 * 3.5)", {"a": "float32"}, "float32"),
        ("a[i] / b[i]", {"a": "int8", "b": "int8"}, "float64"),
        ("exp(a[i])", {"a": "int8"}, "float64"),
        ("exp(a[i])", {"a": "float32"}, "float32"),
        ("a[i] < b[i]", {"a": "int8", "b": "float32"}, "bool"),
        ("a[i] + b[i]", {"a": "bool", "b": "bool"}, "bool"),
        ("abs(a[i])", {"a": "complex64"}, "float32"),
        ("imag(a[i])", {"a": "complex128"}, "float64"),
        ("sum(j, b[j]) + a[i]", {"a": "int8", "b": "int8"}, "int8"),
        ("any(j, b[j]) & a[i]", {"a": "int8", "b": "int8"}, "bool"),
        ("3", {}, "int64"),
    ],
)
def test_result_dtype(text, dtypes, expected):
    statement = parse_assignment(f"y[i] = {text}")
    assert result_dtype(statement.value, dtypes) == expected
    arrays = {name: np.ones(3, dtype) for name, dtype in dtypes.items()}
    assert evaluate(statement, arrays, shape=(3,)).dtype == expected


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("a[i] * 1000", "int8"), ("-a[i]", "bool"), ("a[i] ** -1", "int64")],
)
def test_dtypes_that_do_not_combine(text, dtype):
    statement = parse_assignment(f"y[i] = {text}")
    with pytest.raises(DTypeError, match="is not defined for"):
        result_dtype(statement.value, {"a": dtype})
