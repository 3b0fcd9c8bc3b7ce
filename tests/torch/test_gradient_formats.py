"""`grad_format`: in which format a gradient is, and what is kept of it."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional

import sparray.torch as spt
from sparray.errors import (
    FormatError,
    PatternError,
    UnsupportedError,
    WouldDensifyError,
)
from sparray.torch.autograd import recorded
from sparray.torch.following import onto

from .conftest import dense, full, gapped

CHOSEN = spt.Sparse(spt.Magnitude(0.75), "coo")
EVERY = [None, "dense", "csc", "coo", "dcsr", "bcsr(2, 2)", spt.Magnitude(0.9), CHOSEN]


def pair(grad_format, density=0.4):
    """Return a sparse tensor, and a dense one of the same elements."""
    x = gapped(6, 8, density=density)
    W = spt.tensor(x, "csr", requires_grad=True, grad_format=grad_format)
    return W, x.clone().requires_grad_()


def backward(W, D, times=1):
    for seed in range(times):
        x = full(5, 8, seed=seed)
        for weight in (W, D):
            functional.linear(x, weight).pow(3).sum().backward()


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("format", ["dense", "csc", "coo", "dcsr", "bcsr(2, 2)"])
def test_gradients_are_in_the_format_and_add_up(format, times):
    W, D = pair(format)
    backward(W, D, times)
    stored = D != 0
    if format == "dense":
        assert type(W.grad) is torch.Tensor
        torch.testing.assert_close(W.grad, D.grad)
    else:
        assert W.grad.format.name == format
        torch.testing.assert_close(W.grad.to_dense(), D.grad * stored)
    # What an optimizer of the values alone steps on.
    torch.testing.assert_close(W.values().grad, D.grad[stored])


def test_a_sparsifier_keeps_some_of_the_stored_entries():
    W, D = pair(CHOSEN, density=0.9)
    backward(W, D)
    expected = D.grad * (D != 0)
    expected = expected * spt.Magnitude(0.75).keep(expected)
    assert W.grad.format.name == "coo" and W.grad.nnz == 12
    torch.testing.assert_close(W.grad.to_dense(), expected)
    W.grad_format = spt.Magnitude(0.75)
    assert W.grad is None
    functional.linear(full(5, 8, seed=0), W).pow(3).sum().backward()
    assert W.grad.format.name == "csr" and W.grad.pattern.same_as(W.pattern)
    torch.testing.assert_close(W.grad.to_dense(), expected)


def test_a_sparsifier_chooses_from_a_dense_gradient():
    W, D = pair(spt.Sparse(spt.Magnitude(0.5), "dense"))
    backward(W, D)
    torch.testing.assert_close(W.grad, D.grad * spt.Magnitude(0.5).keep(D.grad))
    assert (W.grad.detach() != 0)[D == 0].any()


@pytest.mark.parametrize("grad_format", ["dense", "csc", spt.Magnitude(0.5)])
def test_a_format_that_is_taken_back(grad_format):
    W, D = pair(grad_format)
    W.grad_format = None
    backward(W, D)
    assert W.grad_format is None and W.grad.pattern is W.pattern
    torch.testing.assert_close(W.grad.values(), D.grad[D != 0])


@pytest.mark.parametrize("format", ["dense", "csc"])
def test_second_order(format):
    W, D = pair(format)
    x = full(5, 8, seed=2)
    stored = D.detach() != 0
    found = []
    for weight in (W, D):
        loss = functional.linear(x, weight).pow(3).sum()
        (first,) = torch.autograd.grad(loss, [weight], create_graph=True)
        first = dense(first)
        if format == "csc":
            first = first * stored
        (second,) = torch.autograd.grad(first.pow(2).sum(), [weight])
        second = dense(second)
        found.append((first, second if format == "dense" else second * stored))
    torch.testing.assert_close(found[0], found[1])


PRODUCTS = [
    (lambda W, x: W @ x.T, None),
    (lambda W, x: x @ W.t(), None),
    (lambda W, x: torch.einsum("ij,kj->ik", W, x), None),
    (lambda W, x: W.clone() @ x.T, None),
    (lambda W, x: W.to_format("csc") @ x.T, lambda D, x: D @ x.T),
    (lambda W, x: W.float() @ x.T.float(), None),
    (lambda W, x: W.sum(0), None),
    (lambda W, x: W.sum(), None),
    (lambda W, x: W.to_dense(), lambda D, x: D),
    (
        lambda W, x: spt.compute("y[i] = W[i,j] * W[i,j] * v[j]", W=W, v=x[0]),
        lambda D, x: (D * D) @ x[0],
    ),
]


@pytest.mark.parametrize("product", PRODUCTS)
def test_every_compiled_backward_has_the_dense_gradient(product):
    ours, theirs = product
    W, D = pair("dense")
    x = full(3, 8)
    with spt.strict():
        ours(W, x).pow(2).sum().backward()
    (theirs or ours)(D, x).pow(2).sum().backward()
    torch.testing.assert_close(W.grad, D.grad, rtol=1e-4, atol=1e-4)


def test_registered_gradients_are_dense_too():
    @spt.register_op(torch.vander, formats=("csr",))
    def forward(x):
        return x.to_dense().detach().sum(0)

    @spt.register_backward(torch.vander, formats=("csr",))
    def gradient(grad, x):
        return grad.expand(x.shape)

    W, _ = pair("dense")
    torch.vander(W).sum().backward()
    assert (W.grad == 1).all()


def test_what_has_no_dense_gradient_is_computed_densely_or_refused():
    W, D = pair("dense")
    with spt.strict(), pytest.raises(WouldDensifyError, match="grad_format 'dense'"):
        torch.sin(W)
    with spt.strict(), pytest.raises(WouldDensifyError, match="grad_format 'dense'"):
        W * W
    with pytest.warns(UserWarning, match="computed densely"):
        torch.sin(W).sum().backward()
    torch.sin(D).sum().backward()
    torch.testing.assert_close(W.grad, D.grad)
    with spt.strict(), pytest.raises(WouldDensifyError, match="grad_format 'dense'"):
        W.to_sparse_csr()
    with torch.no_grad(), spt.strict():
        assert torch.sin(W).nnz == W.nnz


@pytest.mark.parametrize("grad_format", EVERY)
def test_copies_keep_the_format_and_not_the_gradient(grad_format):
    W, D = pair(grad_format)
    backward(W, D)
    rule, grad = W.grad_format, W.grad
    assert W.clone().grad_format == W.detach().grad_format == rule
    assert W.data.grad_format == W.double().grad_format == rule
    assert nn.Parameter(W).grad_format == rule
    assert str(pickle.loads(pickle.dumps(W)).grad_format) == str(rule)
    made = copy.deepcopy(W)
    assert made.grad_format == rule
    torch.testing.assert_close(dense(made.grad), dense(grad))
    made.grad = None
    backward(made, D)
    torch.testing.assert_close(dense(made.grad), dense(grad))
    name = "grad_format" if grad_format is not None else "SparseTensor"
    assert name in repr(W)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("grad_format", ["dense", "csc", "bcsr(2, 2)"])
def test_optimizers_step_as_with_the_default(grad_format, kind):
    options = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    made = []
    for format in (None, grad_format):
        W = nn.Parameter(spt.tensor(gapped(6, 8), "csr", grad_format=format))
        optimizer = kind([W], lr=0.05, weight_decay=0.1, **options)
        pattern = W.pattern
        for seed in range(3):
            optimizer.zero_grad()
            functional.linear(full(5, 8, seed=seed), W).square().sum().backward()
            optimizer.step()
        assert W.pattern is pattern
        made.append(W.to_dense().detach())
    torch.testing.assert_close(*made)


@pytest.mark.parametrize("grad_format", [None, "csc", "dcsr", CHOSEN])
def test_sparse_gradients_are_never_dense_on_the_way(grad_format, monkeypatch):
    n = 3000
    coords = torch.stack([torch.arange(n), torch.arange(n).flip(0)])
    x = torch.sparse_coo_tensor(coords, torch.ones(n), (n, n))
    W = spt.tensor(x, "csr", requires_grad=True, grad_format=grad_format)
    densified = []
    to_dense = spt.SparseTensor.to_dense
    monkeypatch.setattr(
        spt.SparseTensor,
        "to_dense",
        lambda self, *args: densified.append(self.shape) or to_dense(self, *args),
    )
    v = torch.ones(n, 2)
    with recorded() as evaluations, spt.strict():
        for _ in range(2):
            (W @ v).square().sum().backward()
        (first,) = torch.autograd.grad((W @ v).pow(3).sum(), [W], create_graph=True)
        first.values().sum().backward()
        optimizer = torch.optim.AdamW([W])
        optimizer.step()
        assert W.grad.nnz <= n
    assert not densified
    # Backward's own evaluations among them: no result has the size of the weight.
    assert len(evaluations) > 6
    results = [e.format for e, _ in evaluations if e.result is None]
    assert all(f is None or f.ndim == 2 for f in results)
    sizes = [tensor.numel() for _, tensors in evaluations for tensor in tensors]
    assert max(sizes) <= 2 * n


def test_entries_of_a_sparse_tensor_go_onto_another_pattern():
    x, y = gapped(5, 7, seed=1), gapped(5, 7, seed=2)
    given, wanted = spt.tensor(x, "csc"), spt.tensor(y, "coo")
    made = onto(given, wanted.pattern)
    assert made.pattern is wanted.pattern
    torch.testing.assert_close(made.to_dense(), x * (y != 0))


def test_hooks_see_the_gradient_in_its_format():
    W, D = pair("dense")
    seen = []
    handle = W.register_hook(seen.append)
    backward(W, D)
    handle.remove()
    torch.testing.assert_close(seen[0], D.grad)
    W.grad = torch.ones(6, 8, dtype=torch.float64)
    assert (W.grad == 1).all()
    W.grad = None
    assert W.grad is None and W.values().grad is None


def test_bad_formats_are_refused():
    W, _ = pair(None)
    with pytest.raises(FormatError):
        W.grad_format = "no such format"
    with pytest.raises(PatternError):
        W.grad_format = "nm(1, 8)"
    with pytest.raises(UnsupportedError, match="expected None, a format"):
        W.grad_format = 3
    assert W.grad_format is None
