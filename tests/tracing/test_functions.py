"""A table of functions: fused on mixes of formats = run by NumPy on dense arrays."""

import math
from itertools import cycle

import numpy as np
import pytest

import sparray as sp
from sparray.errors import ShapeError
from sparray.sparse_array import SparseArray

pytestmark = pytest.mark.usefixtures("interpreted")

MIXES = (("dense",), ("csr", "coo", "dense"))


def arrays(*shapes, dtype="float64", seed=0):
    """Return arrays of small integers, half of them zeros."""
    rng = np.random.default_rng(seed)
    made = []
    for shape in shapes:
        values = rng.integers(-3, 4, shape)
        made.append((values * rng.integers(0, 2, shape)).astype(dtype))
    return made


def stored(array, format):
    """Return an array in a format, if it is one for so many dimensions."""
    if format == "dense" or array.ndim == 0:
        return array
    if format == "csr" and array.ndim != 2:
        format = "csf"
    return sp.array(array, format=format)


def dense(result):
    return result.todense() if isinstance(result, SparseArray) else result


def check(function, given, mixes=MIXES, **fused):
    """Compare a function of arrays, fused, with itself run by NumPy."""
    with np.errstate(all="ignore"):
        expected = function(*given)
    for mix in mixes:
        operands = [stored(x, f) for x, f in zip(given, cycle(mix), strict=False)]
        made = sp.fuse(function, **fused)(*operands)
        several = isinstance(expected, tuple)
        pairs = zip(made, expected, strict=True) if several else [(made, expected)]
        for found, wanted in pairs:
            found = np.asarray(dense(found))
            assert found.dtype == np.asarray(wanted).dtype
            assert found.shape == np.shape(wanted)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def variance(x):
    centred = x - x.mean(axis=0)
    return (centred**2).mean(axis=0)


def power(x, n):
    return x if n == 0 else power(x, n - 1) @ x


ONE = {
    "identity": lambda x: x,
    "transposed": lambda x: x.T,
    "np.transpose": lambda x: np.transpose(x, (1, 0)),
    "scaled": lambda x: 2.5 * x - 1,
    "reflected": lambda x: 1 - x,
    "negative": lambda x: -x + abs(x),
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "reflected power": lambda x: 2.0**x,
    "compared": lambda x: (x > 0.5) | ~(x <= -1),
    "not equal": lambda x: (x != 0) & (x == x),
    "exp": lambda x: np.exp(x) + np.expm1(x) + np.sqrt(np.abs(x)),
    "trigonometry": lambda x: np.sin(x) * np.arctan2(x, x + 9),
    "rounded": lambda x: np.rint(x / 3) + np.floor(x) + np.round(x),
    "maximum": lambda x: np.maximum(x, 0) + np.minimum(x, 1.5),
    "clip": lambda x: np.clip(x, -1, 1),
    "sum": lambda x: x.sum(),
    "sum over rows": lambda x: x.sum(axis=0),
    "sum over columns": lambda x: np.sum(x, axis=-1),
    "sum over both": lambda x: np.sum(x, axis=(0, 1)),
    "sum, kept": lambda x: x.sum(axis=1, keepdims=True),
    "sum, both kept": lambda x: x.sum(keepdims=True),
    "add.reduce": lambda x: np.add.reduce(x),
    "prod": lambda x: np.prod(x + 1, axis=1),
    "mean": lambda x: x.mean(axis=1),
    "mean of all": lambda x: np.mean(x),
    "variance": variance,
    "max": lambda x: x.max(),
    "max over rows": lambda x: np.max(x, axis=0),
    "min": lambda x: x.min(axis=1, keepdims=True),
    "any": lambda x: (x > 2).any(axis=1),
    "all": lambda x: np.all(x > -9, axis=0),
    "any of numbers": lambda x: np.any(x),
    "normalized": lambda x: x / (1 + x.sum(axis=1, keepdims=True) ** 2),
    "softmax": softmax,
    "outer sum": lambda x: x.sum(axis=1)[:, None] + x.sum(axis=0)[None, :],
    "element": lambda x: x[1, -1] + x[0].sum(),
    "row and column": lambda x: x[1] * x[0][None, :] + x[:, 2][:, None],
    "slices": lambda x: x[1:, ::2] - x[:-1, ::-2],
    "differences": lambda x: (x[1:] - x[:-1]).sum(axis=0),
    "one of several": lambda x: x[1:2] * x[:, -1:],
    "nothing of several": lambda x: x[3:1].sum(axis=0) + x[..., 0].sum(),
    "of a view": lambda x: x.T[1:, None, 0] + x.sum(axis=0, keepdims=True)[0, 1:],
    "expanded": lambda x: np.expand_dims(x, 1) * 2,
    "ellipsis": lambda x: x[..., None],
    "squeezed": lambda x: np.squeeze(x[:, None], 1) + 1,
    "swapped": lambda x: np.swapaxes(x, 0, 1)[None],
    "moved": lambda x: np.moveaxis(x[None], 0, 2),
    "gram": lambda x: x.T @ x,
    "where": lambda x: np.where(x > 0, x, -1) + np.where(x, 2.5, x),
    "where, numbers": lambda x: np.where(x > 0, 1.5, 0),
    "masked softmax": lambda x: softmax(np.where(x != 0, x, -99.0)),
    "norms": lambda x: np.sqrt((x * x).sum(axis=1)),
    "diagonal": lambda x: np.einsum("ii->i", x.T @ x),
    "trace": lambda x: np.trace(x @ x.T),
    "recursion": lambda x: power(x @ x.T, 3),
    "shape": lambda x: x / x.shape[0] + len(x) + x.ndim + x.size,
    "loop": lambda x: sum((x * n for n in range(1, 4)), 0),
    "used twice": lambda x: (x @ x.T) * (x @ x.T) + (x @ x.T).sum(),
    "two results": lambda x: (x + 1, x.sum(axis=0)),
    "the same result twice": lambda x: (x * 2, x * 2, x),
    "closed over": lambda x: x @ np.arange(3.0) + math.pi,
    "wider": lambda x: x.astype(np.complex128) * 1j,
    "parts": lambda x: np.real(x * (1 + 2j)) + (x * 1j).imag + np.conj(x),
    "constants": lambda x: (x - x) + np.inf * (x > 99),
}


@pytest.mark.parametrize("name", ONE)
def test_one_operand(name):
    check(ONE[name], arrays((4, 3)))


INTEGERS = {
    "sum": lambda x: x.sum(axis=1),
    "prod": lambda x: x.prod(axis=0),
    "mean": lambda x: x.mean(axis=1),
    "divided": lambda x: x / 7,
    "floor": lambda x: x // 4 + x % 5,
    "shifted": lambda x: (x << 1) & 6 ^ x,
    "wraps": lambda x: x * 100,
    "wider": lambda x: x.astype(np.float64) + 0.5,
    "max": lambda x: x.max(axis=0),
    "matmul": lambda x: x @ x.T,
    "float": lambda x: x * 1.5 + 7,
}


@pytest.mark.parametrize("dtype", ["int8", "int32", "bool", "float32"])
@pytest.mark.parametrize("name", INTEGERS)
def test_dtypes_are_those_of_numpy(name, dtype):
    given = arrays((4, 3), dtype=dtype)
    try:
        with np.errstate(all="ignore"):
            INTEGERS[name](*given)
    except TypeError:
        # NumPy has no such function of that dtype, and neither has sparray.
        with pytest.raises(TypeError):
            sp.fuse(INTEGERS[name])(*given)
        return
    check(INTEGERS[name], given, (("dense",), ("csr",)))


def attention(q, k, v, m):
    s = (q @ k.T) * m / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True)) * m
    return (e / (e.sum(axis=1, keepdims=True) + 1e-9)) @ v


def layer(a, x, w, b):
    return np.maximum(a @ (x @ w) + b, 0)


MANY = {
    "masked product": (lambda a, b, m: (a @ b) * m, [(4, 3), (3, 5), (4, 5)]),
    "layer": (layer, [(4, 4), (4, 3), (3, 2), (2,)]),
    "attention": (attention, [(5, 3), (4, 3), (4, 2), (5, 4)]),
    "residual": (
        lambda a, u, v: ((a - (u @ v) * (a != 0)) ** 2).sum(),
        [(4, 5), (4, 2), (2, 5)],
    ),
    "dense residual": (
        lambda a, u, v: ((a - u @ v) ** 2).sum(),
        [(4, 5), (4, 2), (2, 5)],
    ),
    "vector": (lambda a, x: a @ x + 1, [(4, 3), (3,)]),
    "row": (lambda x, a: x @ a, [(4,), (4, 3)]),
    "inner": (lambda x, y: x @ y, [(4,), (4,)]),
    "stacks": (lambda a, b: a @ b, [(2, 3, 4), (4, 2)]),
    "stacks of both": (lambda a, b: a @ b, [(1, 3, 4), (2, 4, 2)]),
    "broadcast": (lambda a, b, c: a * b + c, [(4, 3), (3,), (4, 1)]),
    "row and column": (lambda a, b: a - b, [(1, 3), (4, 1)]),
    "three dimensions": (lambda a, b: (a + b).sum(axis=(0, 2)), [(2, 3, 4), (4,)]),
    "einsum": (
        lambda a, b, c: np.einsum("ijk,jr,kr->ir", a, b, c),
        [(2, 3, 4), (3, 2), (4, 2)],
    ),
    "einsum of views": (
        lambda a, b: np.einsum("ij,ij->j", a.T, b[:, None].sum(axis=1)),
        [(4, 3), (3, 4)],
    ),
    "tensordot": (lambda a, b: np.tensordot(a, b, 2), [(2, 3, 4), (3, 4, 2)]),
    "outer": (lambda a, b: np.outer(a, b), [(4,), (3,)]),
    "dot": (lambda a, b: np.dot(a, b).dot(2), [(4, 3), (3, 2)]),
    "distances": (
        lambda a, b: (a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1),
        [(4, 3), (5, 3)],
    ),
    "nothing": (lambda a, b: a @ b, [(3, 0), (0, 2)]),
    "number": (lambda a, s: a * s + s, [(3, 2), ()]),
}


@pytest.mark.parametrize("name", MANY)
def test_several_operands(name):
    function, shapes = MANY[name]
    check(function, arrays(*shapes))


def test_sparrays_own_functions():
    given = arrays((4, 3))
    made = sp.fuse(lambda x: sp.relu(sp.exp(x) - sp.sum(x, axis=0)) * sp.add(x, 1))
    wanted = np.maximum(np.exp(given[0]) - given[0].sum(axis=0), 0) * (given[0] + 1)
    np.testing.assert_allclose(made(stored(given[0], "csr")), wanted)
    product = sp.fuse(lambda a, x: sp.einsum("ij,j->i", a, x))
    x = np.arange(3.0)
    np.testing.assert_allclose(product(sp.array(given[0], "csr"), x), given[0] @ x)


def test_captured_arrays_are_operands_whatever_they_are():
    (a,) = arrays((4, 3))
    captured = sp.array(a, format="csr")
    fused = sp.fuse(lambda x: captured @ x + (x @ captured.T.todense().T.T) * 0)
    x = np.arange(3.0)
    with pytest.raises(ShapeError):
        fused(np.arange(4.0))
    del fused
    both = sp.fuse(lambda x: captured @ x - np.ones(4) + x @ a.T)
    np.testing.assert_allclose(both(x), 2 * (a @ x) - 1)


def test_results_are_in_the_formats_that_were_asked_for():
    (a,) = arrays((4, 3))
    first, second = sp.fuse(lambda x: (x * 2, x.T), format=("csc", "csr"))(
        sp.array(a, "csr")
    )
    assert (first.format.name, second.format.name) == ("csc", "csr")
    np.testing.assert_allclose(second.todense(), a.T)
