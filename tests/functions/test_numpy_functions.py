"""NumPy's functions of sparse arrays; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import ShapeError, UnsupportedError

RNG = np.random.default_rng(0)
X = (RNG.integers(-3, 4, (4, 6)) * (RNG.random((4, 6)) < 0.5)) * 1.0
Y = (RNG.integers(-3, 4, (6, 4)) * (RNG.random((6, 4)) < 0.5)) * 1.0
T = X.reshape(2, 2, 6)


@pytest.fixture(autouse=True)
def without_compiling():
    with interpreted():
        yield


def same(found, expected):
    if isinstance(found, sp.SparseArray):
        found = found.todense()
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == np.shape(expected)


CALLS = {
    "sum": lambda a, b, t: np.sum(a, axis=0),
    "tril": lambda a, b, t: np.tril(a, 1),
    "triu": lambda a, b, t: np.triu(a, k=-1),
    "diagonal": lambda a, b, t: np.diagonal(a, 1),
    "diag": lambda a, b, t: np.diag(a),
    "dot": lambda a, b, t: np.dot(a, b),
    "dot of stacks": lambda a, b, t: np.dot(t, b),
    "dot of numbers": lambda a, b, t: np.dot(a, 2.0),
    "inner": lambda a, b, t: np.inner(a, t),
    "outer": lambda a, b, t: np.outer(a[0], b[:, 1]),
    "kron": lambda a, b, t: np.kron(a, b),
    "trace": lambda a, b, t: np.trace(t, 0, 1, 2),
    "tensordot": lambda a, b, t: np.tensordot(a, b, axes=1),
    "einsum": lambda a, b, t: np.einsum("ij,jk->ik", a, b),
    "where": lambda a, b, t: np.where(a > 0, a, 0.0),
    "round": lambda a, b, t: np.round(a * 0.4),
    "real": lambda a, b, t: np.real(a * 1j),
    "imag": lambda a, b, t: np.imag(a * 1j),
    "isclose": lambda a, b, t: np.isclose(a, a + 1e-12),
    "allclose": lambda a, b, t: np.allclose(a, a),
    "array_equal": lambda a, b, t: np.array_equal(a, t),
    "diff": lambda a, b, t: np.diff(a, 2, 0),
    "shape": lambda a, b, t: np.shape(a),
    "ndim": lambda a, b, t: np.ndim(t),
    "size": lambda a, b, t: np.size(a) + np.size(a, 1),
    "copy": lambda a, b, t: np.copy(a),
    "zeros_like": lambda a, b, t: np.zeros_like(a),
    "ones_like": lambda a, b, t: np.ones_like(a, dtype="int8"),
    "full_like": lambda a, b, t: np.full_like(a, 3, shape=(2, 2)),
    "take": lambda a, b, t: np.take(a, [0, 2], axis=1),
    "matrix_transpose": lambda a, b, t: np.matrix_transpose(t),
    "norm": lambda a, b, t: np.linalg.norm(a),
    "norm of vectors": lambda a, b, t: np.linalg.norm(a, 1, axis=0),
    "norm of matrices": lambda a, b, t: np.linalg.norm(a, np.inf),
    "vector_norm": lambda a, b, t: np.linalg.vector_norm(a, axis=1, keepdims=True),
    "matrix_norm": lambda a, b, t: np.linalg.matrix_norm(t),
    "solve": lambda a, b, t: np.linalg.solve(a @ b + 9 * np.eye(4), a[:, 0] + 1.0),
    "iscomplexobj": lambda a, b, t: np.iscomplexobj(a) or not np.isrealobj(a),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions(call):
    same(call(sp.array(X), sp.array(Y), sp.array(T)), call(X, Y, T))


def test_dtypes():
    a = sp.array(X.astype("float32"))
    assert np.result_type(a, np.float64) == np.float64
    assert np.can_cast(a, "float64") and np.can_cast(a, "float16", "same_kind")


# Functions of NumPy by the ones that they become where there are these.
REDUCED = {
    "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "std": np.std,
    "var": np.var, "any": np.any, "all": np.all, "argmax": np.argmax,
    "argmin": np.argmin, "cumulative_sum": np.cumsum, "diff": np.diff,
    "cumulative_prod": np.cumprod, "sort": np.sort, "count_nonzero": np.count_nonzero,
}  # fmt: skip


@pytest.mark.parametrize(("name", "function"), REDUCED.items())
def test_functions_by_the_names_of_the_standard(name, function):
    same(function(sp.array(X), axis=1), function(X, axis=1))
    assert hasattr(sp, name)


def test_what_is_refused():
    a = sp.array(X)
    for call in (np.median, np.linalg.qr, np.fft.fft, np.save):
        args = ("/nowhere", a) if call is np.save else (a,)
        with pytest.raises(UnsupportedError, match="todense"):
            call(*args)
    with pytest.raises(UnsupportedError, match="decimals"):
        np.round(a, 2)
    with pytest.raises(UnsupportedError, match="out"):
        np.dot(a, a.T, out=np.zeros((4, 4)))
    with pytest.raises(ShapeError, match="last two axes"):
        np.linalg.norm(sp.array(T), 1, axis=(0, 1))

    class Other:
        def __array_function__(self, *args):
            return "the other one's"

    assert np.dot(a, Other()) == "the other one's"
