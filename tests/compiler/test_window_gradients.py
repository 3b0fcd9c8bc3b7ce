"""Gradients of operands that are read in windows, against differences."""

import numpy as np
import pytest

from sparray.compiler.autodiff import gradient, masked_gradient
from sparray.compiler.index_notation.canonical import symbolize
from sparray.compiler.index_notation.extents import sizes_of
from sparray.compiler.index_notation.interpreter import evaluate
from sparray.compiler.index_notation.parser import parse_assignment
from sparray.compiler.index_notation.printer import print_assignment
from sparray.compiler.index_notation.traversal import accesses
from sparray.compiler.selection import selections

SHAPES = {"A": (5, 7), "x": (9,), "w": (3,), "z": (2,), "B": (3, 7)}

STATEMENTS = [
    "y[i] = x[i + k] * w[k]",
    "y[i] = x[2*i + 3*k] * w[k] * z[i]",
    "y[i] = x[k - 2*i + 4] * w[k] * z[i]",
    "y[j] = A[-1,j] * A[0,j] + A[2,j] ** 2",
    "D[i,j] = A[i,j in 1:] * A[i,j in :-1]",
    "D[i,j] = A[i in ::-2,j] * B[i,j]",
    "y = A[i, i + k] * w[k]",
    "y[i] = sum(k, exp(x[i + k] * w[k])) + x[0]",
    "y[i] = x[i in 4:4]",
    "D[i,j] = A[i + 1, j + 2] * A[2*i, 2*j] * z[i]",
    "y[i] = x[i in 2:5] * sum(j, A[i in 1:4, j])",
]


def in_windows(statement):
    for access in accesses(statement.value):
        if not all(index.isidentifier() for index in access.indices):
            yield access.tensor


CASES = [
    (text, wrt)
    for text in STATEMENTS
    for wrt in dict.fromkeys(a.tensor for a in accesses(parse_assignment(text).value))
]


def selected(statement, wrt, arrays, *taken):
    """Return the selections that a gradient reads, as dense arrays."""
    symbolic, sources = symbolize(statement)
    read = [(a, arrays[a.tensor].shape) for a in accesses(symbolic.value)]
    sizes = sizes_of(read, sources)
    made = {}
    for one, known in zip(
        selections(statement, wrt, *taken), selections(symbolic, wrt), strict=True
    ):
        dense = np.zeros(known.shape(sizes))
        dense[tuple(known.entries(sizes))] = 1
        made[one.name] = dense
    return made


def differences(statement, arrays, wrt, upstream, step=1e-6):
    made = np.zeros(arrays[wrt].shape)
    for point in np.ndindex(*made.shape):
        for sign in (1, -1):
            moved = arrays[wrt].copy()
            moved[point] += sign * step
            result = evaluate(statement, {**arrays, wrt: moved})
            made[point] += sign * np.sum(upstream * result) / (2 * step)
    return made


@pytest.mark.parametrize(("text", "wrt"), CASES)
def test_agrees_with_differences(text, wrt):
    statement = parse_assignment(text)
    rng = np.random.default_rng(0)
    read = {access.tensor for access in accesses(statement.value)}
    arrays = {name: 0.3 + rng.random(SHAPES[name]) for name in sorted(read)}
    upstream = rng.random(np.shape(evaluate(statement, arrays)))
    made = gradient(statement, wrt, "g")
    more = selected(statement, wrt, arrays, "g", made.target.tensor)
    assert bool(more) == (wrt in in_windows(statement))
    shape = arrays[wrt].shape
    actual = evaluate(made, {**arrays, **more, "g": upstream}, shape=shape)
    expected = differences(statement, arrays, wrt, upstream)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-7)


def test_a_masked_gradient_samples_inside_the_sum():
    statement = parse_assignment("y[i] = A[i in 1:4, j] * x[j]")
    made = masked_gradient(statement, "A", "g", "M")
    printed = "dA[k,j] = sum(i, M[k,j] * g[i] * x[j] * window1[k,i])"
    assert print_assignment(made) == printed


def test_a_selection_never_takes_the_name_of_an_operand():
    statement = parse_assignment("y[i] = x[i + k] * window1[k]")
    (found,) = selections(statement, "x")
    assert found.name == "window1_"
    assert "window1_[" in print_assignment(gradient(statement, "x", "g"))
