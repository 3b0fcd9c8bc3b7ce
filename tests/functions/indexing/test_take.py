"""Slices at integers along an axis."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import ShapeError

DENSE = np.arange(60).reshape(3, 4, 5) % 7 * (np.arange(60).reshape(3, 4, 5) % 3 == 0)


@pytest.mark.parametrize("form", ["csr", "coo", "csf", "dense", "batched_csr"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [[0, 2, 2], [[1], [-1]], [], 1, np.array([1, 0])])
def test_as_numpy(form, axis, indices):
    found = sp.take(sp.array(DENSE, format=form), indices, axis=axis)
    wanted = np.take(DENSE, np.asarray(indices, np.int64), axis=axis)
    np.testing.assert_array_equal(found.todense(), wanted)


def test_the_axis_of_a_vector_is_known():
    assert sp.array([1, 0, 3]).take([2, 2]).todense().tolist() == [3, 3]
    with pytest.raises(ShapeError, match="got None"):
        sp.take(sp.array(DENSE), [0])


@pytest.mark.parametrize("indices", [np.ones(3, bool), [0.5], [7], slice(0, 2)])
def test_errors(indices):
    with pytest.raises(IndexError, match="expected"):
        sp.take(sp.array(DENSE), indices, axis=0)


@pytest.mark.parametrize("axis", [3, -4, 0.5])
def test_axes_that_are_none(axis):
    with pytest.raises(ShapeError, match="axis"):
        sp.take(sp.array(DENSE), [0], axis=axis)
