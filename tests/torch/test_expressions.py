"""Any expression of tensors, and its gradients."""

import pytest
import torch

import sparray.torch as spt
from sparray.errors import ExpressionError, UnsupportedError


def leaf(*shape, seed=0):
    made = torch.rand(
        *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )
    return made.requires_grad_()


def test_a_convolution_and_its_second_derivatives():
    def convolved(x, w):
        return spt.compute("y[i] = x[2*i + k] * w[k]", x=x, w=w)

    x, w = leaf(7), leaf(3, seed=1)
    wanted = torch.nn.functional.conv1d(x[None, None], w[None, None], stride=2)
    torch.testing.assert_close(convolved(x, w), wanted[0, 0])
    assert torch.autograd.gradcheck(convolved, (x, w))
    assert torch.autograd.gradgradcheck(convolved, (x, w))


def test_a_sparse_operand_in_a_window_gets_a_gradient_on_its_pattern():
    dense = torch.tensor([[1.0, 0, 2], [0, 3, 0], [4, 0, 5], [0, 6, 7]]).double()
    W = spt.tensor(dense, format="csr", requires_grad=True)
    x = leaf(3)
    y = spt.compute("y[i] = W[i in 1:3, j] * x[j]", W=W, x=x)
    torch.testing.assert_close(y, dense[1:3] @ x)
    (y * torch.tensor([2.0, 3.0])).sum().backward()
    assert W.grad.format == W.format
    expected = torch.zeros(4, 3, dtype=torch.float64)
    expected[1], expected[2] = 2 * x.detach(), 3 * x.detach()
    torch.testing.assert_close(W.grad.todense(), expected * (dense != 0))
    torch.testing.assert_close(x.grad, 2 * dense[1] + 3 * dense[2])


def test_a_tensor_that_is_read_twice_gets_both_gradients():
    A = leaf(2, 5)
    y = spt.compute("D[i,j] = A[i,j in 1:] - A[i,j in :-1]", A=A)
    torch.testing.assert_close(y, A.diff(dim=1))
    (y**2).sum().backward()
    made, A.grad = A.grad, None
    (A.diff(dim=1) ** 2).sum().backward()
    torch.testing.assert_close(made, A.grad)


def test_what_is_refused():
    x = leaf(3)
    with pytest.raises(ExpressionError, match="expected a single statement"):
        spt.compute("y[i] = x[i]; z = y[i]", x=x)
    with pytest.raises(ExpressionError, match="expected the operands x, got none"):
        spt.compute("y[i] = x[i]")
    with pytest.raises(ExpressionError, match=r"x: expected a torch\.Tensor, got list"):
        spt.compute("y[i] = x[i]", x=[1.0])
    with pytest.raises(UnsupportedError, match="a reduction by 'max'"):
        spt.compute("y = max(i, x[i])", x=x).backward()
