"""Faults that published compilers of this kind shipped: each kind a test.

Some are tested where they belong, too: what is inside generated arithmetic by the
oracle, a tracer that drops operations in `tests/tracing`, caches that ignore flags and
processors in `tests/_kernels/test_runtime.py`, and merges that compare all entries with
all in `lower/test_asymptotics.py`.
"""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.compiler.index_notation.printer import print_assignment
from sparray.errors import ShapeError, SparrayError
from sparray.evaluation.expression import assignment_expression

# Many kernels are compiled.
pytestmark = pytest.mark.slow


def sparse(rng, shape, format, density=0.3, dtype="float64"):
    dense = rng.integers(1, 9, shape) * (rng.random(shape) < density)
    return sp.array(dense.astype(dtype), format=format), dense.astype(dtype)


@pytest.mark.parametrize("formats", [("coo", "coo"), ("csr", "coo"), ("dcsr", "csc")])
@pytest.mark.parametrize("columns", [1, 7, 1000])
def test_a_workspace_is_as_wide_as_the_right_operand(formats, columns):
    # Sized by the left one, a wide right side is wrong first, then corrupts the heap.
    rng = np.random.default_rng(columns)
    a, a_dense = sparse(rng, (5, 4), formats[0])
    b, b_dense = sparse(rng, (4, columns), formats[1])
    for result in ("csr", "coo", "dense"):
        made = sp.einsum("ij,jk->ik", a, b, format=result)
        made = made.todense() if isinstance(made, sp.SparseArray) else made
        np.testing.assert_array_equal(made, a_dense @ b_dense)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tile", [4, 8, 16, 32, 64])
def test_the_remainder_of_a_tile_counts_once(tile, dtype):
    rng = np.random.default_rng(tile)
    a, a_dense = sparse(rng, (6, 9), "csr", dtype=dtype)
    for columns in (tile - 1, tile, tile + 1):
        # What stands behind the result must stay as it was.
        b = rng.integers(-4, 5, (9, columns)).astype(dtype)
        np.testing.assert_array_equal(a @ b, a_dense @ b)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bcsr(2, 2)"])
def test_traces_inner_products_and_transposed_products(format):
    rng = np.random.default_rng(3)
    a, dense = sparse(rng, (6, 6), format)
    b, other = sparse(rng, (6, 6), format)
    assert float(sp.einsum("ii->", a)) == np.trace(dense)
    assert float(sp.einsum("ij,ij->", a, b)) == (dense * other).sum()
    made = sp.einsum("ji,jk->ik", a, b)
    np.testing.assert_array_equal(made.todense(), dense.T @ other)


def test_shapes_that_do_not_fit_are_refused():
    a = sp.array(np.ones((6, 9)), format="csr")
    b = sp.array(np.ones((5, 4)), format="csr")
    with pytest.raises(ShapeError, match=r"\(6, 9\)"):
        a @ b


@pytest.mark.parametrize(
    "format",
    ["bitmap", "(i, j) -> (i: dense, j: bitmap)", "(i, j) -> (i: dense, j: hashed)"],
)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C[i,j] = A[i,j] + D[i,j]", lambda a, d: a + d),
        ("C[i,j] = max(A[i,j], D[i,j])", np.maximum),
        ("C[i,j] = D[i,j] * (A[i,j] == 0)", lambda a, d: d * (a == 0)),
        ("C[i,j] = where(A[i,j], 0, D[i,j])", lambda a, d: np.where(a, 0, d)),
        ("C[i,j] = A[i,j] * D[i,j]", np.multiply),
    ],
)
def test_a_result_in_a_located_operands_format_has_entries_of_its_own(
    text, expected, format
):
    rng = np.random.default_rng(5)
    a, a_dense = sparse(rng, (5, 6), format)
    d = rng.integers(1, 9, (5, 6)).astype(float)
    with interpreted():
        made = sp.compute(text, A=a, D=d, format=format)
    np.testing.assert_array_equal(made.todense(), expected(a_dense, d))


@pytest.mark.parametrize("format", ["bitmap", "csr", "(i, j) -> (i: dense, j: bitmap)"])
def test_what_a_mask_leaves_over_has_not_the_masks_pattern(format):
    rng = np.random.default_rng(6)
    mask, stored = sparse(rng, (5, 6), format)
    d = rng.integers(1, 9, (5, 6)).astype(float)
    with interpreted():
        made = sp.compute(
            "C[i,j] = D[i,j]", D=d, mask=mask, complement=True, format=format
        )
    np.testing.assert_array_equal(made.todense(), np.where(stored, 0, d))


@pytest.mark.parametrize("format", ["csr", "coo", "csc", "dcsr"])
def test_sparse_and_dense_added_lose_no_entries(format):
    rng = np.random.default_rng(0)
    a, dense = sparse(rng, (5, 7), format)
    other = rng.standard_normal((5, 7))
    for made, expected in ((a + other, dense + other), (other - a, other - dense)):
        made = made.todense() if isinstance(made, sp.SparseArray) else made
        np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    "text",
    [
        "y[i] = (a[i] - b[i]) * (a[i] + b[i])",
        "y[i] = a[i] - (b[i] - (a[i] - b[i]))",
        "y[i] = a[i] / (b[i] / (a[i] + 2))",
        "y[i] = -(a[i] - b[i]) ** 2",
        "y[i] = (-a[i]) ** 2 - -b[i]",
    ],
)
def test_arithmetic_keeps_its_parentheses(text):
    a, b = np.array([3.0, -2.0, 5.0]), np.array([1.0, 4.0, -7.0])
    expected = eval(text.split("=")[1].replace("[i]", ""), {"a": a, "b": b})
    for format in ("csf", "dense"):
        given = {"a": sp.array(a, format=format), "b": b}
        made = sp.compute(text, **given)
        made = made.todense() if isinstance(made, sp.SparseArray) else made
        np.testing.assert_allclose(made, expected, rtol=1e-15)
    printed = print_assignment(assignment_expression(text).assignment)
    again = print_assignment(assignment_expression(printed).assignment)
    assert printed == again


def test_positions_are_wider_than_the_indices():
    # An index fits 32 bits, what it is multiplied by does not.
    rows = 2**31 - 1
    at = np.array([[0, rows - 1], [1, 2]])
    a = sp.from_coords(at, [1.0, 2.0], (rows, 3), "dcsr")
    assert a.index_dtype == np.int32
    blocked = a.to_format("(i, j) -> (i: compressed, j: dense)")
    assert blocked.values.tolist() == [0, 1, 0, 0, 0, 2]
    picked = sp.einsum("ij,j->i", a, np.ones(3), format="(i) -> (i: compressed)")
    assert picked.to_coords()[0].tolist() == [[0, rows - 1]]


@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "int64", "float16", "float64", "complex64"]
)
def test_kernels_are_right_for_more_than_float32(dtype):
    rng = np.random.default_rng(1)
    a, dense = sparse(rng, (8, 6), "csr", dtype=dtype)
    x = np.ones(6, dtype)
    made = a @ x
    assert made.dtype == dense.dtype
    np.testing.assert_array_equal(made, (dense.astype("complex128") @ x).astype(dtype))


@pytest.mark.parametrize("format", ["csc", "coo", "dense", "dcsr", "ell", "bcsr(2, 3)"])
def test_a_conversion_leaves_its_receiver_alone(format):
    rng = np.random.default_rng(2)
    a, dense = sparse(rng, (7, 5), "csr")
    before = [{k: v.copy() for k, v in level.items()} for level in a.levels]
    values = a.values.copy()
    made = a.to_format(format)
    made.values[:] = 0
    assert a.format.name == "csr"
    np.testing.assert_array_equal(a.values, values)
    for old, new in zip(before, a.levels, strict=True):
        for role, buffer in old.items():
            np.testing.assert_array_equal(buffer, new[role])
    np.testing.assert_array_equal(a.todense(), dense)


def test_costs_see_sizes():
    def order(n):
        a = sp.from_coords([[0], [0]], [1.0], (n, n), "csr")
        b = sp.array(np.ones((n, 2)), format="dense")
        text = str(sp.explain("ij,jk->ik", a, b))
        return text.partition("estimated cost:")[2].split()[0]

    assert float(order(1000)) > 5 * float(order(100))


@pytest.mark.parametrize("text", ["y[i] = A[i,z]; import os", "y[__i__] = A[i,j]"])
def test_nothing_that_a_user_writes_reaches_the_source(text):
    with pytest.raises(SparrayError):
        sp.compute(text, A=sp.array(np.eye(2), format="csr"))
    evil = "y[system] = Q_exec_[system, j] * x[j]"
    try:
        kernel = sp.compile(evil, Q_exec_="csr", x="dense")
    except SparrayError:
        return
    assert "system" not in kernel.source
    assert "exec" not in kernel.source
