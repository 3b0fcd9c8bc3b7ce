"""Differences of neighbours against NumPy; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import SettingError, ShapeError

RNG = np.random.default_rng(0)
FORMATS = ("csr", "csc", "coo", "bitmap", "dia", "bcsr(2, 2)", "dense")


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


def same(found, expected):
    if isinstance(found, sp.SparseArray):
        found = found.todense()
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("fill", [0, 2])
def test_every_format(format, fill):
    x = RNG.integers(-2, 3, (4, 6))
    a = sp.array(x, format, fill_value=fill)
    for axis in (0, -1):
        same(sp.diff(a, axis=axis), np.diff(x, axis=axis))
    same(sp.diff(a, n=2), np.diff(x, 2))


def test_other_shapes_and_dtypes():
    for shape in ((5,), (2, 3, 4), (1,), (0,), (3, 0), (1, 3)):
        x = RNG.integers(-2, 3, shape)
        for axis in range(len(shape)):
            for n in (0, 1, 3):
                same(sp.diff(sp.array(x), axis=axis, n=n), np.diff(x, n, axis))
    x = RNG.integers(0, 2, (3, 5))
    for dtype in ("bool", "uint8", "float32", "complex64"):
        same(sp.diff(sp.array(x.astype(dtype))), np.diff(x.astype(dtype)))
    same(sp.diff(x), np.diff(x))


def test_what_stands_beside():
    x = RNG.integers(-2, 3, (2, 4))
    if hasattr(sp, "concat"):
        found = sp.diff(sp.array(x), prepend=x[:, :1], append=sp.array(x))
        same(found, np.diff(x, prepend=x[:, :1], append=x))


def test_what_is_refused():
    a = sp.array([1, 2])
    for n in (-1, 0.5):
        with pytest.raises(SettingError, match="n: expected"):
            sp.diff(a, n=n)
    with pytest.raises(ShapeError):
        sp.diff(a, axis=1)
    with pytest.raises(ShapeError):
        sp.diff(sp.array(1))
