"""NumPy's functions of sparse arrays; without a compiler."""

import numpy as np
import pytest
from oracle_check import interpreted

import sparray as sp
from sparray.errors import DTypeError, SettingError, ShapeError, UnsupportedError

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


# Of a: matrix, b: another, n: with NaN, t: stack, w: wide integers.
TEXTS = """
np.nansum(n, axis=0) | np.nanprod(n, axis=1) | np.nanmin(n, axis=1) | np.nanmax(n)
np.nanmean(n, axis=1) | np.nanstd(n, axis=1) | np.nanvar(n, axis=0, ddof=1)
np.nanargmin(n, axis=1) | np.nanargmax(n) | np.nancumsum(n, axis=1) | np.nancumprod(n)
np.nan_to_num(n) | np.nan_to_num(n, nan=3.0) | np.median(n, axis=1)
np.nanmedian(n) | np.nanmedian(n, axis=0) | np.nanmedian(n, 1) | np.nanmedian(a, 1)
np.nanmedian(n, axis=0, keepdims=True) | np.nanstd(n, 0, "float64")
np.concatenate([a, a]) | np.concatenate([a, a], axis=None, dtype="float32")
np.stack([a, a], axis=1) | np.vstack([a, a[0]]) | np.hstack([a, a]) | np.dstack([a, a])
np.hstack([a[0], a[1]]) | np.dstack([a[0], a[1]]) | np.column_stack([a, a[:, 0]])
np.block([[a, a], [a, a]]) | np.append(a, a, axis=0) | np.append(a, a)
np.insert(a, 1, 5.0, axis=0) | np.insert(a, [0, 2], a[:2], axis=0)
np.insert(a, 1, a[0]) | np.insert(a, [1, 1], 2.0, axis=1)
np.insert(a, -1, a[0], axis=0)
np.delete(a, 1, axis=0) | np.delete(a, [0, 2], axis=1) | np.delete(a, slice(2))
np.split(a, 2)[1] | np.split(a, [1, 3], axis=1)[1] | np.array_split(a, 3)[0]
np.hsplit(a, 2)[1] | np.vsplit(a, [1])[1] | np.dsplit(t, 3)[2] | np.hsplit(a[0], 2)[0]
np.roll(a, 1) | np.roll(a, 1, axis=1) | np.flip(a) | np.flip(a, 0) | np.fliplr(a)
np.flipud(a) | np.rot90(a) | np.rot90(a, 2) | np.rot90(t, -1, axes=(0, 2))
np.repeat(a, 2, axis=0) | np.repeat(a, 2) | np.tile(a, (2, 2)) | np.pad(a, 1)
np.pad(a, ((1, 0), (0, 2))) | np.expand_dims(a, 0) | np.squeeze(t[:1])
np.moveaxis(t, 0, -1) | np.swapaxes(t, 0, 2) | np.rollaxis(t, 2) | np.rollaxis(t, 0, 3)
np.transpose(t, (1, 2, 0)) | np.reshape(a, (6, 4)) | np.reshape(a, (6, -1), order="F")
np.ravel(a) | np.ravel(a, order="F")
np.resize(a, (5, 7)) | np.broadcast_to(a, (2, 4, 6))
np.atleast_1d(a) | np.atleast_2d(a[0]) | np.atleast_3d(a) | np.atleast_3d(a[0])
np.unique(a) | np.unique(a, return_counts=True)[1] | np.unique_counts(a)[1]
np.unique(n) | np.unique(a, return_index=True, return_inverse=True)[2].reshape(4, 6)
np.union1d(a, [1.0]) | np.intersect1d(a, b) | np.setdiff1d(a, [1.0])
np.setxor1d(a, [9])
np.searchsorted(np.array([0.0, 1.0]), a) | np.nonzero(a)[1] | np.flatnonzero(a)
np.argwhere(t) | np.isin(a, [1, 2]) | np.sort(a, axis=0) | np.median(a, axis=0)
np.median(a) | np.median(a, keepdims=True) | np.median(t, axis=2)
np.take_along_axis(a, np.array([[0], [1], [2], [3]]), axis=1)
np.compress([True, False, True], a, axis=0) | np.compress(np.ones(24) > 0, a)
np.extract(a > 0, a) | np.select([a > 1, a > 0], [a, 5 * a], 7) | np.diagflat(a[0], 1)
np.sum(a, 0, "float32") | np.sum(a, axis=1, keepdims=True) | np.sum(a, where=a > 0)
np.sum(a, axis=0, initial=3.0) | np.max(a, axis=0, initial=1.0) | np.min(a, 1)
np.prod(a, axis=1, initial=2.0) | np.any(a, axis=0, keepdims=True) | np.all(a, 1)
np.any(t, where=t > 1) | np.mean(a, 0, "float32") | np.std(a, axis=0, ddof=1)
np.var(a, ddof=1) | np.var(a, axis=1, correction=1) | np.ptp(a, axis=0)
np.average(a, axis=0) | np.average(a, axis=0, weights=[1, 2, 3, 4])
np.average(a, weights=np.ones((4, 6)), returned=True)[1] | np.cumsum(a)
np.cumsum(a, 0, "float32") | np.cumprod(a, axis=1) | np.ediff1d(a)
np.vdot(a * 1j, a) | np.einsum("ij,jk", a, b) | np.cross(a[:3, :3], a[1:, :3])
np.einsum("ij,jk->ik", a, b, optimize=True, dtype="float32", casting="same_kind")
np.linalg.multi_dot([a, b, a]) | np.linalg.multi_dot([a[0], b, a, b[:, 0]])
np.array_equiv(a, a) | np.array_equiv(a, b) | np.isposinf(n) | np.isneginf(n)
np.isreal(a * (1 + 0j)) | np.iscomplex(a * 1j) | np.angle(a) | np.real_if_close(a + 0j)
np.fix(a * 0.4) | np.sinc(a) | np.i0(a)
np.interp(a, [0, 1], [3, 5]) | np.round(a / 7, 2)
np.polyval([1, 2, 3], a) | np.digitize(a, [0, 1]) | np.clip(a, -1, None)
np.array([a[0, 1], 2.0], ndmin=2, like=a)
np.zeros(3, like=a) | np.min_scalar_type(w)
"""
N = np.where(X == 2, np.nan, X)
PLACES = [
    text.strip() for line in TEXTS.strip().split("\n") for text in line.split("|")
]


@pytest.mark.parametrize("text", PLACES)
def test_functions_with_the_parameters_of_numpy(text):
    dense = {"a": X, "b": Y, "n": N, "t": T, "w": X.astype(int)}
    sparse = {name: sp.array(x) for name, x in dense.items()}
    if text.startswith("np.min_scalar_type"):
        assert eval(text, {"np": np, **sparse}) == np.int64
        return
    expected = eval(text, {"np": np, **dense})
    found = eval(text, {"np": np, **sparse})
    same(found, expected)
    assert np.asarray(0, getattr(found, "dtype", None)).dtype.kind in "biufc"
    if not isinstance(expected, bool):
        assert found.dtype == expected.dtype


def test_functions_that_change_their_argument():
    a, x = sp.array(X, "csc"), X.copy()
    places = np.array([[0], [5], [2], [0]])
    for axis, where in ((1, places), (-1, places), (0, np.array([[3, 2, 1, 0, 0, 0]]))):
        np.put_along_axis(a, where, 9.0, axis=axis)
        np.put_along_axis(x, where, 9.0, axis=axis)
    same(a, x)
    np.copyto(a, 2.0 * a, where=a > 1)
    np.copyto(x, 2.0 * x, where=x > 1)
    same(a, x)
    np.copyto(a, sp.array(X))
    same(a, X)
    with pytest.raises(UnsupportedError, match="sparse array to write to"):
        np.copyto(X.copy(), a)
    with pytest.raises(DTypeError, match="copyto"):
        np.copyto(a.astype("int64"), a)
    with pytest.raises(ShapeError, match="indices of 2 dimensions"):
        np.put_along_axis(a, np.array([0]), 9.0, axis=1)


def test_what_arrays_share_and_print():
    a = sp.array(X)
    assert np.shares_memory(a, a.T) and np.may_share_memory(a, a.values)
    assert not np.shares_memory(a, a.copy())
    assert np.array_repr(a) == repr(a) and np.array_str(a) == str(a)
    assert np.common_type(a, a.astype("complex64")) is np.complex128


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
    for call in (np.gradient, np.linalg.qr, np.fft.fft, np.save):
        args = ("/nowhere", a) if call is np.save else (a,)
        with pytest.raises(UnsupportedError, match="todense"):
            call(*args)
    for call, said in (
        (lambda: np.sum(a, out=np.zeros(())), "out"),
        (lambda: np.mean(a, where=a > 0), "where"),
        (lambda: np.unique(a, axis=0), "axis"),
        (lambda: np.unique(sp.array(N), return_counts=True), "equal_nan"),
        (lambda: np.concatenate([a, a], out=a), "out"),
        (lambda: np.put_along_axis(a, np.array([0]), 1.0, axis=None), "axis"),
        (lambda: np.cross(a, a, axisa=0), "one axis"),
        (lambda: np.ediff1d(a, to_end=1.0), "to_end"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            call()
    for call, said in (
        (lambda: np.split(a, 3), r"4 of shape \(4, 6\)"),
        (lambda: np.array_split(a, 0), "one section"),
        (lambda: np.rot90(a, axes=(0, 0)), "two axes"),
        (lambda: np.resize(a[:0], 3), "has elements"),
        (lambda: np.average(a, 0, weights=[1, 2]), r"\(4, 6\) and \(2,\)"),
        (lambda: np.median(a[:0], axis=0), "along axis 0"),
    ):
        with pytest.raises(ShapeError, match=said):
            call()
    with pytest.raises(SettingError, match="1 conditions and 0 choices"):
        np.select([a > 0], [])
    with pytest.raises(ZeroDivisionError):
        np.average(a, 0, weights=[0, 0, 0, 0])
    with pytest.raises(UnsupportedError, match="out"):
        np.dot(a, a.T, out=np.zeros((4, 4)))
    with pytest.raises(ShapeError, match="last two axes"):
        np.linalg.norm(sp.array(T), 1, axis=(0, 1))

    class Other:
        def __array_function__(self, *args):
            return "the other one's"

    assert np.dot(a, Other()) == "the other one's"
