"""Coordinates of a grid against NumPy."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import SettingError, ShapeError


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_as_numpy(indexing):
    vectors = [np.array([0, 3, 0]), np.array([1, 0]), np.array(5), np.arange(4)]
    with interpreted():
        for count in range(5):
            given = vectors[:count]
            found = sp.meshgrid(*map(sp.array, given), indexing=indexing)
            expected = np.meshgrid(*given, indexing=indexing)
            assert len(found) == count
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.todense(), other)
        lines = sp.meshgrid(sp.array(vectors[0]), vectors[1])
    assert lines[0].nnz == 2


def test_what_is_refused():
    with pytest.raises(ShapeError, match="vectors"):
        sp.meshgrid(sp.eye(2))
    with pytest.raises(SettingError, match="indexing"):
        sp.meshgrid([1], indexing="yx")
