"""Eigenvalues and singular values against NumPy's."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import SettingError, ShapeError, WouldDensifyError

RNG = np.random.default_rng(0)
X = RNG.random((9, 6)) * (RNG.random((9, 6)) < 0.5)
SYMMETRIC = X @ X.T
FORMATS = ("csr", "bcsr(2, 2)")


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


@pytest.mark.parametrize("format", FORMATS)
def test_largest_and_smallest(format):
    a = sp.array(SYMMETRIC, format)
    every = np.linalg.eigvalsh(SYMMETRIC)
    values, vectors = sp.linalg.eigh(a, k=3)
    np.testing.assert_allclose(values, every[-3:], atol=1e-9)
    np.testing.assert_allclose(SYMMETRIC @ vectors, vectors * values, atol=1e-8)
    np.testing.assert_allclose(sp.linalg.eigvalsh(a, k=2, which="LA"), every[-2:])
    left, values, right = sp.linalg.svd(sp.array(X, format), k=3)
    np.testing.assert_allclose(values, np.linalg.svdvals(X)[:3])
    np.testing.assert_allclose(X @ right.T, left * values, atol=1e-9)
    assert (np.diff(sp.linalg.svdvals(sp.array(X, format), k=4)) <= 0).all()


def test_matrices_that_are_not_symmetric():
    x = np.triu(np.ones((6, 6))) * np.arange(1, 7) + np.eye(6) * np.arange(6)
    found = sp.linalg.eigvals(sp.array(x), k=2)
    np.testing.assert_allclose(sorted(found.real), sorted(np.diagonal(x))[-2:])
    values, vectors = sp.linalg.eig(sp.array(x), k=1)
    np.testing.assert_allclose(x @ vectors, vectors * values, atol=1e-8)


def test_integers_and_complex_numbers():
    x = np.diag([1, 5, 3, 2, 4])
    assert sp.linalg.eigvalsh(sp.array(x), k=1)[0] == pytest.approx(5)
    turned = SYMMETRIC[:5, :5] + 1j * np.triu(np.ones((5, 5)), 1)
    turned = turned + turned.conj().T
    found = sp.linalg.eigvalsh(sp.array(turned), k=1, which="LA")
    assert found[0] == pytest.approx(np.linalg.eigvalsh(turned)[-1])


def test_runs_are_alike():
    a = sp.array(SYMMETRIC)
    np.testing.assert_array_equal(
        sp.linalg.eigh(a, k=2).eigenvectors, sp.linalg.eigh(a, k=2).eigenvectors
    )


def test_what_is_refused():
    a = sp.array(SYMMETRIC)
    for function in (
        sp.linalg.eigh,
        sp.linalg.eigvals,
        sp.linalg.svd,
        sp.linalg.svdvals,
    ):
        with pytest.raises(WouldDensifyError, match="648 bytes"):
            function(a)
    with pytest.raises(WouldDensifyError):
        sp.linalg.svd(a, k=2, full_matrices=True)
    for k in (0, 9, 1.5):
        with pytest.raises(SettingError, match="k from 1 to 8"):
            sp.linalg.eigh(a, k=k)
    with pytest.raises(SettingError, match="k from 1 to 7"):
        sp.linalg.eig(a, k=8)
    with pytest.raises(ShapeError, match="square"):
        sp.linalg.eigh(sp.array(X), k=1)
    with pytest.raises(ShapeError, match="a matrix"):
        sp.linalg.svd(sp.array([1.0]), k=1)
