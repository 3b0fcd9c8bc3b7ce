"""Neither a product nor its gradient makes the dense matrix."""

import numpy as np
import pytest
import torch

import sparray as sp
import sparray.torch as spt

N = 10**6


@pytest.fixture(scope="module")
def W():
    rng = np.random.default_rng(0)
    coords = rng.integers(0, N, (2, 5000))
    values = rng.normal(size=5000)
    return spt.tensor(
        sp.from_coords(coords, values, (N, N), format="dcsr"), requires_grad=True
    )


def test_product_and_gradients(W):
    x = torch.ones(N, 2, dtype=torch.float64, requires_grad=True)
    (W @ x).sum().backward()
    torch.testing.assert_close(W.grad.values(), torch.full_like(W.values(), 2))
    coords, values = W.to_array().to_coords()
    expected = np.bincount(coords[1], weights=values, minlength=N)
    np.testing.assert_allclose(x.grad[:, 0].numpy(), expected)


def test_sparse_by_sparse(W):
    W.grad = None
    ((W + W.detach()) * W).sum().backward()
    torch.testing.assert_close(W.grad.values(), 3 * W.values().detach())


def test_metadata_and_repr(W):
    assert W.numel() == N * N and "shape (1000000, 1000000)" in repr(W)
