"""Larger and smaller elements, comparisons and positions, against dense torch."""

import operator

import pytest
import torch

import sparray.torch as spt

from .conftest import dense, full, gapped
from .operator_calls import interpreted


@pytest.fixture(scope="module", autouse=True)
def _interpreted():
    with interpreted():
        yield


FORMATS = ["csr", "csc", "coo", "ell", "bcsr(2, 2)"]


def gradients(function, *leaves):
    made = dense(function(*leaves))
    weights = full(*made.shape, seed=3)
    return [made, *torch.autograd.grad((made * weights).sum(), leaves)]


def both(function, format, A, *others):
    """Return results and gradients of a sparse tensor, and of a dense one."""
    W = spt.tensor(A, format)
    values = W.values().requires_grad_()
    given = [other.clone().requires_grad_() for other in others]

    def ours(values, *others):
        with spt.strict():
            return function(W.with_values(values), *others)

    got = gradients(ours, values, *given)
    x = W.detach().to_dense().requires_grad_()
    wanted = gradients(function, x, *given)
    wanted[1] = wanted[1][tuple(spt.tensor(A, "coo").indices())]
    got[1] = W.with_values(got[1]).to_dense()[tuple(spt.tensor(A, "coo").indices())]
    return got, wanted


@pytest.mark.parametrize("function", [torch.maximum, torch.minimum, torch.max])
@pytest.mark.parametrize("format", FORMATS)
def test_larger_of_two_with_ties(function, format):
    A = gapped(4, 6)
    # Equal where it stores something and where it does not.
    x = torch.where(torch.arange(6) % 2 == 0, A, full(4, 6))
    torch.testing.assert_close(*both(function, format, A, x))
    torch.testing.assert_close(*both(function, format, A, full(6)))
    torch.testing.assert_close(*both(lambda W, x: function(x, W), format, A, x))


def test_nan_and_infinity():
    A = torch.tensor([[torch.nan, 0, 2.0], [torch.inf, 0, -torch.inf]])
    x = torch.tensor([[1.0, torch.nan, torch.nan], [torch.inf, -torch.inf, 3.0]])
    W = spt.tensor(A)
    for function in (torch.maximum, torch.minimum):
        expected = function(A, x)
        with spt.strict():
            made = dense(function(W, x))
            trained = dense(function(W.with_values(W.values().requires_grad_()), x))
        torch.testing.assert_close(made, expected, equal_nan=True)
        torch.testing.assert_close(trained.detach(), expected, equal_nan=True)


def test_two_patterns():
    A, B = gapped(4, 6), gapped(4, 6, seed=5)
    ours = [spt.tensor(A, requires_grad=True), spt.tensor(B, requires_grad=True)]
    with spt.strict():
        made = torch.maximum(*ours)
    assert isinstance(made, spt.SparseTensor)
    torch.testing.assert_close(made.to_dense(), torch.maximum(A, B))
    grads = torch.autograd.grad(made.to_dense().sum(), [t.values() for t in ours])
    a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
    wanted = torch.autograd.grad(torch.maximum(a, b).sum(), [a, b])
    for grad, tensor, want in zip(grads, ours, wanted, strict=True):
        there = tensor.detach().to_dense() != 0
        torch.testing.assert_close(
            tensor.with_values(grad).to_dense(), torch.where(there, want, 0)
        )


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_with_dense_tensors(name):
    A = gapped(4, 6)
    W, x = spt.tensor(A), torch.where(torch.arange(6) % 2 == 0, A, full(4, 6))
    compare = getattr(operator, name)
    with spt.strict():
        for made, expected in (
            (compare(W, x), compare(A, x)),
            (compare(x, W), compare(x, A)),
            (compare(W, x[1]), compare(A, x[1])),
        ):
            assert dense(made).dtype == torch.bool
            assert torch.equal(dense(made), expected)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("format", FORMATS)
def test_values_and_indices(format, name, dim, keepdim):
    A = gapped(5, 6)
    A[3] = -A[3].abs()  # the largest is not stored
    A[4, 1:3] = 9.0  # equal ones

    def values(W):
        return getattr(torch, name)(W, dim, keepdim).values

    got, wanted = both(values, format, A)
    torch.testing.assert_close(got[0], wanted[0])
    torch.testing.assert_close(got[1], wanted[1])
    with spt.strict():
        made = getattr(spt.tensor(A, format), name)(dim, keepdim=keepdim)
    expected = getattr(A, name)(dim, keepdim=keepdim)
    assert type(made) is type(expected)
    picked = A.gather(dim, made.indices if keepdim else made.indices.unsqueeze(dim))
    assert torch.equal(picked.reshape(expected.values.shape), expected.values)


def test_positions_of_more_and_fewer_dimensions():
    A = gapped(3, 4, 5)
    W = spt.tensor(A)
    with spt.strict():
        made = torch.max(W, 1)
        assert torch.equal(torch.argmax(W), torch.argmax(A))
        assert torch.equal(W.argmin(2, keepdim=True), A.argmin(2, keepdim=True))
        one = torch.min(W[1, 2], 0)
    assert torch.equal(made.values, A.amax(1))
    assert torch.equal(made.indices, A.argmax(1))
    assert torch.equal(one.values, A[1, 2].amin()) and one.indices.dim() == 0
