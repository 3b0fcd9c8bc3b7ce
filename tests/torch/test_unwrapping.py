"""Sparse parameters as plain ones, and data parallel training with them."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

import sparray.torch as spt

from .conftest import full
from .test_custom_ops import Net

SCRIPT = """
import sys, torch, torch.distributed as dist
from torch import nn
import sparray.torch as spt
rank, folder = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 2))
spt.sparsify_(model, {"0.weight": spt.Sparse(spt.Magnitude(0.7), format="csr")})
spt.unwrap_(model)
parallel = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(parallel.parameters(), lr=0.1)
x = torch.randn(8, 12)[4 * rank : 4 * rank + 4]
for step in range(2):
    optimizer.zero_grad()
    parallel(x).square().mean().backward()
    optimizer.step()
spt.wrap_(model)
W = model[0].weight
torch.save([W.detach(), W.grad], f"{folder}/{rank}.pt")
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_data_parallel_gradients_and_masks_are_equal_on_both(tmp_path):
    arguments = [[sys.executable, "-c", SCRIPT, str(r), str(tmp_path)] for r in (0, 1)]
    # No other address of this machine need be known to itself.
    options = {"env": {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}, "text": True}
    started = [
        subprocess.Popen(a, stderr=subprocess.PIPE, **options) for a in arguments
    ]
    for process in started:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    (W, grad), (other, other_grad) = (torch.load(tmp_path / f"{r}.pt") for r in (0, 1))
    assert W.pattern.same_as(other.pattern) and W.nnz == 29
    assert torch.equal(W.values(), other.values())
    assert torch.equal(grad.values(), other_grad.values())
    # The same as one process with the whole batch.
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 2))
    spt.sparsify_(model, {"0.weight": spt.Sparse(spt.Magnitude(0.7), format="csr")})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    x = torch.randn(8, 12)
    for _ in range(2):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(model[0].weight.values().data, W.values())
    torch.testing.assert_close(model[0].weight.grad.values(), grad.values())


def test_unwrapped_models_compute_and_are_wrapped_again():
    model, x = Net("csc"), full(3, 12)
    expected = model(x)
    pattern = model.first.weight.pattern
    spt.unwrap_(model)
    assert all(type(p) is nn.Parameter for p in model.parameters())
    made = model(x)
    torch.testing.assert_close(made, expected)
    made.sum().backward()
    spt.wrap_(model)
    assert isinstance(model.first.weight, nn.Parameter)
    assert model.first.weight.pattern is pattern
    assert model.first.weight.grad.nnz == model.first.weight.nnz
    assert {name for name, _ in model.named_parameters()} == {
        "first.weight",
        "first.bias",
        "second.weight",
        "second.bias",
    }
