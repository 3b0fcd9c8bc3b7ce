"""Models made sparse by plans, at once and while they are trained."""

import copy
import itertools

import pytest
import torch
from torch import nn

import sparray.torch as spt
from sparray.errors import PatternError, PlanError, ScoreError

HALF = spt.Sparse(spt.Magnitude(0.5))


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 4))


def inputs(rows=5):
    return torch.randn(rows, 12, generator=torch.Generator().manual_seed(1))


def train(model, optimizer, steps=3, after=lambda: None):
    for _ in range(steps):
        optimizer.zero_grad()
        (model(inputs()) ** 2).sum().backward()
        optimizer.step()
        after()


def test_copy_is_sparse_and_the_model_is_not():
    model = network()
    made = spt.sparsify(model, {"*.weight": HALF})
    assert isinstance(made[0].weight, spt.SparseTensor)
    assert isinstance(made[0].weight, nn.Parameter) and made[0].weight.requires_grad
    assert not isinstance(model[0].weight, spt.SparseTensor)
    assert made[0].weight.nnz == 48 and made[2].weight.nnz == 16
    assert not isinstance(made[0].bias, spt.SparseTensor)


def test_outputs_are_those_of_the_masked_weights():
    model = network()
    made = spt.sparsify(model, {"0.weight": HALF, "2.weight": HALF})
    masked = copy.deepcopy(model)
    with torch.no_grad():
        for n in (0, 2):
            w = model[n].weight
            masked[n].weight.copy_(w * spt.Magnitude(0.5).keep(w))
    torch.testing.assert_close(made(inputs()), masked(inputs()))


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_training_follows_dense_training_of_the_mask(kind):
    made = spt.sparsify(network(), {"*.weight": HALF})
    dense = spt.densify(made)
    masks = {n: made[n].weight.to_dense() != 0 for n in (0, 2)}
    train(made, kind(made.parameters(), lr=0.1), 4)
    optimizer = kind(dense.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        (dense(inputs()) ** 2).sum().backward()
        for n, mask in masks.items():
            dense[n].weight.grad.mul_(mask)
        optimizer.step()
    for n in masks:
        torch.testing.assert_close(
            made[n].weight.to_dense(), dense[n].weight, rtol=1e-4, atol=1e-5
        )


def test_state_of_the_optimizer_follows():
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train(model, optimizer)
    before = optimizer.state[model[0].weight]["exp_avg"].clone()
    spt.sparsify_(model, {"*.weight": HALF}, optimizer=optimizer)
    weight = model[0].weight
    assert any(p is weight for p in optimizer.param_groups[0]["params"])
    state = optimizer.state[weight]["exp_avg"]
    mask = weight.to_dense() != 0
    assert state.pattern.same_as(weight.pattern)
    torch.testing.assert_close(state.to_dense(), before * mask)
    assert len(optimizer.state) == 4
    kept = weight.to_dense().clone()
    train(model, optimizer)
    assert not torch.equal(model[0].weight.to_dense(), kept)
    assert ((model[0].weight.to_dense() != 0) <= mask).all()
    spt.densify_(model, optimizer=optimizer)
    assert type(optimizer.state[model[0].weight]["exp_avg"]) is torch.Tensor
    train(model, optimizer)


def test_choosing_again_keeps_the_parameter():
    model = spt.sparsify(network(), {"*.weight": HALF})
    optimizer = torch.optim.Adam(model.parameters())
    train(model, optimizer)
    weight, before = model[0].weight, model[0].weight.to_dense().detach().clone()
    spt.sparsify_(
        model, {"0.weight": spt.Sparse(spt.Magnitude(0.75))}, optimizer=optimizer
    )
    assert model[0].weight is weight and weight.nnz == 24
    assert optimizer.state[weight]["exp_avg"].nnz == 24
    torch.testing.assert_close(
        weight.to_dense().detach(), before * (weight.to_dense() != 0)
    )
    train(model, optimizer)


def test_shared_parameter_stays_shared():
    model = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
    model["b"].weight = model["a"].weight
    spt.sparsify_(model, {"a.weight": HALF})
    assert model["a"].weight is model["b"].weight
    assert model["b"].weight.nnz == 8


def test_one_fraction_of_all_parameters():
    model = network()
    with torch.no_grad():
        model[2].weight.mul_(100)
    spt.sparsify_(model, {"*.weight": spt.Sparse(spt.Magnitude(0.5), together=True)})
    assert model[0].weight.nnz + model[2].weight.nnz == 64
    assert model[2].weight.nnz > 28


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (spt.Sparse(spt.NM(2, 4)), "nm(2, 4)"),
        (spt.Sparse(spt.GroupedNM(1, 2, 2)), "nmg(1, 2, 2)"),
        (spt.Sparse(spt.Magnitude(0.5), "csc"), "csc"),
    ],
)
def test_formats(spec, name):
    model = spt.sparsify(network(), {"0.weight": spec})
    assert model[0].weight.format.name == name
    dense = spt.densify(model)
    torch.testing.assert_close(model(inputs()), dense(inputs()))


def test_outputs_of_modules():
    model = network()
    expected = model[2](model[1](model[0](inputs())))
    spt.sparsify_(model, {"1()": spt.Sparse(spt.KeepNonzero())})
    seen = []
    model[1].register_forward_hook(lambda *given: seen.append(given[2]))
    made = model(inputs())
    assert isinstance(seen[0], spt.SparseTensor) and seen[0].nnz < seen[0].numel()
    torch.testing.assert_close(made, expected)
    made.sum().backward()
    assert model[0].weight.grad is not None
    # Again: in place of the first, not after it.
    spt.sparsify_(model, {"1()": spt.Sparse(spt.Magnitude(0.9))})
    assert len(model[1]._forward_hooks) == 2
    spt.densify_(model, "1()")
    assert len(model[1]._forward_hooks) == 1


def test_output_that_is_no_tensor():
    class Two(nn.Module):
        def forward(self, x):
            return x, x

    model = spt.sparsify_(nn.Sequential(Two()), {"0()": HALF})
    with pytest.raises(PlanError, match="one tensor"):
        model(inputs())


@pytest.mark.parametrize("kind", [spt.Wanda, spt.SparseGPT])
def test_sparsifiers_that_see_inputs(kind):
    model = network()
    plan = {"*.weight": spt.Sparse(kind(0.5))}
    made = spt.sparsify(model, plan, calibrate=lambda m: m(inputs(50)))
    expected = kind(0.5)
    expected.observe(inputs(50))
    torch.testing.assert_close(
        made[0].weight.to_dense().detach(),
        expected(model[0].weight).to_dense().detach(),
    )
    assert not made[0]._forward_pre_hooks


@pytest.mark.parametrize("kind", [spt.Movement, spt.Fisher])
def test_sparsifiers_that_see_gradients(kind):
    model = network()

    def calibrate(m):
        for rows in (3, 5):
            m.zero_grad()
            (m(inputs(rows)) ** 2).sum().backward()

    made = spt.sparsify(model, {"*.weight": spt.Sparse(kind(0.5))}, calibrate=calibrate)
    expected = kind(0.5)
    for rows in (3, 5):
        model.zero_grad()
        (model(inputs(rows)) ** 2).sum().backward()
        expected.observe(model[0].weight)
    torch.testing.assert_close(
        made[0].weight.to_dense().detach(),
        expected(model[0].weight).to_dense().detach(),
    )


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({}, "got none"),
        ({"3.weight": HALF}, "matches nothing; there are the parameters 0.weight"),
        ({"4()": HALF}, "there are the modules"),
        ({"*.weight": HALF, "0.*": HALF}, "expected one key for 0.weight"),
        ({"0.weight": spt.Magnitude(0.5)}, "expected a Sparse"),
        ({"0.weight": spt.Sparse(spt.Wanda(0.5))}, "calibrate="),
    ],
)
def test_plans_that_are_none(plan, said):
    with pytest.raises(PlanError) as caught:
        spt.sparsify_(network(), plan)
    assert said in str(caught.value)


def test_specs_that_are_none():
    with pytest.raises(PlanError, match="expected a sparsifier"):
        spt.Sparse(0.9)
    with pytest.raises(PlanError, match="together"):
        spt.Sparse(spt.NM(2, 4), together=True)
    with pytest.raises(PlanError, match="matches nothing that is sparse"):
        spt.densify(network())


def test_model_is_unchanged_if_a_format_does_not_fit():
    model = network()
    plan = {"0.weight": HALF, "2.weight": spt.Sparse(spt.Magnitude(0.1), "nm(1, 4)")}
    with pytest.raises(PatternError):
        spt.sparsify_(model, plan)
    assert not isinstance(model[0].weight, spt.SparseTensor)


def test_rigl_says_what_it_needs():
    plan = {"0.weight": spt.Sparse(spt.RigL(0.3))}
    model = spt.sparsify(network(), {"0.weight": HALF})
    with pytest.raises(PlanError, match="to call backward"):
        spt.sparsify_(model, plan, calibrate=lambda m: m(inputs()))
    assert model[0].weight.grad_format is None
    with pytest.raises(PlanError, match="expected calibrate="):
        spt.sparsify_(model, plan)
    with pytest.raises(PlanError, match="parameter that is sparse"):
        spt.sparsify_(network(), plan, calibrate=lambda m: None)


def test_rigl_grows_where_the_dense_gradient_is_largest():
    model = spt.sparsify(network(), {"0.weight": spt.Sparse(spt.RandomFraction(0.5))})
    twin = spt.densify(model)
    (twin(inputs()) ** 2).sum().backward()
    expected = spt.RigL(0.25)
    expected.observe(twin[0].weight.grad)
    wanted = expected(model[0].weight)
    spt.sparsify_(
        model,
        {"0.weight": spt.Sparse(spt.RigL(0.25))},
        calibrate=lambda m: (m(inputs()) ** 2).sum().backward(),
    )
    assert model[0].weight.pattern.same_as(wanted.pattern)
    assert model[0].weight.grad_format is None


def test_rigl_trains_from_scratch():
    torch.manual_seed(0)
    x = torch.randn(64, 12)
    y = torch.nn.functional.relu(x[:, :2] * 3).sum(1, keepdim=True)
    dense = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1))
    start = spt.Sparse(spt.RandomFraction(0.8, seed=1))
    model = spt.sparsify(dense, {"0.weight": start})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    plan = {"0.weight": spt.Sparse(spt.RigL(0.3))}
    schedule = spt.Schedule(model, plan, spt.Periodic(5, 60), optimizer)
    weight, seen, losses, anchored = model[0].weight, [], [], []
    for _ in range(120):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        anchored.append(weight._anchor is not None)
        assert isinstance(weight.grad, spt.SparseTensor)
        optimizer.step()
        before = weight.pattern
        assert schedule.step() == (weight.pattern is not before)
        seen.append(weight.pattern)
        losses.append(float(loss.detach()))
    assert {p.n_values for p in seen} == {weight.nnz} and weight.nnz == 38
    # Dense gradients are computed at the steps of regrowth and at no other.
    assert [n for n, a in enumerate(anchored) if a] == [*range(5, 60, 5)]
    assert losses[-1] < 0.01 * losses[0]
    # It found the two inputs that matter.
    kept = weight.to_dense().detach().abs().sum(0)
    assert set(kept.topk(2).indices.tolist()) == {0, 1}


def test_gradual_pruning():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    plan = {"*.weight": spt.Sparse(spt.Magnitude(0.75))}
    when = spt.Cubic(2, 10, every=4, initial=0.25)
    schedule = spt.Schedule(model, plan, when, optimizer)
    seen = []

    def after():
        schedule.step()
        weight = model[0].weight
        seen.append(weight.nnz if isinstance(weight, spt.SparseTensor) else 96)

    train(model, optimizer, 13, after)
    middle = 96 - round(96 * (0.75 - 0.5 * 0.5**3))
    assert seen == [96] * 2 + [72] * 4 + [middle] * 4 + [24] * 3


def test_layer_by_layer():
    model = network()
    schedule = spt.Schedule(model, {"*.weight": HALF}, spt.LayerWise(2, begin=1))
    seen = []
    for _ in range(5):
        schedule.step()
        seen.append([isinstance(model[n].weight, spt.SparseTensor) for n in (0, 2)])
    assert seen == [[False] * 2, [True, False], [True, False], [True] * 2, [True] * 2]


def test_one_shot_and_resuming():
    model = network()
    first = spt.Schedule(model, {"*.weight": HALF}, spt.OneShot(2))
    assert [first.step() for _ in range(2)] == [False, False]
    second = spt.Schedule(model, {"*.weight": HALF}, spt.OneShot(2))
    second.load_state_dict(first.state_dict())
    assert second.step() and not second.step()


def test_sparse_from_the_start():
    model = spt.sparsify(network(), {"*.weight": spt.Sparse(spt.RandomFraction(0.5))})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    when = spt.Periodic(every=2, end=7)
    plan = {"*.weight": spt.Sparse(spt.SET(0.3))}
    schedule = spt.Schedule(model, plan, when, optimizer)
    patterns = [model[0].weight.pattern]

    def after():
        schedule.step()
        patterns.append(model[0].weight.pattern)

    train(model, optimizer, 8, after)
    changed = [not a.same_as(b) for a, b in itertools.pairwise(patterns)]
    assert changed == [False, False, True, False, True, False, True, False]
    assert {p.n_values for p in patterns} == {48}


@pytest.mark.parametrize(
    ("when", "sparsifier"),
    [
        (spt.Cubic(0, 5), spt.NM(2, 4)),
        (spt.Cubic(0, 5), spt.SET(0.5)),
        (spt.Periodic(1, 5), spt.Magnitude(0.5)),
    ],
)
def test_schedules_that_do_not_fit_the_sparsifier(when, sparsifier):
    with pytest.raises(PlanError, match="with a fraction"):
        spt.Schedule(network(), {"*.weight": spt.Sparse(sparsifier)}, when)


@pytest.mark.parametrize(
    "make",
    [
        lambda: spt.Cubic(5, 2),
        lambda: spt.Cubic(0, 5, every=0),
        lambda: spt.Periodic(0, 5),
        lambda: spt.LayerWise(0),
    ],
)
def test_schedules_that_are_none(make):
    with pytest.raises(PlanError, match="expected"):
        make()


def test_summary():
    model = spt.sparsify(network(), {"0.weight": HALF})
    lines = [line.split() for line in spt.summary(model).splitlines()]
    assert lines[1][:6] == ["0.weight", "8", "x", "12", "csr", "0.500"]
    nbytes = 48 * 8 + 9 * 4
    assert lines[1][6:] == [str(nbytes), f"{nbytes / 384:.2f}"]
    total = nbytes + 4 * (8 + 32 + 4)
    assert lines[-1][:3] == ["total", f"{(48 + 44) / 140:.3f}", str(total)]
    assert len(spt.summary(model, rows=3).splitlines()[1].split()) == 9


def test_nan_stops_it():
    model = network()
    with torch.no_grad():
        model[0].weight[0, 0] = float("nan")
    with pytest.raises(ScoreError, match="NaN"):
        spt.sparsify_(model, {"0.weight": HALF})
