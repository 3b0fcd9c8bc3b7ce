"""Gradients of kernels whose values are stored in 16 bits."""

import pytest
import torch

import sparray.torch as spt


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_gradients_in_16_bits(dtype, format):
    """Forward and backward agree with torch's own dense product in that dtype."""
    torch.manual_seed(0)
    dense = torch.randn(20, 30) * (torch.rand(20, 30) < 0.4)
    W = spt.tensor(dense, format, dtype=dtype, requires_grad=True)
    D = dense.to(dtype).requires_grad_()
    x = torch.randn(30, 17).to(dtype).requires_grad_()
    z = x.detach().clone().requires_grad_()
    y, expected = W @ x, D @ z
    assert y.dtype == dtype
    torch.testing.assert_close(y, expected)
    upstream = torch.randn(20, 17).to(dtype)
    y.backward(upstream)
    expected.backward(upstream)
    assert x.grad.dtype == W.grad.dtype == dtype
    torch.testing.assert_close(x.grad, z.grad)
    torch.testing.assert_close(W.grad.todense(), D.grad * (dense != 0))
