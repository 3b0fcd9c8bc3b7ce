"""Sparse tensors in formats whose levels store parts of dimensions, or have holes."""

import pytest
import torch

import sparray.torch as spt

FORMATS = (
    "bcsr(2, 3)",
    "bcsc(2, 2)",
    "dia",
    "ell",
    "bitmap",
    "nm(2, 4)",
    "nmg(1, 3, 1)",
)


def matrix(format):
    """Return a 9 × 11 matrix; few enough entries for each format."""
    torch.manual_seed(0)
    dense = torch.rand(9, 11, dtype=torch.float64) + 0.5
    kept = torch.rand(9, 11) < 0.4
    if format.startswith("nmg"):
        kept = torch.eye(3, dtype=torch.bool).flip(0).tile(3, 4)[:, :11]
    for start in range(0, 11, 4):
        part = kept[:, start : start + 4]
        kept[:, start : start + 4] = part & (part.cumsum(1) <= 2)
    return dense * kept


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("format", FORMATS)
def test_products_and_their_gradients(format):
    dense = matrix(format)
    right = torch.rand(11, 5, dtype=torch.float64, requires_grad=True)
    weight = spt.tensor(dense, format=format, requires_grad=True)
    (weight @ right).square().sum().backward()
    expected = dense.clone().requires_grad_()
    other = right.detach().clone().requires_grad_()
    (expected @ other).square().sum().backward()
    assert torch.allclose(right.grad, other.grad)
    found = weight.grad.to_dense()
    assert torch.allclose(found[dense != 0], expected.grad[dense != 0])
    assert weight.grad.format == weight.format


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("format", FORMATS)
def test_sums_and_transposition(format):
    dense = matrix(format)
    weight = spt.tensor(dense, format=format)
    assert torch.allclose(weight.sum(), dense.sum())
    assert torch.allclose(weight.sum(0), dense.sum(0))
    left = torch.rand(9, 3, dtype=torch.float64)
    assert torch.allclose(weight.T @ left, dense.T @ left)
