"""Expressions over formats whose levels store parts of dimensions, or have holes."""

import numpy as np
import pytest
from oracle_check import Question, check_stages
from oracle_problems import arranged_array

import sparray as sp
from sparray.compiler import names
from sparray.evaluation.expression import assignment_expression
from sparray.formats import as_format

FORMATS = (
    "bcsr(2, 3)",
    "bcsr(4, 4)",
    "bcsc(2, 2)",
    "dia",
    "ell",
    "bitmap",
    "nm(2, 4)",
    "nmg(1, 3, 2)",
    "nmg(2, 4, 1)",
    "(i, j) -> (i: dense, j: hashed)",
)
LISTED = (
    "(i, j) -> (i: compressed(nonunique, unordered), j: compressed)",
    "(i, j) -> (i: hashed, j: compressed(nonunique, unordered))",
    "(i, j) -> (j: compressed(nonunique, unordered), i - j: singleton)",
    "(i, j) -> (i // 5: compressed(nonunique, unordered), "
    "i % 5: singleton(unordered, nonunique), j: singleton(nonunique))",
)
DIAGONALS = (
    "(i, j) -> (j - i: compressed, j: compressed)",
    "(i, j) -> (j - i: compressed, i: compressed)",
    "(i, j) -> (i - j: compressed(unordered), j: range)",
    "(i, j) -> (i - j: dense, i: compressed)",
    "(i, j) -> (j: dense, j - i: hashed)",
    "(i, j) -> (j - i: compressed, i: dense)",
    "(i, j) -> (j - i: compressed(nonunique), j: singleton)",
)
EXPRESSIONS = (
    "y[i] = A[i,j] * x[j]",
    "y[j] = A[i,j] * z[i]",
    "y[i,k] = A[i,j] * X[j,k]",
    "y[i,k] = A[i,j] * S[j,k]",
    "y[k,j] = S[k,i] * A[i,j]",
    "y[i,j] = A[i,j] + C[i,j]",
    "y[i,j] = A[i,j] * C[i,j]",
    "y[i,j] = A[i,j] * D[i,j]",
    "y[i,j] = A[i,j] + D[i,j]",
    "y[i,j] = 2 * A[i,j]",
    "y = A[i,j]",
    "y[j] = A[i,j]",
    "y[i,k] = A[i,j] * A[k,j]",
    "y[i,j] = A[i,j] + A[i,j] * D[i,j]",
    "y[i,j] = A[i,j] * sum(k, D[i,k] * E[j,k])",
)
SHAPES = ((9, 11), (8, 12), (1, 5), (0, 4), (3, 0))


def random_matrix(rng, shape):
    """Return a matrix with at most 2 entries in each 4 of a row."""
    made = rng.integers(-3, 4, shape) * (rng.random(shape) < 0.4)
    for row in made:
        for start in range(0, shape[1], 4):
            entries = np.flatnonzero(row[start : start + 4])
            row[start + entries[2:]] = 0
    return made.astype("float64")


def operands(shape, format):
    """Return every tensor that the expressions name."""
    m, n = shape
    rng = np.random.default_rng(m * 100 + n)
    if format.startswith("nmg"):
        a = arranged_array(rng, shape, as_format(format, 2), "float64")
    else:
        a = sp.array(random_matrix(rng, shape), format)
    return {
        "A": a,
        "C": sp.array(random_matrix(rng, shape), "csr"),
        "D": rng.integers(-3, 4, shape).astype("float64"),
        "E": rng.integers(-3, 4, (n, n)).astype("float64"),
        "S": sp.array(random_matrix(rng, (n, m)), "csr"),
        "X": rng.integers(-3, 4, (n, 5)).astype("float64"),
        "x": rng.integers(-3, 4, n).astype("float64"),
        "z": rng.integers(-3, 4, m).astype("float64"),
    }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_stage(text, format):
    for shape in SHAPES:
        known = operands(shape, format)
        if text.startswith("y[k,j] = S"):
            known["S"] = sp.array(known["C"].todense().T.copy(), "csr")
        tensors = assignment_expression(text).tensors
        given = tuple(known[name] for name in tensors)
        check_stages(Question(text, given))


@pytest.mark.parametrize("format", DIAGONALS + LISTED)
@pytest.mark.parametrize("text", EXPRESSIONS[0:6:3] + EXPRESSIONS[5:13:3])
def test_levels_that_no_loops_follow(text, format):
    for shape in ((9, 11), (3, 0)):
        known = operands(shape, format)
        given = tuple(known[name] for name in assignment_expression(text).tensors)
        check_stages(Question(text, given))


@pytest.mark.parametrize("shape", [(5, 0), (0, 5), (0, 0)])
def test_there_are_no_diagonals_without_rows_or_columns(shape):
    """The level has no buffer to read the order of five diagonals from."""
    known = operands(shape, "(i, j) -> (j - i: permuted, i: compressed)")
    for text in ("y[i,j] = A[i,j] * C[i,j]", "y[j] = A[i,j]"):
        given = tuple(known[name] for name in assignment_expression(text).tensors)
        check_stages(Question(text, given))


def test_vectors_run_along_no_index_that_diagonals_depend_on():
    """A tile over ``i`` would read ``x[j]`` at one ``j`` for all of its rows."""
    known = operands((9, 11), "(i, j) -> (j - i: compressed, i: dense)")
    a, x = known["A"], known["x"]
    assert np.allclose(a @ x, a.todense() @ x)


@pytest.mark.parametrize(
    "format", ["bcsr(2, 3)", "dia", "nm(2, 4)", "nmg(2, 4, 1)", "bitmap"]
)
def test_compiled_products(format):
    known = operands((9, 11), format)
    dense = known["A"].todense()
    assert np.allclose(known["A"] @ known["X"], dense @ known["X"])
    assert np.allclose((known["A"] * known["D"]).todense(), dense * known["D"])


def test_a_pattern_is_inherited_with_its_blocks():
    a = operands((9, 11), "bcsr(2, 3)")["A"]
    doubled = 2 * a
    assert doubled.format == a.format
    assert doubled.levels[1]["crd"] is not None
    assert np.array_equal(doubled.todense(), 2 * a.todense())


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (names.quotient("j", 4), names.Block("j", 4, False)),
        (names.remainder("i26", 16), names.Block("i26", 16, True)),
        (names.diagonal("j", "i"), names.Diagonal("j", "i")),
        ("q", None),
        ("i26", None),
        ("m", None),
    ],
)
def test_names_of_parts(name, part):
    assert names.derived(name) == part


def test_what_parts_complete():
    assert "j" in names.completed({"jq4", "jr4"})
    assert "j" not in names.completed({"jq4", "jr8"})
    assert "j" in names.completed({"jmi", "iq2", "ir2"})
