"""Sparsifiers that choose while an expression is computed."""

import resource

import pytest
import torch

import sparray.torch as spt
from sparray.errors import UnsupportedError
from sparray.torch import inline

from .conftest import full, gapped

LIMIT = spt.Threshold(1.0)
LINEAR = "y[r,o] = x[r,i] * W[o,i]"


@pytest.fixture(autouse=True)
def small_panels(monkeypatch):
    monkeypatch.setattr(inline, "_PANEL", 20)


def pair():
    x, W = full(7, 8).requires_grad_(), full(9, 8, seed=2).requires_grad_()
    return x, W


@pytest.mark.parametrize(
    ("sparsifier", "format"), [(LIMIT, None), (spt.KeepAll(), "csc")]
)
def test_result_and_gradients_are_those_of_the_dense_result(sparsifier, format):
    x, W = pair()
    made = spt.compute(LINEAR, x=x, W=W, inline=sparsifier, format=format)
    dense = x @ W.T
    expected = dense * sparsifier.keep(dense.detach())
    assert made.format.name == (format or "csr")
    torch.testing.assert_close(made.to_dense(), expected)
    ours = torch.autograd.grad(made.values().pow(3).sum(), [x, W], create_graph=True)
    theirs = torch.autograd.grad(expected.pow(3).sum(), [x, W], create_graph=True)
    torch.testing.assert_close(ours, theirs)
    second = [torch.autograd.grad(g[0].pow(2).sum(), [x, W]) for g in (ours, theirs)]
    torch.testing.assert_close(*second)


def test_a_sparse_operand_is_never_cut():
    x = full(7, 8)
    W = spt.tensor(gapped(9, 8), "csr", requires_grad=True)
    made = spt.compute(LINEAR, x=x, W=W, inline=LIMIT)
    dense = x @ W.to_dense().T
    mask = LIMIT.keep(dense.detach())
    torch.testing.assert_close(made.to_dense(), dense * mask)
    # Panels along the second dimension: entries are put in the order of rows.
    made = spt.compute("y[o,r] = W[o,i] * x[r,i]", x=x, W=W, inline=LIMIT)
    torch.testing.assert_close(made.to_dense(), (dense * mask).T)
    made.values().sum().backward()
    torch.testing.assert_close(
        W.grad.to_dense(), (mask.double().T @ x) * (W.to_dense() != 0)
    )


def test_an_epilogue_is_part_of_the_kernel():
    x, W = (t.detach() for t in pair())
    text = "y[r,o] = max(sum(i, x[r,i] * W[o,i]), 0)"
    made = spt.compute(text, x=x, W=W, inline=spt.KeepNonzero())
    dense = torch.relu(x @ W.T)
    torch.testing.assert_close(made.to_dense(), dense)
    assert made.nnz == int((dense != 0).sum()) < dense.numel()


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows):
    x, W = full(rows, 8), full(9, 8)
    made = spt.compute(LINEAR, x=x, W=W, inline=LIMIT)
    dense = x @ W.T
    torch.testing.assert_close(made.to_dense(), dense * LIMIT.keep(dense))


def test_no_dense_result_is_made(monkeypatch):
    monkeypatch.setattr(inline, "_PANEL", 1 << 16)
    n = 20_000
    x, W = torch.ones(n, 1), torch.zeros(n, 1)
    W[::1000] = 2
    spt.compute(LINEAR, x=x[:8], W=W, inline=LIMIT)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = spt.compute(LINEAR, x=x, W=W, inline=LIMIT)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # A dense result takes 1.6 GB; what is kept 400,000 entries.
    assert made.nnz == n * 20 and used < 600_000


@pytest.mark.parametrize(
    "sparsifier",
    [
        spt.Magnitude(0.5),
        spt.NM(2, 4),
        spt.RandomFraction(0.5),
        spt.HardConcrete((7, 9)),
    ],
)
def test_what_does_not_stream_is_refused(sparsifier):
    x, W = pair()
    with pytest.raises(UnsupportedError, match="KeepAll, KeepNonzero, Threshold"):
        spt.compute(LINEAR, x=x, W=W, inline=sparsifier)
    with pytest.raises(UnsupportedError, match="expected a sparsifier"):
        spt.compute(LINEAR, x=x, W=W, inline=0.5)


def test_results_without_panels_are_refused():
    A = spt.tensor(gapped(4, 4))
    with pytest.raises(UnsupportedError, match="index of dense operands alone"):
        spt.compute("C[i,j] = A[i,k] * B[k,j]", A=A, B=A, inline=LIMIT)


def test_explain_says_that_it_is_inside():
    x, W = (t.detach() for t in pair())
    said = spt.explain(spt.compute, LINEAR, x=x, W=W, inline=LIMIT)
    assert "inline: Threshold(limit=1.0) chooses from panels along r" in said
    assert "no dense result" in said and LINEAR.split(" = ")[0] in said
