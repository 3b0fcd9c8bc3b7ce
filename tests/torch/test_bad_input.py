"""Bad input to training: named errors that list what would work."""

import re

import pytest
import torch
from torch import nn

import sparray.torch as spt
from sparray.errors import (
    DeviceError,
    DTypeError,
    PatternError,
    PlanError,
    ScoreError,
)

from .conftest import full, gapped

HALF = spt.Sparse(spt.Magnitude(0.5))


def on_meta(*shape):
    return torch.ones(*shape, device="meta", dtype=torch.float64)


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4))


def with_nan(*shape):
    made = full(*shape)
    made[0, 0] = float("nan")
    return made


CASES = [
    ("matches nothing", PlanError, lambda: {"*.wieght": HALF}, "0.weight, 0.bias"),
    (
        "two specs",
        PlanError,
        lambda: {"0.weight": HALF, "*.weight": HALF},
        "'0.weight' and '*.weight'; give one of them a narrower pattern",
    ),
    (
        "format cannot hold it",
        PatternError,
        lambda: {"0.weight": spt.Sparse(spt.Magnitude(0.1), "nm(1, 4)")},
        "(csr, csc, coo, dcsr), got nm(1, 4)",
    ),
    (
        "another n:m",
        PatternError,
        lambda: {"0.weight": spt.Sparse(spt.NM(2, 4), "nm(1, 4)")},
        "(nm(2, 4), csr, csc, coo, dcsr)",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_plans(case):
    _, kind, plan, said = case
    made = model()
    with pytest.raises(kind) as caught:
        spt.sparsify_(made, plan())
    assert said in str(caught.value)
    assert not any(isinstance(p, spt.SparseTensor) for p in made.parameters())


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: spt.NM(5, 4), ScoreError, "1 <= n <= m, got n = 5 and m = 4"),
        (lambda: spt.GroupedNM(5, 4, 1), ScoreError, "1 <= n <= m"),
        (lambda: spt.Magnitude(0.5)(with_nan(3, 4)), ScoreError, "torch.nan_to_num"),
        (lambda: spt.NM(1, 2)(with_nan(3, 4)), ScoreError, "torch.nan_to_num"),
        (lambda: spt.GroupedNM(1, 2, 1)(with_nan(2, 4)), ScoreError, "got NaN"),
        (
            lambda: spt.tensor(torch.ones(2, 2, dtype=torch.int64), requires_grad=True),
            DTypeError,
            "torch.bfloat16, torch.complex128, torch.complex64, torch.float16",
        ),
        (
            lambda: spt.tensor(torch.eye(2).long()).requires_grad_(),
            DTypeError,
            "torch.float32",
        ),
        (lambda: spt.tensor(on_meta(2, 2)), DeviceError, "only device"),
        (lambda: spt.tensor(gapped(4, 5)) @ on_meta(5, 2), DeviceError, "B.cpu()"),
        (lambda: spt.Magnitude(0.5)(on_meta(4, 5)), DeviceError, "x.cpu()"),
        (lambda: spt.tensor(gapped(4, 5)).to("cuda"), DeviceError, "expected cpu"),
        (
            lambda: spt.sparsify(model().to("meta"), {"0.weight": HALF}),
            DeviceError,
            "expected a tensor on the CPU",
        ),
    ],
)
def test_values(call, kind, said):
    with pytest.raises(kind, match=re.escape(said)):
        call()


@pytest.mark.parametrize("grad_format", [None, "dense"])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_steps_flip_no_entry_and_revive_none(kind, grad_format):
    made = model()
    options = {"momentum": 0.9} if kind in ("SGD", "RMSprop") else {}
    optimizer = getattr(torch.optim, kind)(made.parameters(), lr=0.1, **options)
    plan = {"*.weight": spt.Sparse(spt.Magnitude(0.5), grad=grad_format)}
    # Momentum of the dense weights is there when half of them are dropped.
    schedule = spt.Schedule(made, plan, spt.OneShot(2), optimizer)
    patterns, pruned = [], None
    for step in range(8):
        optimizer.zero_grad()
        made(full(5, 4, seed=step).float()).square().sum().backward()
        optimizer.step()
        schedule.step()
        if step >= 2:
            weight = made[0].weight
            patterns.append(weight.pattern)
            pruned = weight.to_dense() == 0 if pruned is None else pruned
            assert not weight.to_dense()[pruned].any()
    assert all(p is patterns[0] for p in patterns)
    assert int(pruned.sum()) == 16
