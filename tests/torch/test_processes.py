"""Imports stay lean, and worker processes compute."""

import subprocess
import sys

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import sparray.torch as spt

from .conftest import full, gapped


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )


def test_importing_sparray_loads_no_torch():
    made = run("import sys, sparray; sys.exit('torch' in sys.modules)")
    assert made.returncode == 0, made.stderr


def test_a_missing_torch_is_said_with_the_command_that_installs_it():
    made = run("import sys; sys.modules['torch'] = None; import sparray.torch")
    assert "MissingExtraError" in made.stderr
    assert "pip install 'sparray-levels[torch]'" in made.stderr


def test_dense_fallbacks_warn_in_code_that_has_no_file():
    made = run(
        "import torch, sparray.torch as spt\n"
        "print(torch.cumsum(spt.tensor(torch.eye(2), 'csr'), 0)[1])"
    )
    assert made.stdout == "tensor([1., 1.])\n", made.stderr
    assert "torch.cumsum of csr (2, 2) is computed densely" in made.stderr


class Products(Dataset):
    def __init__(self, weight):
        self.weight = weight

    def __len__(self):
        return 4

    def __getitem__(self, number):
        return self.weight @ full(40, 3, seed=number)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_worker_computes(start):
    W = spt.tensor(gapped(30, 40), "csr")
    reference = W.to_dense()
    W @ full(40, 3)
    loader = DataLoader(
        Products(W), num_workers=1, multiprocessing_context=start, timeout=60
    )
    for number, made in enumerate(loader):
        torch.testing.assert_close(made[0], reference @ full(40, 3, seed=number))


class Tensors(Dataset):
    """Sparse tensors themselves, made in the worker or taken along."""

    def __init__(self, weight):
        self.weight = weight

    def __len__(self):
        return 3

    def __getitem__(self, number):
        made = spt.tensor(gapped(6, 7, seed=number), self.weight.format)
        return self.weight if number == 0 else made


@pytest.mark.parametrize(
    ("start", "format"), [("fork", "bcsr(2, 2)"), ("spawn", "csr")]
)
def test_a_tensor_survives_a_worker(start, format):
    W = spt.tensor(gapped(6, 7), format)
    loader = DataLoader(
        Tensors(W),
        batch_size=None,
        num_workers=1,
        multiprocessing_context=start,
        timeout=60,
    )
    for number, made in enumerate(loader):
        expected = spt.tensor(gapped(6, 7, seed=number), format)
        assert made.pattern.same_as(expected.pattern)
        torch.testing.assert_close(made.values(), expected.values())
        torch.testing.assert_close(made @ full(7, 2), expected @ full(7, 2))
