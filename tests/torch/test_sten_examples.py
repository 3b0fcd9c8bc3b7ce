"""STen's own examples with sparray: what they compute, and in how many lines."""

from pathlib import Path

import pytest
import torch
from sten_examples.marlin import MarlinLinear
from sten_examples.masked import masked
from sten_examples.rosa import RoSALinear
from sten_examples.spqr import SpQRLinear
from sten_examples.two_four import PLAN, two_four
from torch import nn

import sparray.torch as spt

# Of the same examples as STen has them.
LINES = {"two_four": 85, "rosa": 266, "marlin": 57, "spqr": 126}


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8))


def linear():
    torch.manual_seed(1)
    return nn.Linear(64, 32)


def inputs(features, rows=20):
    return torch.randn(rows, features, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize(("name", "most"), LINES.items())
def test_lines(name, most):
    text = (Path(__file__).parent / "sten_examples" / f"{name}.py").read_text("utf-8")
    assert len(text.splitlines()) < most


def train(model, steps, after=lambda optimizer: None):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    x = inputs(32)
    target = torch.sin(x[:, :8])
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        after(optimizer)
        losses.append(float(loss.detach()))
    return losses


def test_masked():
    model = masked(network(), 0.5)
    mask = model[0].weight.to_dense() != 0
    losses = train(model, 20)
    assert losses[-1] < 0.5 * losses[0]
    assert ((model[0].weight.to_dense() != 0) <= mask).all()


def test_two_four():
    model = two_four(network())
    losses = train(
        model, 20, lambda optimizer: spt.sparsify_(model, PLAN, optimizer=optimizer)
    )
    assert losses[-1] < 0.5 * losses[0]
    for n in (0, 2):
        weight = model[n].weight
        assert weight.format.name == "nm(2, 4)"
        assert ((weight.to_dense() != 0).unflatten(1, (-1, 4)).sum(-1) <= 2).all()


def test_rosa():
    layer, x = linear(), inputs(64)
    frozen = layer.weight.detach().clone()
    target = torch.cos(x[:, :32])

    def loss(y):
        return (y - target).square().mean()

    model = RoSALinear(layer, rank=2, fraction=0.9)
    before = loss(model(x)).detach()
    model.choose(x, loss)
    torch.testing.assert_close(loss(model(x)).detach(), before)
    optimizer = torch.optim.Adam(
        [p for p in model.parameters() if p.requires_grad], 0.01
    )
    for _ in range(30):
        optimizer.zero_grad()
        loss(model(x)).backward()
        optimizer.step()
    assert loss(model(x)) < 0.7 * before
    assert torch.equal(layer.weight, frozen)
    assert model.adapter.nnz == 205 and (model.adapter.values() != 0).any()


def test_spqr():
    layer, x = linear(), inputs(64)
    with torch.no_grad():
        # A few weights are much larger than the others.
        layer.weight[::7, ::13] *= 20
    exact = layer(x)
    made = SpQRLinear(layer)
    plain = SpQRLinear(layer, fraction=1)
    assert made.outliers.nnz == 41
    error, without = ((m(x) - exact).norm() / exact.norm() for m in (made, plain))
    assert error < 0.3 * without


def test_marlin():
    layer, x = linear(), inputs(64)
    model = MarlinLinear(layer)
    assert model.codes.dtype == torch.int8
    dense = model.codes.to_dense() * model.scale[:, None]
    torch.testing.assert_close(model(x), x @ dense.T + layer.bias, rtol=1e-4, atol=1e-5)
    kept = spt.NM(2, 4)(layer.weight.detach()).to_dense()
    assert (dense - kept).abs().max() <= model.scale.max() / 2 + 1e-6
