"""Diagonals against NumPy's."""

import numpy as np
import pytest
import scipy.sparse

import sparray as sp
from sparray import dispatch
from sparray.errors import ShapeError

RNG = np.random.default_rng(0)
DENSE = RNG.integers(1, 9, (2, 4, 6)) * (RNG.random((2, 4, 6)) < 0.5)
FORMATS = [
    *("dense", "csr", "csc", "coo", "dcsr", "csf", "ell", "dia", "bitmap"),
    *("bcsr(2, 2)", "nm(4, 4)", "nmg(4, 4, 1)"),
]


@pytest.mark.parametrize("k", [0, 1, -2, 5, -4, 9])
@pytest.mark.parametrize("form", FORMATS)
def test_matrices(form, k):
    array = sp.array(DENSE[0], format=form)
    found = array.diagonal(k)
    assert found.format.is_dense == array.format.is_dense
    wanted = np.diagonal(DENSE[0], k) if -4 <= k <= 6 else np.zeros(0, int)
    np.testing.assert_array_equal(found.todense(), wanted)


@pytest.mark.parametrize("form", ["csr", "coo", "csf", "dense", "batched_csr"])
def test_stacks(form):
    array = sp.array(DENSE, format=form)
    for axes in ((0, 1), (1, 2), (-1, 0)):
        found = sp.diagonal(array, 1, *axes)
        np.testing.assert_array_equal(found.todense(), np.diagonal(DENSE, 1, *axes))


def test_the_fill_value_of_a_diagonal():
    array = sp.array([[7, 1], [1, 2]], format="csr", fill_value=7)
    found = sp.diagonal(array)
    assert (found.fill_value, found.nnz) == (7, 1)
    assert found.todense().tolist() == [7, 2]


def test_diagonals_of_many_entries_share_a_kernel():
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((700, 900), density=0.1, rng=rng, format="csr")
    array = sp.array(matrix)
    plans = []
    for k in (0, 3, -300, 899):
        np.testing.assert_array_equal(array.diagonal(k).todense(), matrix.diagonal(k))
        plans.append(len(dispatch._calls))
    assert len(set(plans)) == 1


@pytest.mark.parametrize("k", [0, 2, -1])
@pytest.mark.parametrize("fill", [0, 4])
def test_a_matrix_of_a_vector(k, fill):
    vector = np.array([4, 0, 2])
    made = sp.diag(sp.array(vector, fill_value=fill), k)
    np.testing.assert_array_equal(made.todense(), np.diag(vector, k))
    assert made.format.name == "csr"
    assert made.fill_value == 0
    np.testing.assert_array_equal(sp.diag(made, k, format="coo").todense(), vector)


def test_diags():
    found = sp.diags([[1, 2, 3], [4.5]], offsets=[-1, 2], shape=(4, 5), format="coo")
    wanted = scipy.sparse.diags_array(
        [[1, 2, 3], [4.5] * 3], offsets=[-1, 2], shape=(4, 5)
    )
    np.testing.assert_array_equal(found.todense(), wanted.toarray())
    assert found.format.name == "coo"
    assert sp.diags([1.0, 2.0]).todense().tolist() == [[1, 0], [0, 2]]
    assert sp.diags([[1, 2, 3], [4, 5, 6]], offsets=[-1, 1], shape=(0, 4)).nnz == 0


@pytest.mark.parametrize(
    ("diagonals", "options", "message"),
    [
        ([[1, 2]], {"offsets": [0, 1]}, "one for each"),
        ([[1], [2]], {"offsets": [0, 0]}, "each once"),
        ([[1, 2]], {"shape": (3, 3)}, "expected 3 elements for offset 0"),
        ([[1, 2]], {"shape": (3,)}, "2 extents"),
    ],
)
def test_diags_that_do_not_fit(diagonals, options, message):
    with pytest.raises(ShapeError, match=message):
        sp.diags(diagonals, **options)


@pytest.mark.parametrize("axes", [(0, 0), (0, 2), (0.5, 1)])
def test_axes_of_a_diagonal(axes):
    with pytest.raises(ShapeError, match="axis"):
        sp.diagonal(sp.array(DENSE[0]), 0, *axes)
