"""Norms, traces and diagonals against NumPy, in every format; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import DTypeError, ShapeError, UnsupportedError

RNG = np.random.default_rng(0)
X = RNG.integers(-3, 4, (4, 6)) * (RNG.random((4, 6)) < 0.5) * 1.0
FORMATS = ("csr", "csc", "coo", "bitmap", "bcsr(2, 2)", "dense")


def same(found, expected):
    if isinstance(found, sp.SparseArray):
        found = found.todense()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


@pytest.mark.parametrize("fill", [0, 2.0])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format(format, fill):
    a = sp.array(X, format, fill_value=fill)
    for ord in ("fro", 1, -1, np.inf, -np.inf):
        same(sp.linalg.matrix_norm(a, ord=ord), np.linalg.matrix_norm(X, ord=ord))
    same(sp.linalg.vector_norm(a, axis=1), np.linalg.vector_norm(X, axis=1))
    same(sp.linalg.trace(a), np.trace(X))
    same(sp.linalg.diagonal(a, offset=1), np.diagonal(X, 1))


@pytest.mark.parametrize("ord", [0, 1, 2, 3, 0.5, -1, np.inf, -np.inf])
def test_norms_of_vectors(ord):
    x = X + 10 if ord == -1 else X
    a = sp.array(x)
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims, "ord": ord}
            same(
                sp.linalg.vector_norm(a, **options), np.linalg.vector_norm(x, **options)
            )


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8", "bool"])
def test_dtypes(dtype):
    x = X.astype(dtype)
    if dtype == "complex64":
        x = x * np.complex64(1 + 2j)
    wide = x.astype("float64") if dtype in ("int8", "bool") else x
    for ord in (1, 2, np.inf):
        same(
            sp.linalg.vector_norm(sp.array(x), ord=ord),
            np.linalg.vector_norm(wide, ord=ord),
        )
    same(sp.linalg.matrix_norm(sp.array(x)), np.linalg.matrix_norm(wide))
    same(sp.linalg.trace(sp.array(x)), np.linalg.trace(x))


def test_stacks():
    x = np.stack([X[:, :4], X[:, 2:] * 2])
    a = sp.array(x)
    for ord in ("fro", 1, np.inf):
        for keepdims in (False, True):
            same(
                sp.linalg.matrix_norm(a, ord=ord, keepdims=keepdims),
                np.linalg.matrix_norm(x, ord=ord, keepdims=keepdims),
            )
    same(sp.linalg.trace(a, offset=-1), np.linalg.trace(x, offset=-1))
    kept = sp.linalg.vector_norm(a, axis=0)
    same(kept, np.linalg.vector_norm(x, axis=0))
    same(sp.linalg.matrix_transpose(a), x.mT)


def test_the_largest_singular_value():
    same(sp.linalg.matrix_norm(sp.array(X), ord=2), np.linalg.norm(X, 2))


def test_what_is_refused():
    a = sp.array(X)
    for ord in ("nuc", -2, 3):
        with pytest.raises(UnsupportedError, match="all singular values"):
            sp.linalg.matrix_norm(a, ord=ord)
    with pytest.raises(DTypeError, match="ord"):
        sp.linalg.vector_norm(a, ord="fro")
    for axis in (2, "x", (0, 0)):
        with pytest.raises(ShapeError, match="axis: expected"):
            sp.linalg.vector_norm(a, axis=axis)
    for function in (sp.linalg.matrix_norm, sp.matrix_transpose):
        with pytest.raises(ShapeError, match="2 dimensions"):
            function(sp.array([1.0]))
