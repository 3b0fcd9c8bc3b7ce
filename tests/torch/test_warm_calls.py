"""Evaluations that were seen before, and what makes them other ones."""

import pytest
import torch
from torch.nn import functional

import sparray.torch as spt
from sparray.dispatch import forget_plans
from sparray.torch import autograd

from .conftest import full, gapped


@pytest.fixture
def planned(monkeypatch):
    """Collect the expressions that are computed by the road of plans."""
    made = []
    original = autograd.evaluate_expression

    def evaluate(expression, *given):
        made.append(expression.text)
        return original(expression, *given)

    monkeypatch.setattr(autograd, "evaluate_expression", evaluate)
    return made


def weights():
    return spt.tensor(gapped(8, 12), "csr", requires_grad=True)


@pytest.mark.parametrize(
    ("run", "shape"),
    [
        (lambda W, x: W @ x, (12,)),
        (lambda W, x: W @ x, (12, 3)),
        # Copied, so that its first dimension is contiguous.
        (lambda W, x: functional.linear(x, W), (5, 12)),
    ],
)
def test_what_was_computed_once_needs_no_plan(planned, run, shape):
    W = weights()
    D = W.to_dense().detach()
    run(W, full(*shape))
    assert planned
    planned.clear()
    for seed in range(1, 4):
        x = full(*shape, seed=seed)
        made, expected = run(W, x), run(D, x)
        torch.testing.assert_close(made, expected)
        assert made.requires_grad
    assert not planned


def test_other_values_and_gradients_are_seen():
    W, x = weights(), full(12)
    W @ x
    doubled = W.with_values(2 * W.values())
    torch.testing.assert_close(doubled @ x, 2 * (W @ x))
    (W @ x).sum().backward()
    torch.testing.assert_close(W.grad.to_dense(), (W.to_dense() != 0) * x)


@pytest.mark.parametrize(
    "other",
    [
        full(12, 3).float().double(),
        full(3, 12).t(),
        full(12, 6)[:, ::2],
        full(12, 4),
        full(13, 3)[1:],
        torch._neg_view(full(12, 3)),
        torch.zeros(12, 0, dtype=torch.float64),
    ],
    ids=["same", "columns", "strided", "wider", "unaligned", "negative", "empty"],
)
def test_operands_that_lie_otherwise(other):
    W = weights()
    D = W.to_dense().detach()
    for x in (full(12, 3), other, full(12, 3), other):
        torch.testing.assert_close((W @ x).detach(), D @ x)


def test_another_conjugate_is_another_call():
    W = spt.tensor(gapped(8, 12) + 0j, "csr")
    D, x = W.to_dense(), full(12) * (1 + 2j)
    for one in (x, x.conj(), x, x.conj()):
        torch.testing.assert_close(W @ one, D @ one)


def test_plans_that_are_forgotten_are_made_anew(planned):
    W, x = weights(), full(12)
    W @ x
    planned.clear()
    forget_plans()
    W @ x
    assert len(planned) == 1
    W @ x
    assert len(planned) == 1


def test_few_calls_are_kept():
    W = weights()
    for columns in range(1, 70):
        W @ full(12, columns)
    assert len(W.pattern.warm) <= 64


def test_a_result_with_the_pattern_is_no_warm_call(planned):
    W, x = weights(), full(8, 12)
    for _ in range(2):
        torch.testing.assert_close((W * x).to_dense(), W.to_dense() * x)
    assert sum("*" in text for text in planned) == 2


def test_gradients_of_other_windows_are_other_calls():
    # Their expressions differ in the window alone, and so do those of their gradients.
    W = spt.tensor(gapped(6, 8), "csr")
    D = W.to_dense()
    for _ in range(2):
        for begin in (1, 3, 5, 2):
            text = f"C[i,j] = A[i,k in {begin}:{begin + 2}] * B[k,j]"
            B = full(2, 4).requires_grad_()
            upstream = full(6, 4, seed=begin)
            made = spt.compute(text, A=W, B=B)
            (found,) = torch.autograd.grad(made, B, upstream)
            window = D[:, begin : begin + 2]
            torch.testing.assert_close(made, window @ B)
            torch.testing.assert_close(found, window.T @ upstream)
