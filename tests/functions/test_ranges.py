"""Evenly spaced numbers."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import DTypeError


def same(found, expected):
    assert isinstance(found, sp.SparseArray)
    np.testing.assert_array_equal(found.todense(), expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape


def test_ranges():
    for args in ((5,), (2, 7), (1.0, 3.0, 0.5), (5, 0, -2), (0,), (3, 1)):
        same(sp.arange(*args), np.arange(*args))
    same(sp.arange(4, dtype="float32", format="csf"), np.arange(4, dtype="float32"))
    assert sp.arange(4, format="csf").nnz == 3
    same(sp.linspace(0, 1, 5), np.linspace(0, 1, 5))
    same(sp.linspace(0, 1, 4, endpoint=False), np.linspace(0, 1, 4, endpoint=False))
    with pytest.raises(DTypeError, match="step that is not 0"):
        sp.arange(0, 1, 0)
    with pytest.raises(DTypeError, match="how many"):
        sp.linspace(0, 1, -1)
