import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparray.compiler.autodiff import gradient, masked_gradient
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.nodes import Access, Apply, Assignment, Reduce
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.index_notation.verify import index_extents, verify
from sparray.errors import ExpressionError, UnsupportedError

EXTENTS = {"i": 3, "j": 3, "k": 3, "l": 2}


def operands(statement, rng, is_complex=False):
    result = {}
    for access in accesses(statement.value):
        shape = [EXTENTS[i] for i in access.indices]
        value = np.asarray(0.3 + rng.random(shape))
        if is_complex:
            value = value + 1j * (rng.random(shape) - 0.5)
        result.setdefault(access.tensor, np.asarray(value))
    return result


def numerical(statement, arrays, wrt, upstream, step):
    """Differentiate Re(sum(conj(upstream) * result)) by central differences."""
    flat = np.zeros(arrays[wrt].shape)
    for point in np.ndindex(*flat.shape):
        sides = []
        for sign in (1, -1):
            moved = arrays[wrt].astype(np.result_type(arrays[wrt], step))
            moved[point] += sign * step
            result = evaluate(statement, {**arrays, wrt: moved})
            sides.append(np.sum(np.conj(upstream) * result).real)
        flat[point] = (sides[0] - sides[1]) / (2 * abs(step))
    return flat


def check(statement, wrt, is_complex=False):
    rng = np.random.default_rng(3)
    arrays = operands(statement, rng, is_complex)
    result = evaluate(statement, arrays)
    upstream = rng.random(result.shape)
    if np.iscomplexobj(result):
        upstream = upstream + 1j * rng.random(result.shape)
    extents = index_extents(statement, {n: a.shape for n, a in arrays.items()})
    backward = gradient(statement, wrt, "g", is_complex=is_complex, extents=extents)
    shape = arrays[wrt].shape
    verify(backward, {**{n: a.shape for n, a in arrays.items()},
                      "g": upstream.shape, backward.target.tensor: shape})  # fmt: skip
    actual = evaluate(backward, {**arrays, "g": upstream}, shape=shape)
    expected = numerical(statement, arrays, wrt, upstream, 1e-6)
    if is_complex:
        expected = expected + 1j * numerical(statement, arrays, wrt, upstream, 1e-6j)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("text", "wrt", "printed"),
    [
        ("C[i,j] = A[i,k] * B[k,j]", "A", "dA[i,k] = sum(j, g[i,j] * B[k,j])"),
        ("C[i,j] = A[i,k] * B[k,j]", "B", "dB[k,j] = sum(i, g[i,j] * A[i,k])"),
        ("y[i] = A[i,j]", "A", "dA[i,j] = g[i]"),
        ("y[i] = A[i,j] * x[j] + b[i]", "b", "db[i] = g[i]"),
        ("C[j,i] = A[i,j]", "A", "dA[i,j] = g[j,i]"),
        ("y[i,j] = relu(A[i,j])", "A", "dA[i,j] = g[i,j] * (A[i,j] > 0)"),
        ("y[i] = x[i] ** 2", "x", "dx[i] = g[i] * (2 * x[i])"),
        ("y[i] = x[i] ** 1", "x", "dx[i] = g[i]"),
        ("y[i] = x[i] ** 0", "x", "dx[i] = 0"),
        ("y[i] = x[i] < 1", "x", "dx[i] = 0"),
        (
            "y[i,j] = A[i,k] * A[k,j]",
            "A",
            "dA[i,k] = sum(j, g[i,j] * A[k,j]) + sum(j, g[j,k] * A[j,i])",
        ),
    ],
)
def test_gradients_read_as_expected(text, wrt, printed):
    assert print_assignment(gradient(parse_assignment(text), wrt, "g")) == printed


STATEMENTS = [
    "C[i,j] = A[i,k] * B[k,j]",
    "C[i,j] = A[i,j] * B[i,k] * D[j,k]",
    "C[i,j] = A[k,l,i] * B[k,j] * D[l,j]",
    "C[i,j] = A[i,j] + B[j,i] - D[j]",
    "C[i,j] = A[i] * B[j] + 2",
    "C[i,j] = A[i,j] / B[i]",
    "y[i] = A[i,j] * B[j] + D[i]",
    "y[i] = A[i,j] * A[j,k] * B[k]",
    "y[i] = A[i,j] * A[i,j] + A[j,i]",
    "y = A[i,j] * B",
    "y = exp(A[i] * B[i])",
    "y[i] = exp(B[i]) / sum(j, A[j] * exp(B[j]))",
    "y[i] = log(sum(j, exp(A[i,j]))) + B",
    "y[i] = tanh(sum(j, A[i,j] * B[j])) ** 2",
    "y[i] = sqrt(A[i]) - log1p(B[i]) * expm1(A[i])",
    "y[i] = sin(A[i]) * cos(B[i]) + -abs(A[i])",
    "y[i] = max(A[i], B[i]) + min(A[i], 2 * B[i]) * relu(B[i] - A[i])",
    "y[i] = A[i] ** 3 + A[i] ** -0.5 + 2 ** B[i] + A[i] ** B[i]",
    "y[i] = sum(j, A[i,j] + B[i])",
    "y[i] = A[i] * sum(j, B[j] * sum(k, A[k] * B[j]))",
    "y[i] = sum(j, A[i,j]) * sum(j, A[i,j] * B[j])",
    "y[i] = A[i] * max(j, D[j]) + B[i] / (D[i] < 1)",
    "y[i] = tan(A[i]) + sinh(A[i] * B[i]) - cosh(B[i]) * exp2(A[i])",
    "y[i] = log2(A[i]) * log10(B[i]) + square(A[i]) / reciprocal(B[i])",
    "y[i] = asin(A[i] / 2) * acos(B[i] / 2) + atan(A[i]) - positive(B[i])",
    "y[i] = asinh(A[i]) * acosh(B[i] + 1) + atanh(A[i] / 2)",
    "y[i] = hypot(A[i], B[i]) + atan2(A[i], B[i]) * logaddexp(A[i], 2 * B[i])",
    "y[i] = times(A[i], B[i]) + over(A[i], B[i]) + remainder(7 * A[i], B[i])",
    "y[i] = where(A[i] < B[i], A[i] * B[i], B[i] ** 2) + where(B[i] > 1, 3, A[i])",
    "y[i] = A[i] * floor(B[i]) + round(A[i]) * isnan(B[i]) - B[i]",
]


@pytest.mark.parametrize("wrt", ["A", "B"])
@pytest.mark.parametrize("text", STATEMENTS)
def test_agrees_with_differences(text, wrt):
    statement = parse_assignment(text)
    if any(a.tensor == wrt for a in accesses(statement.value)):
        check(statement, wrt)


@pytest.mark.parametrize("wrt", ["A", "B"])
@pytest.mark.parametrize(
    "text",
    [
        "C[i,j] = A[i,k] * B[k,j]",
        "C[i,j] = A[i,j] * conj(B[i,j]) + A[i,j] / B[i,j]",
        "y[i] = exp(A[i]) * sin(B[i]) + cos(A[i]) * tanh(B[i])",
        "y[i] = log(A[i]) + sqrt(B[i]) + A[i] ** 3 * expm1(B[i]) * log1p(A[i])",
        "y[i] = abs(A[i] * B[i])",
        "y[i] = real(A[i]) * imag(B[i]) + imag(A[i] * B[i])",
        "y[i] = A[i] ** B[i]",
        "y[i] = sinh(A[i]) * cosh(B[i]) + tan(A[i]) * asinh(B[i])",
        "y[i] = atan(A[i]) + asin(A[i] / 2) * log2(B[i]) - square(B[i])",
        "y[i] = times(A[i], reciprocal(B[i])) + exp2(A[i]) * over(A[i], B[i])",
    ],
)
def test_complex_gradients(text, wrt):
    check(parse_assignment(text), wrt, is_complex=True)


def test_operators_without_a_derivative_are_refused():
    with pytest.raises(UnsupportedError, match="differentiable operator, got 'copy"):
        gradient(parse_assignment("y[i] = copysign(A[i], B[i])"), "A", "g")


def smooth(draw, bound, depth):
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        indices = tuple(draw(st.lists(st.sampled_from(bound), max_size=2, unique=True)))
        return Access("AB"[draw(st.integers(0, 1))] + str(len(indices)), indices)
    op = draw(st.sampled_from(["add", "sub", "mul", "sin", "tanh", "neg", "sum"]))
    if op == "sum":
        spare = next((i for i in ("k", "l") if i not in bound), None)
        if spare is not None:
            # Every tensor is 3 wide here, l too, so that any access fits.
            inner = smooth(draw, (*bound, spare), depth - 1)
            factor = Access("A1", (spare,))
            return Reduce("add", (spare,), Apply("mul", (inner, factor)))
        op = "add"
    arity = 2 if op in ("add", "sub", "mul") else 1
    return Apply(op, tuple(smooth(draw, bound, depth - 1) for _ in range(arity)))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_smooth_statements(data):
    value = smooth(data.draw, ("i", "j"), 3)
    base = Apply("mul", (Access("A1", ("i",)), Access("B1", ("j",))))
    statement = Assignment(Access("y", ("i", "j")), Apply("add", (base, value)))
    previous, EXTENTS["l"] = EXTENTS["l"], 3
    try:
        for wrt in {access.tensor for access in accesses(statement.value)}:
            check(statement, wrt)
    finally:
        EXTENTS["l"] = previous


@pytest.mark.parametrize(
    ("text", "wrt", "printed"),
    [
        (
            "C[i,j] = A[i,k] * B[k,j]",
            "A",
            "dA[i,k] = sum(j, M[i,k] * g[i,j] * B[k,j])",
        ),
        ("y[i] = A[i,j]", "A", "dA[i,j] = M[i,j] * g[i]"),
        (
            "C[i,j] = A[i,j] - A[j,i]",
            "A",
            "dA[i,j] = M[i,j] * g[i,j] + -(M[i,j] * g[j,i])",
        ),
        ("y[i] = x[i] / A[i]", "x", "dx[i] = M[i] * g[i] / A[i]"),
    ],
)
def test_masked_gradients(text, wrt, printed):
    result = masked_gradient(parse_assignment(text), wrt, "g", "M")
    assert print_assignment(result) == printed


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_masked_gradient_is_the_gradient_where_the_mask_is_one(text):
    statement = parse_assignment(text)
    rng = np.random.default_rng(4)
    arrays = operands(statement, rng)
    extents = index_extents(statement, {n: a.shape for n, a in arrays.items()})
    arrays["g"] = rng.random([EXTENTS[i] for i in statement.target.indices])
    full = gradient(statement, "A", "g", extents=extents)
    masked = masked_gradient(statement, "A", "g", "M", extents=extents)
    mask = (rng.random(arrays["A"].shape) < 0.5).astype(float)
    expected = mask * evaluate(full, arrays, shape=mask.shape)
    actual = evaluate(masked, {**arrays, "M": mask})
    np.testing.assert_allclose(actual, expected)


@pytest.mark.parametrize(
    ("text", "wrt", "error", "message"),
    [
        ("y[i] = A[i]", "B", ExpressionError, "which is not read"),
        ("y[i] = g[i]", "g", ExpressionError, "upstream: expected a new name"),
        ("y[i] = A[i,i]", "A", UnsupportedError, "the diagonal A[i,i]"),
        ("y[i] = max(j, A[i,j])", "A", UnsupportedError, "a reduction by 'max'"),
        (
            "y[i] = sum(j, B[i,j] + A[i])",
            "A",
            ExpressionError,
            "the extent of index 'j' is needed",
        ),
        ("y[i,i] = A[i]", "A", ExpressionError, "is repeated"),
    ],
)
def test_what_has_no_gradient(text, wrt, error, message):
    with pytest.raises(error) as caught:
        gradient(parse_assignment(text), wrt, "g")
    assert message in str(caught.value)


def test_a_mask_needs_a_new_name():
    statement = parse_assignment("y[i] = A[i,j] * x[j]")
    for name in ("x", "g", "y", "dA"):
        with pytest.raises(ExpressionError, match="mask: expected a new name"):
            masked_gradient(statement, "A", "g", name)


def test_the_target_never_takes_the_name_of_an_operand():
    statement = parse_assignment("y[i] = A[i] * dA[i]")
    assert gradient(statement, "A", "g").target == Access("dA_", ("i",))
