"""`torch.sparse.mm` with a reduction, against torch's own and dense elements."""

import re

import pytest
import torch

import sparray.torch as spt
from sparray.errors import DTypeError, FormatError, SettingError, ShapeError
from sparray.torch.autograd import recorded

from .conftest import full, gapped

FORMATS = ["csr", "csc", "coo", "dcsr", "ell", "dia", "bitmap", "bcsr(2, 2)"]
REDUCTIONS = ["sum", "mean", "amax", "amin", "max", "min"]


def reduced(stored, A, x, reduce):
    """Reduce the products of dense tensors where entries are stored."""
    products = A[:, :, None] * x[None]
    there = stored[:, :, None]
    if reduce in ("sum", "mean"):
        total = torch.where(there, products, 0).sum(1)
        return total if reduce == "sum" else total / there.sum(1).clamp(min=1)
    largest = reduce.endswith("max")
    absent = torch.where(there, products, -torch.inf if largest else torch.inf)
    made = absent.amax(1) if largest else absent.amin(1)
    return torch.where(there.any(1), made, 0)


def both(format, reduce, A, x):
    """Return a product and gradients of ours and of dense tensors."""
    W = spt.tensor(A, format, requires_grad=True)
    ones = W.with_values(torch.ones_like(W.values()))
    stored = ones.to_dense() != 0
    weights = full(A.shape[0], x.shape[1], seed=4).to(A.dtype)
    ours = [W.values(), x.clone().requires_grad_()]
    with spt.strict():
        made = torch.sparse.mm(W, ours[1], reduce)
        found = torch.autograd.grad((made * weights).sum(), ours)
    dense = W.detach().to_dense().requires_grad_()
    theirs = [dense, x.clone().requires_grad_()]
    expected = reduced(stored, *theirs, reduce)
    wanted = torch.autograd.grad((expected * weights).sum(), theirs)
    in_place = W.with_values(found[0]).to_dense()
    return [made, in_place, found[1]], [
        expected,
        torch.where(stored, wanted[0], 0),
        wanted[1],
    ]


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_products_and_gradients(format, reduce):
    ours, theirs = both(format, reduce, gapped(6, 8), full(8, 3))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("reduce", ["mean", "amax", "amin"])
def test_torch_s_own(reduce):
    A, x = gapped(6, 8), full(8, 3)
    made = torch.sparse.mm(spt.tensor(A, "csr"), x, reduce)
    torch.testing.assert_close(made, torch.sparse.mm(A.to_sparse_csr(), x, reduce))
    # Stored zeros count, and rows without an entry are 0.
    assert not made[0].any()


@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_equal_products_share_a_gradient(reduce):
    ours, theirs = both(
        "csr", reduce, torch.ones(3, 4).double(), torch.ones(4, 2).double()
    )
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(ours[2].sum(), full(3, 2, seed=4).sum())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_16_bit_products_have_gradients(dtype):
    A, x = gapped(6, 8).to(dtype), full(8, 3).to(dtype)
    W = spt.tensor(A, "csr", requires_grad=True)
    made = torch.sparse.mm(W, x, "amax")
    assert made.dtype == dtype
    made.sum().backward()
    # Each row that stores something passes three gradients on.
    assert W.grad.values().count_nonzero() >= 5


@pytest.mark.parametrize("reduce", ["mean", "amax"])
def test_second_derivatives(reduce):
    W, x = spt.tensor(gapped(4, 5)), full(5, 2).requires_grad_()

    def run(values, x):
        return torch.sparse.mm(W.with_values(values), x, reduce)

    leaves = [W.values().requires_grad_(), x]
    assert torch.autograd.gradcheck(run, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, leaves, fast_mode=True)


def test_it_is_compiled():
    with recorded() as evaluations:
        torch.sparse.mm(spt.tensor(gapped(4, 5)), full(5, 2), "amax")
    assert any("max(k" in one.expression.text for one, _ in evaluations)


def test_without_rows_or_columns():
    for shape in ((0, 5), (4, 0)):
        W = spt.tensor(torch.zeros(shape).double(), "csr")
        for reduce in REDUCTIONS:
            made = torch.sparse.mm(W, full(shape[1], 3), reduce)
            torch.testing.assert_close(made, torch.zeros(shape[0], 3).double())


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (
            lambda W, x: torch.sparse.mm(W, x, "prod"),
            SettingError,
            "expected one of sum, mean, amax, amin, got 'prod'",
        ),
        (
            lambda W, x: torch.sparse.mm(x.T, W.t(), "amax"),
            FormatError,
            "expected a sparse matrix times a dense one",
        ),
        (
            lambda W, x: torch.sparse.mm(W.long(), x.long(), "mean"),
            DTypeError,
            "W.float()",
        ),
        (
            lambda W, x: torch.sparse.mm(W, x.float(), "amax"),
            DTypeError,
            "one dtype",
        ),
        (
            lambda W, x: torch.sparse.mm(W, x[:, 0], "amax"),
            ShapeError,
            "expected two matrices",
        ),
        (
            lambda W, x: torch.sparse.mm(W, x[1:], "amax"),
            ShapeError,
            "k",
        ),
    ],
)
def test_bad_input(call, kind, said):
    with pytest.raises(kind, match=re.escape(said)):
        call(spt.tensor(gapped(4, 5)), full(5, 2))
