"""A few functions with kernels that are compiled, as users have them."""

import numpy as np
import pytest

import sparray as sp

RNG = np.random.default_rng(7)
N = 50
DENSE = (RNG.random((N, N)) < 0.1) | np.eye(N, dtype=bool)
Q, K, V = (RNG.random((N, 8)) for _ in range(3))


def attention(q, k, v, mask):
    s = np.where(mask, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ v


def residual(a, u, v, mask):
    return (((a - u @ v.T) * mask) ** 2).sum()


@pytest.mark.slow
@pytest.mark.parametrize("function", [attention, residual])
@pytest.mark.parametrize("format", ["dense", "csr", "coo"])
def test_compiled_functions(function, format):
    mask = DENSE if format == "dense" else sp.array(DENSE, format=format)
    first = Q if function is attention else Q @ K.T
    found = sp.fuse(function)(first, K, V, mask)
    np.testing.assert_allclose(found, function(first, K, V, DENSE))
