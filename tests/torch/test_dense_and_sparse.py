"""Dense tensors beside sparse ones: joined, convolved, attended, with an ellipsis."""

import pytest
import torch
from torch.nn import functional

import sparray.torch as spt
from sparray.errors import ShapeError

from .conftest import dense, full, gapped
from .operator_calls import interpreted


@pytest.fixture(scope="module", autouse=True)
def _interpreted():
    with interpreted():
        yield


@pytest.mark.parametrize("format", ["csr", "coo", "ell", "nm(2, 4)"])
def test_cat_stores_every_element_of_a_dense_part(format):
    A = gapped(4, 8) if format != "nm(2, 4)" else spt.NM(2, 4)(full(4, 8)).to_dense()
    W, x = spt.tensor(A, format, requires_grad=True), torch.zeros(4, 3).double()
    x.requires_grad_()
    with spt.strict():
        made = torch.cat([W, x], 1)
        assert isinstance(made, spt.SparseTensor)
        torch.testing.assert_close(made.to_dense(), torch.cat([A, x], 1))
        (made * full(4, 11)).sum().backward()
    # Zeros of a dense part have a gradient too.
    assert torch.equal(x.grad, full(4, 11)[:, 8:])


def test_stack_and_vstack_with_dense_parts():
    A, x = gapped(4, 6), full(4, 6)
    with spt.strict():
        for function in (torch.stack, torch.vstack, torch.hstack):
            made = function([x, spt.tensor(A)])
            torch.testing.assert_close(made.to_dense(), function([x, A]))


@pytest.mark.parametrize("equation", ["...ij,jk->...ik", "b...j,...j->b...", "...j,j"])
def test_einsum_with_an_ellipsis(equation):
    A = gapped(2, 3, 4)
    shapes = {"...ij,jk->...ik": (4, 5), "b...j,...j->b...": (1, 4), "...j,j": (4,)}
    x = full(*shapes[equation])
    W = spt.tensor(A, requires_grad=True)
    with spt.strict():
        made = dense(torch.einsum(equation, W, x))
    a = A.clone().requires_grad_()
    expected = torch.einsum(equation, a, x)
    torch.testing.assert_close(made, expected)
    weights = full(*made.shape, seed=3)
    (made * weights).sum().backward()
    (expected * weights).sum().backward()
    there = A != 0
    torch.testing.assert_close(W.grad.to_dense()[there], a.grad[there])


@pytest.mark.parametrize("format", ["csf", "coo", "csr", "bitmap"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2},
        {"padding": 2},
        {"padding": "same", "dilation": 2},
        {"stride": 3, "padding": 1, "groups": 2},
    ],
    ids=str,
)
def test_convolutions_of_a_sparse_input(format, options):
    A, w = gapped(3, 4, 9), full(6, 4 // options.get("groups", 1), 3)
    X, b = spt.tensor(A, format, requires_grad=True), full(6, seed=6)
    w.requires_grad_()
    with spt.strict():
        made = functional.conv1d(X, w, b, **options)
    a, v = A.clone().requires_grad_(), w.detach().clone().requires_grad_()
    expected = functional.conv1d(a, v, b, **options)
    torch.testing.assert_close(made, expected)
    weights = full(*made.shape, seed=3)
    (made * weights).sum().backward()
    (expected * weights).sum().backward()
    there = A != 0
    torch.testing.assert_close(X.grad.to_dense()[there], a.grad[there])
    torch.testing.assert_close(w.grad, v.grad)


def test_a_convolution_without_a_batch_and_of_two_sparse():
    A, w = gapped(3, 5, 6), gapped(2, 3, 2, 3, seed=4)
    with spt.strict():
        made = functional.conv2d(spt.tensor(A), spt.tensor(w), padding=1)
    torch.testing.assert_close(dense(made), functional.conv2d(A, w, padding=1))


def rows_of_each(*shape):
    """Return a mask in which every query may attend to something."""
    generator = torch.Generator().manual_seed(4)
    made = torch.rand(*shape, generator=generator) < 0.4
    made[..., 0] = True
    return made


@pytest.mark.parametrize(
    ("batch", "mask"),
    [((2,), (2,)), ((2, 3), (2, 3)), ((2, 3), (2, 1)), ((2, 3), (3,))],
)
@pytest.mark.parametrize("kind", ["bool", "numbers"])
def test_attention_with_a_mask_of_each(batch, mask, kind):
    allowed = rows_of_each(*mask, 5, 6)
    q, k, v = (full(*batch, n, 4, seed=n).requires_grad_() for n in (5, 6, 6))
    bias = full(*mask, 5, 6, seed=9)
    if kind == "bool":
        ours, theirs, leaves = spt.tensor(allowed), allowed, [q, k, v]
    else:
        ours = spt.tensor(torch.where(allowed, bias, 0))
        values = ours.values().requires_grad_()
        ours = spt.SparseTensor(ours.pattern, values, -torch.inf)
        theirs = torch.where(allowed, bias, -torch.inf).requires_grad_()
        leaves = [q, k, v]
    attend = functional.scaled_dot_product_attention
    with spt.strict():
        made = attend(q, k, v, ours)
    expected = attend(q, k, v, theirs)
    torch.testing.assert_close(made, expected)
    weights = full(*made.shape, seed=3)
    got = torch.autograd.grad((made * weights).sum(), leaves, retain_graph=True)
    wanted = torch.autograd.grad((expected * weights).sum(), leaves, retain_graph=True)
    torch.testing.assert_close(got, wanted)
    if kind == "numbers":
        (got,) = torch.autograd.grad((made * weights).sum(), [values])
        (wanted,) = torch.autograd.grad((expected * weights).sum(), [theirs])
        torch.testing.assert_close(got, wanted[allowed])


def test_masks_that_do_not_fit():
    q, k, v = full(2, 5, 4), full(2, 6, 4), full(2, 6, 4)
    with pytest.raises(ShapeError, match="expected \\(5, 6\\) as its last dimensions"):
        functional.scaled_dot_product_attention(
            q, k, v, spt.tensor(rows_of_each(2, 4, 6))
        )
