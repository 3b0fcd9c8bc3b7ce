"""Methods of every ufunc of NumPy's, of sparse arrays; without a compiler."""

import operator
import warnings

import numpy as np
import pytest
import scipy.special
from oracle_check import interpreted

import sparray as sp
from sparray.errors import (
    CoordinateError,
    DTypeError,
    ShapeError,
    UnsupportedError,
    WouldDensifyError,
)

RNG = np.random.default_rng(1)
X = np.round(RNG.normal(size=(4, 5)) * 3) * (RNG.random((4, 5)) < 0.5) + 0.0
X[2] = 0
T = np.stack([X, -X, X[::-1] * 2]) + 0.0
BINARY = sorted(
    u.__name__
    for u in {v for v in vars(np).values() if isinstance(v, np.ufunc)}
    if u.nin == 2 and u.signature is None
)
# NumPy divides zeros to NaN; a zero that is not stored stays one.
ZERO_LEFT = {"divide", "floor_divide", "remainder", "divmod", "fmod"}
# NumPy 2 sums them up in another order: they differ in the last bit.
ROUNDED = {"logaddexp", "logaddexp2", "hypot"}


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def given(name, x):
    """Return operands that a ufunc takes, positive ones where others make NaN."""
    whole = name in ("gcd", "lcm", "left_shift", "right_shift") or "bitwise" in name
    if whole:
        x = np.abs(x).astype("int64")
    if name in ("power", "float_power"):
        x = np.abs(x)
    if name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        x = x > 0
    return x + 3.0 if name in ZERO_LEFT else x


def same(found, expected, rtol=0.0):
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    found = found.todense() if isinstance(found, sp.SparseArray) else found
    np.testing.assert_allclose(found, expected, rtol=rtol)
    assert np.shape(found) == np.shape(expected)


def numpy_reduced(ufunc, x, axis, **options):
    """Return what `reduce` is defined to be.

    NumPy 2.4 returns something else of power and arctan2, where these are vectorised.
    """
    if ufunc in (np.power, np.arctan2):
        made = np.take(ufunc.accumulate(x, axis=axis), -1, axis=axis)
        return np.expand_dims(made, axis) if options.get("keepdims") else made
    return ufunc.reduce(x, axis=axis, **options)


def outcome(call):
    """Return a result, or the class that NumPy and sparray agree upon for errors."""
    try:
        return call()
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize("name", BINARY)
def test_reduce_and_accumulate(name):
    ufunc = getattr(np, name)
    rtol = 1e-12 if name in (*ROUNDED, "add", "arctan2") else 0.0
    for x in (given(name, X), given(name, T)):
        for axis in (0, 1, -1):
            expected = outcome(lambda x=x, axis=axis: numpy_reduced(ufunc, x, axis))
            if expected is None:
                with pytest.raises((TypeError, ValueError)):
                    ufunc.reduce(sp.array(x), axis=axis)
                continue
            for fill in (0, x.flat[0]):
                a = sp.array(x, fill_value=fill)
                same(ufunc.reduce(a, axis=axis), expected, rtol)
            same(ufunc.accumulate(a, axis=axis), ufunc.accumulate(x, axis=axis))
    if name == "logaddexp2" or expected is None:
        return
    a, x = sp.array(given(name, X)), given(name, X)
    kept = ufunc.reduce(a, axis=1, keepdims=True)
    same(kept, numpy_reduced(ufunc, x, 1, keepdims=True), rtol)
    same(ufunc.reduce(a[:, 0]), numpy_reduced(ufunc, x[:, 0], 0), rtol)


@pytest.mark.parametrize("name", BINARY)
def test_outer(name):
    ufunc = getattr(np, name)
    x = given(name, X)
    for left, right in ((x[:, 0], x[1]), (x, x[1])):
        if name == "ldexp":
            right = right.astype(int)
        expected = outcome(lambda a=left, b=right: ufunc.outer(a, b))
        if expected is None:
            with pytest.raises(TypeError):
                ufunc.outer(sp.array(left), sp.array(right))
            continue
        rtol = 1e-12 if name in (*ROUNDED, "float_power", "arctan2", "power") else 0.0
        for one in (sp.array(right), right):
            same(ufunc.outer(sp.array(left), one), expected, rtol)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logaddexp])
def test_initial_and_where(ufunc):
    a, chosen = sp.array(X), X > -1
    for options in ({"initial": 2.0}, {"initial": 1.0, "where": chosen}):
        found = ufunc.reduce(a, axis=0, **options)
        same(found, ufunc.reduce(X, axis=0, **options), 1e-12)
    if ufunc.identity is not None:
        found = ufunc.reduce(a, axis=1, where=sp.array(chosen))
        same(found, ufunc.reduce(X, axis=1, where=chosen), 1e-12)
    none = sp.array(X[:0])
    same(ufunc.reduce(none, initial=3.0), ufunc.reduce(X[:0], initial=3.0))
    wide = sp.array(T[:0])
    same(ufunc.reduce(wide, initial=3.0), ufunc.reduce(T[:0], initial=3.0))


def test_reductions_that_there_are_none_of():
    a = sp.array(X)
    with pytest.raises(ShapeError, match=r"maximum\.reduce: expected initial"):
        np.maximum.reduce(a, where=X > 0)
    with pytest.raises(UnsupportedError, match=r"subtract\.reduce: expected where"):
        np.subtract.reduce(a, where=X > 0)
    with pytest.raises(ShapeError, match="one axis, as the order"):
        np.subtract.reduce(a, axis=(0, 1))
    with pytest.raises(ShapeError, match="at least one element along axis 0"):
        np.arctan2.reduce(sp.array(X[:0]))
    with pytest.raises(ShapeError, match="at least one element"):
        np.fmax.reduce(sp.array(X[:0]))
    with pytest.raises(DTypeError, match="bitwise_or"):
        np.bitwise_or.reduce(a)


def test_ufuncs_of_other_packages():
    a = sp.array(np.abs(X))
    same(
        scipy.special.xlogy.reduce(a, axis=1),
        scipy.special.xlogy.reduce(np.abs(X), axis=1),
    )
    v = a[0]
    same(
        scipy.special.xlogy.outer(v, v + 1),
        scipy.special.xlogy.outer(abs(X[0]), abs(X[0]) + 1),
    )


@pytest.mark.parametrize("format", ["csr", "coo", "bitmap", "dense"])
def test_at(format):
    points = ([0, 0, 3, 0], [1, 1, -1, 1])
    many = np.array([0, 0, 2])
    cases = [
        (np.add, points, 2.0),
        (np.add, points, np.array([1.0, 2.0, 3.0, 4.0])),
        (np.multiply, points, 3.0),
        (np.subtract, (slice(None, None, 2), many), np.ones((2, 1))),
        (np.maximum, X > 1, 5.0),
        (np.add, 1, X[0]),
        (np.add, (1, 2), -1.0),
        (np.copysign, (..., 0), -1.0),
        (np.add, [], 1.0),
    ]
    for ufunc, index, operand in cases:
        a, x = sp.array(X, format), X.copy()
        assert ufunc.at(a, index, operand) is None
        ufunc.at(x, index, operand)
        same(a, x)
        assert a.format.name == format
    a, x = sp.array(X, format), X.copy()
    np.negative.at(a, points)
    np.negative.at(x, points)
    same(a, x)
    np.add.at(a, many, sp.array(X[:3]))
    np.add.at(x, many, X[:3])
    same(a, x)


def test_at_what_is_refused():
    a = sp.array(X)
    with pytest.raises(WouldDensifyError, match="160 bytes"):
        np.add.at(X.copy(), slice(None), a)
    with pytest.raises(ShapeError, match=r"broadcasts to shape \(2,\), got shape \(3"):
        np.add.at(a, ([0, 1], [0, 1]), [1.0, 2.0, 3.0])
    with pytest.raises(CoordinateError, match=r"axis 0 of shape \(4, 5\)"):
        np.add.at(a, [9], 1.0)
    with pytest.raises(DTypeError, match=r"bitwise_or\.at"):
        np.bitwise_or.at(a, [0], 1)
    huge = sp.zeros((10**9, 10**9), format="dcsr")
    with pytest.raises(WouldDensifyError):
        np.add.at(huge, slice(None), 1.0)
    np.add.at(huge, ([5, 5], [7, 7]), 1.0)
    assert huge.nnz == 1 and huge[5, 7] == 2.0
    point = sp.array(2.0)
    np.add.at(point, (), 3.0)
    assert float(point) == 5.0


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.subtract, np.logical_or])
def test_reduceat(ufunc):
    for x in (X, T, X[1]):
        for starts in ([0, 2], [2, 0, 0], [1]):
            if max(starts) >= len(x):
                continue
            found = ufunc.reduceat(sp.array(x), starts)
            same(found, ufunc.reduceat(x, starts), 1e-12)
    same(ufunc.reduceat(sp.array(X), [1, 3], axis=1), ufunc.reduceat(X, [1, 3], axis=1))
    assert isinstance(np.add.reduceat(sp.array(X), [0, 2]), sp.SparseArray)
    assert np.add.reduceat(sp.array(X), np.zeros(0, int)).shape == (0, 5)
    for starts in ([0, 9], [-1]):
        with pytest.raises(CoordinateError, match="axis 0 of extent 4"):
            ufunc.reduceat(sp.array(X), starts)
    with pytest.raises(DTypeError, match="list of integers"):
        ufunc.reduceat(sp.array(X), [0.5])
    with pytest.raises(UnsupportedError, match="expected a sparse array"):
        ufunc.reduceat(X, sp.array([0]))


def test_operators_ask_the_sparse_array_first():
    import scipy.sparse

    a, s = sp.array(X), scipy.sparse.csr_array(X)
    assert a.__array_priority__ > s.__array_priority__
    for op in (operator.add, operator.mul, operator.sub):
        assert isinstance(op(s, a), sp.SparseArray)
        same(op(X, a), op(X, X))
        same(op(np.float64(2), a), op(np.float64(2), X))
