"""Methods after NumPy's, SciPy's and PyData/sparse's."""

import numpy as np
import pytest
import scipy.sparse
from oracle_check import interpreted

import sparray as sp
from sparray.errors import ShapeError

X = np.array([[0.0, 2.5, 0.0], [1.0, 0.0, -3.0]])
Z = X + 1j * X.T.reshape(2, 3)
METHODS = {
    "conj": lambda a: a.conj(),
    "conjugate": lambda a: (a * 1j).conjugate(),
    "real": lambda a: a.real,
    "imag": lambda a: a.imag,
    "itemsize": lambda a: a.itemsize,
    "round": lambda a: a.round(),
    "round to decimals": lambda a: (a / 7).round(2),
    "clip": lambda a: a.clip(-1, 1),
    "dot": lambda a: a.dot(np.ones(3)),
    "nonzero": lambda a: np.stack(a.nonzero()),
    "trace": lambda a: a.trace(1),
    "cumsum": lambda a: a.cumsum(axis=0),
    "cumprod": lambda a: a.cumprod(axis=1),
    "flatten": lambda a: a.flatten(),
    "ravel": lambda a: a.ravel("F"),
    "swapaxes": lambda a: a.swapaxes(0, -1),
    "repeat": lambda a: a.repeat(2, axis=1),
}


def same(found, expected):
    found = found.todense() if isinstance(found, sp.SparseArray) else found
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_methods_of_numpy(method):
    with interpreted():
        for format in ("csr", "coo", "bitmap"):
            same(method(sp.array(X, format)), method(X))


def test_methods_of_scipy():
    a, s = sp.array(X, "csr"), scipy.sparse.csr_array(X)
    with interpreted():
        same(a.multiply(X), s.multiply(X).toarray())
        same(a.power(2), s.power(2).toarray())
        same(a.maximum(s), X)
        same(a.minimum(0.5), np.minimum(X, 0.5))
        same(a.broadcast_to((2, 2, 3)), np.broadcast_to(X, (2, 2, 3)))
    same(a.toarray(), X)
    assert a.density == 0.5 and sp.zeros((0, 2)).density == 0
    for made, name in ((a.tocsc(), "csc"), (a.tocoo(), "coo"), (a.tocsr(), "csr")):
        assert made.format.name == name
        assert a.asformat(name).format == made.format
    with interpreted():
        same(sp.array(Z).real, Z.real)
        same(sp.array(Z).imag, Z.imag)


def test_lengths_and_members():
    a = sp.array(X, "csr")
    assert len(a) == 2 and len(sp.zeros((5, 0))) == 5
    with interpreted():
        assert 2.5 in a and 0 in a and 7 not in a
        assert 3 not in sp.array(3 * np.eye(2) - 3 * np.eye(2))
        for row, expected in zip(a, X, strict=True):
            same(row, expected)
    with pytest.raises(TypeError, match="len"):
        len(sp.array(1.0))


ELEMENTWISE = (
    "sin sinh tan tanh arcsin arcsinh arctan arctanh ceil floor trunc sign sqrt expm1 "
    "log1p rint deg2rad rad2deg"
).split()


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_methods_of_scipy(name):
    elements = abs(X) / 4
    found = getattr(sp.array(elements, format="csr"), name)()
    expected = getattr(scipy.sparse.csr_array(elements), name)()
    assert found.nnz == 3
    np.testing.assert_allclose(found.todense(), expected.toarray(), rtol=1e-15)


def test_other_formats_by_scipys_names():
    A = sp.array(X, format="csr")
    assert A.todia().format == sp.zeros(X.shape, format="dia").format
    assert A.tobsr((1, 3)).format == sp.zeros(X.shape, format="bcsr(1, 3)").format
    np.testing.assert_array_equal(A.tobsr((1, 3)).todense(), X)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
def test_stored_fill_values_are_dropped(format):
    coords, values = [[0, 1, 1], [1, 0, 2]], [0.0, 4.0, -0.0]
    A = sp.from_coords(coords, values, (2, 3), format)
    shared = A.values
    pruned = sp.prune(A)
    assert (A.nnz, pruned.nnz, pruned.format) == (3, 1, A.format)
    assert sp.prune(pruned).values is pruned.values
    A.eliminate_zeros()
    assert A.nnz == 1
    # Who shares the buffers keeps them as they were.
    assert len(shared) == 3
    filled = sp.from_coords(coords, [7.0, 4.0, 7.0], (2, 3), format, fill_value=7.0)
    assert sp.prune(filled).nnz == 1
    np.testing.assert_array_equal(sp.prune(filled).todense(), filled.todense())
    dense = sp.array(X, format="dense")
    assert sp.prune(dense).values is dense.values


@pytest.mark.parametrize("format", ["csr", "coo", "dia", "dense"])
@pytest.mark.parametrize("k", [-1, 0, 1, 2])
@pytest.mark.parametrize("values", [5.0, [1.0], [1.0, 2.0, 3.0, 4.0]])
def test_diagonals_are_set_as_by_scipy(format, k, values):
    A, expected = sp.array(X, format=format), scipy.sparse.lil_array(X)
    A.setdiag(values, k)
    expected.setdiag(values, k)
    np.testing.assert_array_equal(A.todense(), expected.toarray())


def test_diagonals_that_there_are_not():
    A = sp.array(X, format="csr")
    with pytest.raises(IndexError, match="from -1 to 2, got 3"):
        A.setdiag(1.0, 3)
    with pytest.raises(ShapeError, match="at most one dimension"):
        A.setdiag(X)
    with pytest.raises(ShapeError, match="expected a matrix"):
        sp.array(X[0]).setdiag(1.0)
