"""Training with sparse weights: forward and backward, and the memory of a step."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

import sparray.torch as spt

from .inputs import dense, torch_csr, uniform_csr, use_threads
from .interleave import ratio

__all__ = [
    "LargeProduct",
    "LargeProductBothGradients",
    "Layer",
    "OptimizerStep",
    "TrainingMemory",
]


class Layer:
    """Forward and backward of a linear layer whose weights are 90 % sparse.

    768 inputs, 3072 outputs; gradients of the input, the weights and the bias. At least
    1.5 times as fast as the same layer with dense weights. What comes back has the
    strides of the layer's result, as torch's element-wise functions leave them.
    """

    params = [[128], ["csr"]]
    param_names = ["batch", "format"]

    def setup(self, batch: int, format: str) -> None:
        use_threads()
        torch.manual_seed(0)
        self.weight = torch.randn(3072, 768) / 28
        self.weight *= torch.rand(3072, 768) < 0.1
        self.W = spt.tensor(self.weight, format=format, requires_grad=True)
        self.weight.requires_grad_()
        self.bias = torch.randn(3072, requires_grad=True)
        self.x = torch.randn(batch, 768, requires_grad=True)
        linear = torch.nn.functional.linear
        both = (linear(self.x, weight, self.bias) for weight in (self.W, self.weight))
        self.upstream, self.upstream_dense = map(torch.randn_like, both)

    def ours(self) -> Any:
        return self.step(self.W, self.upstream)

    def theirs(self) -> Any:
        return self.step(self.weight, self.upstream_dense)

    def step(self, weight: Any, upstream: torch.Tensor) -> Any:
        weight.grad = self.bias.grad = self.x.grad = None
        made = torch.nn.functional.linear(self.x, weight, self.bias)
        made.backward(upstream)
        return weight.grad

    def time_step(self, *_: Any) -> None:
        self.ours()

    def peakmem_step(self, *_: Any) -> None:
        self.ours()

    def track_ratio_dense(self, *_: Any) -> float:
        return ratio(self.ours, self.theirs)


class OptimizerStep:
    """A step of AdamW on the layer's weights and bias: no slower than a dense one's."""

    def setup(self) -> None:
        use_threads()
        torch.manual_seed(0)
        weight = torch.randn(3072, 768) / 28
        weight *= torch.rand(3072, 768) < 0.1
        self.steps = [
            self.step_of(given) for given in (spt.tensor(weight, "csr"), weight)
        ]

    def step_of(self, weight: Any) -> Any:
        layer = torch.nn.Linear(768, 3072)
        layer.weight = torch.nn.Parameter(weight)
        layer(torch.randn(8, 768)).square().sum().backward()
        return torch.optim.AdamW(layer.parameters()).step

    def time_step(self) -> None:
        self.steps[0]()

    def track_ratio_dense(self) -> float:
        return ratio(*self.steps)


class LargeProduct:
    """Forward and backward of A @ X, 100,000², 16 stored per row; A is constant.

    At least 2 times as fast as torch.sparse CSR.
    """

    params = [[32, 64]]
    param_names = ["columns"]
    size, per_row, learns = 100_000, 16, False

    def setup(self, columns: int) -> None:
        use_threads()
        csr = uniform_csr(self.size, self.per_row)
        self.A = spt.tensor(csr, format="csr", requires_grad=self.learns)
        self.A_torch = torch_csr(csr)
        self.X = torch.from_numpy(dense(self.size, columns)).requires_grad_()
        self.upstream = torch.from_numpy(dense(self.size, columns, seed=5))
        self.ours()

    def ours(self) -> Any:
        self.A.grad = self.X.grad = None
        (self.A @ self.X).backward(self.upstream)
        return self.A.grad, self.X.grad

    def theirs(self) -> Any:
        self.X.grad = None
        (self.A_torch @ self.X).backward(self.upstream)
        return self.X.grad

    def time_step(self, *_: int) -> None:
        self.ours()

    def peakmem_step(self, *_: int) -> None:
        self.ours()

    def track_ratio_torch(self, *_: int) -> float:
        return ratio(self.ours, self.theirs)


class LargeProductBothGradients(LargeProduct):
    """The same, where A has a gradient too.

    Torch's own backward of A makes every element of a dense 100,000² gradient, 40 GB.
    So what it is compared with is put together by hand of torch's sparse operators:
    the product, `sampled_addmm`, and the product with a transposition that is made
    beforehand; the values of this one are gathered as ours are.
    """

    learns = True

    def setup(self, columns: int) -> None:
        super().setup(columns)
        A = self.A_torch
        numbers = torch.arange(1, A.values().numel() + 1, dtype=torch.float64)
        numbered = torch.sparse_csr_tensor(
            A.crow_indices(),
            A.col_indices(),
            numbers,
            A.shape,
            check_invariants=False,
        )
        turned = numbered.to_sparse_csc()
        self.places = turned.values().long() - 1
        self.turned = turned.ccol_indices().int(), turned.row_indices().int()

    def theirs(self) -> Any:
        made = self.A_torch @ self.X.detach()
        values = self.A_torch.values()[self.places]
        transposed = torch.sparse_csr_tensor(
            *self.turned, values, self.A_torch.shape, check_invariants=False
        )
        of_x = transposed @ self.upstream
        of_a = torch.sparse.sampled_addmm(
            self.A_torch, self.upstream, self.X.detach().T, beta=0.0
        )
        return made, of_a, of_x


class TrainingMemory:
    """The memory of a step in units of what it must hold, in a fresh process.

    What it must hold: values, pattern, activations, and gradients of values and
    activations. At most 1.3; a dense copy of the weights would show. Memory of freed
    arrays that is kept for later ones (sparray's and the C library's) is given back, so
    that it is not counted.
    """

    params = [["product", "layer"]]
    param_names = ["work"]
    timeout = 300

    def measure(self, work: str) -> dict[str, float]:
        command = [sys.executable, "-c", _MEASURE, work]
        kept = {"SPARRAY_REUSE_SIZE": "0", "MALLOC_MMAP_THRESHOLD_": "65536"}
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, **kept},
            cwd=Path(__file__).parents[2],
        )
        found: dict[str, float] = json.loads(done.stdout)
        return found

    def track_memory_over_needed(self, work: str) -> float:
        found = self.measure(work)
        return found["peak"] / found["needed"]


# The kernels are compiled and every thread is started by a small problem, first.
_MEASURE = """
import json, sys, torch, sparray as sp, sparray.torch as spt
from asv_benchmarks.benchmarks.inputs import uniform_csr, use_threads

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))

def product(size):
    A = spt.tensor(uniform_csr(size, 16), format="csr", requires_grad=True)
    return A, torch.randn(size, 64, requires_grad=True)

def layer(batch):
    weight = torch.randn(3072, 768)
    W = spt.tensor(weight * (torch.rand(3072, 768) < 0.1), "csr", requires_grad=True)
    return W, torch.randn(batch, 768, requires_grad=True)

def step(W, x):
    made = W @ x if work == "product" else torch.nn.functional.linear(x, W)
    made.backward(torch.ones_like(made))
    return made

work, use = sys.argv[1], use_threads()
make, small, large = (product, 6_000, 100_000)
if work == "layer":
    make, small, large = (layer, 64, 8_192)
for _ in range(2):
    step(*make(small))
begin = status("VmRSS")
W, x = make(large)
made = step(W, x)
pattern = sum(b.nbytes for level in W.pattern.levels for b in level.values())
needed = pattern + 2 * sum(t.nbytes for t in (W.values(), x, made))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
del made
for _ in range(3):
    W.grad = x.grad = None
    step(W, x)
print(json.dumps({"peak": 1024 * (status("VmHWM") - begin), "needed": needed}))
"""
