"""Bounds against NumPy; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import DTypeError, ShapeError

RNG = np.random.default_rng(0)
X = RNG.integers(-4, 5, (4, 6)) * (RNG.random((4, 6)) < 0.6)
FORMATS = ("csr", "coo", "bitmap", "dia", "bcsr(2, 2)")


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


def same(found, expected):
    if isinstance(found, sp.SparseArray):
        found = found.todense()
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("bounds", [(-1, 2), (1, 3), (None, 1), (-2, None), (2, 1)])
def test_numbers(format, bounds):
    for fill in (0, 4):
        a = sp.array(X, format, fill_value=fill)
        found = sp.clip(a, *bounds)
        same(found, np.clip(X, *bounds))
        assert found.nnz <= a.nnz or format != "csr"


def test_arrays_as_bounds():
    low, high = X - 1, abs(X[0]) + 1
    a = sp.array(X)
    same(sp.clip(a, sp.array(low), sp.array(high)), np.clip(X, low, high))
    same(sp.clip(a, low, 3), np.clip(X, low, 3))
    same(sp.clip(X, sp.array(low), None), np.clip(X, low, None))
    same(sp.clip(X, -1, 1), np.clip(X, -1, 1))
    same(sp.clip(a), X)
    same(np.clip(a, -1, 2), np.clip(X, -1, 2))
    same(np.clip(a, min=-1, max=2), np.clip(X, -1, 2))


def test_dtypes():
    x = np.array([np.nan, -np.inf, 3.0, 0.0], "float32")
    same(sp.clip(sp.array(x), -1, 2.5), np.clip(x, -1, 2.5))
    same(sp.clip(sp.array(X.astype("int8")), -1, 2), np.clip(X.astype("int8"), -1, 2))
    with pytest.raises(DTypeError, match="300"):
        sp.clip(sp.array(X.astype("int8")), 0, 300)
    with pytest.raises(ShapeError, match="broadcast"):
        sp.clip(sp.array(X), [1, 2], None)
