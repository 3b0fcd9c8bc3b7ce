"""Methods after NumPy's, SciPy's and PyData/sparse's."""

import numpy as np
import pytest
import scipy.sparse
from oracle_check import interpreted

import sparray as sp

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
