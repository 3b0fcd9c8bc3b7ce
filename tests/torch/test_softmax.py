"""Softmax over stored entries: dense softmax where the rest is -inf."""

import pytest
import torch
from torch.nn import functional

import sparray.torch as spt
from sparray.errors import DTypeError, ShapeError, WouldDensifyError

from .conftest import gapped

FORMATS = [
    "csr",
    "coo",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("csc", "dcsr", "ell", "bitmap")
    ),
]


def masked(tensor, dim, function):
    """Return the dense softmax of a tensor's nonzeros, 0 elsewhere."""
    stored = tensor != 0
    made = function(torch.where(stored, tensor, -torch.inf), dim)
    return torch.where(stored, made, 0.0)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format(format, dim):
    x = gapped(5, 6)
    with spt.strict():
        made = torch.softmax(spt.tensor(x, format), dim)
        logs = functional.log_softmax(spt.tensor(x, format), dim)
    assert made.format == logs.format == spt.tensor(x, format).format
    torch.testing.assert_close(made.to_dense(), masked(x, dim, torch.softmax))
    torch.testing.assert_close(logs.to_dense(), masked(x, dim, torch.log_softmax))


@pytest.mark.parametrize("function", [torch.softmax, torch.sparse.log_softmax])
def test_gradients(function):
    W = spt.tensor(gapped(4, 5), "csr", requires_grad=True)

    def values(stored):
        return function(W.with_values(stored), 1).values()

    assert torch.autograd.gradcheck(values, W.values())
    assert torch.autograd.gradgradcheck(values, W.values())


@pytest.mark.slow
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_three_dimensions(dim):
    x = gapped(4, 5, 3, density=0.6)
    made = spt.tensor(x, "csf").softmax(dim)
    torch.testing.assert_close(made.to_dense(), masked(x, dim, torch.softmax))


def test_one_dimension():
    x = torch.tensor([0.0, 1.0, 0.0, 2.0])
    made = torch.softmax(spt.tensor(x), 0)
    torch.testing.assert_close(made.to_dense(), masked(x, 0, torch.softmax))


@pytest.mark.parametrize("shift", [-1e4, 1e4])
def test_scores_far_from_zero(shift):
    x = gapped(5, 6)
    W = spt.tensor(x, "csr")
    moved = W.with_values(W.values() + shift)
    torch.testing.assert_close(moved.softmax(1).to_dense(), W.softmax(1).to_dense())


def test_explicit_zeros_are_stored():
    W = spt.tensor(torch.ones(2, 3), "csr")
    made = W.with_values(torch.zeros(6)).softmax(1)
    assert made.values().tolist() == pytest.approx([1 / 3] * 6)


def test_torch_says_the_same():
    x = gapped(5, 6)
    expected = torch.sparse.softmax(x.to_sparse(), 1).to_dense()
    made = torch.sparse.softmax(spt.tensor(x, "coo"), 1).to_dense()
    torch.testing.assert_close(made, expected)


def test_nothing_stored():
    W = spt.tensor(torch.zeros(3, 4), "csr")
    assert W.softmax(1).nnz == 0
    assert spt.tensor(torch.zeros(0, 4), "csr").softmax(0).nnz == 0


def test_wrong_arguments():
    W = spt.tensor(gapped(3, 4), "csr")
    with pytest.raises(ShapeError, match="dim"):
        W.softmax(2)
    with pytest.raises(DTypeError, match="floating-point"):
        W.to(torch.int64).softmax(1)
    assert W.to(torch.int64).softmax(1, dtype=torch.float32).dtype == torch.float32


def test_a_dense_gradient_is_refused():
    W = spt.tensor(gapped(3, 4), "csr", requires_grad=True, grad_format="dense")
    with spt.strict(), pytest.raises(WouldDensifyError, match="grad_format"):
        W.softmax(1)
