"""Elements at places along an axis, against NumPy."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import CoordinateError, DTypeError, ShapeError, WouldDensifyError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dia", "dense"])
@pytest.mark.parametrize("fill", [0, 2])
def test_every_format(format, fill):
    x = RNG.integers(-2, 3, (4, 6))
    a = sp.array(x, format, fill_value=fill)
    for axis, shape in ((0, (3, 6)), (-1, (4, 8)), (1, (1, 2)), (0, (5, 1))):
        places = RNG.integers(-x.shape[axis], x.shape[axis], shape)
        with interpreted():
            found = sp.take_along_axis(a, places, axis=axis)
        expected = np.take_along_axis(x, places, axis)
        np.testing.assert_array_equal(found.todense(), expected)
        assert found.fill_value == fill


def test_other_numbers_of_dimensions():
    x = RNG.integers(-1, 2, (2, 3, 4))
    places = RNG.integers(0, 3, (2, 5, 4))
    with interpreted():
        found = sp.take_along_axis(sp.array(x), places, axis=1)
        np.testing.assert_array_equal(found.todense(), np.take_along_axis(x, places, 1))
        found = sp.take_along_axis(sp.array(x[0, 0]), [3, 0])
    np.testing.assert_array_equal(found.todense(), x[0, 0][[3, 0]])


def test_what_is_refused():
    a = sp.eye(3)
    with pytest.raises(WouldDensifyError, match="todense"):
        sp.take_along_axis(a, sp.eye(3, dtype="int64"))
    with pytest.raises(DTypeError, match="integers"):
        sp.take_along_axis(a, np.eye(3))
    with pytest.raises(CoordinateError, match="extent 3"):
        sp.take_along_axis(a, [[3]])
    with pytest.raises(ShapeError, match="2 dimensions"):
        sp.take_along_axis(a, [1])
    with pytest.raises(ShapeError):
        sp.take_along_axis(a, [[1]], axis=2)
    with pytest.raises(ShapeError, match="broadcast"):
        sp.take_along_axis(a, [[1], [2]], axis=1)
