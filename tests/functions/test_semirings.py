"""Expressions over semirings, in any formats, against dense NumPy and SciPy."""

import copy
import pickle

import numpy as np
import pytest
from oracle_check import interpreted
from scipy import sparse
from scipy.sparse import csgraph

import sparray as sp
from sparray.errors import ExpressionError

FORMATS = ("csr", "csc", "coo", "dcsr", "bitmap", "ell")


def graph(n, density=0.3, dtype="float64", seed=0):
    """Return the weights of a random graph's edges; 0 is no edge."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, (n, n)).astype(dtype)
    weights[rng.random((n, n)) > density] = 0
    return weights


def dense(result):
    return result.todense() if isinstance(result, sp.SparseArray) else result


def min_plus(a, b):
    """Return the product by broadcasting, no edge being infinitely long."""
    top = np.inf
    a, b = (np.where(x == 0, top, x.astype(float)) for x in (a, b))
    return (a[:, :, None] + b[None]).min(axis=1)


@pytest.mark.parametrize("format", FORMATS)
def test_products_over_min_plus(format):
    a, b = graph(6), graph(6, seed=1)
    with interpreted():
        made = sp.einsum(
            "ik,kj->ij", sp.array(a, format), sp.array(b, "csr"), semiring="min_plus"
        )
    expected = min_plus(a, b)
    np.testing.assert_array_equal(dense(made), expected)
    assert made.fill_value == np.inf
    # The first row or column that has no edge at all stays absent.
    assert made.nnz == np.isfinite(expected).sum()


def test_products_of_sparse_matrices_collect_rows_in_lists():
    kernel = sp.compile(
        "C[i,j] = A[i,k] * B[k,j]", A="csr", B="csr", semiring="min_plus"
    )
    assert "where[list float64]" in kernel.cin
    a, b = graph(6), graph(6, seed=1)
    made = kernel(sp.array(a, "csr"), sp.array(b, "csr"))
    np.testing.assert_array_equal(made.todense(), min_plus(a, b))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "int64"])
def test_the_largest_integer_is_no_path(dtype):
    a = graph(5, dtype=dtype)
    top = np.iinfo(dtype).max
    with interpreted():
        made = sp.einsum("ik,kj->ij", sp.array(a, "csr"), a * 0 + top,
                         semiring="min_plus")  # fmt: skip
        again = sp.einsum("ik,kj->ij", sp.array(a, "csr"), sp.array(a, "csc"),
                          semiring="min_plus")  # fmt: skip
    assert made.dtype == dtype
    assert (made == top).all()
    expected = min_plus(a, a)
    expected[np.isinf(expected)] = 0
    expected = np.where(expected == 0, top, expected.astype(dtype))
    np.testing.assert_array_equal(again.todense(), expected)
    assert again.fill_value == top


def shortest_paths(weights, format):
    """Return all shortest paths by squaring a matrix until nothing changes."""
    n = len(weights)
    # The ones of min-plus are zeros: stored, each node is no way from itself.
    stay = sp.from_coords([range(n), range(n)], np.zeros(n), (n, n), "csr")
    paths = sp.compute(
        "D[i,j] = A[i,j] + I[i,j]",
        A=sp.array(weights, format),
        I=stay,
        semiring="min_plus",
    )
    for _ in range(int(np.ceil(np.log2(n)))):
        paths = sp.einsum("ik,kj->ij", paths, paths, semiring="min_plus")
    return paths


@pytest.mark.parametrize("format", FORMATS)
def test_all_shortest_paths_are_those_of_scipy(format):
    weights = graph(9, 0.2, seed=3)
    expected = csgraph.shortest_path(sparse.csr_array(weights))
    with interpreted():
        paths = shortest_paths(weights, format)
    assert np.isinf(expected).any()
    np.testing.assert_array_equal(dense(paths), expected)


def test_breadth_first_search():
    edges = graph(12, 0.12, dtype="bool", seed=5)
    A = sp.array(edges, "csc")
    order = csgraph.breadth_first_order(
        sparse.csr_array(edges), 0, return_predecessors=False
    )
    visited = np.zeros(12, bool)
    visited[0] = True
    frontier = sp.array(visited, "csf")
    with interpreted():
        while True:
            reached = dense(sp.einsum("i,ij->j", frontier, A, semiring="or_and"))
            new = reached & ~visited
            if not new.any():
                break
            visited |= new
            frontier = sp.array(new, "csf")
    assert sorted(order) == np.flatnonzero(visited).tolist()


def test_likeliest_paths():
    rng = np.random.default_rng(0)
    p = np.where(rng.random((5, 5)) < 0.5, rng.random((5, 5)), 0)
    with interpreted():
        made = sp.einsum("ik,kj->ij", *[sp.array(p, "csr")] * 2, semiring="max_times")
    some = ((p != 0)[:, :, None] & (p != 0)[None]).any(axis=1)
    expected = np.where(some, (p[:, :, None] * p[None]).max(axis=1), -np.inf)
    np.testing.assert_allclose(made.todense(), expected)
    assert made.fill_value == -np.inf


def test_a_users_semiring():
    either = sp.Monoid("x + y - x * y", identity=0)
    rng = np.random.default_rng(0)
    p = np.where(rng.random((4, 5)) < 0.5, rng.random((4, 5)), 0)
    q = np.where(rng.random((5, 3)) < 0.5, rng.random((5, 3)), 0)
    expected = 1 - np.prod(1 - p[:, :, None] * q[None], axis=1)
    with interpreted():
        for format in ("csr", "coo", "csc"):
            made = sp.einsum(
                "ik,kj->ij",
                sp.array(p, format),
                sp.array(q, "csr"),
                semiring=sp.Semiring(either, "times"),
                format="csr",
            )
            np.testing.assert_allclose(made.todense(), expected, atol=1e-15)
            assert made.nnz == np.count_nonzero(expected)


def test_a_users_semiring_in_a_compiled_kernel():
    either = sp.Semiring(sp.Monoid("x + y - x * y", identity=0), "x * y / 2")
    kernel = sp.compile("y[i] = A[i,j] * x[j]", A="csr", semiring=either)
    a, x = np.array([[0.5, 0, 1], [0, 0, 0]]), np.array([1, 1, 0.5])
    np.testing.assert_allclose(kernel(sp.array(a, "csr"), x), [0.4375, 0])


def test_what_is_not_stored():
    a = np.array([[0.0, 2.0], [3.0, 0.0]])
    stored = sp.array(a, "csr")
    filled = sp.from_coords([[0], [1]], [5.0], (2, 2), "csr", fill_value=1.0)
    with interpreted():
        union = sp.compute(
            "C[i,j] = A[i,j] + B[i,j]", A=stored, B=stored, semiring="min_plus"
        )
        both = sp.compute(
            "C[i,j] = A[i,j] + B[i,j]", A=stored, B=a, semiring="min_plus"
        )
        other = sp.compute("C[i,j] = A[i,j] * 1", A=filled, semiring="min_plus")
    np.testing.assert_array_equal(union.todense(), [[np.inf, 2], [3, np.inf]])
    # A dense 0 is the number 0, and another fill value than 0 is itself.
    np.testing.assert_array_equal(dense(both), a)
    np.testing.assert_array_equal(other.todense(), [[2, 6], [2, 2]])


def test_operands_of_different_dtypes_are_promoted_first():
    a = graph(4, dtype="int32")
    b = graph(4, dtype="int64", seed=1) + 2**40
    with interpreted():
        made = sp.einsum("ik,kj->ij", sp.array(a, "csr"), b, semiring="min_plus")
    expected = min_plus(a, b)
    expected = np.where(
        np.isinf(expected), np.iinfo("int64").max, np.nan_to_num(expected, posinf=0)
    )
    assert dense(made).dtype == np.int64
    np.testing.assert_array_equal(dense(made), expected)


def test_an_empty_reduction_is_the_zero():
    with interpreted():
        made = sp.einsum("ij->i", np.ones((2, 0)), semiring="min_plus")
    np.testing.assert_array_equal(made, [np.inf, np.inf])


def test_explain_says_what_is_computed():
    a = sp.array(graph(4), "csr")
    text = str(sp.explain("ij,j->i", a, np.ones(4), semiring="min_plus"))
    assert "out[i] = min(j, add_absorbing_top(A[i,j], B[j]))" in text
    assert "fill value inf" in text


def test_semirings_can_be_copied_and_pickled():
    either = sp.Monoid("x + y - x * y", identity=0)
    semiring = sp.Semiring(either, "times")
    sp.einsum("ij->i", [[0.5, 0.5]], semiring=semiring)
    for made in (copy.deepcopy(semiring), pickle.loads(pickle.dumps(semiring))):
        assert made == semiring and hash(made) == hash(semiring)
        assert made.addition.name == semiring.addition.name


def test_an_identity_is_a_number_that_some_dtype_holds():
    with pytest.raises(ExpressionError, match="an integer of 64 bits as identity"):
        sp.Monoid("x + y", identity=10**400)
