"""Random matrices with gaps, and every way to look at a result densely."""

import sys
from pathlib import Path

import pytest

# `--import-mode=importlib` finds no module beside tests: the examples are imported so.
sys.path.insert(0, str(Path(__file__).parent))

torch = pytest.importorskip("torch")

import sparray.torch as spt  # noqa: E402


def gapped(*shape, seed=0, dtype=torch.float64, density=0.4):
    """Return a dense tensor with zeros in it, an empty first row among them."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(*shape, generator=generator, dtype=torch.float64)
    made *= torch.rand(*shape, generator=generator) < density
    made[0] = 0
    return made.to(dtype)


def full(*shape, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def dense(result):
    return result.to_dense() if isinstance(result, spt.SparseTensor) else result


def flat(result):
    """Return what autograd sees of a result: stored values, or the dense tensor."""
    return result.values() if isinstance(result, spt.SparseTensor) else result
