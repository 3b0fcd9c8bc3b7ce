"""Comparisons with a tolerance; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import ShapeError

SPECIAL = np.array([[np.nan, np.inf, -np.inf, 0.0], [1.0, 1.0 + 1e-9, 2.0, 0.0]])
OTHER = np.array([[np.nan, np.inf, np.inf, 1e-9], [1.0, 1.0, 2.1, -0.0]])


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted(), np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("format", ["csr", "coo"])
@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_as_numpy(format, equal_nan, fill):
    a, b = sp.array(SPECIAL, format, fill_value=fill), sp.array(OTHER, format)
    for x, y, u, v in ((a, b, SPECIAL, OTHER), (b, a, OTHER, SPECIAL)):
        found = sp.isclose(x, y, equal_nan=equal_nan)
        expected = np.isclose(u, v, equal_nan=equal_nan)
        np.testing.assert_array_equal(found.todense(), expected)
        np.testing.assert_array_equal(
            sp.isclose(x, v, rtol=0.1, equal_nan=equal_nan),
            np.isclose(u, v, rtol=0.1, equal_nan=equal_nan),
        )
    for name in ("allclose", "array_equal"):
        for u in (SPECIAL, OTHER, np.zeros((2, 4))):
            found = getattr(sp, name)(sp.array(u), b, equal_nan=equal_nan)
            assert found is getattr(np, name)(u, OTHER, equal_nan=equal_nan)


def test_other_dtypes_shapes_and_fill_values():
    x = np.array([[0, 2], [3, 0]])
    assert sp.array_equal(sp.array(x), x) and sp.array_equal(x, x.tolist())
    assert sp.array_equal(sp.array(x, fill_value=2), sp.array(x, "coo"))
    assert not sp.array_equal(sp.array(x), x[0])
    assert not sp.array_equal(sp.zeros((2, 2)), sp.ones((2, 2)))
    assert sp.array_equal(sp.array(x != 0), x != 0)
    assert sp.allclose(sp.array(x), x + 1e-9) and not sp.allclose(sp.array(x), 2)
    assert sp.array_equal(sp.array(3), 3)
    assert sp.allclose(sp.array(x * 1j), x * 1j)
    with pytest.raises(ShapeError, match=r"\(2, 2\) and \(3,\)"):
        sp.isclose(sp.array(x), [1, 2, 3])
