"""NumPy's ufuncs of sparse arrays: each of them, and its methods."""

import operator

import numpy as np
import pytest
import scipy.sparse
import scipy.special
from oracle_check import interpreted

import sparray as sp
from sparray.errors import DTypeError, ShapeError, UnsupportedError

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(4, 5)) * 3) * (RNG.random((4, 5)) < 0.5) + 0.0
Y = np.round(RNG.normal(size=(4, 5)) * 3) * (RNG.random((4, 5)) < 0.5) + 0.0
UFUNCS = sorted(
    {u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc)}.items()
)
PRODUCTS = ("matmul", "matvec", "vecmat", "vecdot")
# 0 that is not stored, divided by whatever: 0.
ZERO_LEFT = ("divide", "floor_divide", "remainder", "divmod")


REDUCING = (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or)


def dense(found):
    return found.todense() if isinstance(found, sp.SparseArray) else found


def same(found, expected, exact=True):
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other, exact)
        return
    if exact:
        np.testing.assert_array_equal(dense(found), expected)
    else:
        np.testing.assert_allclose(dense(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize(("name", "ufunc"), UFUNCS)
def test_every_ufunc(name, ufunc, fill):
    if name in PRODUCTS:
        return
    dtype = "float64"
    for one in ("float64", "int64"):
        try:
            ufunc.resolve_dtypes((*[np.dtype(one)] * ufunc.nin, *[None] * ufunc.nout))
        except TypeError:
            continue
        dtype = one
        break
    if name == "ldexp":
        given = [X, Y.astype("int32")]
    else:
        given = [x.astype(dtype) for x in (X, Y)][: ufunc.nin]
    if name in ("power", "left_shift", "right_shift", "float_power"):
        given[1] = abs(given[1])
    with np.errstate(all="ignore"):
        try:
            expected = ufunc(*given)
        except TypeError:
            with pytest.raises(DTypeError):
                ufunc(*[sp.array(x) for x in given])
            return
        if name in ZERO_LEFT and fill == 0:
            expected = ufunc(*[np.where(given[0] == 0, [[0]], given[0]), given[1]])
            zero = given[0] == 0
            parts = expected if isinstance(expected, tuple) else (expected,)
            parts = tuple(np.where(zero, 0, part) for part in parts)
            expected = parts if isinstance(expected, tuple) else parts[0]
    formats = ("csr", "coo", "bitmap")
    with interpreted():
        arrays = [
            sp.array(x, formats[n + fill], fill_value=fill) for n, x in enumerate(given)
        ]
        found = ufunc(*arrays)
    for one in found if isinstance(found, tuple) else (found,):
        assert isinstance(one, sp.SparseArray)
    exact = name not in ("logaddexp2", "ldexp", "deg2rad", "radians", "exp2")
    same(found, expected, exact=exact and dtype != "float64")


def test_composed_ufuncs_agree_on_numbers_that_are_not_finite():
    special = np.array([[np.nan, np.inf, -np.inf, 0.0], [-2.5, 1.0, 3.0, -0.0]])
    other = special[::-1].copy()
    with interpreted(), np.errstate(all="ignore"):
        a, b = sp.array(special), sp.array(other)
        for ufunc in (np.fmax, np.fmin, np.heaviside, np.logaddexp2):
            same(ufunc(a, b), ufunc(special, other), exact=False)
        for ufunc in (np.fabs, np.rint, np.cbrt, np.spacing):
            same(ufunc(a), ufunc(special), exact=False)
        stored = sp.array(special, "csr", fill_value=7.0)
        same(np.fmod(stored, 3.0), np.fmod(special, 3.0), exact=False)
        same(np.fmod(stored, -0.7), np.fmod(special, -0.7))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float32", "complex64"])
def test_dtypes_are_those_of_numpy(dtype):
    x, y = X.astype(dtype), np.abs(Y).astype(dtype)
    a, b = sp.array(x), sp.array(y)
    with interpreted(), np.errstate(all="ignore"):
        for ufunc in (np.add, np.fmax, np.float_power, np.maximum, np.not_equal):
            expected = ufunc(x, y)
            found = ufunc(a, b)
            assert found.dtype == expected.dtype, ufunc
            same(found, expected, exact=dtype != "complex64")
        assert np.multiply(a, 2).dtype == np.multiply(x, 2).dtype
        assert np.add(a, b, dtype="complex128").dtype == np.complex128


def test_integers_that_fmod_takes():
    info = np.iinfo("int8")
    x = np.array([info.min, info.max, -7, 7, -7, 7, 0, 5], "int8")
    y = np.array([5, -5, 3, -3, -3, 3, 5, 0], "int8")
    with interpreted(), np.errstate(all="ignore"):
        same(np.fmod(sp.array(x), sp.array(y)), np.fmod(x, y))


def test_products():
    A, B = sp.array(X), sp.array(Y.T)
    with interpreted():
        same(np.matmul(A, B), X @ Y.T, exact=False)
        same(np.matmul(X, B), X @ Y.T, exact=False)
        same(np.matvec(A, Y[0]), X @ Y[0], exact=False)
        same(np.vecmat(Y[:, 0], A), Y[:, 0] @ X, exact=False)
        same(np.vecdot(A, Y), np.vecdot(X, Y), exact=False)
        same(np.vecdot(A * 1j, Y), np.vecdot(X * 1j, Y), exact=False)


def test_ufuncs_of_other_packages():
    a, b = sp.array(X, "coo"), sp.array(Y, "csr", fill_value=1.0)
    kept = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    twice = sp.from_coords([[0, 0], [1, 1]], [1.0, 2.0], (2, 2), kept, "keep")
    with interpreted():
        same(scipy.special.erf(a), scipy.special.erf(X))
        assert scipy.special.erf(a).nnz == a.nnz
        same(scipy.special.xlogy(a, np.abs(b)), scipy.special.xlogy(X, np.abs(Y)))
        same(scipy.special.xlogy(a, 2.0), scipy.special.xlogy(X, 2.0))
        same(scipy.special.xlogy(a, abs(Y)), scipy.special.xlogy(X, abs(Y)))
        # The number that is stored in parts is their sum.
        assert scipy.special.expm1(twice).todense()[0, 1] == np.expm1(3.0)
        row = sp.array(Y[:1])
        same(scipy.special.xlogy(a, abs(row)), scipy.special.xlogy(X, abs(Y[:1])))
        same(scipy.special.erf(sp.array(X, "dense")), scipy.special.erf(X))


def test_reductions():
    a = sp.array(X)
    with interpreted():
        same(np.add.reduce(a), X.sum(0))
        same(np.add.reduce(a, axis=None), X.sum())
        same(np.add.reduce(a, axis=1, dtype="float32"), np.float32(X.sum(1)))
        for ufunc in REDUCING:
            same(ufunc.reduce(a, axis=1), ufunc.reduce(X, axis=1))
            expected = ufunc.reduce(X, axis=0, keepdims=True)
            same(ufunc.reduce(a, axis=0, keepdims=True), expected)
        for ufunc in REDUCING[:2]:
            same(ufunc.accumulate(a, axis=1), ufunc.accumulate(X, axis=1))
            same(ufunc.accumulate(a), ufunc.accumulate(X))
        written = np.zeros(4)
        np.add.reduce(a, axis=1, out=written)
        same(written, X.sum(1))


def test_outer():
    v, w = X[:, 0], Y[:2]
    with interpreted():
        for ufunc in (np.multiply, np.add, np.maximum, np.less, np.hypot):
            same(ufunc.outer(sp.array(v), sp.array(w)), ufunc.outer(v, w))
            same(ufunc.outer(sp.array(v), w), ufunc.outer(v, w))


def test_what_changes_arrays():
    a, x = sp.array(X), Y.copy()
    with interpreted():
        x += a
        same(x, Y + X)
        x *= a
        same(x, (Y + X) * X)
        made = np.empty_like(X)
        assert np.add(a, a, out=made) is made
        same(made, 2 * X)
        sparse = sp.zeros((4, 5), format="csc")
        assert np.add(a, a, out=sparse) is sparse
        same(sparse, 2 * X)
        assert sparse.format.name == "csc"
        np.add(a, a, out=sparse, where=X > 0)
        same(sparse, 2 * X)
        np.negative(sparse, out=sparse, where=a > 0)
        same(sparse, np.where(X > 0, -2 * X, 2 * X))
    with pytest.raises(ShapeError, match=r"\(4, 5\)"):
        np.add(a, a, out=np.zeros(3))
    with pytest.raises(DTypeError, match="cast"):
        np.add(a, a, out=np.zeros((4, 5), int))


def test_what_is_refused():
    a = sp.array(X)
    with pytest.raises(UnsupportedError, match="where: expected True"):
        np.add(a, a, where=X > 0)
    with pytest.raises(DTypeError):
        np.bitwise_count(a)
    with pytest.raises(TypeError):
        np.add(a, "text")

    class Other:
        def __array_ufunc__(self, *args, **options):
            return "the other one's"

    assert np.add(a, Other()) == "the other one's"


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_operators_with_scipy_arrays_on_either_side(kind):
    a, s = sp.array(X), kind(Y)
    with interpreted():
        for op in (
            operator.add, operator.sub, operator.mul, operator.eq, operator.ne,
            operator.lt, operator.ge,
        ):  # fmt: skip
            for found, expected in ((op(a, s), op(X, Y)), (op(s, a), op(Y, X))):
                assert isinstance(found, sp.SparseArray)
                same(found, expected)
        with np.errstate(divide="ignore"):
            expected = np.where(X == 0, 0, X / np.where(X == 0, 1, Y))
        same(a / s, expected, exact=False)
        assert isinstance(s / a, sp.SparseArray)
        for found, expected in ((a @ s.T, X @ Y.T), (s @ a.T, Y @ X.T)):
            assert isinstance(found, sp.SparseArray)
            same(found, expected, exact=False)


def test_operators_with_scipy_matrices():
    a, m = sp.array(X), scipy.sparse.csr_matrix(Y)
    with interpreted():
        same(m + a, Y + X)
        same(m @ a.T, Y @ X.T, exact=False)
        same(a * m, X * Y)
    with pytest.raises(UnsupportedError, match="matrix product"):
        m * a


def test_scipy_makes_no_arrays_of_sparse_ones():
    with pytest.raises((ValueError, TypeError)):
        scipy.sparse.csr_array(sp.array(X))
