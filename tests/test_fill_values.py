"""Fill values: what expressions and operators make of them."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.compiler.absence import Fill, fill_of
from sparray.errors import ExpressionError, ShapeError

A = np.array([[3.0, 2.0, 3.0], [1.0, 3.0, 3.0]])
B = np.array([[0.0, 5.0, 0.0], [0.0, 4.0, 7.0]])


@pytest.fixture(autouse=True)
def _interpreted():
    """Compiled kernels are compared with the interpreter elsewhere."""
    with interpreted():
        yield


@pytest.fixture
def a():
    return sp.array(A, "csr", fill_value=3.0)


@pytest.fixture
def b():
    return sp.array(B, "csr")


def is_sparse(found, expected, fill, nnz):
    assert isinstance(found, sp.SparseArray)
    np.testing.assert_array_equal(found.todense(), expected)
    np.testing.assert_array_equal(found.fill_value, fill)
    assert found.nnz == nnz
    assert found.dtype == np.asarray(expected).dtype


def test_fill_values_are_computed_like_values(a, b):
    is_sparse(a + b, A + B, 3.0, 4)
    is_sparse(a - 2 * b, A - 2 * B, 3.0, 4)
    is_sparse(sp.exp(b), np.exp(B), 1.0, 3)
    is_sparse(a < b, A < B, False, 4)
    is_sparse(a >= b, A >= B, True, 4)
    is_sparse(a * a, A * A, 9.0, 2)
    # What 0 annihilates is nothing but the entries of `b`.
    is_sparse(a * b, A * B, 0.0, 3)


def test_numbers_change_the_fill_value_alone(b):
    is_sparse(b + 1, B + 1, 1.0, 3)
    is_sparse(2.5 - b, 2.5 - B, 2.5, 3)
    is_sparse(b + np.float32(np.nan), B + np.nan, np.nan, 3)
    is_sparse(b == 0, B == 0, True, 3)
    is_sparse(~(b > 0), ~(B > 0), True, 3)
    is_sparse(b + np.inf, B + np.inf, np.inf, 3)
    is_sparse((b + 1) * 2 - 2, (B + 1) * 2 - 2, 0.0, 3)


def test_results_in_other_formats_keep_the_fill_value(a, b):
    for format in ("coo", "csc", "dcsr", "bcsr(2, 2)", "ell", "bitmap"):
        found = sp.compute("C[i,j] = A[i,j] + B[i,j] + s", A=a, B=b, s=2.0,
                           format=format)  # fmt: skip
        np.testing.assert_array_equal(found.todense(), A + B + 2)
        assert found.fill_value == 5.0
        transposed = sp.einsum("ij->ji", a, format=format)
        np.testing.assert_array_equal(transposed.todense(), A.T)
        assert transposed.fill_value == 3.0
    dense = sp.compute("C[i,j] = A[i,j] + s", A=a, s=2.0, format="dense")
    np.testing.assert_array_equal(dense, A + 2)


def test_reductions_count_what_is_not_stored(a):
    np.testing.assert_array_equal(a.sum(1), A.sum(1))
    np.testing.assert_array_equal(a.sum(0), A.sum(0))
    assert a.sum() == A.sum()
    for word, function in (("min", np.min), ("max", np.max), ("prod", np.prod),
                           ("any", np.any), ("all", np.all)):  # fmt: skip
        for fill in (3.0, 0.0, np.inf, -np.inf):
            values = np.where(A == 3, fill, A)
            given = sp.array(values, "csr", fill_value=fill)
            found = sp.compute(f"C[i] = {word}(j, A[i,j])", A=given)
            np.testing.assert_array_equal(found, function(values, axis=1))
            found = sp.compute(f"C[j] = {word}(i, A[i,j])", A=given)
            np.testing.assert_array_equal(found, function(values, axis=0))


def test_products_of_matrices(a, b):
    np.testing.assert_array_equal(a @ B.T, A @ B.T)
    np.testing.assert_array_equal(a @ np.ones(3), A @ np.ones(3))
    found = a @ b.T
    expected = A @ B.T
    dense = found if isinstance(found, np.ndarray) else found.todense()
    np.testing.assert_array_equal(dense, expected)


def test_integers_wrap_in_fill_values_too():
    a = sp.array(np.array([[100, 1]], "int8"), "csr", fill_value=100)
    found = a + a
    assert found.fill_value == np.int8(-56) and found.dtype == np.int8
    assert found.nnz == 1


def test_a_missing_operand_does_not_narrow_the_others():
    # The product of int8 values would overflow, as int64 it does not.
    wide = sp.from_coords([[0], [0]], [1], (1, 2), "csr", dtype="int64")
    small = sp.array(np.array([[100, 100]], "int8"), "csr")
    found = sp.compute("C[i,j] = (A[i,j] + B[i,j]) * B[i,j]", A=wide, B=small)
    np.testing.assert_array_equal(found.todense(), [[10100, 10000]])


def test_missing_says_what_zero_times_nan_is(b):
    nan = np.full(B.shape, np.nan)
    is_sparse(sp.einsum("ij,ij->ij", b, nan), np.where(B, nan, 0), 0.0, 3)
    found = sp.einsum("ij,ij->ij", b, nan, missing="fill")
    np.testing.assert_array_equal(found, nan)
    vector = np.array([np.inf, 1.0, 1.0])
    np.testing.assert_array_equal(sp.einsum("ij,j->i", b, vector), [5.0, 11.0])
    found = sp.einsum("ij,j->i", b, vector, missing="fill")
    np.testing.assert_array_equal(found, [np.nan, np.nan])
    both = sp.compute("C[i,j] = B[i,j] / B[i,j]", B=b, missing="fill")
    assert np.isnan(both.fill_value) and both.nnz == 3
    assert sp.compute("C[i,j] = B[i,j] / B[i,j]", B=b).fill_value == 0
    with pytest.raises(ExpressionError, match="'zero' or 'fill', got 'nan'"):
        sp.einsum("ij->i", b, missing="nan")


def test_missing_does_not_matter_to_integers(b):
    whole = b.astype("int64")
    dense = np.ones(B.shape, "int64")
    found = sp.einsum("ij,ij->ij", whole, dense, missing="fill")
    assert found.nnz == 3


def test_plans_tell_fill_values_apart():
    for fill in (0.0, 1.0, np.nan, np.inf, 1.0, np.nan):
        values = np.array([[fill, 4.0], [fill, fill]])
        found = sp.array(values, "csr", fill_value=fill) * 2
        np.testing.assert_array_equal(found.todense(), values * 2)


def test_fills_are_keys():
    assert Fill(np.nan) == Fill(float("nan"))
    assert hash(fill_of(np.float32("nan"))) == hash(Fill(float("nan")))
    assert Fill(1) != Fill(True) and Fill(1) != Fill(1.0)
    assert fill_of(-0.0) == fill_of(0) == Fill()
    assert fill_of(np.complex64(1 + 2j)) == Fill(1 + 2j)


def test_arrays_are_compared_by_element(a, b):
    is_sparse(a == a, np.ones_like(A, bool), True, 2)
    is_sparse(a != b, A != B, True, 4)
    assert (a == None) is False  # noqa: E711
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)
    with pytest.raises(ShapeError, match="truth"):
        bool(a == b)
    assert bool(sp.array([[2.0]], "csr"))


def test_operators_of_integers(a, b):
    left = sp.array(np.array([[0, 7], [-7, 0]]), "csr")
    right = sp.array(np.array([[0, 2], [2, 3]]), "csr")
    dense = left.todense(), right.todense()
    is_sparse(left & right, dense[0] & dense[1], 0, 2)
    is_sparse(left | right, dense[0] | dense[1], 0, 3)
    is_sparse(left ^ 1, dense[0] ^ 1, 1, 2)
    is_sparse(~left, ~dense[0], -1, 2)
    is_sparse(left << 1, dense[0] << 1, 0, 2)
    is_sparse(left >> 1, dense[0] >> 1, 0, 2)
    is_sparse(left % 3, dense[0] % 3, 0, 2)
    is_sparse(left // 2, dense[0] // 2, 0, 2)
    is_sparse(left // 0, dense[0] * 0, 0, 2)
    is_sparse(left**2, dense[0] ** 2, 0, 2)
    is_sparse(2**right, 2 ** dense[1], 1, 3)
    is_sparse(+left, +dense[0], 0, 2)
