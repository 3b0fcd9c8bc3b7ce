"""Sorting along an axis against NumPy; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import DTypeError, ShapeError

RNG = np.random.default_rng(0)
FORMATS = ("csr", "csc", "coo", "bitmap", "dia", "bcsr(2, 2)", "dense")


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("fill", [0, -1, 3])
def test_every_format(format, fill):
    x = RNG.integers(-2, 4, (4, 6)) * (RNG.random((4, 6)) < 0.6)
    a = sp.array(x, format, fill_value=fill)
    for axis in (0, -1):
        found = sp.sort(a, axis=axis)
        np.testing.assert_array_equal(found.todense(), np.sort(x, axis))
        assert found.format == a.format and found.fill_value == fill
        turned = sp.sort(a, axis=axis, descending=True).todense()
        np.testing.assert_array_equal(turned, np.flip(np.sort(x, axis), axis))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float32"])
def test_dtypes(dtype):
    x = RNG.integers(0, 200, (3, 4)).astype(dtype)
    x[0] = 0
    for descending in (False, True):
        found = sp.sort(sp.array(x), descending=descending)
        expected = np.sort(x)
        assert found.dtype == x.dtype
        expected = np.flip(expected, 1) if descending else expected
        np.testing.assert_array_equal(found.todense(), expected)


@pytest.mark.parametrize("fill", [0.0, np.nan, np.inf])
def test_nan_is_last(fill):
    x = np.array(
        [[np.nan, 1.0, -np.inf, 0.0, np.inf], [0.0, np.nan, np.nan, -1.0, 0.0]]
    )
    found = sp.sort(sp.array(x, "csr", fill_value=fill))
    np.testing.assert_array_equal(found.todense(), np.sort(x))
    found = sp.sort(sp.array(x, "csr", fill_value=fill), descending=True)
    np.testing.assert_array_equal(found.todense(), np.flip(np.sort(x), 1))


def test_other_shapes():
    for shape in ((5,), (2, 3, 4), (0,), (3, 0)):
        x = RNG.integers(-2, 3, shape)
        for axis in range(len(shape)):
            found = sp.sort(sp.array(x), axis=axis)
            np.testing.assert_array_equal(found.todense(), np.sort(x, axis))
    huge = sp.from_coords([[5, 2**40]], [3, -1], (2**62,))
    assert sp.sort(huge).to_coords()[0].tolist() == [[0, 2**62 - 1]]
    kept = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    twice = sp.from_coords([[0, 0], [1, 1]], [1, 2], (1, 3), kept, "keep")
    assert sp.sort(twice).todense().tolist() == [[0, 0, 3]]
    np.testing.assert_array_equal(np.sort(twice, 1).todense(), [[0, 0, 3]])


def test_what_is_refused():
    with pytest.raises(DTypeError, match="complex"):
        sp.sort(sp.array([1j]))
    with pytest.raises(ShapeError):
        sp.sort(sp.array([1]), axis=1)
    with pytest.raises(ShapeError):
        sp.sort(sp.array(1))
    with pytest.raises(AttributeError, match="a place of its own"):
        sp.argsort  # noqa: B018
