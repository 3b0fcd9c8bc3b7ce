"""Optimizers, gradient scaling and lower precision on layers with sparse weights."""

import inspect

import pytest
import torch
from torch import nn
from torch.nn import functional

import sparray.torch as spt
from sparray.errors import UnsupportedError, WouldDensifyError

from .conftest import full, gapped

pytestmark = pytest.mark.filterwarnings("error::sparray.errors.SparrayWarning")

OPTIMIZERS = sorted(
    name
    for name, one in vars(torch.optim).items()
    if inspect.isclass(one) and one is not torch.optim.Optimizer
)
# What these do to a matrix depends on its rows and columns, or on one long vector of
# all parameters: they step on values, by `spt.leaves`.
ON_LEAVES = {"Adafactor", "LBFGS"}
# Muon takes matrices alone, SparseAdam gradients in torch.sparse's own layout.
REFUSED = {"Muon", "SparseAdam"}


def layer(dtype=torch.float64, format="csr"):
    torch.manual_seed(0)
    made = nn.Linear(12, 8, dtype=dtype)
    made.weight = nn.Parameter(spt.tensor(gapped(8, 12, dtype=dtype), format))
    return made


class Twin(nn.Module):
    """The same layer, whose dense weight is made of a vector of kept values."""

    def __init__(self, sparse):
        super().__init__()
        self.kept = sparse.weight.to_dense().detach() != 0
        self.values = nn.Parameter(sparse.weight.values().detach().clone())
        self.bias = nn.Parameter(sparse.bias.detach().clone())

    def forward(self, x):
        weight = torch.zeros(8, 12, dtype=x.dtype)
        weight[self.kept] = self.values
        return functional.linear(x, weight, self.bias)


def trained(model, parameters, name, steps=4):
    optimizer = getattr(torch.optim, name)(parameters, lr=0.05)
    for seed in range(steps):

        def closure(seed=seed):
            optimizer.zero_grad()
            loss = model(full(5, 12, seed=seed)).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)
    return optimizer


@pytest.mark.parametrize("name", [n for n in OPTIMIZERS if n not in REFUSED])
def test_every_optimizer_trains_the_values_alone(name):
    sparse = layer()
    twin = Twin(sparse)
    pattern = sparse.weight.pattern
    parameters = list(sparse.parameters())
    trained(sparse, spt.leaves(parameters) if name in ON_LEAVES else parameters, name)
    trained(twin, [twin.values, twin.bias], name)
    assert sparse.weight.pattern is pattern and sparse.weight.fill_value == 0
    torch.testing.assert_close(sparse.weight.values(), twin.values.data)
    torch.testing.assert_close(sparse.bias, twin.bias)


@pytest.mark.parametrize("name", sorted(ON_LEAVES))
def test_what_needs_leaves_refuses_sparse_parameters(name):
    model = layer()
    refused = (WouldDensifyError, UnsupportedError)
    with spt.strict(), pytest.raises(refused, match=r"values\(\)"):
        trained(model, model.parameters(), name)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_two_optimizers_serve_no_vector_of_values(name):
    model = layer()
    with pytest.raises((ValueError, RuntimeError)):
        trained(model, spt.leaves([model.weight]), name)


def test_leaves_are_what_parameters_hold():
    model = layer()
    first, second = spt.leaves(model.parameters())
    assert first is model.weight.values() and second is model.bias


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_a_model_is_converted_in_place(dtype):
    model = layer(torch.float32)
    pattern = model.weight.pattern
    model(full(3, 12).float()).sum().backward()
    model.to(dtype)
    assert isinstance(model.weight, nn.Parameter) and model.weight.is_leaf
    assert model.weight.dtype == model.weight.grad.dtype == dtype
    assert model.weight.pattern is pattern
    model.zero_grad()
    made = model(full(3, 12).to(dtype))
    made.sum().backward()
    assert made.dtype == model.weight.grad.dtype == dtype
    if dtype is torch.float16:
        assert layer(torch.float32).half().weight.dtype is dtype


def test_gradients_are_scaled_back_and_steps_with_infinities_skipped():
    sparse = layer(torch.float32)
    twin = Twin(sparse)
    for model, weight in ((sparse, sparse.weight), (twin, twin.values)):
        parameters = [weight, model.bias]
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=1)
        for seed, factor in ((0, 1.0), (1, float("inf")), (2, 1.0)):
            optimizer.zero_grad()
            loss = model(full(5, 12, seed=seed).float()).square().mean() * factor
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 2048.0
    torch.testing.assert_close(sparse.weight.values(), twin.values.data)


def _under_autocast(weight, x, bias, dtype):
    with torch.autocast("cpu", dtype=dtype):
        hidden = functional.linear(x, weight, bias)
        hidden = functional.relu(hidden) @ torch.ones(8, 3)
        loss = hidden.float().square().mean()
    loss.backward()
    return hidden, loss


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("of_x", [torch.float32, torch.bfloat16])
def test_autocast_mixes_dtypes_in_backward(dtype, of_x):
    x, bias = full(5, 12).to(of_x), full(8).float()
    W = spt.tensor(gapped(8, 12, dtype=torch.float32), "csr", requires_grad=True)
    dense = W.to_dense().detach().requires_grad_()
    given, expected = (
        [weight, x.clone().requires_grad_(), bias.clone().requires_grad_()]
        for weight in (W, dense)
    )
    made, loss = _under_autocast(*given, dtype)
    other, _ = _under_autocast(*expected, dtype)
    assert made.dtype == other.dtype == dtype
    assert W.grad.dtype == torch.float32 and given[1].grad.dtype == of_x
    kept = W.pattern
    torch.testing.assert_close(
        W.grad.to_dense(),
        torch.where(W.to_dense() != 0, dense.grad, 0),
        atol=0.05,
        rtol=0.05,
    )
    torch.testing.assert_close(given[1].grad, expected[1].grad, atol=0.05, rtol=0.05)
    torch.testing.assert_close(given[2].grad, expected[2].grad, atol=0.05, rtol=0.05)
    assert W.pattern is kept and loss.dtype == torch.float32


@pytest.mark.parametrize("backward_inside", [False, True])
def test_autocast_serves_each_product(backward_inside):
    W = spt.tensor(gapped(8, 12, dtype=torch.float32), "csr", requires_grad=True)
    x = full(12, 3).bfloat16()
    with torch.autocast("cpu"):
        made = [W @ x, torch.mm(W, x), torch.einsum("ij,jk->ik", W, x)]
        made += [torch.addmm(torch.zeros(8, 3), W, x), (x.T @ W.T).T]
        # In double precision nothing is cast, as in torch.
        assert (W.double() @ x.double()).dtype is torch.float64
        if backward_inside:
            sum(made).sum().backward()
    if not backward_inside:
        sum(made).sum().backward()
    assert all(one.dtype is torch.bfloat16 for one in made)
    expected = (5 * x.float().sum(1)).expand(8, 12)[W.to_dense() != 0]
    torch.testing.assert_close(W.grad.values(), expected, atol=0.2, rtol=0.02)


@pytest.mark.parametrize("name", ["data_ptr", "storage"])
def test_no_address_of_a_dense_copy_is_given_away(name):
    with pytest.raises(WouldDensifyError, match="to_plain"):
        getattr(spt.tensor(gapped(4, 5)), name)()


def test_masks_of_one_pattern_change_what_they_mark():
    W = spt.tensor(gapped(4, 5))
    sign = W.sign()
    sign[sign.lt(0)] = 5.0
    sign[sign.eq(0)] = 2.0
    expected = gapped(4, 5).sign()
    expected[expected.lt(0)] = 5.0
    expected[expected.eq(0)] = 2.0
    torch.testing.assert_close(sign.to_dense(), expected)
    W.requires_grad_()
    with pytest.raises(NotImplementedError), torch.no_grad():
        W[W.eq(0)] = 2.0


def test_memory_is_shared_between_processes():
    W = spt.tensor(gapped(4, 5))
    assert not W.is_shared() and W.share_memory_() is W and W.is_shared()
    assert nn.ParameterList([nn.Parameter(W)]).share_memory()[0].is_shared()
