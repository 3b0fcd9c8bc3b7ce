"""Where elements are, against NumPy; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import SettingError, ShapeError, WouldDensifyError

RNG = np.random.default_rng(0)
FORMATS = ("csr", "csc", "coo", "bitmap", "dia", "bcsr(2, 2)", "dense")


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


@pytest.mark.parametrize("format", FORMATS)
def test_nonzero(format):
    x = RNG.integers(-1, 2, (4, 6))
    for found, expected in zip(
        sp.nonzero(sp.array(x, format)), x.nonzero(), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_nonzero_of_stored_zeros_and_other_shapes():
    stored = sp.from_coords([[0, 2, 1]], [0.0, 2.0, np.nan], (3,))
    assert [row.tolist() for row in sp.nonzero(stored)] == [[1, 2]]
    assert [row.tolist() for row in sp.nonzero(sp.zeros((2, 3, 0)))] == [[], [], []]
    assert [row.tolist() for row in np.nonzero(stored)] == [[1, 2]]
    assert [row.tolist() for row in np.where(stored)] == [[1, 2]]
    with pytest.raises(WouldDensifyError, match="48 bytes"):
        sp.nonzero(sp.ones((3, 1, 1))[:, 0])
    with pytest.raises(ShapeError):
        sp.nonzero(sp.array(3))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("fill", [0, -1, 4, 7])
def test_searchsorted(side, fill):
    x = np.sort(RNG.integers(-2, 5, 12))
    v = sp.array(x, fill_value=fill)
    y = RNG.integers(-4, 7, (3, 4))
    expected = np.searchsorted(x, y, side)
    np.testing.assert_array_equal(sp.searchsorted(v, y, side=side), expected)
    found = sp.searchsorted(v, sp.array(y, "coo", fill_value=1), side=side)
    assert isinstance(found, sp.SparseArray) and found.format.name == "coo"
    np.testing.assert_array_equal(found.todense(), expected)
    found = sp.searchsorted(x, sp.array(y), side=side)
    np.testing.assert_array_equal(found.todense(), expected)
    assert sp.searchsorted(v, 2, side=side) == np.searchsorted(x, 2, side)
    order = RNG.permutation(12)
    found = sp.searchsorted(x[order], y, side=side, sorter=np.argsort(order))
    np.testing.assert_array_equal(found, expected)


def test_what_searchsorted_refuses():
    v = sp.array([0, 1])
    with pytest.raises(ShapeError, match="a vector"):
        sp.searchsorted(sp.eye(2), 1)
    with pytest.raises(SettingError, match="side"):
        sp.searchsorted(v, 1, side="middle")
    with pytest.raises(SettingError, match="sorter"):
        sp.searchsorted(v, 1, sorter=[0, 1])
