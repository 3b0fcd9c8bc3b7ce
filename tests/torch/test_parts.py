"""Sparse tensors in formats whose levels store parts of dimensions, or have holes."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import sparray as sp
import sparray.torch as spt

FORMATS = (
    "bcsr(2, 3)",
    "bcsc(2, 2)",
    "dia",
    "ell",
    "bitmap",
    "nm(2, 4)",
    "nmg(1, 3, 1)",
)


def matrix(format):
    """Return a 9 × 11 matrix; few enough entries for each format."""
    torch.manual_seed(0)
    dense = torch.rand(9, 11, dtype=torch.float64) + 0.5
    kept = torch.rand(9, 11) < 0.4
    if format.startswith("nmg"):
        kept = torch.eye(3, dtype=torch.bool).flip(0).tile(3, 4)[:, :11]
    for start in range(0, 11, 4):
        part = kept[:, start : start + 4]
        kept[:, start : start + 4] = part & (part.cumsum(1) <= 2)
    return dense * kept


LOOSE = "(i, j) -> (i: dense, j: compressed(unordered))"


def turned(format):
    """Return a tensor whose fibres are arranged at random, half its values zero."""
    rng = np.random.default_rng(0)
    if format.startswith("nm("):
        made = sp.array(matrix(format).numpy(), format)
        return spt.tensor(made, requires_grad=True)
    if format == LOOSE:
        made = sp.array(matrix(format).numpy(), format)
        levels = [dict(level) for level in made.levels]
        pos = levels[1]["pos"]
        levels[1]["crd"] = np.concatenate(
            [rng.permutation(levels[1]["crd"][a:b]) for a, b in pairwise(pos)]
        )
    else:
        made = sp.array(np.zeros((9, 11)), format)
        levels = [dict(level) for level in made.levels]
        period = made.format.levels[-1].period
        table = levels[2]["crd"].reshape(-1, period)
        levels[2]["crd"] = rng.permuted(table, axis=1).reshape(-1)
    values = rng.random(len(made.values)) * (rng.random(len(made.values)) < 0.5)
    made = sp.from_buffers(made.format, made.shape, levels, values)
    return spt.tensor(made, requires_grad=True)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("format", FORMATS)
def test_products_and_their_gradients(format):
    dense = matrix(format)
    right = torch.rand(11, 5, dtype=torch.float64, requires_grad=True)
    weight = spt.tensor(dense, format=format, requires_grad=True)
    (weight @ right).square().sum().backward()
    expected = dense.clone().requires_grad_()
    other = right.detach().clone().requires_grad_()
    (expected @ other).square().sum().backward()
    assert torch.allclose(right.grad, other.grad)
    found = weight.grad.to_dense()
    assert torch.allclose(found[dense != 0], expected.grad[dense != 0])
    assert weight.grad.format == weight.format


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("format", FORMATS)
def test_sums_and_transposition(format):
    dense = matrix(format)
    weight = spt.tensor(dense, format=format)
    assert torch.allclose(weight.sum(), dense.sum())
    assert torch.allclose(weight.sum(0), dense.sum(0))
    left = torch.rand(9, 3, dtype=torch.float64)
    assert torch.allclose(weight.T @ left, dense.T @ left)


@pytest.mark.parametrize("format", ["nmg(1, 3, 2)", "nmg(2, 3, 1)", "nm(2, 4)", LOOSE])
def test_gradients_have_the_places_of_their_values(format):
    """Where the values stand in another order than a conversion would put them in."""
    weight = turned(format)
    dense = weight.to_dense().detach()
    other = spt.tensor((torch.rand(9, 11, dtype=torch.float64) < 0.5) * dense.cos())
    scale = torch.rand(9, 11, dtype=torch.float64)
    ((weight * other).to_dense() * scale).sum().backward()
    places = sp.from_buffers(
        weight.format,
        (9, 11),
        weight.pattern.levels,
        np.arange(1.0, 1 + len(weight.values())),
    )
    coords, numbers = places.to_coords()
    expected = (other.to_dense() * scale).numpy()[tuple(coords)]
    found = weight.grad.values().numpy()[numbers.astype(int) - 1]
    assert np.allclose(found, expected)
