"""Faults that sparse training libraries shipped: each kind a test."""

import copy
import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional

import sparray.torch as spt
from sparray.errors import ShapeError

from .conftest import full, gapped

FORMATS = ["csr", "csc", "coo", "nm(2, 4)", "nmg(1, 2, 2)", "bcsr(2, 2)"]


def kept(format, *shape):
    """Return a dense tensor that fits a format."""
    x = full(*shape)
    if format.startswith("nmg"):
        return spt.GroupedNM(1, 2, 2)(x).to_dense()
    if format.startswith("nm"):
        return spt.NM(2, 4)(x).to_dense()
    return gapped(*shape)


def layer(format, *shape):
    made = nn.Linear(shape[1], shape[0], dtype=torch.float64)
    made.weight = nn.Parameter(spt.tensor(kept(format, *shape), format=format))
    return made


def twin(sparse):
    """Return the same layer with a dense weight."""
    made = nn.Linear(*reversed(sparse.weight.shape), dtype=torch.float64)
    with torch.no_grad():
        made.weight.copy_(sparse.weight.to_dense())
        made.bias.copy_(sparse.bias)
    return made


@pytest.mark.parametrize("format", FORMATS)
def test_gradients_of_several_backwards_add_up(format):
    sparse = layer(format, 8, 12)
    dense = twin(sparse)
    for seed in range(3):
        x = full(5, 12, seed=seed)
        sparse(x).square().sum().backward()
        dense(x).square().sum().backward()
    stored = sparse.weight.to_dense() != 0
    torch.testing.assert_close(
        sparse.weight.grad.to_dense()[stored], dense.weight.grad[stored]
    )
    torch.testing.assert_close(sparse.bias.grad, dense.bias.grad)


@pytest.mark.parametrize("format", FORMATS)
def test_a_sparse_weight_goes_on_training(format):
    sparse = layer(format, 8, 12)
    optimizer = torch.optim.SGD(sparse.parameters(), lr=1e-2)
    seen = [sparse.weight.values().detach().clone()]
    for seed in range(3):
        optimizer.zero_grad()
        sparse(full(5, 12, seed=seed)).square().sum().backward()
        optimizer.step()
        seen.append(sparse.weight.values().detach().clone())
    stored = seen[0] != 0
    for before, after in itertools.pairwise(seen):
        assert (before != after)[stored].any()
    assert not seen[-1][~stored].any() or format.startswith("bcsr")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_linear_with_and_without_bias_of_any_contiguity(format, bias):
    # One published n:m:g layer reads a contiguous input as if it were transposed.
    W = spt.tensor(kept(format, 8, 12), format=format)
    b = full(8) if bias else None
    for x in (full(6, 12), full(12, 6).T, full(6, 24)[:, ::2], full(2, 3, 12)):
        torch.testing.assert_close(
            functional.linear(x, W, b), functional.linear(x, W.to_dense(), b)
        )


@pytest.mark.parametrize("format", FORMATS)
def test_masks_change_only_when_a_sparsifier_chooses(format):
    sparse = layer(format, 8, 12)
    pattern = sparse.weight.pattern
    optimizer = torch.optim.Adam(sparse.parameters(), lr=1.0)
    for seed in range(3):
        optimizer.zero_grad()
        sparse(full(5, 12, seed=seed)).sum().backward()
        optimizer.step()
    assert sparse.weight.pattern is pattern


def test_momentum_revives_nothing_that_was_pruned():
    torch.manual_seed(0)
    model = nn.Linear(12, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = full(5, 12).float()

    def step():
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()

    for _ in range(3):
        step()
    plan = {"weight": spt.Sparse(spt.Magnitude(0.5))}
    spt.sparsify_(model, plan, optimizer=optimizer)
    pruned = model.weight.to_dense() == 0
    for _ in range(3):
        step()
    assert int(pruned.sum()) == 48 and not model.weight.to_dense()[pruned].any()


@pytest.mark.parametrize("format", FORMATS)
def test_states_of_equal_formats_are_loaded(format):
    first, second = layer(format, 8, 12), layer(format, 8, 12)
    with torch.no_grad():
        first.weight.mul_(2)
    second.load_state_dict(first.state_dict())
    torch.testing.assert_close(second.weight.to_dense(), first.weight.to_dense())
    assert isinstance(second.weight, nn.Parameter) and second.weight.requires_grad


def test_deepcopy_after_backward_keeps_the_gradient():
    sparse = layer("csr", 8, 12)
    sparse(full(5, 12)).sum().backward()
    made = copy.deepcopy(sparse)
    assert made.weight is not sparse.weight
    torch.testing.assert_close(made.weight.grad.values(), sparse.weight.grad.values())


def test_a_clone_stays_in_the_graph():
    W = spt.tensor(gapped(4, 5), requires_grad=True)
    W.clone().values().sum().backward()
    assert (W.grad.values() == 1).all()


def test_broadcasting_drops_nothing():
    W, row = gapped(4, 5), full(5)
    made = spt.tensor(W) * row
    torch.testing.assert_close(made.to_dense(), W * row)
    made = spt.tensor(W) * full(4, 1)
    torch.testing.assert_close(made.to_dense(), W * full(4, 1))
    with pytest.raises((ShapeError, RuntimeError)):
        spt.tensor(W) * full(3)
