"""Python's operators on arrays."""

import numpy as np
import pytest
import scipy.sparse
from oracle_check import interpreted

import sparray as sp
from sparray.errors import DTypeError, ShapeError, SparrayError

RNG = np.random.default_rng(0)
# Adding 0 leaves no negative zero.
A = np.round(RNG.normal(size=(6, 5)) * 3) * (RNG.random((6, 5)) < 0.4) + 0.0
B = np.round(RNG.normal(size=(6, 5)) * 3) * (RNG.random((6, 5)) < 0.4) + 0.0
X = np.arange(5.0)


def same(found, expected):
    if isinstance(found, sp.SparseArray):
        found = found.todense()
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("format", ["csr", "coo"])
def test_operators_of_two_arrays(format):
    a, b = sp.array(A, format=format), sp.array(B, format=format)
    same(a + b, A + B)
    same(a - b, A - B)
    same(a * b, A * B)
    same(a @ b.T, A @ B.T)
    assert (a + b).format == a.format


def test_operators_with_dense_arrays_on_either_side():
    a = sp.array(A)
    same(a + B, A + B)
    same(B + a, A + B)
    same(B - a, B - A)
    same(a * B, A * B)
    same(B * a, A * B)
    assert isinstance(a + B, np.ndarray)
    assert isinstance(a * B, sp.SparseArray)
    same(a @ X, A @ X)
    same(np.arange(6.0) @ a, np.arange(6.0) @ A)
    same(a @ B.T, A @ B.T)
    same(B.T @ a, B.T @ A)


def test_operators_with_numbers():
    a = sp.array(A)
    for found, expected in (
        (2 * a, 2 * A), (a * 2, 2 * A), (a / 2, A / 2), (-a, -A), (abs(a), abs(A))
    ):  # fmt: skip
        assert isinstance(found, sp.SparseArray)
        assert found.nnz == a.nnz
        same(found, expected)
    same(a + 1, A + 1)
    same(1 - a, 1 - A)


def test_python_numbers_are_weak():
    small = sp.array(A.astype("int8"))
    same(small * 2, A.astype("int8") * 2)
    same(small * 2.0, A.astype("int8") * 2.0)
    same(sp.array(A.astype("float32")) * 2.5, A.astype("float32") * 2.5)
    same(sp.array(A != 0) * 2, (A != 0) * 2)
    with pytest.raises(DTypeError, match="300"):
        small * 300


def test_operators_with_scipy_and_lists():
    a = sp.array(A)
    same(a + scipy.sparse.csr_array(B), A + B)
    same(a @ X.tolist(), A @ X)
    with pytest.raises(ShapeError, match="lists of equal lengths"):
        a @ [[1.0], [1.0, 2.0]]
    with pytest.raises(DTypeError):
        a @ np.array(["x"] * 5)
    with pytest.raises(TypeError):
        a @ "text"
    with pytest.raises(TypeError):
        a + None


def test_rows_are_broadcast():
    a = sp.array(A)
    same(a * X, A * X)
    same(X + a, A + X)


@pytest.mark.parametrize("format", ["csr", "coo", "bcsr(2, 2)"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((6, 1), (6, 5)), ((1, 5), (6, 5)), ((6, 1), (1, 5)), ((1, 1), (6, 5))],
)
def test_extents_of_one_are_broadcast(format, left, right):
    rng = np.random.default_rng(5)
    x, y = (
        rng.integers(1, 5, shape) * (rng.random(shape) < 0.5) * 1.0
        for shape in (left, right)
    )
    a, b = sp.array(x, format=format), sp.array(y, format=format)
    # Without a compiler: that would take it a second for each kernel.
    with interpreted():
        product, sum_ = a * b, a + b
        same(product, x * y)
        same(sum_, x + y)
        same(a * y, x * y)
        same(y - a, y - x)
    assert isinstance(product, sp.SparseArray)
    np.testing.assert_array_equal(product.todense() != 0, x * y != 0)


def test_arrays_of_more_elements_than_can_be_counted_are_operands():
    huge = 2**40
    one = sp.from_coords([[3], [7]], [5.0], (huge, huge), format="dcsr")
    with interpreted():
        for found in (one * one, one + one.T.T, one * sp.array([[5.0]])):
            assert found.shape == (huge, huge) and found.nnz == 1
        assert (one + 1).fill_value == 1 and (one == one).fill_value
        assert sp.fuse(lambda a: (a * a).sum() * 10**30)(one) == 25e30
    with pytest.raises(ShapeError, match="expected shapes that broadcast together"):
        one * sp.from_coords([[3], [7]], [5.0], (huge, huge - 1))


def test_a_sparse_column_and_a_sparse_matrix_stay_sparse():
    huge = 10**6
    column = sp.from_coords([[3], [0]], [2.0], (huge, 1), format="coo")
    one = sp.from_coords([[3], [7]], [5.0], (huge, 20), format="coo")
    found = column + one
    assert found.nnz == 20
    assert (column * one).nnz == 1


def test_shapes_that_do_not_fit():
    a = sp.array(A)
    with pytest.raises(ShapeError, match=r"\(6, 5\) and \(5, 6\)"):
        a + sp.array(B.T)
    with pytest.raises(ShapeError):
        a @ sp.array(B)
    with pytest.raises(ShapeError):
        a @ np.ones((5, 4, 5))


def test_division():
    a = sp.array(A)
    same(a / (abs(B) + 1), A / (abs(B) + 1))
    # An entry that is not stored is 0 whatever divides it, nothing included.
    with np.errstate(all="ignore"):
        expected = np.where(A, A / B, 0.0)
    found = a / sp.array(B)
    assert found.nnz == a.nnz
    same(found, expected)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), ()])
def test_sums(axis):
    same(sp.array(A).sum(axis), A.sum(axis))
    same(sp.sum(sp.array(A, format="coo"), axis), A.sum(axis))


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "bool", "complex64"])
def test_sums_of_any_dtype(dtype):
    values = abs(A).astype(dtype)
    same(sp.array(values).sum(1), values.sum(1))


def test_sums_over_axes_that_are_not_there():
    a = sp.array(A)
    with pytest.raises(ShapeError, match="from -2 to 1, got 2"):
        a.sum(2)
    with pytest.raises(ShapeError, match="each axis once"):
        a.sum((0, -2))
    for axis in (0.5, "a", [0, 1]):
        with pytest.raises(ShapeError, match="axis: expected an integer or a tuple"):
            a.sum(axis)


def test_numpy_functions_do_not_densify():
    with interpreted():
        assert isinstance(np.add(sp.array(A), sp.array(B)), sp.SparseArray)
    with pytest.raises((SparrayError, TypeError)):
        np.fft.fft(sp.array(A))


def test_operators_without_dimensions():
    a = sp.array(3.0)
    same(a * 2.0, np.float64(6.0))
    same(a + sp.array(1.0), np.float64(4.0))
    same(a.sum(), 3.0)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_integer_division_ends_no_process(dtype):
    info = np.iinfo(dtype)
    values = np.array([[info.min, info.max, 7, 0], [info.min, 1, 7, 3]], dtype)
    divisor = np.array([[-1, 0, 0, 0], [0, -1, -2, 2]]).astype(dtype)
    a = sp.array(values, "csr")
    with np.errstate(all="ignore"):
        same(a // divisor, values // divisor)
        same(a % divisor, values % divisor)
        same(a // 0, values // 0)
    shifts = np.abs(divisor.astype("int64")).astype(dtype) * 31
    same(a << shifts, values << shifts)
    same(a >> shifts, values >> shifts)


def test_operators_keep_arrays_sparse():
    a, b = sp.array(A), sp.array(B)
    for found, expected, fill in (
        (a + 1, A + 1, 1), (2 - b, 2 - B, 2), (a == b, A == B, True),
        (a <= 0, A <= 0, True), (a**2, A**2, 0), (2**a, 2**A, 1), (a // 2, A // 2, 0),
        (a % 2, A % 2, 0), (+a, A, 0), (~(a > b), ~(A > B), True),
    ):  # fmt: skip
        assert isinstance(found, sp.SparseArray)
        assert found.fill_value == fill
        assert found.nnz <= a.nnz + b.nnz
        same(found, expected)
