"""Arrays of another one's shape, dtype and format."""

import numpy as np
import scipy.sparse

import sparray as sp


def same(found, expected):
    assert isinstance(found, sp.SparseArray)
    np.testing.assert_array_equal(found.todense(), expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape


def test_like_takes_what_it_is_not_told():
    A = sp.array(np.eye(3, dtype="int16"), "csc")
    for name, value in (("zeros_like", 0), ("ones_like", 1), ("empty_like", 0)):
        found = getattr(sp, name)(A)
        same(found, np.full((3, 3), value, "int16"))
        assert found.format == A.format
        same(getattr(sp, name)(np.ones((2, 2))), np.full((2, 2), float(value)))
        same(getattr(sp, name)(A, dtype="float32"), np.full((3, 3), value, "float32"))
    same(sp.full_like(A, 5, format="coo"), np.full((3, 3), 5, "int16"))
    same(sp.zeros_like(scipy.sparse.eye_array(2)), np.zeros((2, 2)))
