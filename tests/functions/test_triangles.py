"""Triangles of matrices and of stacks of them."""

import numpy as np
import pytest

import sparray as sp
from sparray.errors import ShapeError, WouldDensifyError

FORMATS = ("csr", "csc", "coo", "dcsr", "bitmap", "dia", "bcsr(2, 2)", "dense")
X = np.random.default_rng(0).integers(-1, 2, (4, 6))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name, format):
    A = sp.array(X, format)
    for k in (-9, -3, -1, 0, 2, 5, 9):
        found = getattr(sp, name)(A, k=k)
        np.testing.assert_array_equal(found.todense(), getattr(np, name)(X, k))
        assert found.format == A.format and found.dtype == A.dtype


def test_stacks_and_repeated_entries():
    x = np.random.default_rng(1).integers(-1, 2, (2, 3, 3))
    np.testing.assert_array_equal(sp.tril(sp.array(x)).todense(), np.tril(x))
    coo = "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))"
    kept = sp.from_coords(
        [[0, 0, 1], [1, 1, 0]], [1, 2, 3], (2, 2), coo, duplicates="keep"
    )
    assert sp.triu(kept).todense().tolist() == [[0, 3], [0, 0]]


def test_what_is_refused():
    with pytest.raises(ShapeError, match="2 dimensions or more"):
        sp.tril(sp.zeros(3))
    with pytest.raises(ShapeError, match="integer k"):
        sp.tril(sp.eye(3), k=0.5)
    with pytest.raises(WouldDensifyError, match="72 bytes"):
        sp.triu(sp.ones((3, 3)))
