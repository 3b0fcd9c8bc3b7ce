"""Element-wise functions keep the pattern, and are exact for what is not stored."""

import pytest
import torch
from torch.nn import functional

import sparray.torch as spt

from .conftest import gapped

FUNCTIONS = {
    **{
        name: getattr(torch, name)
        for name in "sqrt exp expm1 cos sin sigmoid sign floor isnan square neg".split()
    },
    "leaky_relu": functional.leaky_relu,
    "gelu": functional.gelu,
    "softplus": functional.softplus,
    "hardtanh": lambda W: functional.hardtanh(W, 0.25, 1.0),
    "clamp": lambda W: torch.clamp(W, min=-0.5),
    "clamp above 0": lambda W: W.clamp(min=0.5),
    "pow": lambda W: W.pow(3),
    "pow 0": lambda W: W**0,
    "+ 1": lambda W: W + 1,
    "2 -": lambda W: 2 - W,
    "* nan": lambda W: W.exp() * 2.0,
    "two": lambda W: torch.maximum(W, W * 2 + 1),
    "lerp": lambda W: torch.lerp(W, W * 3, 0.25),
    "where": lambda W: torch.where(W > 0, W, W * 2),
    "addcmul": lambda W: torch.addcmul(W, W, W, value=2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_element_is_right(name):
    W = spt.tensor(gapped(5, 6).abs_() * gapped(5, 6).sign(), "csr")
    function = FUNCTIONS[name]
    with spt.strict():
        made = function(W)
    made = made.to_dense() if isinstance(made, spt.SparseTensor) else made
    torch.testing.assert_close(made, function(W.to_dense()), equal_nan=True)


def test_the_fill_value_is_what_unstored_entries_become():
    W = spt.tensor(gapped(5, 6), requires_grad=True)
    made = W.exp()
    assert made.fill_value == 1 and made.nnz == W.nnz
    assert made.to_array().fill_value == 1
    assert (made - 1).fill_value == 0
    made.to_dense().sum().backward()
    torch.testing.assert_close(W.grad.values(), W.values().exp().detach())


def test_the_pattern_is_shared():
    W = spt.tensor(gapped(5, 6))
    for made in (W.relu(), abs(W), W * 2, W + W, functional.dropout(W, 0.5)):
        assert made.pattern is W.pattern


def test_dropout_leaves_the_rest_scaled():
    W = spt.tensor(torch.ones(50, 40), "csr")
    torch.manual_seed(0)
    made = functional.dropout(W, 0.5, training=True)
    assert set(made.values().unique().tolist()) == {0.0, 2.0}
    assert functional.dropout(W, 0.5, training=False).values().eq(1).all()
