"""The search: table, dense fallback, strict mode, explanations."""

import warnings

import pytest
import torch

import sparray.torch as spt
from sparray.errors import SparrayWarning, UnsupportedError, WouldDensifyError
from sparray.torch import dispatch

from .conftest import full, gapped


@pytest.fixture
def W():
    return spt.tensor(gapped(4, 5), "csr", requires_grad=True)


@pytest.fixture(autouse=True)
def forget_warnings(monkeypatch):
    monkeypatch.setattr(dispatch, "_warned", set())


def test_an_unknown_function_is_computed_densely(W):
    with pytest.warns(SparrayWarning, match=r"torch\.cumsum of csr \(4, 5\) is comp"):
        made = torch.cumsum(W, 0)
    assert torch.equal(made, torch.cumsum(W.to_dense(), 0))
    made.sum().backward()
    assert W.grad is not None


def test_one_warning_for_each_call_site(W):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            torch.cumsum(W, 0)
        torch.cumsum(W, 1)
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}


DENSE = {
    "exp of a sum": lambda W: W.exp().sum(0),
    "a number added": lambda W: (W + 1) @ full(5, 2),
    "indexing": lambda W: W[1:3, 2],
    "comparison": lambda W: W > 0.5,
    "division by it": lambda W: 1 / (W + 2),
    "division of two": lambda W: W / W.detach(),
    "cat": lambda W: torch.cat([W, W]),
    "ellipsis": lambda W: torch.einsum("...j,jk->...k", W, full(5, 2)),
    "diagonal": lambda W: torch.einsum("ii->i", W[:, :4]),
    "sum of a keepdim": lambda W: W.sum((0, 1), keepdim=True),
    "rounding": lambda W: torch.div(W, 2.0, rounding_mode="floor"),
    "norm": lambda W: torch.linalg.norm(W),
    "numpy": lambda W: torch.from_numpy(W.detach().numpy()),
}


@pytest.mark.parametrize("name", DENSE)
def test_the_fallback_is_right(W, name):
    function = DENSE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparrayWarning)
        made = function(W)
    made = made.to_dense() if isinstance(made, spt.SparseTensor) else made
    torch.testing.assert_close(made, function(W.to_dense()), equal_nan=True)


def test_strict_mode_names_the_function_and_what_works(W):
    with spt.strict():
        with pytest.raises(WouldDensifyError, match=r"torch\.cumsum: .*W\.to_dense\("):
            torch.cumsum(W, 0)
        W @ full(5, 2)
        W.to_dense()
    with pytest.warns(SparrayWarning):
        torch.cumsum(W, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda W: W.add_(full(4, 5)),
        lambda W: W.add_(1),
        lambda W: W.__setitem__((0, 0), 1.0),
        lambda W: W.exp_(),
        lambda W: W.cumsum_(0),
        lambda W: torch.mm(full(4, 4), full(4, 5), out=W),
        lambda W: W.__iadd__(full(4, 5)),
    ],
)
def test_a_change_in_place_is_never_lost(change):
    W = spt.tensor(gapped(4, 5), requires_grad=True).detach().requires_grad_()
    before = W.to_dense()
    with pytest.raises(UnsupportedError), torch.no_grad():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SparrayWarning)
            change(W)
    assert torch.equal(W.to_dense(), before)


def test_changes_in_place_that_the_pattern_holds(W):
    elements = W.to_dense().detach()
    with torch.no_grad():
        W.mul_(3).sub_(W.clone() / 3).div_(4).neg_()
        W *= 2
    torch.testing.assert_close(W.to_dense(), -elements)
    W.detach().zero_()
    assert not W.values().any()


def test_explain_a_compiled_function(W):
    text = spt.explain(torch.mm, W, full(5, 2))
    assert text.startswith("torch.mm: compiled\nC[i,j] = A[i,k] * B[k,j]")
    assert "loop order" in text and "estimated cost" in text


def test_explain_other_functions(W):
    assert "stored values alone" in spt.explain(torch.relu, W)
    text = spt.explain(torch.cumsum, W, 0)
    assert text.startswith("torch.cumsum: computed densely, from 160 bytes")


def test_explain_gradients_that_read_a_mask():
    mask = spt.tensor(gapped(4, 4) != 0, format="csr")
    q, k, v = (torch.rand(1, 4, 3, requires_grad=True) for _ in "qkv")
    attend = torch.nn.functional.scaled_dot_product_attention
    loss = attend(q, k, v, mask).sum()
    text = spt.explain(torch.autograd.grad, loss, [q, k, v], retain_graph=True)
    assert text.startswith("torch.autograd.grad: compiled\n")
    assert text.count("estimated cost") >= 3
    assert spt.explain(loss.backward, retain_graph=True).count("estimated cost") >= 3
    masked = spt.tensor(gapped(4, 4), requires_grad=True)

    def step(B):
        product = spt.compute("C[i,j] = A[i,k] * B[k,j]", A=masked, B=B)
        return torch.autograd.grad(product.sum(), masked)

    text = spt.explain(step, torch.rand(4, 4))
    assert ".step: compiled\n" in text
    assert text.count("estimated cost") == 2


def test_explain_ends_where_a_function_would_be_dense(W):
    text = spt.explain(lambda: torch.cumsum(W @ torch.ones(5, 5).double(), 0))
    assert "<lambda>: compiled" in text
    text = spt.explain(lambda V: torch.cumsum(V, 0), W)
    assert "<lambda>: computed densely, from 160 bytes\ntorch.cumsum" in text


def test_a_row_of_the_table_can_be_added(W):
    from sparray.torch.table import TABLE

    @spt.implements([torch.trace])
    def trace(input):
        return torch.einsum("ij->", input * torch.eye(*input.shape).double())

    try:
        with spt.strict():
            torch.testing.assert_close(torch.trace(W), torch.trace(W.to_dense()))
    finally:
        del TABLE[torch.trace]
