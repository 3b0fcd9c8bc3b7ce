"""Masks: what is computed and stored, in which formats, and how much work it takes."""

import numpy as np
import pytest
from oracle_check import counted, interpreted

import sparray as sp
from sparray.errors import ExpressionError, ShapeError

FORMATS = ("csr", "csc", "coo", "dcsr", "bitmap", "ell")


def random(m, n, density=0.4, seed=0):
    rng = np.random.default_rng(seed)
    made = rng.integers(1, 9, (m, n)).astype("float64")
    made[rng.random((m, n)) > density] = 0
    return made


def dense(result):
    return result.todense() if isinstance(result, sp.SparseArray) else result


A, B, M = random(5, 6), random(6, 4, seed=1), random(5, 4, seed=2)


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_products_of_sparse_matrices(format, complement):
    keep = (M != 0) ^ complement
    stored = keep & ((A != 0).astype(int) @ (B != 0) > 0)
    with interpreted():
        for a, b in (("csr", "csr"), ("coo", "csc"), ("dcsr", "bitmap")):
            made = sp.einsum(
                "ik,kj->ij",
                sp.array(A, a),
                sp.array(B, b),
                mask=sp.array(M, format),
                complement=complement,
            )
            np.testing.assert_array_equal(dense(made), np.where(keep, A @ B, 0))
            if isinstance(made, sp.SparseArray):
                assert made.nnz == stored.sum()


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_products_of_dense_matrices(format, complement):
    keep = (M != 0) ^ complement
    a, b = A + 1, B + 1
    mask = sp.array(M, format)
    with interpreted():
        for wanted in (None, "csr", "coo"):
            made = sp.compute(
                "C[i,j] = A[i,k] * B[k,j]", A=a, B=b, mask=mask,
                complement=complement, format=wanted,
            )  # fmt: skip
            np.testing.assert_array_equal(dense(made), np.where(keep, a @ b, 0))
            if isinstance(made, sp.SparseArray):
                assert made.nnz == keep.sum()
        assert isinstance(made, sp.SparseArray)


def test_the_pattern_counts_and_not_the_values():
    mask = sp.from_coords([[0, 1], [1, 0]], [0.0, np.nan], (2, 2), "csr")
    with interpreted():
        made = sp.einsum("ij->ij", np.array([[1.0, 2], [3, 4]]), mask=mask)
        # Of a dense mask, which stores all, what is not zero.
        other = sp.einsum(
            "ij->ij", np.array([[1.0, 2], [3, 4]]), mask=[[True, False], [False, True]]
        )
    np.testing.assert_array_equal(made.todense(), [[0, 2], [3, 0]])
    np.testing.assert_array_equal(other.todense(), [[1, 0], [0, 4]])
    assert made.nnz == other.nnz == 2


def test_outside_of_the_mask_is_the_fill_value():
    mask = sp.array(M, "csr")
    a = sp.array(random(5, 4), "csr")
    with interpreted():
        made = sp.compute("C[i,j] = exp(A[i,j])", A=a, mask=mask)
        scaled = sp.compute("C[i,j] = s * exp(A[i,j])", A=a, s=3.0, mask=mask)
        over = sp.einsum("ik,kj->ij", A, B, mask=mask, semiring="min_plus")
    assert made.fill_value == 1 and scaled.fill_value == 3
    expected = np.where(M != 0, np.exp(random(5, 4)), 1)
    np.testing.assert_allclose(made.todense(), expected)
    np.testing.assert_allclose(scaled.todense(), 3 * expected)
    assert made.nnz == ((M != 0) & (random(5, 4) != 0)).sum()
    assert over.fill_value == np.inf
    products = (A[:, :, None] + B[None]).min(axis=1)
    np.testing.assert_array_equal(over.todense(), np.where(M != 0, products, np.inf))


def test_semirings_and_masks_together():
    edges = sp.array(random(6, 6, 0.3) != 0, "csr")
    visited = np.array([1, 0, 1, 0, 0, 0], bool)
    with interpreted():
        new = sp.einsum(
            "i,ij->j", visited, edges, semiring="or_and", mask=visited, complement=True
        )
    expected = (edges.todense()[visited].any(axis=0)) & ~visited
    np.testing.assert_array_equal(dense(new), expected)


def test_compiled_kernels_take_masks():
    kernel = sp.compile("C[i,j] = A[i,k] * B[k,j]", A="csr", B="csc", mask="csr")
    assert "stored(A[i,j])" in kernel.cin
    made = kernel(A, B, mask=sp.array(M, "coo"))
    np.testing.assert_array_equal(made.todense(), np.where(M != 0, A @ B, 0))
    with pytest.raises(ExpressionError, match="2 operands and a mask, got 2"):
        kernel(A, B)
    with interpreted():
        other = sp.compile(
            "y[i] = A[i,j] * x[j]", A="csr", mask="csf", complement=True, y="dense"
        )
        made = other(A, np.ones(6), mask=[1, 0, 0, 0, 1])
    np.testing.assert_array_equal(made, A.sum(1) * [0, 1, 1, 1, 0])


def iterations(subscripts, *operands, **options):
    """Return the iterations of all loops of all kernels."""
    return counted(lambda: sp.einsum(subscripts, *operands, **options))[0]


def entries(n, count, format):
    """Return a mask of so many entries, spread over a square."""
    at = np.arange(count) * (n * n // count)
    return sp.from_coords([at // n, at % n], np.ones(count), (n, n), format)


@pytest.mark.parametrize("format", ["csr", "dcsr", "coo"])
def test_work_follows_the_mask(format):
    dense_factors = np.ones((60, 5)), np.ones((5, 60))
    for factors in (
        dense_factors,
        (sp.array(np.ones((60, 5)), "csr"), sp.array(np.ones((5, 60)), "csc")),
    ):
        few, many = (
            iterations("ik,kj->ij", *factors, mask=entries(60, count, format))
            for count in (20, 200)
        )
        assert few < 20 * 15 + 3 * 60
        assert many < 200 * 15 + 3 * 60


def test_rows_that_the_mask_lacks_are_skipped():
    rows = np.array([3, 7])
    mask = sp.from_coords([rows, rows], np.ones(2), (100, 100), "dcsr")
    a = sp.array(np.ones((100, 2)), "csr")
    b = sp.array(np.ones((2, 100)), "csr")
    assert iterations("ik,kj->ij", a, b, mask=mask) < 2000


def test_what_is_refused():
    a = sp.array(A, "csr")
    with pytest.raises(ExpressionError, match="complement: expected a mask too"):
        sp.einsum("ij->ij", a, complement=True)
    with pytest.raises(ShapeError, match="mask"):
        sp.einsum("ij->ij", a, mask=M)
    with pytest.raises(ExpressionError, match="1 dimensions for mask"):
        sp.einsum("ij->i", a, mask=sp.array(A, "csr"))
    with pytest.raises(ShapeError, match="got a number"):
        sp.einsum("ij->", a, mask=True)
    with pytest.raises(ExpressionError, match="expected no 'stored"):
        sp.compute("C[i,j] = A[i,j] * stored(A[i,j])", A=a)
