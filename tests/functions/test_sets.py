"""Different elements, against NumPy; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import UnsupportedError

RNG = np.random.default_rng(0)
FORMATS = ("csr", "csc", "coo", "bitmap", "dia", "bcsr(2, 2)", "dense")


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


def check(x, **options):
    a = sp.array(x, **options)
    expected = np.unique_all(x)
    found = sp.unique_all(a)
    for name in ("values", "indices", "counts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.values.dtype == x.dtype
    numbers = found.inverse_indices.todense()
    np.testing.assert_array_equal(numbers, expected.inverse_indices)
    np.testing.assert_array_equal(sp.unique_values(a), expected.values)
    np.testing.assert_array_equal(sp.unique_counts(a).counts, expected.counts)
    np.testing.assert_array_equal(
        sp.unique_inverse(a).inverse_indices.todense(), expected.inverse_indices
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("fill", [0, -1, 5])
def test_every_format(format, fill):
    check(RNG.integers(-2, 3, (4, 6)), format=format, fill_value=fill)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex64"])
def test_dtypes(dtype):
    check(RNG.integers(0, 3, (3, 4)).astype(dtype))


def test_other_shapes():
    for shape in ((), (5,), (2, 3, 4), (0,), (3, 0)):
        check(np.asarray(RNG.integers(-1, 2, shape)))
    check(np.zeros((2, 3)))
    check(np.full((2, 3), 7))
    stored = sp.from_coords([[0, 2]], [0, 2], (4,))
    assert sp.unique_counts(stored).counts.tolist() == [3, 1]
    huge = sp.from_coords([[5], [7]], [3], (2**40, 2**40))
    assert sp.unique_values(huge).tolist() == [0, 3]
    assert sp.unique_inverse(huge).inverse_indices.fill_value == 0
    for function in (sp.unique_all, sp.unique_counts):
        with pytest.raises(UnsupportedError, match="fewer than"):
            function(huge)


def test_nan():
    x = np.array([np.nan, 1.0, 0.0, np.nan])
    found = sp.unique_counts(sp.array(x))
    np.testing.assert_array_equal(found.values, [0.0, 1.0, np.nan, np.nan])
    assert found.counts.tolist() == [1, 1, 1, 1]
    with pytest.raises(UnsupportedError, match="2 elements"):
        sp.unique_values(sp.array(x, fill_value=np.nan))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("invert", [False, True])
def test_isin(format, invert):
    x, y = RNG.integers(-2, 3, (4, 6)), np.array([2, 0, -1, 9])
    for among in (y, y[:1]):
        expected = np.isin(x, among, invert=invert)
        for given in (among, sp.array(among, fill_value=9), among.tolist()):
            found = sp.isin(sp.array(x, format), given, invert=invert)
            np.testing.assert_array_equal(found.todense(), expected)
        np.testing.assert_array_equal(sp.isin(x, among, invert=invert), expected)
    assert sp.isin(sp.zeros(3), sp.zeros(0)).fill_value == np.False_
