"""Pickles, `torch.save`, copies and states: what comes back is what went in."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn

import sparray.torch as spt
from sparray.errors import InvalidBufferError
from sparray.torch.pattern import Pattern
from sparray.torch.rebuilding import rebuild_pattern, rebuild_tensor

from .conftest import full, gapped

FORMATS = ["csr", "csc", "coo", "dcsr", "bcsr(2, 2)", "bitmap", "nm(2, 4)", "ell"]


def weight(format="csr", seed=0, dtype=torch.float64):
    x = gapped(8, 12, seed=seed, dtype=dtype)
    if format.startswith("nm"):
        x = spt.NM(2, 4)(x).to_dense()
    return spt.tensor(x, format, requires_grad=dtype.is_floating_point)


def layer(format="csr", seed=0, dtype=torch.float64):
    made = nn.Linear(12, 8, dtype=dtype)
    made.weight = nn.Parameter(weight(format, seed, dtype))
    return made


def saved(x, weights_only=True):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, weights_only=weights_only)


def same(made, W):
    return (
        type(made) is type(W)
        and made.pattern.same_as(W.pattern)
        and torch.equal(made.values(), W.values())
        and made.requires_grad == W.requires_grad
        and made.fill_value == W.fill_value
    )


@pytest.mark.parametrize("format", FORMATS)
def test_weights_only_files_hold_every_format(format):
    model = layer(format)
    state = model.state_dict()
    made = saved(state)
    assert same(made["weight"], state["weight"])
    again = layer(format, seed=1)
    again.load_state_dict(made, assign=True)
    torch.testing.assert_close(again(full(3, 12)), model(full(3, 12)))


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.bool]
)
def test_weights_only_files_hold_every_dtype(dtype):
    W = weight(dtype=dtype)
    assert same(saved(W), W) and same(pickle.loads(pickle.dumps(W)), W)


def test_a_fill_value_and_attributes_are_kept():
    W = weight().detach().cos()
    assert W.fill_value == 1 and same(saved(W), W)
    C = spt.tensor(gapped(4, 5).to(torch.complex64)).exp()
    assert C.fill_value == 1 and same(saved(C), C)
    parameter = nn.Parameter(weight())
    parameter.note = "kept"
    made = saved(parameter)
    assert isinstance(made, nn.Parameter) and made.note == "kept"


def test_a_pattern_is_stored_once():
    W = weight()
    states = {"W": W.detach(), "exp_avg": W.detach() * 2}
    assert states["W"].pattern is states["exp_avg"].pattern
    made = saved(states)
    assert made["W"].pattern is made["exp_avg"].pattern


def test_the_state_of_an_optimizer_is_saved_and_goes_on():
    def trained(model, optimizer, steps):
        for seed in steps:
            optimizer.zero_grad()
            model(full(5, 12, seed=seed)).square().sum().backward()
            optimizer.step()
        return model.weight.values().detach().clone()

    first = layer()
    optimizer = torch.optim.AdamW(first.parameters(), lr=0.1)
    trained(first, optimizer, range(2))
    state = saved([first.state_dict(), optimizer.state_dict()])
    expected = trained(first, optimizer, range(2, 4))
    second = layer(seed=0)
    other = torch.optim.AdamW(second.parameters(), lr=0.1)
    second.load_state_dict(state[0])
    other.load_state_dict(state[1])
    torch.testing.assert_close(trained(second, other, range(2, 4)), expected)


def test_deepcopy_keeps_gradients_of_graphs_that_ran():
    model = layer()
    model(full(3, 12)).square().sum().backward()
    made = copy.deepcopy(model)
    assert same(made.weight.grad, model.weight.grad)
    assert made.weight.values() is not model.weight.values()
    made(full(3, 12)).sum().backward()
    assert not torch.equal(made.weight.grad.values(), model.weight.grad.values())
    assert same(pickle.loads(pickle.dumps(model)).weight, model.weight)


# Files are not to be trusted.


def parts(format="csr"):
    function, made = weight(format).pattern.__reduce__()
    assert function is rebuild_pattern
    return list(made)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda p: p[2][1]["crd"].add_(100),
        lambda p: p[2][1]["crd"].neg_(),
        lambda p: p[2][1]["pos"].add_(1),
        lambda p: p[2][1].pop("crd"),
        lambda p: p.__setitem__(3, p[3] + 1),
        lambda p: p.__setitem__(3, -1),
        lambda p: p.__setitem__(1, (2, 12)),
        lambda p: p[2][1].update(crd=p[2][1]["crd"].to_sparse()),
        lambda p: p[2][1].update(crd=None),
        lambda p: p.__setitem__(2, p[2][:1]),
    ],
)
def test_damaged_buffers_are_refused(spoil):
    given = parts()
    spoil(given)
    with pytest.raises(ValueError):
        rebuild_pattern(*given)


def test_parts_that_do_not_fit_are_refused():
    W = weight().detach()
    fill = 0.0
    with pytest.raises(InvalidBufferError, match="expected shape"):
        rebuild_tensor(W.pattern, W.values()[:-1], fill, {})
    with pytest.raises(InvalidBufferError, match="expected a Pattern"):
        rebuild_tensor("csr", W.values(), fill, {})
    with pytest.raises(InvalidBufferError, match="values"):
        rebuild_tensor(W.pattern, [1.0], fill, {})
    # Attributes cannot put other buffers behind checked ones.
    made = rebuild_tensor(W.pattern, W.values(), fill, {"_stored": torch.ones(1)})
    assert same(made, W)


def test_a_pattern_alone_comes_back():
    pattern = weight("bcsr(2, 2)").pattern
    made = pickle.loads(pickle.dumps(pattern))
    assert isinstance(made, Pattern) and made.same_as(pattern)
    assert all(
        mine[role].dtype == other[role].dtype
        for mine, other in zip(made.levels, pattern.levels, strict=True)
        for role in mine
    )
    assert np.shares_memory(
        copy.deepcopy(pattern).levels[1]["crd"], pattern.levels[1]["crd"]
    )
