"""Products of arrays against NumPy, in every format; without a compiler."""

import numpy as np
import pytest
import scipy.sparse
from oracle_check import interpreted

import sparray as sp
from sparray.errors import ShapeError

RNG = np.random.default_rng(0)
FORMATS = ("csr", "coo", "dia")


def some(*shape, dtype="int64"):
    return (RNG.integers(-3, 4, shape) * (RNG.random(shape) < 0.5)).astype(dtype)


def same(found, expected):
    if isinstance(found, sp.SparseArray):
        found = found.todense()
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(format):
    x, y, z = some(4, 6), some(6, 4), some(4, 6)
    a, b, c = (sp.array(each, format) for each in (x, y, z))
    same(sp.matmul(a, b), x @ y)
    same(sp.matmul(a, y), x @ y)
    same(sp.tensordot(a, c, axes=((0, 1), (0, 1))), np.tensordot(x, z))
    same(sp.vecdot(a, c), np.vecdot(x, z))
    same(sp.kron(a, b), np.kron(x, y))
    assert sp.kron(a, b).format == a.format
    same(sp.matrix_transpose(a), x.T)
    same(
        sp.linalg.matrix_power(sp.array(x[:, :4], format), 3),
        x[:, :4] @ x[:, :4] @ x[:, :4],
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3, 4), (2, 4, 5)),
     ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)),
     ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((2, 3, 0), (2, 0, 2))],
)  # fmt: skip
def test_matrix_products_of_stacks(left, right):
    x, y = some(*left), some(*right)
    for a, b in ((sp.array(x), sp.array(y)), (sp.array(x), y), (x, sp.array(y))):
        same(sp.matmul(a, b), x @ y)
        same(a @ b, x @ y)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 2), (1, 0)), ((-1,), (0,)), (2, 0)])
def test_tensordot(axes):
    x, y = some(3, 2, 3), some(3, 3, 2)
    if axes == 2:
        y = some(2, 3, 2)
    same(sp.tensordot(sp.array(x), sp.array(y), axes=axes), np.tensordot(x, y, axes))
    same(sp.tensordot(sp.array(x), y, axes=axes), np.tensordot(x, y, axes))


def test_vectors_are_broadcast_and_conjugated():
    x, y = some(2, 3) + 1j * some(2, 3), some(4, 1, 3) * (1 + 2j)
    same(sp.vecdot(sp.array(x), sp.array(y)), np.vecdot(x, y))
    x, y = some(2, 3), some(2, 4, 3)[:, :1]
    same(sp.vecdot(sp.array(x), sp.array(y), axis=-1), np.vecdot(x, y))
    y = some(2, 3)
    same(sp.vecdot(sp.array(x), sp.array(y), axis=-2), np.vecdot(x, y, axis=-2))
    same(sp.vecdot(sp.array(x[0]), y[0]), np.vecdot(x[0], y[0]))


def test_outer_and_cross():
    u, v = some(4), some(3)
    same(sp.linalg.outer(sp.array(u), sp.array(v)), np.outer(u, v))
    x, y = some(2, 3), some(2, 3)
    same(sp.linalg.cross(sp.array(x), sp.array(y)), np.cross(x, y))
    same(sp.linalg.cross(sp.array(x.T), y.T, axis=0), np.cross(x.T, y.T, axis=0))


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3,)), ((2,), (3, 2)), ((2, 1, 2), (3, 2))]
)
def test_kron_of_other_numbers_of_dimensions(shapes):
    x, y = (some(*shape) for shape in shapes)
    same(sp.kron(sp.array(x), sp.array(y)), np.kron(x, y))
    same(sp.kron(x, sp.array(y)), np.kron(x, y))
    same(sp.kron(x, y), np.kron(x, y))


def test_kron_of_fill_values_and_huge_shapes():
    x, y = some(2, 3), some(2, 2)
    a, b = sp.array(x, fill_value=2), sp.array(y, fill_value=-1)
    same(sp.kron(a, b), np.kron(x, y))
    big = sp.from_coords([[2**30], [5]], [3], (2**31, 6), "dcsr")
    found = sp.kron(big, sp.array([[0, 2]]))
    assert found.shape == (2**31, 12) and found.nnz == 1
    assert found.to_coords()[0].tolist() == [[2**30], [11]]
    with pytest.raises(ShapeError):
        sp.kron(sp.from_coords([[0]], [1], (2**62,)), sp.array([1, 2, 3]))


def test_operands_of_other_libraries():
    x = some(3, 3)
    s = scipy.sparse.csr_array(x)
    for function in (sp.matmul, sp.kron, sp.vecdot):
        numpys = getattr(np, function.__name__)
        same(function(s, sp.array(x)), numpys(x, x))
        same(function(s, s), numpys(x, x))
    same(sp.matmul(x.tolist(), sp.array(x)), x @ x)


def test_powers():
    x = some(3, 3)
    a = sp.array(x, "csc")
    for n in (0, 1, 2, 5):
        same(sp.linalg.matrix_power(a, n), np.linalg.matrix_power(x, n))
    for given, n in ((a, -1), (a, 0.5), (sp.array(some(2, 3)), 2)):
        with pytest.raises(ShapeError, match="matrix_power"):
            sp.linalg.matrix_power(given, n)


def test_what_is_refused():
    a, v = sp.array(some(2, 3)), sp.array(some(3))
    with pytest.raises(ShapeError, match=r"1 dimension or more.*\(\)"):
        sp.matmul(a, 2)
    with pytest.raises(ShapeError, match=r"\(2, 3\).*\(2, 3\)"):
        a @ a
    with pytest.raises(ShapeError, match=r"\(1, 2, 3\) and \(2, 3\)"):
        a[None] @ a
    for axes in (3, -1, (0, 1, 2), ((0,), (0, 1)), ((5,), (0,)), ((0, 0), (0, 1)), "x"):
        with pytest.raises(ShapeError, match="axes: expected"):
            sp.tensordot(a, a, axes=axes)
    with pytest.raises(ShapeError, match="equal extents"):
        sp.tensordot(a, v, axes=((0,), (0,)))
    for axis in (0, -2):
        with pytest.raises(ShapeError, match="negative axis"):
            sp.vecdot(a, v, axis=axis)
    with pytest.raises(ShapeError, match="outer"):
        sp.linalg.outer(a, v)
    with pytest.raises(ShapeError, match="cross"):
        sp.linalg.cross(a, a, axis=0)
